/* SPDX-License-Identifier: MIT */
/* prepare.c: the prepared weights of an affine cell: its projections in both orders, and the constants it derives. */
#include "cells/affine/affine_impl.h"

/* the rows of all projections, prepared for products with tokens and with gradients, and their biases */
static void copy_projections(const sparc_cell *cell, const real *params, real *prepared) {
  const size_t D = (size_t)cell->D, N = (size_t)cell->projected;
  const TYPED(prepared_view) view = TYPED(view_prepared)(cell, prepared);
  real *weight_in = prepared, *bias = prepared + (view.bias - prepared);
  real *weight_out = prepared + (view.weight_out - prepared);
  for (int i = 0; i < cell->projections; i++) {
    const projection *p = &cell->project[i];
    const range columns = {(size_t)p->column, (size_t)p->rows};
    TYPED(put_columns)(cell, D, N, columns, params + p->weight, (size_t)p->stride, WEIGHT_MAX, weight_in);
    TYPED(put_rows)(cell, N, D, columns, params + p->weight, (size_t)p->stride, WEIGHT_MAX, weight_out);
    for (size_t row = 0; row < columns.n; row++)
      bias[columns.first + row] =
          p->has_bias ? TYPED(weight_of)(params[p->bias + row * (size_t)p->bias_stride], WEIGHT_MAX) : 0;
  }
}

void TYPED(affine_prepare)(const sparc_cell *cell, const real *params, real *prepared) {
  copy_projections(cell, params, prepared);
  TYPED(ops_of)(cell)->affine->derive(cell, params, prepared + cell->constants);
}
