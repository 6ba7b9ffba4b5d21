/* SPDX-License-Identifier: MIT */
/* fused.c: the fused kernels alone: from pre-activations and controls to states, and their adjoint.
 *
 * This is what a cell's fast path does between the matrix products: content activation, coefficients, normalisation,
 * gate and recurrence in one sweep, and all per-mode gradients in the sweep back. It goes through the cell's table of
 * operations, so any cell with such a path can be measured. Streams, or runs of modes when there are fewer streams
 * than threads, are shared by a team; rows are token-major, as everywhere.
 */
#include "base/error.h"
#include "base/memory.h"
#include "bench/bench_cell.h"
#include "cells/affine/tokens_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct fused {
  bench_cell cell;
  const affine_ops_f32 *ops;
  const fused_ops_f32 *loops;
  const float *constants;
  int B, T, H;
  size_t S, pre_width, shared_width, sums_width;
  int width, tiles; /* modes of a tile, tiles of a stream */
  int piece_T;
  float *pre, *shared, *states, *dstates; /* (B, T, ...) */
  float *dpre, *dshared;                  /* the latter (tiles, B, T, shared) */
  float *h, *g;                           /* (B, S), tile by tile */
  double *sums;                           /* (B, sums, H) */
  void *memory;
} fused;

/* the width of the input only matters to the check */
enum { CHECK_D = 3 };

/* ---- pieces ------------------------------------------------------------------------------------- */

typedef struct part {
  size_t b, at; /* stream, and the first token of the piece in it */
  int tile;
  span_f32 span;
} part;

static part part_of(const fused *f, size_t piece, int job) {
  const int b = job / f->tiles, tile = job % f->tiles, first = tile * f->width;
  const int from = (int)piece * f->piece_T, to = from + f->piece_T < f->T ? from + f->piece_T : f->T;
  const size_t at = (size_t)b * (size_t)f->T + (size_t)from;
  return (part){.b = (size_t)b,
                .at = at,
                .tile = tile,
                .span = {.first = (size_t)first,
                         .n = (size_t)(first + f->width < f->H ? f->width : f->H - first),
                         .tokens = (size_t)(to - from),
                         .pre = f->pre + at * f->pre_width,
                         .shared = f->shared + at * f->shared_width,
                         .earlier = (size_t)from}};
}

/* the tile's own row of h or g: (parts, n) */
static float *carried(const fused *f, float *rows, const part *p) {
  return rows + p->b * f->S + p->span.first * (f->S / (size_t)f->H);
}

static void forward_piece(void *context, size_t piece, int thread, int threads) {
  const fused *f = context;
  for (int job = thread; job < f->B * f->tiles; job += threads) {
    const part p = part_of(f, piece, job);
    f->loops->scan(f->cell.cell, f->constants, &p.span, carried(f, f->h, &p), f->states + p.at * f->S);
  }
}

static void backward_piece(void *context, size_t piece, int thread, int threads) {
  const fused *f = context;
  const size_t tokens = (size_t)f->B * (size_t)f->T, parts = f->S / (size_t)f->H;
  for (int job = thread; job < f->B * f->tiles; job += threads) {
    const part p = part_of(f, piece, job);
    float before[2 * WIDE_TILE] = {0};
    for (size_t k = 0; piece > 0 && k < parts; k++)
      memcpy(before + k * p.span.n, f->states + (p.at - 1) * f->S + k * (size_t)f->H + p.span.first,
             p.span.n * sizeof(float));
    adjoint_span_f32(f->cell.cell, f->loops, f->constants, &p.span, before, f->states + p.at * f->S,
                     f->dstates + p.at * f->S, carried(f, f->g, &p), f->dpre + p.at * f->pre_width,
                     f->dshared + ((size_t)p.tile * tokens + p.at) * f->shared_width, f->sums + p.b * f->sums_width);
  }
}

static void rewind_states(void *context) {
  const fused *f = context;
  memset(f->h, 0, (size_t)f->B * f->S * sizeof(float));
}

static void rewind_adjoint(void *context) {
  const fused *f = context;
  memset(f->g, 0, (size_t)f->B * f->S * sizeof(float));
  memset(f->sums, 0, (size_t)f->B * f->sums_width * sizeof(double));
}

/* ---- data --------------------------------------------------------------------------------------- */

/* W x + bias for every token, and what the cell makes of it */
static void project(const fused *f, size_t tokens, const float *x, float *pre, float *shared) {
  const sparc_cell *cell = f->cell.cell;
  for (size_t t = 0; t < tokens; t++) {
    for (int i = 0; i < cell->projections; i++) {
      const projection *p = &cell->project[i];
      for (size_t row = 0; row < (size_t)p->rows; row++) {
        const float *w = f->cell.params + p->weight + row * (size_t)p->stride;
        double sum = p->has_bias ? (double)f->cell.params[p->bias + row * (size_t)p->bias_stride] : 0;
        for (size_t d = 0; d < CHECK_D; d++) sum += (double)w[d] * (double)x[t * CHECK_D + d];
        pre[t * f->pre_width + (size_t)p->column + row] = (float)sum;
      }
    }
  }
  if (f->ops->activate) f->ops->activate(cell, f->constants, tokens, x, pre, shared);
}

/* The first tokens come from an input, through the cell's own activations, so that gates are gates; the others repeat
 * them, because a cell's activations may cost far more than the kernel. */
static void fill_data(const fused *f) {
  enum { DRAWN = 256 };
  const size_t tokens = (size_t)f->B * (size_t)f->T, drawn = tokens < DRAWN ? tokens : DRAWN;
  float x[DRAWN * CHECK_D];
  bench_fill(x, drawn * CHECK_D, "x");
  project(f, drawn, x, f->pre, f->shared);
  for (size_t i = drawn * f->pre_width; i < tokens * f->pre_width; i++) f->pre[i] = f->pre[i - drawn * f->pre_width];
  for (size_t i = drawn * f->shared_width; i < tokens * f->shared_width; i++)
    f->shared[i] = f->shared[i - drawn * f->shared_width];
  bench_fill(f->dstates, tokens * f->S, "dstates");
}

/* ---- life --------------------------------------------------------------------------------------- */

static void carve(fused *f, arena *a) {
  const size_t tokens = (size_t)f->B * (size_t)f->T, rows = (size_t)f->B * f->S;
  f->pre = arena_take(a, tokens * f->pre_width, sizeof(float));
  f->states = arena_take(a, tokens * f->S, sizeof(float));
  f->dstates = arena_take(a, tokens * f->S, sizeof(float));
  f->dpre = arena_take(a, tokens * f->pre_width, sizeof(float));
  f->shared = arena_take(a, tokens * f->shared_width, sizeof(float));
  f->dshared = arena_take(a, tokens * f->shared_width * (size_t)f->tiles, sizeof(float));
  f->h = arena_take(a, rows, sizeof(float));
  f->g = arena_take(a, rows, sizeof(float));
  f->sums = arena_take(a, (size_t)f->B * f->sums_width, sizeof(double));
}

static void destroy(bench_case *c) {
  fused *f = c->state;
  if (!f) return;
  sparc_free(f->memory);
  bench_cell_free(&f->cell);
  free(f);
}

/* whole rows stream best; with fewer streams than threads the modes are divided */
static int tile_width(int B, int H, int threads) {
  int width = B >= threads ? H : (H + threads - 1) / threads;
  width = (width + MODE_TILE - 1) / MODE_TILE * MODE_TILE;
  return width < WIDE_TILE ? width : WIDE_TILE;
}

static sparc_status describe(bench_case *c, fused *f) {
  const sparc_cell *cell = f->cell.cell;
  f->ops = ops_of_f32(cell)->affine;
  f->constants = f->cell.prepared + cell->constants;
  f->S = cell->sizes.state;
  f->pre_width = (size_t)cell->pre;
  f->shared_width = (size_t)cell->shared;
  f->sums_width = (size_t)cell->sums * (size_t)f->H;
  f->width = tile_width(f->B, f->H, c->threads);
  f->tiles = (f->H + f->width - 1) / f->width;
  /* a quarter of a millisecond at 2 ns per mode, in blocks of 32 steps as the adjoint works */
  const double steps = 0.25e-3 / (2e-9 * f->B * f->H);
  f->piece_T = steps < 32 ? 32 : steps > f->T ? f->T : (int)steps / 32 * 32;
  if (!f->ops || !f->ops->fused)
    return fail(SPARC_UNSUPPORTED, "%s: the cell %s has no fused kernels", c->problem->text, cell->about->kind.name);
  f->loops = f->ops->fused(cell, f->constants);
  if (f->loops) return SPARC_OK;
  return fail(SPARC_UNSUPPORTED, "%s: the %s kernels have no fused scan of this cell", c->problem->text, c->kernel);
}

static void add_stages(bench_case *c, fused *f, bench_team *team) {
  const double modes = (double)f->B * (double)f->T * (double)f->H;
  const double row = 4 * (double)f->B * (double)f->T, pre = row * (double)f->pre_width, state = row * (double)f->S;
  const struct {
    const char *name;
    void (*run)(void *, size_t, int, int);
    void (*refresh)(void *);
    double bytes;
  } halves[] = {
      /* pre in, states out; then pre, states and dstates in, dpre out; twice the controls */
      {"forward", forward_piece, rewind_states, pre + state + row * (double)f->shared_width},
      {"backward", backward_piece, rewind_adjoint, 2 * pre + 2 * state + 2 * row * (double)f->shared_width},
  };
  for (int i = 0; i < 2; i++) {
    bench_stage *stage = bench_stage_add(c, halves[i].name,
                                         (bench_task){.context = f,
                                                      .pieces = (size_t)((f->T + f->piece_T - 1) / f->piece_T),
                                                      .reverse = i == 1,
                                                      .run = halves[i].run,
                                                      .refresh = halves[i].refresh,
                                                      .team = team});
    stage->modes = modes;
    stage->flops = modes * bench_mode_flops(f->cell.cell, i == 1);
    stage->bytes = halves[i].bytes;
  }
}

static sparc_status create(bench_case *c) {
  fused *f = c->state = calloc(1, sizeof *f);
  if (!f) return fail(SPARC_NO_MEMORY, "%s: no memory", c->problem->text);
  f->B = (int)bench_value(c->problem, "B");
  f->T = (int)bench_value(c->problem, "T");
  f->H = (int)bench_value(c->problem, "H");
  bench_team *team;
  sparc_status status = bench_cell_create(c, CHECK_D, f->H, &f->cell);
  if (status == SPARC_OK) status = describe(c, f);
  if (status == SPARC_OK) status = bench_machine_team(c->machine, c->threads, &team);
  if (status != SPARC_OK) return status;

  arena measure = arena_measure();
  carve(f, &measure);
  status = bench_afford(c, measure.used);
  if (status != SPARC_OK) return status;
  f->memory = sparc_alloc(measure.used);
  if (!f->memory) return fail(SPARC_NO_MEMORY, "%s: no memory for %zu bytes", c->problem->text, measure.used);
  arena place = arena_over(f->memory, measure.used);
  carve(f, &place);
  fill_data(f);
  c->memory = c->footprint = measure.used;
  snprintf(
      c->formula, sizeof c->formula,
      "4 B T (2 A + 2 S + (1 + tiles) C) + 8 B S + 8 B U; B %d, T %d, A %zu pre-activations, S %zu, C %zu controls, "
      "tiles %d, U %zu sums",
      f->B, f->T, f->pre_width, f->S, f->shared_width, f->tiles, f->sums_width);
  add_stages(c, f, team);
  return SPARC_OK;
}

/* ---- reference -------------------------------------------------------------------------------------- */

/* from the adjoint's results to the gradient of every parameter */
static void gather_gradient(const fused *f, size_t tokens, const float *x, float *dpre, float *dshared,
                            float *dparams) {
  const sparc_cell *cell = f->cell.cell;
  if (f->ops->activate_backward)
    f->ops->activate_backward(cell, f->constants, tokens, f->pre, f->shared, dpre, dshared, NULL);
  if (f->sums_width) f->ops->sums_gradient(cell, f->constants, f->sums, dparams);
  for (size_t i = 0; f->ops->weight_parts && i < f->ops->weight_parts(cell); i++)
    f->ops->weight_gradient(cell, i, tokens, x, f->pre, dpre, dshared, f->dstates, dparams);
  for (int i = 0; i < cell->projections; i++) {
    const projection *p = &cell->project[i];
    for (size_t row = 0; row < (size_t)p->rows; row++) {
      const float *column = dpre + (size_t)p->column + row;
      double sums[CHECK_D + 1] = {0};
      for (size_t t = 0; t < tokens; t++) {
        for (size_t d = 0; d < CHECK_D; d++) sums[d] += (double)column[t * f->pre_width] * (double)x[t * CHECK_D + d];
        sums[CHECK_D] += (double)column[t * f->pre_width];
      }
      for (size_t d = 0; d < CHECK_D; d++) dparams[p->weight + row * (size_t)p->stride + d] += (float)sums[d];
      if (p->has_bias) dparams[p->bias + row * (size_t)p->bias_stride] += (float)sums[CHECK_D];
    }
  }
}

/* tiles of modes each have their part of the controls' gradient: the first one gets the sum */
static void add_tiles(const fused *f, size_t tokens) {
  const size_t stride = (size_t)f->B * (size_t)f->T * f->shared_width;
  for (int tile = 1; tile < f->tiles; tile++)
    for (size_t i = 0; i < tokens * f->shared_width; i++) f->dshared[i] += f->dshared[(size_t)tile * stride + i];
}

/* one stream of so many tokens through the timed functions, in two pieces so that the carried rows are at work */
static void run_short(bench_case *c, size_t tokens) {
  enum { PIECE = 32 };
  fused *f = c->state;
  const fused whole = *f;
  f->B = 1;
  f->T = (int)tokens;
  f->piece_T = PIECE;
  for (size_t i = 0; i < c->stages; i++) {
    bench_task task = c->stage[i].task;
    task.pieces = (tokens + PIECE - 1) / PIECE;
    bench_pass(&task);
  }
  add_tiles(f, tokens);
  *f = whole;
}

static sparc_status check_short(bench_case *c, size_t tokens, float *x, float *dparams) {
  fused *f = c->state;
  bench_reference_result want;
  bench_fill(x, tokens * CHECK_D, "x");
  sparc_status status = bench_reference(&f->cell, 1, (int)tokens, x, f->dstates, &want);
  if (status != SPARC_OK) return status;
  project(f, tokens, x, f->pre, f->shared);
  run_short(c, tokens);
  gather_gradient(f, tokens, x, f->dpre, f->dshared, dparams);
  bench_compare(c, "states", OUTPUT_TOLERANCE, f->states, want.y, tokens * f->S);
  bench_compare_blocks(c, &f->cell, GRADIENT_TOLERANCE, dparams, &want);
  sparc_free(want.memory);
  return SPARC_OK;
}

/* The start of the first stream, with pre-activations that come from an input. Cells whose output is not the state have
 * a readout in between that is not part of the kernel. */
static sparc_status verify(bench_case *c) {
  const fused *f = c->state;
  if (f->ops->output)
    return fail(SPARC_UNSUPPORTED, "%s: the output of this cell is not its state: no reference for the kernel alone",
                c->problem->text);
  const size_t tokens = (size_t)(f->T < 48 ? f->T : 48), P = sparc_cell_sizes_of(f->cell.cell).params;
  float *x = sparc_alloc((tokens * CHECK_D + P) * sizeof *x);
  if (!x) return fail(SPARC_NO_MEMORY, "%s: no memory to verify it", c->problem->text);
  sparc_status status = check_short(c, tokens, x, x + tokens * CHECK_D);
  sparc_free(x);
  return status;
}

const bench_kind bench_kind_fused = {
    .name = "fused",
    .summary = "the fused scan and adjoint alone, from pre-activations and controls",
    .keys = {{"B", "streams", REQUIRED}, {"T", "steps", REQUIRED}, {"H", "modes", REQUIRED}},
    .cell = "sparc",
    .create = create,
    .verify = verify,
    .destroy = destroy,
};
