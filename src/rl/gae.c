/* SPDX-License-Identifier: MIT */
/* gae.c: one pass backwards, in double. */
#include "rl/gae.h"

void gae(size_t T, double discount, double lambda, const float *rewards, const float *values, const float *starts,
         float *advantages, float *targets) {
  double advantage = 0;
  for (size_t t = T; t-- > 0;) {
    const double kept = 1 - (double)starts[t + 1], value = (double)values[t];
    const double delta = (double)rewards[t] + discount * kept * (double)values[t + 1] - value;
    advantage = delta + discount * lambda * kept * advantage;
    advantages[t] = (float)advantage;
    targets[t] = (float)(advantage + value);
  }
}
