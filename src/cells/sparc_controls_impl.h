/* SPDX-License-Identifier: MIT */
/* sparc_controls_impl.h: the controllers of the SPARC cell as parts of affine_ops, in one precision. */
#ifndef SPARC_CELLS_SPARC_CONTROLS_IMPL_H
#define SPARC_CELLS_SPARC_CONTROLS_IMPL_H

#include "cells/cell_impl.h"
#include "cells/sparc.h"

void TYPED(controls_activate)(const sparc_cell *cell, const real *constants, size_t n, const real *x, real *pre,
                              real *shared);
void TYPED(controls_activate_backward)(const sparc_cell *cell, const real *constants, size_t n, const real *pre,
                                       const real *shared, real *dpre, real *dshared, real *dx);
void TYPED(controls_input_backward)(const sparc_cell *cell, const real *constants, size_t n, const real *dshared,
                                    real *dx);
size_t TYPED(controls_weight_parts)(const sparc_cell *cell);
void TYPED(controls_weight_gradient)(const sparc_cell *cell, size_t part, size_t n, const real *x, const real *pre,
                                     const real *dpre, const real *dshared, const real *dy, real *dparams);

/* hidden_drivers makes of the drivers by_r and by_p of the two controllers (state) those of the hidden layer's rows and
 * biases and of the controllers' weights (hidden, state each) */
void TYPED(hidden_drivers)(const sparc_cell *cell, const real *constants, const real *pre, const real *by_r,
                           const real *by_p, real *rows, real *biases, real *of_r, real *of_p);

#endif
