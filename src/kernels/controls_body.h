/* SPDX-License-Identifier: MIT */
/* controls_body.h: the dot products behind the shared controls as vector code. Included by kernels_body.h. */
#include "kernels/controls.h"

static void controls(size_t n, size_t D, const float *x, const float *weight, double *out) {
  const float *w_r = weight, *w_p = weight + D + 1;
  for (size_t t = 0; t < n; t++) {
    const float *row = x + t * D;
    double r = 0, p = 0;
#pragma omp simd reduction(+ : r, p)
    for (size_t d = 0; d < D; d++) {
      r += (double)w_r[d] * (double)row[d];
      p += (double)w_p[d] * (double)row[d];
    }
    out[2 * t] = r + (double)w_r[D];
    out[2 * t + 1] = p + (double)w_p[D];
  }
}
