/* SPDX-License-Identifier: MIT */
/* step.c: one input of an affine cell. The same stages as a whole sequence, for a single token; of many
 * streams, the weights are read once for all inputs, and after the projection the streams are independent. */
#include "cells/affine/affine_impl.h"
#include "kernels/gemm_impl.h"

#include <string.h>

TYPED(tape_view) TYPED(view_tape)(const sparc_cell *cell, real *tape) {
  const tape_layout at = cell->tape;
  return (TYPED(tape_view)){.x = tape + at.x,
                            .mask = tape + at.mask,
                            .pre = tape + at.pre,
                            .shared = tape + at.shared,
                            .kept = tape + at.kept,
                            .a = tape + at.a,
                            .b = tape + at.b,
                            .state = tape + at.state,
                            .outer = tape + at.outer,
                            .scalar = tape + at.scalar,
                            .dstate = tape + at.dstate,
                            .dpre = tape + at.dpre,
                            .dshared = tape + at.dshared,
                            .dinput = tape + at.dinput,
                            .weights = tape + at.weights};
}

void TYPED(tape_activity)(const sparc_cell *cell, const real *prepared, real *tape, cell_activity *sums) {
  const TYPED(affine_ops) *ops = cell->parts ? TYPED(ops_of)(cell)->affine : NULL;
  if (!ops || !ops->activity) return;
  const TYPED(tape_view) view = TYPED(view_tape)(cell, tape);
  const TYPED(token) token = {view.pre, view.shared, *view.mask, view.x};
  ops->activity(cell, prepared + cell->constants, &token, sums);
}

void TYPED(project_inputs)(const sparc_cell *cell, const real *prepared, size_t n, const real *x, real *pre,
                           size_t pre_stride) {
  const TYPED(prepared_view) weights = TYPED(view_prepared)(cell, prepared);
  const size_t D = (size_t)cell->D, N = (size_t)cell->projected;
  project_tokens(cell->kernels, PREPARED, n, D, N, x, D, weights.weight_in, weights.bias, pre, pre_stride);
}

/* a_t and b_t of all modes, as rows of the state's layout */
static void gather_coefficients(const sparc_cell *cell, const TYPED(affine_ops) * ops, const real *constants,
                                const TYPED(token) * token, real *a, real *b) {
  const size_t H = (size_t)cell->H;
  for (int first = 0; first < cell->H; first += MODE_TILE) {
    const int n = cell->H - first < MODE_TILE ? cell->H - first : MODE_TILE;
    const size_t bytes = (size_t)n * sizeof(real);
    TYPED(coefficients) c;
    ops->coefficients(cell, constants, token, first, n, &c);
    memcpy(a + first, c.a_re, bytes);
    memcpy(b + first, c.b_re, bytes);
    if (cell->parts == 1) continue;
    memcpy(a + H + (size_t)first, c.a_im, bytes);
    memcpy(b + H + (size_t)first, c.b_im, bytes);
  }
}

/* what the token on the tape does to the modes; fused loops make coefficients and drivers in one pass */
static void fill_coefficients(const sparc_cell *cell, const real *constants, step_extent extent,
                              const TYPED(tape_view) * tape) {
  const TYPED(affine_ops) *ops = TYPED(ops_of)(cell)->affine;
  const TYPED(fused_ops) *fused = TYPED(fused_of)(cell, constants);
  const TYPED(token) token = {tape->pre, tape->shared, *tape->mask, tape->x};
  real *a = tape->a, *b = tape->b;
  const bool drivers = extent == STEP_AND_DRIVERS;
  if (drivers && fused && fused->drivers) {
    fused->drivers(cell, constants, &token, tape->kept, a, b, tape->outer, tape->scalar);
    return;
  }
  if (fused && fused->coefficients)
    fused->coefficients(cell, constants, &token, tape->kept, a, b);
  else
    gather_coefficients(cell, ops, constants, &token, a, b);
  if (drivers) ops->drivers(cell, constants, &token, tape->kept, a, b, tape->outer, tape->scalar);
}

/* h = a (m h) + b; kept is m h */
static void advance_state(const sparc_cell *cell, const real *restrict a, const real *restrict b,
                          const real *restrict kept, real *restrict state) {
  const size_t H = (size_t)cell->H;
  if (cell->parts == 1) {
    for (size_t j = 0; j < H; j++) state[j] = a[j] * kept[j] + b[j];
    return;
  }
  for (size_t j = 0; j < H; j++) {
    state[j] = a[j] * kept[j] - a[H + j] * kept[H + j] + b[j];
    state[H + j] = a[j] * kept[H + j] + a[H + j] * kept[j] + b[H + j];
  }
}

void TYPED(finish_step)(const sparc_cell *cell, const real *prepared, real *state, const real *x, real mask, real *y,
                        step_extent extent, const TYPED(tape_view) * tape) {
  const TYPED(affine_ops) *ops = TYPED(ops_of)(cell)->affine;
  const TYPED(prepared_view) weights = TYPED(view_prepared)(cell, prepared);
  const size_t D = (size_t)cell->D, S = cell->sizes.state;

  memcpy(tape->x, x, D * sizeof(real));
  *tape->mask = mask;
  if (ops->activate) ops->activate(cell, weights.constants, 1, x, tape->pre, tape->shared);
  for (size_t i = 0; i < S; i++) tape->kept[i] = mask == 0 ? 0 : state[i];
  fill_coefficients(cell, weights.constants, extent, tape);
  advance_state(cell, tape->a, tape->b, tape->kept, state);
  memcpy(tape->state, state, S * sizeof(real));

  if (!y) return;
  if (ops->output)
    ops->output(cell, weights.constants, 1, state, tape->pre, y);
  else
    memcpy(y, state, S * sizeof(real));
}

void TYPED(affine_step)(const sparc_cell *cell, const real *prepared, real *state, const real *x, real mask, real *y,
                        step_extent extent, const TYPED(tape_view) * tape) {
  TYPED(project_inputs)(cell, prepared, 1, x, tape->pre, 0);
  TYPED(finish_step)(cell, prepared, state, x, mask, y, extent, tape);
}

void TYPED(affine_step_streams)(const sparc_cell *cell, const real *prepared, size_t n, real *states, const real *x,
                                const real *masks, real *y, real *tapes) {
  const size_t D = (size_t)cell->D, S = cell->sizes.state, O = cell->sizes.output, stride = cell->sizes.tape;
  TYPED(project_inputs)(cell, prepared, n, x, TYPED(view_tape)(cell, tapes).pre, stride);
  for (size_t i = 0; i < n; i++) {
    const TYPED(tape_view) tape = TYPED(view_tape)(cell, tapes + i * stride);
    TYPED(finish_step)
    (cell, prepared, states + i * S, x + i * D, masks ? masks[i] : 1, y ? y + i * O : NULL, STEP_ALONE, &tape);
  }
}
