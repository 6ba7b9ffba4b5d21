/* SPDX-License-Identifier: MIT */
/* prepare.c: from parameters to what the kernels read: weights in both orders and derived constants. */
#include "base/error.h"
#include "cells/cell_impl.h"
#include "kernels/gemm_impl.h"
#include "sparc/double.h"

static sparc_status check_finite(const sparc_cell *cell, const real *params) {
  for (size_t b = 0; b < cell->blocks; b++) {
    const sparc_block *block = &cell->block[b];
    for (size_t i = 0; i < block->size; i++)
      if (!isfinite(params[block->offset + i]))
        return fail(SPARC_NOT_FINITE, "params: element %zu of %s is %g, expected a finite number", i, block->name,
                    (double)params[block->offset + i]);
  }
  return SPARC_OK;
}

/* to may be from */
static void limited_copy(size_t n, const real *from, double limit, real *to) {
  const real bound = (real)limit;
  for (size_t i = 0; i < n; i++) to[i] = from[i] > bound ? bound : from[i] < -bound ? -bound : from[i];
}

void TYPED(put_rows)(const sparc_cell *cell, size_t K, size_t N, range rows, const real *from, size_t stride,
                     double limit, real *W) {
  const size_t panel = prepared_panel(cell->kernels, N);
  for (size_t first = 0; first < N; first += panel) {
    const size_t n = N - first < panel ? N - first : panel;
    real *to = W + first * K + rows.first * n;
    for (size_t k = 0; k < rows.n; k++) limited_copy(n, from + k * stride + first, limit, to + k * n);
  }
}

void TYPED(put_columns)(const sparc_cell *cell, size_t K, size_t N, range columns, const real *from, size_t stride,
                        double limit, real *W) {
  const size_t panel = prepared_panel(cell->kernels, N), end = columns.first + columns.n;
  for (size_t n = columns.first, last; n < end; n = last) {
    const prepared_column column = prepared_column_of(cell->kernels, K, N, n);
    real *to = W + column.first;
    last = (n / panel + 1) * panel < end ? (n / panel + 1) * panel : end;
    transpose_rows(cell->kernels, last - n, K, from + (n - columns.first) * stride, stride, to, column.stride);
    for (size_t k = 0; k < K; k++) limited_copy(last - n, to + k * column.stride, limit, to + k * column.stride);
  }
}

sparc_status PUBLIC(sparc_prepare)(const sparc_cell *cell, const real *params, real *prepared) {
  if (!cell || !params || !prepared)
    return fail(SPARC_INVALID, "%s is NULL", !cell ? "cell" : !params ? "params" : "prepared");
  sparc_status status = check_finite(cell, params);
  if (status == SPARC_OK) TYPED(ops_of)(cell)->prepare(cell, params, prepared);
  return status;
}
