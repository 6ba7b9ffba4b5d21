/* SPDX-License-Identifier: MIT */
/* affine_impl.h: the engine of the diagonal affine cells, which fills their cell_ops from their affine_ops: prepared
 * weights, steps, sequences. RTRL (src/rtrl) continues from the tape that a step leaves. */
#ifndef SPARC_CELLS_AFFINE_AFFINE_IMPL_H
#define SPARC_CELLS_AFFINE_AFFINE_IMPL_H

#include "cells/cell_impl.h"

/* ---- the operations of a cell -------------------------------------------------------------------- */

void TYPED(affine_prepare)(const sparc_cell *cell, const real *params, real *prepared);
void TYPED(affine_step_streams)(const sparc_cell *cell, const real *prepared, size_t n, real *states, const real *x,
                                const real *masks, real *y, real *tapes);
size_t TYPED(affine_saved_count)(const sparc_plan *plan);
size_t TYPED(affine_work_count)(const sparc_plan *plan);
void TYPED(affine_forward)(const sparc_plan *plan, const real *prepared, const TYPED(sequence_call) * call);
void TYPED(affine_backward)(const sparc_plan *plan, const real *prepared, const TYPED(sequence_call) * call);

/* the cell_ops of a cell whose arithmetic is the given affine_ops */
#define AFFINE_CELL_OPS(arithmetic)                                                                                 \
  {                                                                                                                 \
    .prepare = TYPED(affine_prepare), .step = TYPED(affine_step_streams), .saved_count = TYPED(affine_saved_count), \
    .work_count = TYPED(affine_work_count), .forward = TYPED(affine_forward),                                       \
    .backward = LEARNING(TYPED(affine_backward)), .affine = &(arithmetic)                                           \
  }

/* ---- prepared weights ---------------------------------------------------------------------------- */

/* The projection as K x N for tokens (the layout of products), the biases, the projection as N x K for the input
 * gradient, then the cell's constants. Both lie in panels. */
typedef struct TYPED(prepared_view) {
  const real *weight_in;  /* (D, projected) */
  const real *bias;       /* (projected) */
  const real *weight_out; /* (projected, D) */
  const real *constants;
} TYPED(prepared_view);

static inline TYPED(prepared_view) TYPED(view_prepared)(const sparc_cell *cell, const real *prepared) {
  size_t matrix = round_elements((size_t)cell->D * (size_t)cell->projected);
  size_t bias = round_elements((size_t)cell->projected);
  return (TYPED(prepared_view)){prepared, prepared + matrix, prepared + matrix + bias, prepared + cell->constants};
}

/* ---- one step ------------------------------------------------------------------------------------ */

/* whether a step also leaves what drives the traces: one pass makes both for less than two do */
typedef enum step_extent { STEP_ALONE, STEP_AND_DRIVERS } step_extent;

/* the arrays of a tape, see tape_layout */
typedef struct TYPED(tape_view) {
  real *x, *mask, *pre, *shared, *kept, *a, *b, *state, *outer, *scalar, *dstate, *dpre, *dshared, *dinput, *weights;
} TYPED(tape_view);

TYPED(tape_view) TYPED(view_tape)(const sparc_cell *cell, real *tape);

/* adds what the step that filled the tape did */
void TYPED(tape_activity)(const sparc_cell *cell, const real *prepared, real *tape, cell_activity *sums);

/* projected columns of n inputs x (n, D); pre (n, ...) has rows pre_stride apart. The bits of a row do not depend on
 * n. */
void TYPED(project_inputs)(const sparc_cell *cell, const real *prepared, size_t n, const real *x, real *pre,
                           size_t pre_stride);

/* affine_step after its projection, which is on the tape already */
void TYPED(finish_step)(const sparc_cell *cell, const real *prepared, real *state, const real *x, real mask, real *y,
                        step_extent extent, const TYPED(tape_view) * tape);

/* fills x, mask, pre, shared, kept, a, b and state of the tape, with drivers outer and scalar too, and moves the
 * state */
void TYPED(affine_step)(const sparc_cell *cell, const real *prepared, real *state, const real *x, real mask, real *y,
                        step_extent extent, const TYPED(tape_view) * tape);

/* ---- fused loops ----------------------------------------------------------------------------------- */

/* those that serve a cell with these constants, or NULL */
static inline const TYPED(fused_ops) * TYPED(fused_of)(const sparc_cell *cell, const real *constants) {
  const TYPED(affine_ops) *ops = TYPED(ops_of)(cell)->affine;
  return ops->fused ? ops->fused(cell, constants) : NULL;
}

#endif
