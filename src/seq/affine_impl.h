/* SPDX-License-Identifier: MIT */
/* affine_impl.h: whole-sequence forward and adjoint of diagonal affine cells. */
#ifndef SPARC_SEQ_AFFINE_IMPL_H
#define SPARC_SEQ_AFFINE_IMPL_H

#include "cells/cell_impl.h"
#include "seq/plan.h"
#include "sparc/double.h"

#ifdef SPARC_DOUBLE
typedef sparc_sequence_f64 TYPED(sequence);
typedef sparc_sequence_gradient_f64 TYPED(sequence_gradient);
#else
typedef sparc_sequence TYPED(sequence);
typedef sparc_sequence_gradient TYPED(sequence_gradient);
#endif

size_t TYPED(affine_saved_bytes)(const sparc_plan *plan);
size_t TYPED(affine_work_bytes)(const sparc_plan *plan);
void TYPED(affine_forward)(const sparc_plan *plan, const real *prepared, const TYPED(sequence) * sequence, void *saved,
                           void *work);
void TYPED(affine_backward)(const sparc_plan *plan, const real *prepared, const TYPED(sequence) * sequence,
                            const void *saved, const TYPED(sequence_gradient) * gradient, void *work);

/* The cell's scan_adjoint over a span of any length, a block of steps at a time: sums run in real over a block and in
 * double over blocks, so their rounding error does not grow with the span. sums (sums, H) are added to. False: the
 * cell has no such path, and nothing was written. */
bool TYPED(adjoint_span)(const sparc_cell *cell, const real *constants, const TYPED(span) * span, const real *before,
                         const real *states, const real *dstates, real *g, real *dpre, real *dshared, double *sums);

#endif
