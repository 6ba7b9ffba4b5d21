/* SPDX-License-Identifier: MIT */
/* gae.c: one pass backwards, in double. */
#include "rl/gae.h"

void gae(size_t T, size_t stride, double discount, double lambda, const float *rewards, const float *values,
         const float *starts, float *advantages, float *targets) {
  double advantage = 0;
  for (size_t t = T; t-- > 0;) {
    const size_t at = t * stride, next = at + stride;
    const double kept = 1 - (double)starts[next], value = (double)values[at];
    const double delta = (double)rewards[at] + discount * kept * (double)values[next] - value;
    advantage = delta + discount * lambda * kept * advantage;
    advantages[at] = (float)advantage;
    targets[at] = (float)(advantage + value);
  }
}
