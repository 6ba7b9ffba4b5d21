/* SPDX-License-Identifier: MIT */
/* naive.c: what a model of numbers has to beat. */
#include "lab/naive.h"

/* the present value of channel k of a step, in its own units */
static double present_value(const sparc_preprocessing *p, const float *x, int k, bool normalised) {
  return normalised ? (double)x[k] * p->deviation[k] + p->mean[k] : (double)x[k];
}

double naive_error(const sparc_samples *samples, const sparc_preprocessing *p, bool forecast, bool normalised) {
  const int K = p->targets;
  double sum = 0;
  size_t count = 0;
  for (int i = 0; i < samples->count; i++) {
    const sparc_sample s = samples->at(samples->source, i);
    const int rows = samples->target_steps ? s.length : 1;
    double part = 0;
    for (int t = 0; t < rows; t++) {
      const float *x = s.x + (size_t)t * (size_t)samples->channels, *target = s.target + (size_t)t * (size_t)K;
      for (int k = 0; k < K; k++) {
        const double guess = forecast ? present_value(p, x, k, normalised) : p->target_mean[k];
        part += ((double)target[k] - guess) * ((double)target[k] - guess);
      }
    }
    sum += part;
    count += (size_t)rows * (size_t)K;
  }
  return count ? sum / (double)count : 0;
}
