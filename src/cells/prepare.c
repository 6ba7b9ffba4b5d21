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

void TYPED(put_row)(const sparc_cell *cell, size_t K, size_t N, size_t k, const real *from, double limit, real *W) {
  const size_t panel = prepared_panel(cell->kernels, N);
  for (size_t first = 0; first < N; first += panel) {
    const size_t n = N - first < panel ? N - first : panel;
    const real *restrict row = from + first;
    real *restrict to = W + first * K + k * n;
    for (size_t i = 0; i < n; i++) to[i] = TYPED(weight_of)(row[i], limit);
  }
}

void TYPED(put_column)(const sparc_cell *cell, size_t K, size_t N, size_t n, const real *from, double limit, real *W) {
  const prepared_column column = prepared_column_of(cell->kernels, K, N, n);
  for (size_t k = 0; k < K; k++) W[column.first + k * column.stride] = TYPED(weight_of)(from[k], limit);
}

sparc_status PUBLIC(sparc_prepare)(const sparc_cell *cell, const real *params, real *prepared) {
  if (!cell || !params || !prepared)
    return fail(SPARC_INVALID, "%s is NULL", !cell ? "cell" : !params ? "params" : "prepared");
  sparc_status status = check_finite(cell, params);
  if (status == SPARC_OK) TYPED(ops_of)(cell)->prepare(cell, params, prepared);
  return status;
}
