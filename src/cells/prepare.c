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

/* a parameter as the products read it */
static real weight_of(real parameter, double limit) { return (real)bounded((double)parameter, limit); }

void TYPED(put_row)(const sparc_cell *cell, size_t K, size_t N, size_t k, const real *from, double limit, real *W) {
  const size_t panel = prepared_panel(cell->kernels, N);
  for (size_t first = 0; first < N; first += panel) {
    const size_t n = N - first < panel ? N - first : panel;
    real *to = W + first * K + k * n;
    for (size_t i = 0; i < n; i++) to[i] = weight_of(from[first + i], limit);
  }
}

void TYPED(put_column)(const sparc_cell *cell, size_t K, size_t N, size_t n, const real *from, double limit, real *W) {
  const prepared_column column = prepared_column_of(cell->kernels, K, N, n);
  for (size_t k = 0; k < K; k++) W[column.first + k * column.stride] = weight_of(from[k], limit);
}

/* the rows of all projections, prepared for products with tokens and with gradients, and their biases */
static void copy_projections(const sparc_cell *cell, const real *params, real *prepared) {
  const size_t D = (size_t)cell->D, N = (size_t)cell->projected;
  const TYPED(prepared_view) view = TYPED(view_prepared)(cell, prepared);
  real *weight_in = prepared, *bias = prepared + (view.bias - prepared);
  real *weight_out = prepared + (view.weight_out - prepared);
  for (int i = 0; i < cell->projections; i++) {
    const projection *p = &cell->project[i];
    for (size_t row = 0; row < (size_t)p->rows; row++) {
      const size_t column = (size_t)p->column + row;
      const real *source = params + p->weight + row * (size_t)p->stride;
      TYPED(put_column)(cell, D, N, column, source, WEIGHT_MAX, weight_in);
      TYPED(put_row)(cell, N, D, column, source, WEIGHT_MAX, weight_out);
      bias[column] = p->has_bias ? weight_of(params[p->bias + row * (size_t)p->bias_stride], WEIGHT_MAX) : 0;
    }
  }
}

sparc_status PUBLIC(sparc_prepare)(const sparc_cell *cell, const real *params, real *prepared) {
  if (!cell || !params || !prepared)
    return fail(SPARC_INVALID, "%s is NULL", !cell ? "cell" : !params ? "params" : "prepared");
  sparc_status status = check_finite(cell, params);
  if (status != SPARC_OK) return status;
  const TYPED(cell_ops) *ops = TYPED(ops_of)(cell);
  if (ops->affine) {
    copy_projections(cell, params, prepared);
    ops->affine->derive(cell, params, prepared + cell->constants);
  } else {
    ops->prepare(cell, params, prepared);
  }
  return SPARC_OK;
}
