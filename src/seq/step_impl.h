/* SPDX-License-Identifier: MIT */
/* step_impl.h: one step of a diagonal affine cell, which leaves on its tape what the RTRL step goes on from. */
#ifndef SPARC_SEQ_STEP_IMPL_H
#define SPARC_SEQ_STEP_IMPL_H

#include "cells/cell_impl.h"
#include "sparc/double.h"

/* the arrays of a tape, see tape_layout */
typedef struct TYPED(tape_view) {
  real *x, *mask, *pre, *shared, *kept, *a, *b, *state, *outer, *scalar, *dstate, *dpre, *dshared, *dinput, *weights;
} TYPED(tape_view);

TYPED(tape_view) TYPED(view_tape)(const sparc_cell *cell, real *tape);

/* fills x, mask, pre, shared, kept, a, b and state of the tape and moves the state */
void TYPED(affine_step)(const sparc_cell *cell, const real *prepared, real *state, const real *x, real mask, real *y,
                        const TYPED(tape_view) * tape);

/* what every one-step call requires of its arguments */
sparc_status TYPED(check_step)(const sparc_cell *cell, const real *prepared, const real *state, const real *x,
                               real mask, const real *tape);

#endif
