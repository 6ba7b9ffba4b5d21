/* SPDX-License-Identifier: MIT */
/* prepare.c: from parameters to what the kernels read: weights in both orders and derived constants. */
#include "base/error.h"
#include "cells/cell_impl.h"
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

/* the rows of all projections, as K x N, as N x K, and their biases */
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
      for (size_t d = 0; d < D; d++)
        weight_in[d * N + column] = weight_out[column * D + d] = (real)bounded((double)source[d], WEIGHT_MAX);
      bias[column] =
          p->has_bias ? (real)bounded((double)params[p->bias + row * (size_t)p->bias_stride], WEIGHT_MAX) : 0;
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
