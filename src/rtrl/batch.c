/* SPDX-License-Identifier: MIT */
/* batch.c: the gradient of a minibatch of past steps from stored sensitivities.
 *
 * An item is one step rebuilt with the parameters of now on the h_{t-1} and Z_{t-1} of then. With g the cotangent of
 * its state, its gradient is the contraction of g with Z_t = m a Z_{t-1} + R_t:
 *
 *   Re(conj(g) R_t)              the gradient of a single step whose carried state is a constant
 *   Re(conj(m conj(a) g) Z_{t-1})
 *
 * The first is a backward pass over the items as tokens, which also gives m conj(a) g, the cotangent of the carried
 * state: products have n rows instead of one. The second reads every trace once (traces.c).
 */
#include "base/error.h"
#include "base/threads.h"
#include "cells/affine/tokens_impl.h"
#include "rtrl/batch_impl.h"

#include <string.h>

typedef TYPED(item_batch) item_batch;

/* items of a tile: a multiple of what a product takes at once */
enum { ITEM_TILE = 12 };

/* ---- items as tokens ----------------------------------------------------------------------------- */

item_batch TYPED(open_item_batch)(arena *a, const sparc_cell *cell, size_t n) {
  const size_t S = cell->sizes.state, pre = (size_t)cell->pre, shared = (size_t)cell->shared;
  const size_t sums = (size_t)cell->sums * (size_t)cell->H;
  item_batch b = {.cell = cell, .n = n};
  b.y = arena_take(a, n * S, sizeof(real));
  b.x = arena_take(a, n * (size_t)cell->D, sizeof(real));
  b.pre = arena_take(a, n * pre, sizeof(real));
  b.shared = arena_take(a, n * shared, sizeof(real));
  if (TYPED(ops_of)(cell)->affine->output_backward) {
    b.states = arena_take(a, n * S, sizeof(real));
    b.dstates = arena_take(a, n * S, sizeof(real));
  }
  b.dpre = arena_take(a, n * pre, sizeof(real));
  b.dshared = arena_take(a, n * shared, sizeof(real));
  b.sum_partials = arena_take(a, tiles_of(n, ITEM_TILE) * sums, sizeof(double));
  b.sums = arena_take(a, sums, sizeof(double));
  return b;
}

static TYPED(tape_view) tape_of(const item_batch *b, size_t i) {
  return TYPED(view_tape)(b->cell, b->tapes + i * b->cell->sizes.tape);
}

bool TYPED(item_has_past)(const item_batch *b, size_t i) { return *tape_of(b, i).mask != 0; }

static TYPED(token_block) block_of(const item_batch *b) {
  return (TYPED(token_block)){.cell = b->cell,
                              .weights = b->weights,
                              .n = b->n,
                              .x = b->x,
                              .pre = b->pre,
                              .shared = b->shared,
                              .dy = b->dy,
                              .dpre = b->dpre,
                              .dshared = b->dshared,
                              .dx = b->dx,
                              .dx_started = b->cell->direct_input};
}

/* what the tapes hold, as rows */
static void gather(const item_batch *b, range items) {
  const sparc_cell *cell = b->cell;
  const size_t D = (size_t)cell->D, S = cell->sizes.state, pre = (size_t)cell->pre, shared = (size_t)cell->shared;
  for (size_t i = items.first; i < items.first + items.n; i++) {
    const TYPED(tape_view) tape = tape_of(b, i);
    memcpy(b->x + i * D, tape.x, D * sizeof(real));
    memcpy(b->pre + i * pre, tape.pre, pre * sizeof(real));
    memcpy(b->shared + i * shared, tape.shared, shared * sizeof(real));
    if (b->states) memcpy(b->states + i * S, tape.state, S * sizeof(real));
  }
}

/* through the readout; the cotangents (n, S) of the states */
static const real *state_gradients(const item_batch *b, range items) {
  const sparc_cell *cell = b->cell;
  const TYPED(affine_ops) *ops = TYPED(ops_of)(cell)->affine;
  const size_t S = cell->sizes.state, O = cell->sizes.output, pre = (size_t)cell->pre;
  if (!ops->output_backward) return b->dy;
  ops->output_backward(cell, b->weights.constants, items.n, b->states + items.first * S, b->pre + items.first * pre,
                       b->dy + items.first * O, b->dstates + items.first * S, b->dpre + items.first * pre);
  return b->dstates;
}

static void backward_tile(void *context, size_t tile) {
  const item_batch *b = context;
  const sparc_cell *cell = b->cell;
  const range items = range_of(b->n, ITEM_TILE, tile);
  const size_t D = (size_t)cell->D, S = cell->sizes.state, width = (size_t)cell->sums * (size_t)cell->H;
  const TYPED(token_block) block = block_of(b);
  double *sums = b->sum_partials + tile * width;
  memset(sums, 0, width * sizeof(double));
  gather(b, items);
  const real *dstates = state_gradients(b, items);
  for (size_t i = items.first; i < items.first + items.n; i++) {
    const TYPED(tape_view) tape = tape_of(b, i);
    TYPED(adjoint_step)
    (cell, b->weights.constants, &tape,
     &(TYPED(step_cotangents)){.dstate = dstates + i * S,
                               .dpre = b->dpre + i * (size_t)cell->pre,
                               .dshared = b->dshared + i * (size_t)cell->shared,
                               .dx = b->dx ? b->dx + i * D : tape.dinput,
                               .dcarried = b->y + i * S,
                               .sums = sums});
  }
  TYPED(tokens_backward)(&block, items);
}

/* the sums of the modes, then products with all items */
static void gradient_part(void *context, size_t part) {
  const item_batch *b = context;
  const TYPED(token_block) block = block_of(b);
  if (part > 0)
    TYPED(tokens_gradient)(&block, part - 1, b->dparams);
  else
    TYPED(modes_gradient)
  (b->cell, b->weights.constants, tiles_of(b->n, ITEM_TILE), b->sum_partials, b->sums, b->dparams);
}

void TYPED(item_gradients)(item_batch *batch, int threads) {
  parallel_for(threads, tiles_of(batch->n, ITEM_TILE), backward_tile, batch);
  parallel_for(threads, TYPED(tokens_gradient_parts)(batch->cell, 1) + 1, gradient_part, batch);
}

/* ---- the call ------------------------------------------------------------------------------------ */

size_t TYPED(batch_work_size)(const sparc_cell *cell, int n) {
  if (!cell || cell->sizes.trace == 0 || n < 1) return 0;
  arena a = arena_measure();
  (void)TYPED(open_item_batch)(&a, cell, (size_t)n);
  (void)TYPED(open_trace_batch)(&a, cell, (size_t)n);
  return TYPED(work_elements)(&a);
}

sparc_status PUBLIC(sparc_rtrl_batch_gradient)(const sparc_cell *cell, const real *prepared, int n,
                                               const real *const *traces, real *tapes, const real *dy, real *dparams,
                                               real *dx, real *dstates, real *work, int threads) {
  const struct {
    const void *pointer;
    const char *name;
  } needed[] = {{cell, "cell"}, {prepared, "prepared"}, {traces, "traces"}, {tapes, "tapes"},
                {dy, "dy"},     {dparams, "dparams"},   {work, "work"}};
  for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
    if (!needed[i].pointer) return fail(SPARC_INVALID, "%s is NULL", needed[i].name);
  sparc_status status = TYPED(check_rtrl)(cell, tapes);
  if (status != SPARC_OK) return status;
  if (n < 1) return fail(SPARC_INVALID, "n is %d, expected at least one item", n);
  arena a = TYPED(work_arena)(work);
  item_batch items = TYPED(open_item_batch)(&a, cell, (size_t)n);
  TYPED(trace_batch) past = TYPED(open_trace_batch)(&a, cell, (size_t)n);
  items.weights = TYPED(view_prepared)(cell, prepared);
  items.tapes = tapes;
  items.dy = dy;
  items.dparams = dparams;
  items.dx = dx;
  TYPED(item_gradients)(&items, threads);
  for (size_t i = 0; i < (size_t)n; i++)
    if (traces[i] && TYPED(item_has_past)(&items, i))
      TYPED(add_trace)(&past, items.weights.constants, traces[i], items.y + i * cell->sizes.state);
  TYPED(contract_traces)(&past, dparams, threads);
  if (dstates) memcpy(dstates, items.y, (size_t)n * cell->sizes.state * sizeof(real));
  return SPARC_OK;
}
