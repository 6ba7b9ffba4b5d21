/* SPDX-License-Identifier: MIT */
/* step_impl.h: one step of a diagonal affine cell, which leaves on its tape what the RTRL step goes on from. */
#ifndef SPARC_SEQ_STEP_IMPL_H
#define SPARC_SEQ_STEP_IMPL_H

#include "cells/cell_impl.h"
#include "sparc/double.h"

/* whether a step also leaves what drives the traces: one pass makes both for less than two do */
typedef enum step_extent { STEP_ALONE, STEP_AND_DRIVERS } step_extent;

/* the arrays of a tape, see tape_layout */
typedef struct TYPED(tape_view) {
  real *x, *mask, *pre, *shared, *kept, *a, *b, *state, *outer, *scalar, *dstate, *dpre, *dshared, *dinput, *weights;
} TYPED(tape_view);

TYPED(tape_view) TYPED(view_tape)(const sparc_cell *cell, real *tape);

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

/* what every one-step call requires of its arguments */
sparc_status TYPED(check_step)(const sparc_cell *cell, const real *prepared, const real *state, const real *x,
                               real mask, const real *tape);

#endif
