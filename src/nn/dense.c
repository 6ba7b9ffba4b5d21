/* SPDX-License-Identifier: MIT */
/* dense.c: the dense layer y = W x + b.
 *
 * Sums over tokens inside a product run in the precision of real, in blocks; the bias gradient is summed in double.
 */
#include "base/threads.h"
#include "kernels/gemm_impl.h"
#include "nn/layers_impl.h"

#include <string.h>

/* a panel of weight_in is the transpose of some rows of weight */
void TYPED(dense_prepare)(const kernels *k, size_t in, size_t out, const real *weight, real *weight_in) {
  const size_t panel = prepared_panel(k, out);
  for (size_t first = 0; first < out; first += panel) {
    const size_t n = out - first < panel ? out - first : panel;
    transpose_rows(k, n, in, weight + first * in, in, weight_in + first * in, n);
  }
}

void TYPED(dense_forward)(const kernels *k, size_t n, size_t in, size_t out, const real *x, const real *weight_in,
                          const real *bias, real *y, size_t stride_y) {
  project_tokens(k, PREPARED, n, in, out, x, in, weight_in, bias, y, stride_y);
}

void TYPED(dense_backward_input)(const kernels *k, size_t n, size_t in, size_t out, const real *dy, size_t stride_dy,
                                 const real *weight, int accumulate, real *dx) {
  gemm(k, AS_IS, AS_IS, n, in, out, dy, stride_dy, weight, in, accumulate ? 1 : 0, dx, in);
}

void TYPED(dense_backward_weight)(const kernels *k, size_t n, size_t in, size_t first, size_t count, const real *dy,
                                  size_t stride_dy, const real *x, real *dweight, real *dbias) {
  if (in == 1) /* a column is also a row, for which products are faster */
    gemm(k, TRANSPOSED, AS_IS, 1, count, n, x, 1, dy + first, stride_dy, 1, dweight + first, count);
  else
    gemm(k, TRANSPOSED, AS_IS, count, in, n, dy + first, stride_dy, x, in, 1, dweight + first * in, in);
  if (dbias) TYPED(ordered_add)(dbias + first, dy + first, n, stride_dy, count);
}
