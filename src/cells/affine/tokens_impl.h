/* SPDX-License-Identifier: MIT */
/* tokens_impl.h: the backward pass over tokens, however they are laid out: the sequences of a plan, one step, the items
 * of a minibatch, the steps of a rollout that a gradient reaches. Two halves: the adjoint of the recurrence over a run
 * of tokens, then the way from the cotangents of pre-activations and controls to the input and the weights. */
#ifndef SPARC_CELLS_AFFINE_TOKENS_IMPL_H
#define SPARC_CELLS_AFFINE_TOKENS_IMPL_H

#include "cells/affine/affine_impl.h"
#include "cells/tiles.h"

/* The cell's adjoint over a span of any length, by its fused loop or, where fused is NULL, by its scalar code. Fused
 * loops get a block of steps at a time: sums run in real over a block and in double over blocks, so their rounding
 * error does not grow with the span. Arguments are those of scan_adjoint, but sums (sums, H) are in double, are added
 * to and may be NULL. Of the states only those before a token of the span are read. */
void TYPED(adjoint_span)(const sparc_cell *cell, const TYPED(fused_ops) * fused, const real *constants,
                         const TYPED(span) * span, const real *before, const real *states, const real *dstates, real *g,
                         real *dpre, real *dshared, double *sums);

/* tokens whose adjoint is known */
typedef struct TYPED(token_block) {
  const sparc_cell *cell;
  TYPED(prepared_view) weights;
  size_t n;           /* tokens */
  const real *x;      /* (n, D) */
  const real *pre;    /* (n, pre) */
  const real *shared; /* (n, shared) */
  const real *dy;     /* (n, O); NULL: these tokens belong to the past, whose gradient is that of traces alone */
  real *dpre;         /* (n, pre) */
  real *dshared;      /* (n, shared) */
  real *dx;           /* (n, D); NULL: not requested */
  bool dx_started;    /* dx is added to; with direct_input it holds the adjoint's part */
  int threads;        /* that share the gradient; 0 counts as 1. The result does not depend on it. */
} TYPED(token_block);

/* some tokens: through the activations, and to dx */
void TYPED(tokens_backward)(const TYPED(token_block) * block, range tokens);
/* its three stages, the last two with dx only: the product for some columns, whole panels of it, and the controls */
void TYPED(tokens_activate_backward)(const TYPED(token_block) * block, range tokens);
void TYPED(tokens_project_backward)(const TYPED(token_block) * block, range tokens, range columns);
void TYPED(tokens_shared_backward)(const TYPED(token_block) * block, range tokens);
/* part `part` of tokens_gradient_parts of the gradient by projections and by what the cell sums itself; parts may run
 * side by side */
size_t TYPED(tokens_gradient_parts)(const sparc_cell *cell, int threads);
void TYPED(tokens_gradient)(const TYPED(token_block) * block, size_t part, real *dparams);
/* the gradient by the parameters of single modes from partial sums (count, sums, H); total (sums, H) is scratch */
void TYPED(modes_gradient)(const sparc_cell *cell, const real *constants, size_t count, const double *partials,
                           double *total, real *dparams);

#endif
