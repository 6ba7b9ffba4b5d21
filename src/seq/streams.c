/* SPDX-License-Identifier: MIT */
/* streams.c: one input for each of many streams.
 *
 * The weights are read once for a tile of streams instead of once per stream; behind the projection every stream goes
 * the way of a single step. Both sum in the same order, so both give the same bits, and tiles of any thread do.
 */
#include "base/error.h"
#include "base/threads.h"
#include "seq/step_impl.h"

/* streams of a tile: a multiple of what the projection takes at once, with a tape that stays in the second cache */
enum { STREAM_TILE = 12 };

typedef struct streams {
  const sparc_cell *cell;
  const real *prepared;
  size_t n;
  real *states;
  const real *x, *masks;
  real *y, *tapes;
} streams;

static real mask_of(const streams *s, size_t i) { return s->masks ? s->masks[i] : 1; }
static real *output_of(const streams *s, size_t i) { return s->y ? s->y + i * s->cell->sizes.output : NULL; }

static void step_tile(void *context, size_t tile) {
  const streams *s = context;
  const sparc_cell *cell = s->cell;
  const TYPED(cell_ops) *ops = TYPED(ops_of)(cell);
  const size_t D = (size_t)cell->D, S = cell->sizes.state, stride = cell->sizes.tape;
  const size_t first = tile * STREAM_TILE, n = s->n - first < STREAM_TILE ? s->n - first : STREAM_TILE;
  if (ops->affine) {
    const TYPED(tape_view) view = TYPED(view_tape)(cell, s->tapes + first * stride);
    TYPED(project_inputs)(cell, s->prepared, n, s->x + first * D, view.pre, stride);
  }
  for (size_t i = first; i < first + n; i++) {
    real *tape = s->tapes + i * stride;
    if (ops->affine) {
      const TYPED(tape_view) view = TYPED(view_tape)(cell, tape);
      TYPED(finish_step)
      (cell, s->prepared, s->states + i * S, s->x + i * D, mask_of(s, i), output_of(s, i), STEP_ALONE, &view);
    } else {
      ops->step(cell, s->prepared, s->states + i * S, s->x + i * D, mask_of(s, i), output_of(s, i), tape);
    }
  }
}

sparc_status PUBLIC(sparc_step_streams)(const sparc_cell *cell, const real *prepared, int n, real *states,
                                        const real *x, const real *masks, real *y, real *tapes, int threads) {
  sparc_status status = TYPED(check_step)(cell, prepared, states, x, 1, tapes);
  if (status != SPARC_OK) return status;
  if (n < 1) return fail(SPARC_INVALID, "n is %d, expected at least one stream", n);
  for (int i = 0; i < n && masks; i++)
    if (masks[i] != 0 && masks[i] != 1)
      return fail(SPARC_INVALID, "mask of stream %d is %g, expected 0 or 1", i, (double)masks[i]);
  streams s = {cell, prepared, (size_t)n, states, x, masks, y, tapes};
  parallel_for(thread_count(threads), ((size_t)n + STREAM_TILE - 1) / STREAM_TILE, step_tile, &s);
  return SPARC_OK;
}
