/* SPDX-License-Identifier: MIT */
/* sequence.c: scan and adjoint of h_t = m_t a_t . h_{t-1} + b_t for all diagonal affine cells.
 *
 * The paper's Algorithm 1 [alg:chunked_scan]: summaries of chunks, a prefix scan over them, replay; adjoint
 * summaries, a reverse scan, adjoint replay, reduction. With one chunk per stream the summaries vanish and what is
 * left is the plain sequential scan, which is the default. Transitions are recomputed from the shared controls and
 * the pre-activations wherever they are needed; they are never stored.
 *
 * Stages run over tiles that depend on the problem alone. Every sum that crosses tiles is formed in tile order.
 */
#include "base/memory.h"
#include "base/threads.h"
#include "cells/affine/affine_impl.h"
#include "cells/affine/tiling.h"
#include "cells/affine/tokens_impl.h"
#include "kernels/gemm_impl.h"

#include <string.h>

#define ordered_add TYPED(ordered_add)

/* ---- memory ------------------------------------------------------------------------------------ */

typedef struct saved_view {
  real *pre;    /* (B T, pre) */
  real *shared; /* (B T, shared) */
  real *states; /* (B T, S); NULL when y is the state */
} saved_view;

/* per stream and chunk: the map g -> P g + Q of the chunk, and the value that enters it (in scan direction) */
typedef struct boundary_view {
  real *P, *Q, *entrance; /* (B, chunks, S) each; unused with one chunk */
} boundary_view;

typedef struct work_view {
  boundary_view boundary;
  real *dstates;          /* (B T, S); NULL when y is the state */
  real *dpre;             /* (B T, pre) */
  real *dmodes;           /* (B T, shared, H): where a mode tile is shared by threads; else NULL */
  real *dshared_partials; /* (mode_tiles, B T, shared) */
  real *dshared;          /* (B T, shared) */
  double *sum_partials;   /* (B groups, sums, H) */
  double *sums;           /* (sums, H) */
  real *discarded;        /* (B groups, D): replaces dx when it is not requested */
} work_view;

static saved_view carve_saved(arena *a, const sparc_plan *plan) {
  const sparc_cell *cell = plan->cell;
  const size_t tokens = (size_t)plan->B * (size_t)plan->T;
  saved_view view = {0};
  view.pre = arena_take(a, tokens * (size_t)cell->pre, sizeof(real));
  view.shared = arena_take(a, tokens * (size_t)cell->shared, sizeof(real));
  if (TYPED(ops_of)(cell)->affine->output) view.states = arena_take(a, tokens * cell->sizes.state, sizeof(real));
  return view;
}

static work_view carve_work(arena *a, const sparc_plan *plan, const affine_tiling *tiling) {
  const sparc_cell *cell = plan->cell;
  const size_t B = (size_t)plan->B, tokens = B * (size_t)plan->T, H = (size_t)cell->H, S = cell->sizes.state;
  const size_t shared = (size_t)cell->shared, sums = (size_t)cell->sums * H;
  work_view view = {0};
  if (tiling->chunks > 1) {
    view.boundary.P = arena_take(a, B * (size_t)tiling->chunks * S, sizeof(real));
    view.boundary.Q = arena_take(a, B * (size_t)tiling->chunks * S, sizeof(real));
    view.boundary.entrance = arena_take(a, B * (size_t)tiling->chunks * S, sizeof(real));
  }
  if (TYPED(ops_of)(cell)->affine->output) view.dstates = arena_take(a, tokens * S, sizeof(real));
  view.dpre = arena_take(a, tokens * (size_t)cell->pre, sizeof(real));
  if (shared && tiling->time_tile < tiling->mode_tile && TYPED(ops_of)(cell)->affine->fused)
    view.dmodes = arena_take(a, tokens * shared * H, sizeof(real));
  view.dshared_partials = arena_take(a, (size_t)tiling->mode_tiles * tokens * shared, sizeof(real));
  view.dshared = arena_take(a, tokens * shared, sizeof(real));
  view.sum_partials = arena_take(a, B * (size_t)tiling->groups * sums, sizeof(double));
  view.sums = arena_take(a, sums, sizeof(double));
  if (cell->direct_input) view.discarded = arena_take(a, B * (size_t)tiling->groups * (size_t)cell->D, sizeof(real));
  return view;
}

size_t TYPED(affine_saved_count)(const sparc_plan *plan) {
  arena a = arena_measure();
  carve_saved(&a, plan);
  return a.used / sizeof(real);
}

static affine_tiling tiling_of(const sparc_plan *plan) {
  return affine_tiling_of(plan, TYPED(in_panels)(plan->cell->kernels));
}

size_t TYPED(affine_work_count)(const sparc_plan *plan) {
  const affine_tiling tiling = tiling_of(plan);
  arena a = arena_measure();
  carve_work(&a, plan, &tiling);
  return a.used / sizeof(real);
}

/* ---- one call ---------------------------------------------------------------------------------- */

typedef struct run {
  const sparc_plan *plan;
  affine_tiling tiling;
  const sparc_cell *cell;
  const TYPED(affine_ops) * ops;
  const TYPED(fused_ops) * fused; /* NULL: none */
  TYPED(prepared_view) weights;
  const TYPED(sequence_call) * io;
  saved_view saved;
  work_view work;
  real *states;        /* (B T, S): saved.states or y */
  const real *dstates; /* (B T, S): work.dstates or dy; backward only */
  int adjoint_tile;    /* modes that one thread takes back through time */
  size_t tokens, D, H, S, pre, shared;
} run;

static run start_run(const sparc_plan *plan, const real *prepared, const TYPED(sequence_call) * call) {
  const sparc_cell *cell = plan->cell;
  arena saved = arena_over(call->saved, (size_t)-1), work = arena_over(call->work, (size_t)-1);
  run r = {.plan = plan,
           .tiling = tiling_of(plan),
           .cell = cell,
           .ops = TYPED(ops_of)(cell)->affine,
           .weights = TYPED(view_prepared)(cell, prepared),
           .io = call,
           .saved = carve_saved(&saved, plan),
           .tokens = (size_t)plan->B * (size_t)plan->T,
           .D = (size_t)cell->D,
           .H = (size_t)cell->H,
           .S = cell->sizes.state,
           .pre = (size_t)cell->pre,
           .shared = (size_t)cell->shared};
  r.fused = TYPED(fused_of)(cell, r.weights.constants);
  r.work = carve_work(&work, plan, &r.tiling);
  r.states = r.ops->output ? r.saved.states : call->y;
  r.dstates = r.ops->output ? r.work.dstates : call->dy;
  /* without shared controls modes have nothing in common; with them, their sums can be formed afterwards, or not */
  const bool divisible = cell->shared == 0 || (r.fused && r.fused->shared_sums);
  r.adjoint_tile = divisible ? r.tiling.time_tile : r.tiling.mode_tile;
  if (r.adjoint_tile == r.tiling.mode_tile) r.work.dmodes = NULL;
  return r;
}

/* a tile of tokens of all streams */
static range token_range_of(const run *r, size_t tile) {
  return range_of(r->tokens, (size_t)r->tiling.token_tile, tile);
}

/* a tile of modes of one stream, over one chunk or a group of chunks */
typedef struct stream_tile {
  size_t b, part; /* stream; chunk or group */
  int first, n;   /* modes */
} stream_tile;

static stream_tile stream_tile_of(const run *r, int width, size_t tile, int parts_per_stream) {
  const size_t mode_tiles = tiles_of(r->H, (size_t)width), parts = (size_t)parts_per_stream;
  const int first = (int)(tile % mode_tiles) * width, rest = r->cell->H - first;
  return (stream_tile){tile / mode_tiles / parts, tile / mode_tiles % parts, first, rest < width ? rest : width};
}

/* the scalar code takes a tile in runs of MODE_TILE modes */
static void for_runs(const run *r, stream_tile wide, void (*body)(const run *r, const stream_tile *s)) {
  for (int first = wide.first; first < wide.first + wide.n; first += MODE_TILE) {
    const int rest = wide.first + wide.n - first;
    const stream_tile s = {wide.b, wide.part, first, rest < MODE_TILE ? rest : MODE_TILE};
    body(r, &s);
  }
}

static size_t stream_tiles(const run *r, int width, int parts_per_stream) {
  return (size_t)r->plan->B * (size_t)parts_per_stream * tiles_of(r->H, (size_t)width);
}

static int chunk_begin(const run *r, size_t chunk) { return (int)chunk * r->plan->chunk; }
static int chunk_end(const run *r, size_t chunk) {
  const int end = ((int)chunk + 1) * r->plan->chunk;
  return end < r->plan->T ? end : r->plan->T;
}
static size_t group_begin(const run *r, size_t group) {
  return group * (size_t)r->tiling.chunks / (size_t)r->tiling.groups;
}

static real mask_at(const run *r, size_t token) { return r->io->mask ? r->io->mask[token] : 1; }

static TYPED(token) token_at(const run *r, size_t token) {
  return (TYPED(token)){r->saved.pre + token * r->pre, r->saved.shared + token * r->shared, mask_at(r, token),
                        r->io->x + token * r->D};
}

/* ---- rows of a tile ---------------------------------------------------------------------------- */

/* values of one tile of modes; im stays zero for real cells */
typedef struct tile_row {
  real re[MODE_TILE], im[MODE_TILE];
} tile_row;

/* state rows are (parts, H): the tile is a run of the real part and, H further on, of the imaginary part */
static void load_row(const run *r, const stream_tile *s, const real *row, tile_row *out) {
  memset(out, 0, sizeof *out);
  if (!row) return;
  memcpy(out->re, row + s->first, (size_t)s->n * sizeof(real));
  if (r->cell->parts == 2) memcpy(out->im, row + r->H + s->first, (size_t)s->n * sizeof(real));
}

static void store_row(const run *r, const stream_tile *s, const tile_row *row, real *out) {
  memcpy(out + s->first, row->re, (size_t)s->n * sizeof(real));
  if (r->cell->parts == 2) memcpy(out + r->H + s->first, row->im, (size_t)s->n * sizeof(real));
}

/* h = m a h + b; a new segment drops the past, even one that is not finite */
static void advance(int parts, int n, const TYPED(coefficients) * c, real mask, tile_row *h) {
  if (mask == 0) memset(h, 0, sizeof *h);
  if (parts == 1) {
    for (int i = 0; i < n; i++) h->re[i] = c->a_re[i] * h->re[i] + c->b_re[i];
    return;
  }
  for (int i = 0; i < n; i++) {
    const real re = h->re[i], im = h->im[i];
    h->re[i] = c->a_re[i] * re - c->a_im[i] * im + c->b_re[i];
    h->im[i] = c->a_re[i] * im + c->a_im[i] * re + c->b_im[i];
  }
}

/* g = m a g, or with conj(a) in the adjoint direction; nothing passes the start of a segment, finite or not */
static void multiply(int parts, int n, const TYPED(coefficients) * c, real mask, real sign, tile_row *g) {
  if (mask == 0) {
    memset(g, 0, sizeof *g);
    return;
  }
  if (parts == 1) {
    for (int i = 0; i < n; i++) g->re[i] *= c->a_re[i];
    return;
  }
  for (int i = 0; i < n; i++) {
    const real re = g->re[i], im = g->im[i], a_im = sign * c->a_im[i];
    g->re[i] = c->a_re[i] * re - a_im * im;
    g->im[i] = c->a_re[i] * im + a_im * re;
  }
}

static void add_row(int n, const tile_row *x, tile_row *y) {
  for (int i = 0; i < n; i++) y->re[i] += x->re[i], y->im[i] += x->im[i];
}

/* ---- boundaries of chunks ---------------------------------------------------------------------- */

static real *boundary_row(const run *r, real *array, size_t b, size_t chunk) {
  return array + (b * (size_t)r->tiling.chunks + chunk) * r->S;
}

static void identity_row(const stream_tile *s, tile_row *P) {
  memset(P, 0, sizeof *P);
  for (int i = 0; i < s->n; i++) P->re[i] = 1;
}

/* Compose(F over a chunk) [eq:affine_composition] */
static void summarise_run(const run *r, const stream_tile *s) {
  tile_row P, Q;
  identity_row(s, &P);
  memset(&Q, 0, sizeof Q);
  for (int t = chunk_begin(r, s->part); t < chunk_end(r, s->part); t++) {
    const TYPED(token) token = token_at(r, s->b * (size_t)r->plan->T + (size_t)t);
    TYPED(coefficients) c;
    r->ops->coefficients(r->cell, r->weights.constants, &token, s->first, s->n, &c);
    advance(r->cell->parts, s->n, &c, token.mask, &Q);
    multiply(r->cell->parts, s->n, &c, token.mask, 1, &P);
  }
  store_row(r, s, &P, boundary_row(r, r->work.boundary.P, s->b, s->part));
  store_row(r, s, &Q, boundary_row(r, r->work.boundary.Q, s->b, s->part));
}

static void summarise(void *context, size_t tile) {
  const run *r = context;
  for_runs(r, stream_tile_of(r, r->tiling.time_tile, tile, r->tiling.chunks), summarise_run);
}

/* AdjointSummary: g at the end of a chunk becomes P g + Q at its beginning */
static void summarise_adjoint_run(const run *r, const stream_tile *s) {
  tile_row P, Q, direct;
  identity_row(s, &P);
  memset(&Q, 0, sizeof Q);
  for (int t = chunk_end(r, s->part); t-- > chunk_begin(r, s->part);) {
    const size_t at = s->b * (size_t)r->plan->T + (size_t)t;
    const TYPED(token) token = token_at(r, at);
    TYPED(coefficients) c;
    r->ops->coefficients(r->cell, r->weights.constants, &token, s->first, s->n, &c);
    load_row(r, s, r->dstates + at * r->S, &direct);
    add_row(s->n, &direct, &Q);
    multiply(r->cell->parts, s->n, &c, token.mask, -1, &Q);
    multiply(r->cell->parts, s->n, &c, token.mask, -1, &P);
  }
  store_row(r, s, &P, boundary_row(r, r->work.boundary.P, s->b, s->part));
  store_row(r, s, &Q, boundary_row(r, r->work.boundary.Q, s->b, s->part));
}

static void summarise_adjoint(void *context, size_t tile) {
  const run *r = context;
  for_runs(r, stream_tile_of(r, r->tiling.time_tile, tile, r->tiling.chunks), summarise_adjoint_run);
}

/* whether a segment starts in a chunk: nothing passes through it then */
static bool forgets(const run *r, size_t b, size_t chunk) {
  bool found = false;
  for (int t = chunk_begin(r, chunk); t < chunk_end(r, chunk) && !found; t++)
    found = mask_at(r, b * (size_t)r->plan->T + (size_t)t) == 0;
  return found;
}

/* next = P g + Q for one chunk */
static void apply_summary(const run *r, const stream_tile *s, size_t chunk, tile_row *g) {
  tile_row P, Q;
  load_row(r, s, boundary_row(r, r->work.boundary.P, s->b, chunk), &P);
  load_row(r, s, boundary_row(r, r->work.boundary.Q, s->b, chunk), &Q);
  if (forgets(r, s->b, chunk)) {
    *g = Q;
    return;
  }
  for (int i = 0; i < s->n; i++) {
    const real re = g->re[i], im = g->im[i];
    g->re[i] = P.re[i] * re - P.im[i] * im + Q.re[i];
    g->im[i] = P.re[i] * im + P.im[i] * re + Q.im[i];
  }
}

/* PrefixScan: the state that enters each chunk */
static void scan_entrances_run(const run *r, const stream_tile *s) {
  tile_row h;
  load_row(r, s, r->io->state0 ? r->io->state0 + s->b * r->S : NULL, &h);
  for (size_t k = 0; k < (size_t)r->tiling.chunks; k++) {
    store_row(r, s, &h, boundary_row(r, r->work.boundary.entrance, s->b, k));
    apply_summary(r, s, k, &h);
  }
}

static void scan_entrances(void *context, size_t tile) {
  const run *r = context;
  for_runs(r, stream_tile_of(r, r->tiling.time_tile, tile, 1), scan_entrances_run);
}

/* ReverseScan: the cotangent that enters each chunk at its end */
static void scan_entrances_adjoint_run(const run *r, const stream_tile *s) {
  const real *last = r->io->dstate_last;
  tile_row g;
  load_row(r, s, last ? last + s->b * r->S : NULL, &g);
  for (size_t k = (size_t)r->tiling.chunks; k-- > 0;) {
    store_row(r, s, &g, boundary_row(r, r->work.boundary.entrance, s->b, k));
    apply_summary(r, s, k, &g);
  }
}

static void scan_entrances_adjoint(void *context, size_t tile) {
  const run *r = context;
  for_runs(r, stream_tile_of(r, r->tiling.time_tile, tile, 1), scan_entrances_adjoint_run);
}

/* what enters a chunk: from the boundary arrays, or the given end of the sequence when there is only one chunk */
static const real *entrance_of(const run *r, const stream_tile *s, size_t chunk, const real *end) {
  if (r->tiling.chunks > 1) return boundary_row(r, r->work.boundary.entrance, s->b, chunk);
  return end ? end + s->b * r->S : NULL;
}

/* ---- the cells' fused loops --------------------------------------------------------------------- */

/* a row of a wide tile, packed as (parts, n) */
static void load_wide(const run *r, const stream_tile *s, const real *row, real *out) {
  const size_t n = (size_t)s->n;
  for (size_t part = 0; part < (size_t)r->cell->parts; part++) {
    if (row)
      memcpy(out + part * n, row + part * r->H + s->first, n * sizeof(real));
    else
      memset(out + part * n, 0, n * sizeof(real));
  }
}

static void store_wide(const run *r, const stream_tile *s, const real *packed, real *row) {
  const size_t n = (size_t)s->n;
  for (size_t part = 0; part < (size_t)r->cell->parts; part++)
    memcpy(row + part * r->H + s->first, packed + part * n, n * sizeof(real));
}

static TYPED(span) span_of(const run *r, const stream_tile *s, size_t chunk) {
  const size_t at = s->b * (size_t)r->plan->T + (size_t)chunk_begin(r, chunk);
  return (TYPED(span)){.first = (size_t)s->first,
                       .n = (size_t)s->n,
                       .tokens = (size_t)(chunk_end(r, chunk) - chunk_begin(r, chunk)),
                       .pre = r->saved.pre + at * r->pre,
                       .shared = r->saved.shared + at * r->shared,
                       .mask = r->io->mask ? r->io->mask + at : NULL,
                       .x = r->io->x + at * r->D};
}

static void replay_fused(const run *r, const stream_tile *s) {
  const TYPED(span) span = span_of(r, s, s->part);
  const size_t at = s->b * (size_t)r->plan->T + (size_t)chunk_begin(r, s->part);
  real h[2 * WIDE_TILE];
  load_wide(r, s, entrance_of(r, s, s->part, r->io->state0), h);
  r->fused->scan(r->cell, r->weights.constants, &span, h, r->states + at * r->S);
}

/* the state before a token, NULL: zeros */
static const real *state_before(const run *r, size_t b, int t) {
  if (t > 0) return r->states + (b * (size_t)r->plan->T + (size_t)t - 1) * r->S;
  return r->io->state0 ? r->io->state0 + b * r->S : NULL;
}

static double *sum_partial_of(const run *r, const stream_tile *s) {
  return r->work.sum_partials + (s->b * (size_t)r->tiling.groups + s->part) * (size_t)r->cell->sums * r->H;
}

static real *dshared_partial_of(const run *r, const stream_tile *s) {
  return r->work.dshared_partials + (size_t)(s->first / r->tiling.mode_tile) * r->tokens * r->shared;
}

/* where the adjoint of a cell with direct_input leaves its part of dx for a token; the tokens of one tile may share a
 * row that is never read */
static real *input_gradient_of(const run *r, const stream_tile *s, size_t token) {
  if (r->io->dx) return r->io->dx + token * r->D;
  return r->cell->direct_input ? r->work.discarded + (s->b * (size_t)r->tiling.groups + s->part) * r->D : NULL;
}

/* ---- forward ----------------------------------------------------------------------------------- */

/* into how many parts the columns of a token tile are cut, for products with the inputs and for dx */
static size_t pre_parts(const run *r) {
  return r->cell->projected ? tiles_of((size_t)r->cell->projected, (size_t)r->tiling.pre_columns) : 1;
}
static size_t dx_parts(const run *r) { return tiles_of(r->D, (size_t)r->tiling.dx_columns); }

static void activate(const run *r, range tokens) {
  if (r->ops->activate)
    r->ops->activate(r->cell, r->weights.constants, tokens.n, r->io->x + tokens.first * r->D,
                     r->saved.pre + tokens.first * r->pre, r->saved.shared + tokens.first * r->shared);
}

static void activate_tile(void *context, size_t tile) {
  const run *r = context;
  activate(r, token_range_of(r, tile));
}

/* a tile of tokens and all columns, which are then activated while they are in the cache, or some columns */
static void project(void *context, size_t tile) {
  const run *r = context;
  const size_t N = (size_t)r->cell->projected, parts = pre_parts(r);
  const range tokens = token_range_of(r, tile / parts);
  if (N > 0) {
    const range columns = range_of(N, (size_t)r->tiling.pre_columns, tile % parts);
    project_tokens(r->cell->kernels, PREPARED, tokens.n, r->D, columns.n, r->io->x + tokens.first * r->D, r->D,
                   r->weights.weight_in + columns.first * r->D, r->weights.bias + columns.first,
                   r->saved.pre + tokens.first * r->pre + columns.first, r->pre);
  }
  if (parts == 1) activate(r, tokens);
}

/* Replay */
static void replay_run(const run *r, const stream_tile *s) {
  tile_row h;
  load_row(r, s, entrance_of(r, s, s->part, r->io->state0), &h);
  for (int t = chunk_begin(r, s->part); t < chunk_end(r, s->part); t++) {
    const size_t at = s->b * (size_t)r->plan->T + (size_t)t;
    const TYPED(token) token = token_at(r, at);
    TYPED(coefficients) c;
    r->ops->coefficients(r->cell, r->weights.constants, &token, s->first, s->n, &c);
    advance(r->cell->parts, s->n, &c, token.mask, &h);
    store_row(r, s, &h, r->states + at * r->S);
  }
}

static void replay(void *context, size_t tile) {
  const run *r = context;
  const stream_tile s = stream_tile_of(r, r->tiling.time_tile, tile, r->tiling.chunks);
  if (r->fused)
    replay_fused(r, &s);
  else
    for_runs(r, s, replay_run);
}

static void read_out(void *context, size_t tile) {
  const run *r = context;
  const range tokens = token_range_of(r, tile);
  r->ops->output(r->cell, r->weights.constants, tokens.n, r->states + tokens.first * r->S,
                 r->saved.pre + tokens.first * r->pre, r->io->y + tokens.first * r->cell->sizes.output);
}

void TYPED(affine_forward)(const sparc_plan *plan, const real *prepared, const TYPED(sequence_call) * call) {
  run r = start_run(plan, prepared, call);
  const affine_tiling *tiling = &r.tiling;
  parallel_for(plan->threads, (size_t)tiling->token_tiles * pre_parts(&r), project, &r);
  if (pre_parts(&r) > 1) parallel_for(plan->threads, (size_t)tiling->token_tiles, activate_tile, &r);
  if (tiling->chunks > 1) {
    parallel_for(plan->threads, stream_tiles(&r, tiling->time_tile, tiling->chunks), summarise, &r);
    parallel_for(plan->threads, stream_tiles(&r, tiling->time_tile, 1), scan_entrances, &r);
  }
  parallel_for(plan->threads, stream_tiles(&r, tiling->time_tile, tiling->chunks), replay, &r);
  if (r.ops->output) parallel_for(plan->threads, (size_t)tiling->token_tiles, read_out, &r);
  if (!call->state_last) return;
  for (size_t b = 0; b < (size_t)plan->B; b++)
    memcpy(call->state_last + b * r.S, r.states + ((b + 1) * (size_t)plan->T - 1) * r.S, r.S * sizeof(real));
}

/* ---- backward ---------------------------------------------------------------------------------- */

static void read_out_backward(void *context, size_t tile) {
  const run *r = context;
  const range tokens = token_range_of(r, tile);
  r->ops->output_backward(r->cell, r->weights.constants, tokens.n, r->states + tokens.first * r->S,
                          r->saved.pre + tokens.first * r->pre, r->io->dy + tokens.first * r->cell->sizes.output,
                          r->work.dstates + tokens.first * r->S, r->work.dpre + tokens.first * r->pre);
}

/* AdjointReplay over a group of chunks, last chunk first, with one partial sum of the per-mode gradients */
static void replay_adjoint(void *context, size_t tile) {
  const run *r = context;
  const stream_tile s = stream_tile_of(r, r->adjoint_tile, tile, r->tiling.groups);
  for (size_t q = 0; q < (size_t)r->cell->sums; q++)
    memset(sum_partial_of(r, &s) + q * r->H + s.first, 0, (size_t)s.n * sizeof(double));
  for (size_t k = group_begin(r, s.part + 1); k-- > group_begin(r, s.part);) {
    TYPED(span) span = span_of(r, &s, k);
    const size_t at = s.b * (size_t)r->plan->T + (size_t)chunk_begin(r, k);
    span.dx = input_gradient_of(r, &s, at);
    span.dx_stride = r->io->dx ? r->D : 0;
    if (r->work.dmodes) span.dmodes = r->work.dmodes + at * r->shared * r->H;
    real before[2 * WIDE_TILE], g[2 * WIDE_TILE];
    load_wide(r, &s, state_before(r, s.b, chunk_begin(r, k)), before);
    load_wide(r, &s, entrance_of(r, &s, k, r->io->dstate_last), g);
    TYPED(adjoint_span)
    (r->cell, r->fused, r->weights.constants, &span, before, r->states + at * r->S, r->dstates + at * r->S, g,
     r->work.dpre + at * r->pre, dshared_partial_of(r, &s) + at * r->shared, sum_partial_of(r, &s));
    if (k == 0 && r->io->dstate0) store_wide(r, &s, g, r->io->dstate0 + s.b * r->S);
  }
}

static TYPED(token_block) block_of(const run *r) {
  return (TYPED(token_block)){.cell = r->cell,
                              .weights = r->weights,
                              .n = r->tokens,
                              .x = r->io->x,
                              .pre = r->saved.pre,
                              .shared = r->saved.shared,
                              .dy = r->io->dy,
                              .dpre = r->work.dpre,
                              .dshared = r->work.dshared,
                              .dx = r->io->dx,
                              .dx_started = r->cell->direct_input,
                              .threads = r->plan->threads};
}

/* the sums over the modes of every tile, where threads have shared the tiles */
static void sum_modes(const run *r, range tokens) {
  for (size_t tile = 0; tile < (size_t)r->tiling.mode_tiles; tile++) {
    const range modes = range_of(r->H, (size_t)r->tiling.mode_tile, tile);
    r->fused->shared_sums(r->cell, tokens.n, modes.first, modes.n, r->work.dmodes + tokens.first * r->shared * r->H,
                          r->work.dshared_partials + (tile * r->tokens + tokens.first) * r->shared);
  }
}

/* what the controls get, summed over mode tiles */
static void reduce(const run *r, range tokens) {
  const size_t width = tokens.n * r->shared;
  real *dshared = r->work.dshared + tokens.first * r->shared;
  if (r->work.dmodes) sum_modes(r, tokens);
  memset(dshared, 0, width * sizeof(real));
  if (width)
    ordered_add(dshared, r->work.dshared_partials + tokens.first * r->shared, (size_t)r->tiling.mode_tiles,
                r->tokens * r->shared, width);
}

static void backward_tile(void *context, size_t tile) {
  const run *r = context;
  const TYPED(token_block) block = block_of(r);
  const range tokens = token_range_of(r, tile);
  reduce(r, tokens);
  TYPED(tokens_backward)(&block, tokens);
}

static void activate_backward_tile(void *context, size_t tile) {
  const run *r = context;
  const TYPED(token_block) block = block_of(r);
  const range tokens = token_range_of(r, tile);
  reduce(r, tokens);
  TYPED(tokens_activate_backward)(&block, tokens);
}

static void dx_tile(void *context, size_t tile) {
  const run *r = context;
  const TYPED(token_block) block = block_of(r);
  const size_t parts = dx_parts(r);
  TYPED(tokens_project_backward)
  (&block, token_range_of(r, tile / parts), range_of(r->D, (size_t)r->tiling.dx_columns, tile % parts));
}

static void shared_backward_tile(void *context, size_t tile) {
  const run *r = context;
  const TYPED(token_block) block = block_of(r);
  TYPED(tokens_shared_backward)(&block, token_range_of(r, tile));
}

/* from the adjoint to dx: a tile of tokens goes all the way, or, cut into columns for many threads, stage by stage */
static void input_gradient(run *r) {
  const size_t tiles = (size_t)r->tiling.token_tiles;
  if (!r->io->dx || dx_parts(r) == 1) {
    parallel_for(r->plan->threads, tiles, backward_tile, r);
    return;
  }
  parallel_for(r->plan->threads, tiles, activate_backward_tile, r);
  parallel_for(r->plan->threads, tiles * dx_parts(r), dx_tile, r);
  if (r->ops->shared_backward) parallel_for(r->plan->threads, tiles, shared_backward_tile, r);
}

/* the per-mode sums, then the rest: its row tiles of projections take longest and come last, so that all threads come
 * to an end together */
static void parameter_gradient(void *context, size_t tile) {
  const run *r = context;
  const TYPED(token_block) block = block_of(r);
  if (tile > 0)
    TYPED(tokens_gradient)(&block, tile - 1, r->io->dparams);
  else
    TYPED(modes_gradient)
  (r->cell, r->weights.constants, (size_t)r->plan->B * (size_t)r->tiling.groups, r->work.sum_partials, r->work.sums,
   r->io->dparams);
}

void TYPED(affine_backward)(const sparc_plan *plan, const real *prepared, const TYPED(sequence_call) * call) {
  run r = start_run(plan, prepared, call);
  const affine_tiling *tiling = &r.tiling;
  if (r.ops->output_backward) parallel_for(plan->threads, (size_t)tiling->token_tiles, read_out_backward, &r);
  if (tiling->chunks > 1) {
    parallel_for(plan->threads, stream_tiles(&r, tiling->time_tile, tiling->chunks), summarise_adjoint, &r);
    parallel_for(plan->threads, stream_tiles(&r, tiling->time_tile, 1), scan_entrances_adjoint, &r);
  }
  parallel_for(plan->threads, stream_tiles(&r, r.adjoint_tile, tiling->groups), replay_adjoint, &r);
  input_gradient(&r);
  if (!call->dparams) return;
  parallel_for(plan->threads, TYPED(tokens_gradient_parts)(plan->cell, plan->threads) + 1, parameter_gradient, &r);
}
