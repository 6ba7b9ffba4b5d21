/* SPDX-License-Identifier: MIT */
/* step_impl.h: what the calls that take one step share. */
#ifndef SPARC_SEQ_STEP_IMPL_H
#define SPARC_SEQ_STEP_IMPL_H

#include "cells/cell_impl.h"
#include "seq/step_f64.h"

/* what every one-step call requires of its arguments */
sparc_status TYPED(check_step)(const sparc_cell *cell, const real *prepared, const real *state, const real *x,
                               real mask, const real *tape);

#endif
