/* SPDX-License-Identifier: MIT */
/* record.c: the gradient of a minibatch of past steps without their sensitivities.
 *
 * Of a step the records keep what its tape had: input, mask, pre-activations and shared controls; with the state that
 * the step found, transition and drivers follow from these and from the weights of that time, superscript 0. The part
 * of the gradient that stored traces give is a linear functional of them, and summation by parts turns
 *
 *   sum_t Re(conj(y_{t-1}) Z_{t-1}),    y_{t-1} = m_t conj(a_t) g_t over the items t, Z_s = m_s a0_s Z_{s-1} + R0_s
 *
 * into sum_s Re(conj(A_s) R0_s) + Re(conj(A_{-1}) Z_{-1}) with the reverse scan A_s = y_s + m_{s+1} conj(a0_{s+1})
 * A_{s+1}. R0_s is what step s itself adds to the traces, so its contraction with A_s is the gradient of that single
 * step: all of it is the adjoint of the rollout under its own weights, into which cotangents enter at the items. No
 * driver is ever formed, and any cell with a diagonal recurrence qualifies. Nothing is approximated; what the two ways
 * share of staleness, they share.
 *
 * Steps that no cotangent reaches are skipped: a scan ends where a segment starts, or at a trace that is there to be
 * contracted: the boundary before the first step, or a checkpoint. Factors of sinks belong to the contraction, not to
 * the drivers, and are those of the parameters of now.
 */
#include "base/error.h"
#include "base/threads.h"
#include "cells/affine/tokens_impl.h"
#include "rtrl/batch_impl.h"

#include <string.h>

typedef PUBLIC(sparc_record_view) record_view;
typedef TYPED(token_block) token_block;

/* steps that the scan takes at once; modes and groups of chains of steps, that may run side by side */
enum { SPAN = 32, SCAN_MODES = 64, GROUPS = 4, BOUNDARY_CHUNK = 32 };

/* ---- records ------------------------------------------------------------------------------------- */

typedef struct record_rows {
  real *x, *pre, *shared, *mask; /* (T, D), (T, pre), (T, shared), (T) */
} record_rows;

static size_t carve_records(const sparc_cell *cell, size_t T, real *records, record_rows *rows) {
  size_t used = 0;
  const size_t x = take_elements(&used, T * (size_t)cell->D), pre = take_elements(&used, T * (size_t)cell->pre);
  const size_t shared = take_elements(&used, T * (size_t)cell->shared), mask = take_elements(&used, T);
  if (rows) *rows = (record_rows){records + x, records + pre, records + shared, records + mask};
  return used;
}

#ifndef SPARC_DOUBLE
size_t record_size(const sparc_cell *cell, int T) {
  return !cell || cell->sizes.trace == 0 || T < 1 ? 0 : carve_records(cell, (size_t)T, NULL, NULL);
}
#endif

sparc_status PUBLIC(sparc_record_step)(const sparc_cell *cell, const real *tape, int T, int t, real *records) {
  if (!cell || !tape || !records) return fail(SPARC_INVALID, "%s is NULL", !cell ? "cell" : !tape ? "tape" : "records");
  if (t < 0 || t >= T) return fail(SPARC_INVALID, "t is %d, expected a step of %d", t, T);
  sparc_status status = TYPED(check_rtrl)(cell, tape);
  if (status != SPARC_OK) return status;
  const size_t at = (size_t)t, D = (size_t)cell->D, pre = (size_t)cell->pre, shared = (size_t)cell->shared;
  const TYPED(tape_view) view = TYPED(view_tape)(cell, (real *)tape);
  record_rows rows;
  carve_records(cell, (size_t)T, records, &rows);
  memcpy(rows.x + at * D, view.x, D * sizeof(real));
  memcpy(rows.pre + at * pre, view.pre, pre * sizeof(real));
  memcpy(rows.shared + at * shared, view.shared, shared * sizeof(real));
  rows.mask[at] = *view.mask;
  return SPARC_OK;
}

/* ---- the course of a scan ------------------------------------------------------------------------ */

enum { NONE = -1 };

/* steps [begin, end) of the scan, at most SPAN of them, last one first; before them the cotangent of an item enters,
 * after them the scan may end at a trace */
typedef struct piece {
  size_t begin, end;
  int item, stop; /* or NONE */
  bool fresh;     /* a new chain: nothing comes from the steps after */
} piece;

typedef struct course {
  piece *pieces;
  range *ranges; /* the steps that are reached, in runs */
  size_t count, range_count, steps;
  range group[GROUPS]; /* of pieces: whole chains */
  size_t groups;
} course;

/* traces that a scan may end at: the boundary, then the checkpoints */
static size_t stops_of(size_t T, int interval) { return interval > 0 ? tiles_of(T, (size_t)interval) : 1; }

static int stop_before(const record_view *view, size_t t) {
  if (t == 0) return 0;
  const size_t interval = (size_t)view->interval;
  return view->checkpoints && t % interval == 0 ? (int)(t / interval) : NONE;
}

/* the open piece ends before step `begin` */
static void close_piece(course *c, piece *open, size_t begin, int stop) {
  open->begin = begin;
  open->stop = stop;
  c->pieces[c->count++] = *open;
  c->steps += open->end - begin;
  const size_t last = c->range_count;
  if (last > 0 && c->ranges[last - 1].first == open->end)
    c->ranges[last - 1] = (range){begin, c->ranges[last - 1].n + open->end - begin};
  else
    c->ranges[c->range_count++] = (range){begin, open->end - begin};
  *open = (piece){.end = begin, .item = NONE};
}

/* item_at (T) is the item of a step that carries something over, or NONE; at a trace it needs no scan */
static void plan_pieces(const record_view *view, const real *mask, const int *item_at, course *c) {
  piece open = {0};
  bool pending = false;
  for (size_t t = (size_t)view->T; t-- > 0;) {
    const int stop = stop_before(view, t);
    if (pending && (mask[t] == 0 || stop != NONE)) {
      close_piece(c, &open, t, mask[t] == 0 ? NONE : stop);
      pending = false;
    } else if (pending && open.end - t == SPAN) {
      close_piece(c, &open, t, NONE);
    }
    if (item_at[t] == NONE || stop != NONE) continue;
    if (pending && open.end > t) close_piece(c, &open, t, NONE);
    open = (piece){.end = t, .item = item_at[t], .fresh = !pending};
    pending = true;
  }
}

/* groups of about as many steps each */
static void plan_groups(course *c) {
  size_t steps = 0;
  c->groups = 0;
  for (size_t k = 0; k < c->count; k++) {
    if (c->pieces[k].fresh && steps * GROUPS >= c->groups * c->steps) c->group[c->groups++] = (range){k, 0};
    c->group[c->groups - 1].n++;
    steps += c->pieces[k].end - c->pieces[k].begin;
  }
}

/* ---- a call -------------------------------------------------------------------------------------- */

typedef struct run {
  const sparc_cell *cell;
  const record_view *view;
  record_rows rows;
  TYPED(prepared_view) weights; /* of the rollout */
  const TYPED(fused_ops) * fused;
  TYPED(item_batch) items;
  TYPED(trace_batch) past;
  real *dparams, *dinput;
  size_t T, D, H, S, pre, shared, mode_tiles;
  bool grouped; /* sums per symbol take the place of single steps */
  course course;
  int *item_at;              /* (T) */
  real *zeros;               /* (SPAN, S) */
  real *stops;               /* (stops, S): cotangents of the traces that scans end at */
  bool *stopped;             /* (stops) */
  real *dpre;                /* (T, pre); grouped: SPAN rows per tile, which every piece uses anew */
  real *dshared_partials;    /* (mode tiles, T, shared) */
  real *dshared;             /* (T or symbols, shared) */
  double *sum_partials;      /* (GROUPS, sums, H) */
  double *sums;              /* (sums, H) */
  real *factors;             /* (constants): those of the rollout, but the factors of sinks are of now */
  real *dcontent;            /* (T, D), or an unused row per tile; cells with direct_input only */
  record_rows symbol;        /* x, pre and shared of the first step of each symbol; mask: there is one */
  real *symbol_dpre;         /* (symbols, pre) */
  real *symbol_dpre_sums;    /* (GROUPS, symbols, pre) */
  real *symbol_dshared_sums; /* (GROUPS, mode tiles, symbols, shared) */
} run;

static run carve_run(arena *a, const sparc_cell *cell, size_t T, size_t n, int interval, size_t symbols) {
  run r = {.cell = cell,
           .T = T,
           .D = (size_t)cell->D,
           .H = (size_t)cell->H,
           .S = cell->sizes.state,
           .pre = (size_t)cell->pre,
           .shared = (size_t)cell->shared,
           .mode_tiles = tiles_of((size_t)cell->H, SCAN_MODES)};
  const size_t stops = stops_of(T, interval), pieces = tiles_of(T, SPAN) + 2 * n, tiles = GROUPS * r.mode_tiles;
  const size_t sums = (size_t)cell->sums * r.H;
  r.items = TYPED(open_item_batch)(a, cell, n);
  r.past = TYPED(open_trace_batch)(a, cell, stops);
  r.course.pieces = arena_take(a, pieces, sizeof *r.course.pieces);
  r.course.ranges = arena_take(a, pieces, sizeof *r.course.ranges);
  r.item_at = arena_take(a, T, sizeof *r.item_at);
  r.zeros = arena_take(a, SPAN * r.S, sizeof(real));
  r.stops = arena_take(a, stops * r.S, sizeof(real));
  r.stopped = arena_take(a, stops, sizeof *r.stopped);
  r.dpre = arena_take(a, (T > tiles * SPAN ? T : tiles * SPAN) * r.pre, sizeof(real));
  r.dshared_partials = arena_take(a, r.mode_tiles * T * r.shared, sizeof(real));
  r.dshared = arena_take(a, (T > symbols ? T : symbols) * r.shared, sizeof(real));
  r.sum_partials = arena_take(a, GROUPS * sums, sizeof(double));
  r.sums = arena_take(a, sums, sizeof(double));
  r.factors = arena_take(a, cell->constant_count, sizeof(real));
  if (cell->direct_input) r.dcontent = arena_take(a, (T > tiles ? T : tiles) * r.D, sizeof(real));
  r.symbol.x = arena_take(a, symbols * r.D, sizeof(real));
  r.symbol.pre = arena_take(a, symbols * r.pre, sizeof(real));
  r.symbol.shared = arena_take(a, symbols * r.shared, sizeof(real));
  r.symbol.mask = arena_take(a, symbols, sizeof(real));
  r.symbol_dpre = arena_take(a, symbols * r.pre, sizeof(real));
  r.symbol_dpre_sums = arena_take(a, GROUPS * symbols * r.pre, sizeof(real));
  r.symbol_dshared_sums = arena_take(a, tiles * symbols * r.shared, sizeof(real));
  return r;
}

/* ---- the scan ------------------------------------------------------------------------------------ */

/* modes of a row, packed as (parts, n), and what comes back */
static void pack(const run *r, range modes, const real *row, real *packed) {
  for (size_t part = 0; part < (size_t)r->cell->parts; part++)
    memcpy(packed + part * modes.n, row + part * r->H + modes.first, modes.n * sizeof(real));
}

static void add_packed(const run *r, range modes, const real *row, real *packed) {
  for (size_t part = 0; part < (size_t)r->cell->parts; part++)
    for (size_t i = 0; i < modes.n; i++) packed[part * modes.n + i] += row[part * r->H + modes.first + i];
}

static void add_unpacked(const run *r, range modes, const real *packed, real *row) {
  for (size_t part = 0; part < (size_t)r->cell->parts; part++)
    for (size_t i = 0; i < modes.n; i++) row[part * r->H + modes.first + i] += packed[part * modes.n + i];
}

/* a group of chains and a tile of modes, and its rows of the arrays that all of them fill */
typedef struct scan_part {
  size_t tile, group, mode_tile;
  range modes;
} scan_part;

static scan_part part_of(const run *r, size_t tile) {
  const size_t mode_tile = tile % r->mode_tiles;
  return (scan_part){tile, tile / r->mode_tiles, mode_tile, range_of(r->H, SCAN_MODES, mode_tile)};
}

/* cotangents of the pre-activations and controls of a piece, as far as the modes have them */
typedef struct piece_rows {
  real *dpre, *dshared;
} piece_rows;

static piece_rows rows_of(const run *r, const scan_part *part, const piece *p) {
  return (piece_rows){r->dpre + (r->grouped ? part->tile * SPAN : p->begin) * r->pre,
                      r->dshared_partials + (part->mode_tile * r->T + p->begin) * r->shared};
}

/* what the output reads of the past has no cotangent here, and the adjoint does not write it */
static void clear_output_columns(const run *r, range modes, size_t steps, real *dpre) {
  for (int i = 0; i < r->cell->projections; i++) {
    const projection *q = &r->cell->project[i];
    if (!q->output_only) continue;
    for (size_t t = 0; t < steps; t++)
      memset(dpre + t * r->pre + (size_t)q->column + modes.first, 0, modes.n * sizeof(real));
  }
}

/* the columns of these modes: runs of H of the projected ones, but not those of groups, and copies of these after them
 */
static void add_columns(const run *r, range modes, const real *dpre, real *sum) {
  const size_t projected = (size_t)r->cell->projected;
  const size_t runs[][2] = {{0, projected - projected % r->H}, {projected, r->pre}};
  for (size_t k = 0; k < 2; k++)
    for (size_t column = runs[k][0] + modes.first; column < runs[k][1]; column += r->H)
      for (size_t i = column; i < column + modes.n; i++) sum[i] += dpre[i];
}

/* the steps of a piece are added to their symbols, the columns of these modes alone */
static void add_to_symbols(const run *r, const scan_part *part, const piece *p, piece_rows rows) {
  const size_t symbols = (size_t)r->view->symbols;
  for (size_t t = p->begin; t < p->end; t++, rows.dpre += r->pre, rows.dshared += r->shared) {
    const size_t symbol = (size_t)r->view->symbol[t];
    real *sum = r->symbol_dpre_sums + (part->group * symbols + symbol) * r->pre;
    real *shared = r->symbol_dshared_sums + (part->tile * symbols + symbol) * r->shared;
    add_columns(r, part->modes, rows.dpre, sum);
    for (size_t q = 0; q < r->shared; q++) shared[q] += rows.dshared[q];
  }
}

static void scan_piece(const run *r, const scan_part *part, const piece *p, real *g) {
  const size_t at = p->begin;
  const range modes = part->modes;
  const piece_rows rows = rows_of(r, part, p);
  real before[2 * SCAN_MODES];
  const TYPED(span) span = {.first = modes.first,
                            .n = modes.n,
                            .tokens = p->end - at,
                            .pre = r->rows.pre + at * r->pre,
                            .shared = r->rows.shared + at * r->shared,
                            .mask = r->rows.mask + at,
                            .x = r->rows.x + at * r->D,
                            .dx = r->dcontent ? r->dcontent + (r->dinput ? at : part->tile) * r->D : NULL,
                            .dx_stride = r->dinput ? r->D : 0};
  pack(r, modes, r->view->states + at * r->S, before);
  clear_output_columns(r, modes, span.tokens, rows.dpre);
  TYPED(adjoint_span)
  (r->cell, r->fused, r->weights.constants, &span, before, r->view->states + (at + 1) * r->S, r->zeros, g, rows.dpre,
   rows.dshared, r->sum_partials + part->group * (size_t)r->cell->sums * r->H);
  if (r->grouped) add_to_symbols(r, part, p, rows);
}

static void scan_tile(void *context, size_t tile) {
  const run *r = context;
  const scan_part part = part_of(r, tile);
  const range pieces = r->course.group[part.group];
  real g[2 * SCAN_MODES] = {0};
  for (const piece *p = r->course.pieces + pieces.first; p < r->course.pieces + pieces.first + pieces.n; p++) {
    if (p->fresh) memset(g, 0, sizeof g);
    if (p->item != NONE) add_packed(r, part.modes, r->items.y + (size_t)p->item * r->S, g);
    scan_piece(r, &part, p, g);
    if (p->stop != NONE) add_unpacked(r, part.modes, g, r->stops + (size_t)p->stop * r->S);
  }
}

/* ---- from steps to weights ------------------------------------------------------------------------ */

/* steps in a run, or the symbols */
static token_block block_of(const run *r, range steps) {
  if (r->grouped)
    return (token_block){.cell = r->cell,
                         .weights = r->weights,
                         .n = (size_t)r->view->symbols,
                         .x = r->symbol.x,
                         .pre = r->symbol.pre,
                         .shared = r->symbol.shared,
                         .dpre = r->symbol_dpre,
                         .dshared = r->dshared};
  const size_t at = steps.first;
  real *dx = r->dcontent ? r->dcontent : r->dinput;
  return (token_block){.cell = r->cell,
                       .weights = r->weights,
                       .n = steps.n,
                       .x = r->rows.x + at * r->D,
                       .pre = r->rows.pre + at * r->pre,
                       .shared = r->rows.shared + at * r->shared,
                       .dpre = r->dpre + at * r->pre,
                       .dshared = r->dshared + at * r->shared,
                       .dx = r->dinput ? dx + at * r->D : NULL,
                       .dx_started = true};
}

/* back to the inputs */
static void block_backward(const run *r, const token_block *block, const real *dshared_sums, size_t sums,
                           size_t stride) {
  const size_t width = block->n * r->shared;
  if (width > 0) {
    memset(block->dshared, 0, width * sizeof(real));
    TYPED(ordered_add)(block->dshared, dshared_sums, sums, stride, width);
  }
  TYPED(tokens_backward)(block, (range){0, block->n});
}

static void symbols_backward(const run *r) {
  const token_block block = block_of(r, (range){0, 0});
  const size_t width = block.n * r->pre;
  memset(block.dpre, 0, width * sizeof(real));
  TYPED(ordered_add)(block.dpre, r->symbol_dpre_sums, r->course.groups, width, width);
  block_backward(r, &block, r->symbol_dshared_sums, r->course.groups * r->mode_tiles, block.n * r->shared);
}

static void steps_backward(const run *r, range steps) {
  const token_block block = block_of(r, steps);
  block_backward(r, &block, r->dshared_partials + steps.first * r->shared, r->mode_tiles, r->T * r->shared);
  if (!block.dx || !r->dcontent) return;
  for (size_t i = 0; i < steps.n * r->D; i++) r->dinput[steps.first * r->D + i] += block.dx[i];
}

/* the steps of a tile that are reached */
static void backward_tile(void *context, size_t tile) {
  const run *r = context;
  const range own = range_of(r->T, TOKEN_TILE, tile);
  for (size_t k = 0; k < r->course.range_count; k++) {
    const range *all = &r->course.ranges[k];
    const size_t first = all->first > own.first ? all->first : own.first;
    const size_t own_end = own.first + own.n, all_end = all->first + all->n,
                 end = own_end < all_end ? own_end : all_end;
    if (first < end) steps_backward(r, (range){first, end - first});
  }
}

/* the sums of the modes, then products with the inputs */
static void gradient_part(void *context, size_t part) {
  const run *r = context;
  const size_t ranges = r->grouped ? 1 : r->course.range_count;
  if (part == 0) TYPED(modes_gradient)(r->cell, r->factors, r->course.groups, r->sum_partials, r->sums, r->dparams);
  for (size_t k = 0; k < ranges && part > 0; k++) {
    const token_block block = block_of(r, r->course.ranges[k]);
    TYPED(tokens_gradient)(&block, part - 1, r->dparams);
  }
}

/* ---- stages -------------------------------------------------------------------------------------- */

/* constants of the rollout, but for what a sink multiplies a trace with */
static void mix_factors(const run *r) {
  memcpy(r->factors, r->weights.constants, r->cell->constant_count * sizeof(real));
  for (size_t s = 0; s < r->cell->sinks; s++) {
    const rtrl_sink *sink = &r->cell->sink[s];
    if (sink->factor == FACTOR_CONSTANT)
      memcpy(r->factors + sink->constant, r->items.weights.constants + sink->constant, 2 * r->H * sizeof(real));
  }
}

/* the first step of each symbol, zeros for those that do not occur, and no sums yet */
static void start_symbols(const run *r) {
  const size_t symbols = (size_t)r->view->symbols;
  memset(r->symbol.x, 0, symbols * r->D * sizeof(real));
  memset(r->symbol.pre, 0, symbols * r->pre * sizeof(real));
  memset(r->symbol.shared, 0, symbols * r->shared * sizeof(real));
  memset(r->symbol.mask, 0, symbols * sizeof(real));
  for (size_t t = 0; t < r->T; t++) {
    const size_t symbol = (size_t)r->view->symbol[t];
    if (r->symbol.mask[symbol] != 0) continue;
    r->symbol.mask[symbol] = 1;
    memcpy(r->symbol.x + symbol * r->D, r->rows.x + t * r->D, r->D * sizeof(real));
    memcpy(r->symbol.pre + symbol * r->pre, r->rows.pre + t * r->pre, r->pre * sizeof(real));
    memcpy(r->symbol.shared + symbol * r->shared, r->rows.shared + t * r->shared, r->shared * sizeof(real));
  }
  memset(r->symbol_dpre_sums, 0, GROUPS * symbols * r->pre * sizeof(real));
  memset(r->symbol_dshared_sums, 0, GROUPS * r->mode_tiles * symbols * r->shared * sizeof(real));
}

/* cotangents of traces so far: of items directly after one */
static void start_stops(const run *r) {
  const size_t stops = stops_of(r->T, r->view->checkpoints ? r->view->interval : 0);
  memset(r->stops, 0, stops * r->S * sizeof(real));
  memset(r->stopped, 0, stops * sizeof *r->stopped);
  for (size_t t = 0; t < r->T; t++) {
    const int stop = stop_before(r->view, t);
    if (stop == NONE || r->item_at[t] == NONE) continue;
    memcpy(r->stops + (size_t)stop * r->S, r->items.y + (size_t)r->item_at[t] * r->S, r->S * sizeof(real));
    r->stopped[stop] = true;
  }
  for (size_t k = 0; k < r->course.count; k++)
    if (r->course.pieces[k].stop != NONE) r->stopped[r->course.pieces[k].stop] = true;
}

static void start_scan(run *r) {
  for (size_t t = 0; t < r->T; t++)
    if (r->item_at[t] != NONE && !TYPED(item_has_past)(&r->items, (size_t)r->item_at[t])) r->item_at[t] = NONE;
  plan_pieces(r->view, r->rows.mask, r->item_at, &r->course);
  plan_groups(&r->course);
  start_stops(r);
  memset(r->zeros, 0, SPAN * r->S * sizeof(real));
  memset(r->sum_partials, 0, GROUPS * (size_t)r->cell->sums * r->H * sizeof(double));
  mix_factors(r);
  if (r->grouped) start_symbols(r);
}

/* everything that the items' own steps do not have */
static void add_past(run *r, int threads) {
  start_scan(r);
  parallel_for(threads, r->course.groups * r->mode_tiles, scan_tile, r);
  if (r->grouped)
    symbols_backward(r);
  else
    parallel_for(threads, tiles_of(r->T, TOKEN_TILE), backward_tile, r);
  if (r->course.count > 0) parallel_for(threads, TYPED(tokens_gradient_parts)(r->cell, 1) + 1, gradient_part, r);
  const size_t stops = stops_of(r->T, r->view->checkpoints ? r->view->interval : 0), trace = r->cell->sizes.trace;
  for (size_t k = 0; k < stops; k++) {
    const real *Z = k == 0 ? r->view->boundary : r->view->checkpoints + (k - 1) * trace;
    if (r->stopped[k] && Z) TYPED(add_trace)(&r->past, r->items.weights.constants, Z, r->stops + k * r->S);
  }
  TYPED(contract_traces)(&r->past, r->dparams, threads);
}

/* ---- calls --------------------------------------------------------------------------------------- */

/* the boundary's arrays */
typedef struct boundary_work {
  PUBLIC(sparc_lazy) lazy;
  real *state, *tape;
} boundary_work;

static boundary_work carve_boundary(arena *a, const sparc_cell *cell) {
  boundary_work w = {.lazy = {.capacity = BOUNDARY_CHUNK}};
  w.lazy.steps = arena_take(a, lazy_size(cell, BOUNDARY_CHUNK), sizeof(real));
  w.state = arena_take(a, cell->sizes.state, sizeof(real));
  w.tape = arena_take(a, cell->sizes.tape, sizeof(real));
  return w;
}

size_t TYPED(record_work_size)(const sparc_cell *cell, int T, int n, int interval, int symbols) {
  if (!cell || cell->sizes.trace == 0 || T < 1 || n < 1 || interval < 0 || symbols < 0) return 0;
  arena gradient = arena_measure(), boundary = arena_measure();
  (void)carve_run(&gradient, cell, (size_t)T, (size_t)n, interval, (size_t)symbols);
  (void)carve_boundary(&boundary, cell);
  return TYPED(work_elements)(gradient.used > boundary.used ? &gradient : &boundary);
}

static sparc_status check_view(const sparc_cell *cell, const record_view *view) {
  if (!cell || !view) return fail(SPARC_INVALID, "%s is NULL", cell ? "view" : "cell");
  if (!view->prepared || !view->records || !view->states)
    return fail(SPARC_INVALID, "view->%s is NULL",
                !view->prepared  ? "prepared"
                : !view->records ? "records"
                                 : "states");
  if (view->T < 1) return fail(SPARC_INVALID, "view->T is %d, expected at least one step", view->T);
  if (view->checkpoints && view->interval < 1)
    return fail(SPARC_INVALID, "view->interval is %d, expected at least 1 with checkpoints", view->interval);
  for (int t = 0; t < view->T && view->symbol; t++)
    if (view->symbol[t] < 0 || view->symbol[t] >= view->symbols)
      return fail(SPARC_INVALID, "view->symbol[%d] is %d, expected 0 to %d", t, view->symbol[t], view->symbols - 1);
  return TYPED(check_rtrl)(cell, view->records);
}

/* every item at its step */
static sparc_status place_items(const run *r, int n, const int *steps) {
  for (size_t t = 0; t < r->T; t++) r->item_at[t] = NONE;
  for (int i = 0; i < n; i++) {
    if (steps[i] < 0 || (size_t)steps[i] >= r->T)
      return fail(SPARC_INVALID, "steps[%d] is %d, expected a step of %zu", i, steps[i], r->T);
    if (r->item_at[steps[i]] != NONE)
      return fail(SPARC_INVALID, "steps[%d] and steps[%d] are both %d, expected distinct steps", r->item_at[steps[i]],
                  i, steps[i]);
    r->item_at[steps[i]] = i;
  }
  return SPARC_OK;
}

sparc_status PUBLIC(sparc_record_gradient)(const sparc_cell *cell, const real *prepared, const record_view *view, int n,
                                           const int *steps, real *tapes, const real *dy, real *dparams, real *dx,
                                           real *dinput, real *dstate, real *work, int threads) {
  const struct {
    const void *pointer;
    const char *name;
  } needed[] = {{prepared, "prepared"}, {steps, "steps"}, {tapes, "tapes"}, {dy, "dy"},
                {dparams, "dparams"},   {work, "work"}};
  for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
    if (!needed[i].pointer) return fail(SPARC_INVALID, "%s is NULL", needed[i].name);
  sparc_status status = check_view(cell, view);
  if (status != SPARC_OK || !view->records) return status;
  if (n < 1) return fail(SPARC_INVALID, "n is %d, expected at least one item", n);
  arena a = TYPED(work_arena)(work);
  run r = carve_run(&a, cell, (size_t)view->T, (size_t)n, view->checkpoints ? view->interval : 0,
                    view->symbol ? (size_t)view->symbols : 0);
  if ((status = place_items(&r, n, steps)) != SPARC_OK) return status;
  r.view = view;
  carve_records(cell, r.T, (real *)view->records, &r.rows);
  r.weights = TYPED(view_prepared)(cell, view->prepared);
  r.fused = TYPED(fused_of)(cell, r.weights.constants);
  r.dparams = dparams;
  r.dinput = dinput;
  r.grouped = view->symbol && !dinput; /* the inputs' cotangents are needed step by step */
  r.items.weights = TYPED(view_prepared)(cell, prepared);
  r.items.tapes = tapes;
  r.items.dy = dy;
  r.items.dparams = dparams;
  r.items.dx = dx;
  TYPED(item_gradients)(&r.items, threads);
  add_past(&r, threads);
  for (size_t i = 0; dstate && i < r.S; i++) dstate[i] += r.stops[i];
  return SPARC_OK;
}

sparc_status PUBLIC(sparc_record_boundary)(const sparc_cell *cell, const record_view *view, int from, int to,
                                           real *trace, real *work) {
  sparc_status status = check_view(cell, view);
  if (status != SPARC_OK || !view->records) return status;
  if (!trace || !work) return fail(SPARC_INVALID, "%s is NULL", trace ? "work" : "trace");
  if (from < 0 || to < from || to > view->T)
    return fail(SPARC_INVALID, "from and to are %d and %d, expected 0 <= from <= to <= %d", from, to, view->T);
  const size_t D = (size_t)cell->D, S = cell->sizes.state;
  arena a = TYPED(work_arena)(work);
  boundary_work w = carve_boundary(&a, cell);
  record_rows rows;
  carve_records(cell, (size_t)view->T, (real *)view->records, &rows);
  w.lazy.trace = trace;
  size_t first = (size_t)from; /* the last segment that starts here needs nothing from before it */
  for (size_t t = (size_t)from; t < (size_t)to; t++)
    if (rows.mask[t] == 0) first = t;
  memcpy(w.state, view->states + first * S, S * sizeof(real));
  for (size_t t = first; t < (size_t)to && status == SPARC_OK; t++) {
    status = PUBLIC(sparc_step)(cell, view->prepared, w.state, rows.x + t * D, rows.mask[t], NULL, w.tape);
    if (status == SPARC_OK) status = PUBLIC(sparc_lazy_update)(cell, view->prepared, &w.lazy, w.tape, NULL, NULL, NULL);
  }
  return status == SPARC_OK ? PUBLIC(sparc_lazy_flush)(cell, &w.lazy, NULL) : status;
}
