/* SPDX-License-Identifier: MIT */
#include "base/threads.h"
#include "cells/affine/tokens_impl.h"
#include "cells/tiles.h"
#include "kernels/kernels.h"
#include "rtrl/columns_impl.h"

#include <string.h>

typedef TYPED(grouping) grouping;
typedef TYPED(column_batch) column_batch;

/* the rows before those of the symbols */
enum { CARRIED, OWN, SYMBOLS };

size_t TYPED(column_trace_size)(const sparc_cell *cell, int symbols) {
  return (SYMBOLS + (size_t)symbols * (size_t)cell->columns) * (size_t)cell->H;
}

/* ---- one step ---------------------------------------------------------------------------------------- */

/* after = m a before + weight c, `rows` rows of H; nothing passes the start of a segment, finite or not */
static void advance_rows(const sparc_cell *cell, const TYPED(tape_view) * tape, size_t rows, real weight,
                         const real *restrict c, const real *restrict before, real *restrict after) {
  const size_t H = (size_t)cell->H;
  const real *restrict a = tape->a;
  if (*tape->mask == 0) {
    for (size_t i = 0; i < rows * H; i++) after[i] = weight * c[i];
    return;
  }
  for (size_t row = 0; row < rows; row++, c += H, before += H, after += H)
    for (size_t j = 0; j < H; j++) after[j] = a[j] * before[j] + weight * c[j];
}

/* the weight of a corner in x */
static real corner_weight(size_t D, const real *x, size_t corner) {
  if (corner < D) return x[corner];
  double rest = 1;
  for (size_t d = 0; d < D; d++) rest -= (double)x[d];
  return (real)rest;
}

void TYPED(column_trace_step)(const sparc_cell *cell, const real *prepared, real *tape, int symbols, int symbol,
                              const real *before, real *after) {
  const size_t D = (size_t)cell->D, H = (size_t)cell->H, rows = (size_t)cell->columns;
  const TYPED(tape_view) view = TYPED(view_tape)(cell, tape);
  const TYPED(token) token = {view.pre, view.shared, *view.mask, view.x};
  real *own = view.scalar, *c = own + H;
  TYPED(ops_of)(cell)->affine->column_drivers(cell, prepared + cell->constants, &token, view.kept, own);
  advance_rows(cell, &view, 1, 0, own, before, after);
  advance_rows(cell, &view, 1, 1, own, before + OWN * H, after + OWN * H);
  for (size_t v = 0; v < (size_t)symbols; v++) {
    const size_t at = (SYMBOLS + v * rows) * H;
    const real weight = symbol < 0 ? corner_weight(D, view.x, v) : (real)(v == (size_t)symbol);
    advance_rows(cell, &view, rows, weight, c, before + at, after + at);
  }
}

/* ---- the trace of a grouped one --------------------------------------------------------------------------------- */

/* the rows of a trace += c x^T; a corner has one entry */
static void add_outer(const sparc_cell *cell, const real *outer, const real *x, real *trace) {
  const size_t D = (size_t)cell->D, H = (size_t)cell->H, slots = (size_t)cell->outer;
  size_t first = 0, end = D;
  while (first < end && x[first] == 0) first++;
  while (end > first && x[end - 1] == 0) end--;
  for (size_t j = 0; j < H; j++)
    for (size_t slot = 0; slot < slots; slot++)
      for (size_t d = first; d < end; d++) trace[(j * slots + slot) * D + d] += outer[slot * H + j] * x[d];
}

void TYPED(column_trace_expand)(const sparc_cell *cell, const grouping *g, const real *grouped, real *tape,
                                real *trace) {
  const size_t D = (size_t)cell->D, H = (size_t)cell->H, rows = (size_t)cell->columns, scalars = (size_t)cell->scalar;
  const TYPED(tape_view) scratch = TYPED(view_tape)(cell, tape);
  real *numbers = TYPED(scalar_traces)(cell, trace), *none = scratch.dstate;
  memset(trace, 0, cell->sizes.trace * sizeof(real));
  memset(none, 0, H * sizeof(real));
  for (size_t v = 0; v < (size_t)g->symbols; v++) {
    const TYPED(token) token = {.pre = g->pre + v * (size_t)cell->pre, .mask = 1, .x = g->inputs + v * D};
    TYPED(ops_of)
    (cell)->affine->spread_columns(cell, g->prepared + cell->constants, &token, v == 0 ? grouped + OWN * H : none,
                                   grouped + (SYMBOLS + v * rows) * H, scratch.outer, scratch.scalar);
    add_outer(cell, scratch.outer, token.x, trace);
    for (size_t i = 0; i < scalars * H; i++) numbers[i] += scratch.scalar[i];
  }
}

/* ---- the gradient of a minibatch ------------------------------------------------------------------------- */

/* rows that are contracted together: their sums stay in the first-level cache while all items pass */
enum { ROWS = 16 };

static size_t rows_of(const column_batch *b) { return 1 + (size_t)b->grouping->symbols * (size_t)b->cell->columns; }

void TYPED(open_column_batch)(arena *a, const sparc_cell *cell, int symbols, column_batch *batch) {
  const size_t H = (size_t)cell->H;
  batch->sums = arena_take(a, (1 + (size_t)symbols * (size_t)cell->columns) * H, sizeof(real));
  batch->mode_sums = arena_take(a, 2 * (size_t)cell->sums * H, sizeof(double));
}

/* out (rows, H) += the sum over items of y times the rows of their traces from `at` on */
static void contract_rows(const column_batch *b, size_t at, size_t rows, real *restrict out) {
  const size_t H = (size_t)b->cell->H;
#ifndef SPARC_DOUBLE
  if (b->cell->kernels->rtrl.contract_vectors) {
    b->cell->kernels->rtrl.contract_vectors(&(vector_rows){
        .H = H, .rows = rows, .items = b->n, .item = b->item, .z = b->traces, .at = at, .y = b->y, .out = out});
    return;
  }
#endif
  for (size_t k = 0; k < b->n; k++) {
    const real *restrict y = b->y + b->item[k] * H, *restrict z = b->traces[b->item[k]] + at;
    for (size_t i = 0; i < rows * H; i += H)
      for (size_t j = 0; j < H; j++) out[i + j] += y[j] * z[i + j];
  }
}

static void contract_tile(void *context, size_t tile) {
  const column_batch *b = context;
  const size_t H = (size_t)b->cell->H;
  const range rows = range_of(rows_of(b), ROWS, tile);
  real *sums = b->sums + rows.first * H;
  memset(sums, 0, rows.n * H * sizeof(real));
  contract_rows(b, (OWN + rows.first) * H, rows.n, sums);
}

static TYPED(token_block) block_of(const column_batch *b) {
  return (TYPED(token_block)){.cell = b->cell,
                              .weights = TYPED(view_prepared)(b->cell, b->grouping->prepared),
                              .n = (size_t)b->grouping->symbols,
                              .x = b->grouping->inputs,
                              .pre = b->grouping->pre,
                              .dpre = b->sums + (size_t)b->cell->H,
                              .dx = b->dinputs,
                              .dx_started = true};
}

/* the sums of the modes */
static void modes_gradient(const column_batch *b) {
  const sparc_cell *cell = b->cell;
  const size_t H = (size_t)cell->H, count = (size_t)cell->sums, pre = (size_t)cell->pre;
  const TYPED(token_block) block = block_of(b);
  memset(b->mode_sums, 0, count * H * sizeof(double));
  TYPED(ordered_sum)(b->mode_sums, b->sums, 1, 0, H);
  for (size_t s = 1; s < count; s++) TYPED(ordered_sum)(b->mode_sums + s * H, block.dpre + s * H, block.n, pre, H);
  TYPED(modes_gradient)
  (cell, block.weights.constants, 1, b->mode_sums, b->mode_sums + count * H, b->dparams);
}

static void gradient_part(void *context, size_t part) {
  const column_batch *b = context;
  const TYPED(token_block) block = block_of(b);
  TYPED(tokens_gradient)(&block, part, b->dparams);
}

void TYPED(contract_columns)(column_batch *b, int threads) {
  parallel_for(threads, tiles_of(rows_of(b), ROWS), contract_tile, b);
  modes_gradient(b);
  const TYPED(token_block) block = block_of(b);
  TYPED(tokens_backward)(&block, (range){0, block.n});
  parallel_for(threads, TYPED(tokens_gradient_parts)(b->cell, 1), gradient_part, b);
}
