/* SPDX-License-Identifier: MIT */
/* gae.c: one pass backwards, in double. */
#include "rl/gae.h"

void gae(size_t T, double discount, double lambda, const float *rewards, const float *values, const float *masks,
         float *advantages, float *targets) {
  double advantage = 0;
  for (size_t t = T; t-- > 0;) {
    const double mask = (double)masks[t + 1], value = (double)values[t];
    const double delta = (double)rewards[t] + discount * mask * (double)values[t + 1] - value;
    advantage = delta + discount * lambda * mask * advantage;
    advantages[t] = (float)advantage;
    targets[t] = (float)(advantage + value);
  }
}
