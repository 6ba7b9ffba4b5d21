/* SPDX-License-Identifier: MIT */
/* step.c: one input for one stream, or for each of many.
 *
 * Streams go through a cell's step in tiles, which read the weights once for all of theirs; every stream is summed in
 * the order of a single step, so both calls give the same bits, and tiles of any thread do.
 */
#include "base/error.h"
#include "base/threads.h"
#include "cells/tiles.h"
#include "seq/step_impl.h"

sparc_status TYPED(check_step)(const sparc_cell *cell, const real *prepared, const real *state, const real *x,
                               real mask, const real *tape) {
  if (!cell || !prepared || !state || !x || !tape)
    return fail(SPARC_INVALID, "%s is NULL",
                !cell       ? "cell"
                : !prepared ? "prepared"
                : !state    ? "state"
                : !x        ? "x"
                            : "tape");
  if (mask != 0 && mask != 1) return fail(SPARC_INVALID, "mask is %g, expected 0 or 1", (double)mask);
  return SPARC_OK;
}

sparc_status PUBLIC(sparc_step)(const sparc_cell *cell, const real *prepared, real *state, const real *x, real mask,
                                real *y, real *tape) {
  sparc_status status = TYPED(check_step)(cell, prepared, state, x, mask, tape);
  if (status != SPARC_OK) return status;
  const uint64_t mode = flush_denormals_begin();
  TYPED(ops_of)(cell)->step(cell, prepared, 1, state, x, &mask, y, tape);
  flush_denormals_end(mode);
  return SPARC_OK;
}

/* ---- many streams -------------------------------------------------------------------------------- */

/* streams of a tile: a multiple of what the projection takes at once, with a tape that stays in the second cache; fewer
 * where that leaves a thread without any */
static size_t stream_tile(size_t n, int threads) {
  enum { STREAM_TILE = 12 };
  const size_t share = tiles_of(n, (size_t)threads);
  return share < STREAM_TILE ? share : STREAM_TILE;
}

typedef struct streams {
  const sparc_cell *cell;
  const real *prepared;
  size_t n, tile;
  real *states;
  const real *x, *masks;
  real *y, *tapes;
} streams;

static void step_tile(void *context, size_t tile) {
  const streams *s = context;
  const sparc_cell_sizes *size = &s->cell->sizes;
  const range r = range_of(s->n, s->tile, tile);
  TYPED(ops_of)
  (s->cell)->step(s->cell, s->prepared, r.n, s->states + r.first * size->state, s->x + r.first * (size_t)s->cell->D,
                  s->masks ? s->masks + r.first : NULL, s->y ? s->y + r.first * size->output : NULL,
                  s->tapes + r.first * size->tape);
}

sparc_status PUBLIC(sparc_step_streams)(const sparc_cell *cell, const real *prepared, int n, real *states,
                                        const real *x, const real *masks, real *y, real *tapes, int threads) {
  sparc_status status = TYPED(check_step)(cell, prepared, states, x, 1, tapes);
  if (status != SPARC_OK) return status;
  if (n < 1) return fail(SPARC_INVALID, "n is %d, expected at least one stream", n);
  for (int i = 0; i < n && masks; i++)
    if (masks[i] != 0 && masks[i] != 1)
      return fail(SPARC_INVALID, "mask of stream %d is %g, expected 0 or 1", i, (double)masks[i]);
  const int count = thread_count(threads);
  streams s = {cell, prepared, (size_t)n, stream_tile((size_t)n, count), states, x, masks, y, tapes};
  parallel_for(count, tiles_of(s.n, s.tile), step_tile, &s);
  return SPARC_OK;
}
