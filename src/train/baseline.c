/* SPDX-License-Identifier: MIT */
/* baseline.c: baseline errors of regression and forecasting. */
#include "train/baseline.h"

double baseline_error(const sparc_samples *samples, const sparc_preprocessing *p) {
  const int K = p->targets;
  double sum = 0;
  size_t count = 0;
  for (int i = 0; i < samples->count; i++) {
    const sparc_sample s = samples->at(samples->source, i);
    const int first = samples->target_steps ? s.context : 0, rows = samples->target_steps ? s.length : 1;
    double part = 0;
    for (int t = first; t < rows; t++)
      for (int k = 0; k < K; k++) {
        const double target = (double)s.target[(size_t)t * (size_t)K + (size_t)k];
        const double error = p->change ? target : target - p->target_mean[k];
        part += error * error;
      }
    sum += part;
    count += (size_t)(rows - first) * (size_t)K;
  }
  return count ? sum / (double)count : 0;
}
