/* SPDX-License-Identifier: MIT */
/* bf16_body.h: conversions of whole arrays as vector code. Included by kernels_body.h. */
#include "base/bf16.h"
#include "kernels/bf16.h"
#include "kernels/vmath.h"

static void narrow_row(size_t n, const float *restrict in, uint16_t *restrict out) {
#pragma omp simd
  for (size_t i = 0; i < n; i++) out[i] = bf16_of_float_bits(bits_of_float(in[i]));
}

static void widen_row(size_t n, const uint16_t *restrict in, float *restrict out) {
#pragma omp simd
  for (size_t i = 0; i < n; i++) out[i] = float_of_bits(float_bits_of_bf16(in[i]));
}

#define BF16_KERNELS \
  { .narrow = narrow_row, .widen = widen_row }
