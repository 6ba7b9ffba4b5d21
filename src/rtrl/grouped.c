/* SPDX-License-Identifier: MIT */
/* grouped.c: grouped traces. Layout: rows of S numbers (parts, H): the product of transitions since the rollout began,
 * then the scalar slots, then every outer slot once per symbol. All rows have the one recursion row <- m a row, and the
 * drivers are added to those of the step's symbol. */
#include "base/threads.h"
#include "kernels/gemm_impl.h"
#include "rtrl/columns_impl.h"

#include <string.h>

typedef TYPED(grouping) grouping;

/* ---- rows ------------------------------------------------------------------------------------------ */

static size_t scalar_row(size_t slot) { return 1 + slot; }
static size_t outer_row(const sparc_cell *cell, int symbols, size_t slot, size_t symbol) {
  return 1 + (size_t)cell->scalar + slot * (size_t)symbols + symbol;
}
static size_t rows_of(const sparc_cell *cell, int symbols) { return outer_row(cell, symbols, (size_t)cell->outer, 0); }

size_t TYPED(grouped_trace_size)(const sparc_cell *cell, int symbols) {
  if (cell->sizes.trace == 0 || !TYPED(sinks_cover_input)(cell)) return 0;
  return cell->columns ? TYPED(column_trace_size)(cell, symbols) : rows_of(cell, symbols) * cell->sizes.state;
}

void TYPED(grouped_trace_start)(const sparc_cell *cell, int symbols, real *trace) {
  memset(trace, 0, TYPED(grouped_trace_size)(cell, symbols) * sizeof(real));
  for (size_t j = 0; j < (size_t)cell->H; j++) trace[j] = 1;
}

/* ---- one step ---------------------------------------------------------------------------------------- */

/* after = m a before, every row */
static void carry_rows(const sparc_cell *cell, const TYPED(tape_view) * tape, size_t rows, const real *restrict before,
                       real *restrict after) {
  const size_t H = (size_t)cell->H, S = cell->sizes.state;
  const real mask = *tape->mask, *restrict a = tape->a;
  if (mask == 0) {
    memset(after, 0, rows * S * sizeof(real));
    return;
  }
  for (size_t r = 0; r < rows; r++, before += S, after += S) {
    if (cell->parts == 1) {
      for (size_t j = 0; j < H; j++) after[j] = a[j] * before[j];
      continue;
    }
    for (size_t j = 0; j < H; j++) {
      after[j] = a[j] * before[j] - a[H + j] * before[H + j];
      after[H + j] = a[j] * before[H + j] + a[H + j] * before[j];
    }
  }
}

static void add_row(size_t S, const real *restrict driver, real *restrict row) {
  for (size_t i = 0; i < S; i++) row[i] += driver[i];
}

static void step_slots(const sparc_cell *cell, const real *prepared, real *tape, int symbols, int symbol,
                       const real *before, real *after) {
  const size_t S = cell->sizes.state;
  const TYPED(tape_view) view = TYPED(view_tape)(cell, tape);
  TYPED(compute_drivers)(cell, prepared + cell->constants, &view);
  carry_rows(cell, &view, rows_of(cell, symbols), before, after);
  for (size_t slot = 0; slot < (size_t)cell->scalar; slot++)
    add_row(S, view.scalar + slot * S, after + scalar_row(slot) * S);
  for (size_t slot = 0; slot < (size_t)cell->outer; slot++)
    add_row(S, view.outer + slot * S, after + outer_row(cell, symbols, slot, (size_t)symbol) * S);
}

void TYPED(grouped_trace_step)(const sparc_cell *cell, const real *prepared, real *tape, int symbols, int symbol,
                               const real *before, real *after) {
  const uint64_t mode = flush_denormals_begin();
  if (cell->columns)
    TYPED(column_trace_step)(cell, prepared, tape, symbols, symbol, before, after);
  else
    step_slots(cell, prepared, tape, symbols, symbol, before, after);
  flush_denormals_end(mode);
}

/* ---- the trace of a grouped one --------------------------------------------------------------------------------- */

/* z += p Z, one number of each */
static void add_carried(const sparc_cell *cell, const real *p, size_t j, const real *Z_re, const real *Z_im, real *re,
                        real *im) {
  const size_t H = (size_t)cell->H;
  *re += cell->parts == 1 ? p[j] * *Z_re : p[j] * *Z_re - p[H + j] * *Z_im;
  if (cell->parts == 2) *im += p[j] * *Z_im + p[H + j] * *Z_re;
}

static void expand_outer(const sparc_cell *cell, const grouping *g, const real *grouped, real *trace) {
  const size_t D = (size_t)cell->D, H = (size_t)cell->H, S = cell->sizes.state, parts = (size_t)cell->parts;
  for (size_t j = 0; j < H; j++) {
    for (size_t slot = 0; slot < (size_t)cell->outer; slot++) {
      real *row = trace + (j * (size_t)cell->outer + slot) * parts * D;
      for (size_t d = 0; d < D; d++) {
        real *re = row + d, *im = re + (parts - 1) * D;
        *re = *im = 0;
        for (size_t v = 0; v < (size_t)g->symbols; v++) {
          const real *q = grouped + outer_row(cell, g->symbols, slot, v) * S + j, x = g->inputs[v * D + d];
          *re += q[0] * x;
          if (parts == 2) *im += q[H] * x;
        }
      }
    }
  }
}

/* the traces of before the rollout, carried to this step */
static void add_boundary(const sparc_cell *cell, const grouping *g, const real *grouped, real *trace) {
  const size_t D = (size_t)cell->D, H = (size_t)cell->H, S = cell->sizes.state, parts = (size_t)cell->parts;
  const size_t rows = (size_t)cell->outer, numbers = (size_t)cell->scalar;
  const real *Z = g->boundary, *z = TYPED(scalar_traces)(cell, (real *)g->boundary);
  real *out = TYPED(scalar_traces)(cell, trace);
  for (size_t row = 0; row < H * rows; row++, Z += parts * D, trace += parts * D)
    for (size_t d = 0, im = (parts - 1) * D; d < D; d++)
      add_carried(cell, grouped, row / rows, Z + d, Z + im + d, trace + d, trace + im + d);
  for (size_t slot = 0; slot < numbers; slot++, z += S, out += S)
    for (size_t j = 0, im = (parts - 1) * H; j < H; j++)
      add_carried(cell, grouped, j, z + j, z + im + j, out + j, out + im + j);
}

void TYPED(grouped_trace_expand)(const sparc_cell *cell, const grouping *g, const real *grouped, real *tape,
                                 real *trace) {
  const uint64_t mode = flush_denormals_begin();
  if (cell->columns) {
    TYPED(column_trace_expand)(cell, g, grouped, tape, trace);
  } else {
    expand_outer(cell, g, grouped, trace);
    memcpy(TYPED(scalar_traces)(cell, trace), grouped + scalar_row(0) * cell->sizes.state,
           (size_t)cell->scalar * cell->sizes.state * sizeof(real));
  }
  if (g->boundary) add_boundary(cell, g, grouped, trace);
  flush_denormals_end(mode);
}

void TYPED(grouped_pre)(const sparc_cell *cell, const real *prepared, int symbols, const real *inputs, real *pre) {
  const size_t n = (size_t)symbols;
  if (!cell->columns) return;
  TYPED(project_inputs)(cell, prepared, n, inputs, pre, (size_t)cell->pre);
  TYPED(ops_of)(cell)->affine->activate(cell, prepared + cell->constants, n, inputs, pre, NULL);
}

/* ---- the gradient of a minibatch ------------------------------------------------------------------------- */

typedef struct run {
  const sparc_cell *cell;
  const grouping *g;
  TYPED(item_batch) items;
  TYPED(trace_batch) past;
  const real *const *traces; /* (n) */
  size_t *live;              /* (lives): the items that carry anything over from the step before */
  size_t lives;
  real *sums;    /* (sinks, symbols, H) */
  real *weights; /* (sinks, S) */
  real *carried; /* (S): the cotangent of the trace before the first step */
  TYPED(column_batch) columns;
  real *dparams;
} run;

static run carve_run(arena *a, const sparc_cell *cell, int n, int symbols) {
  const size_t S = cell->sizes.state;
  run r = {.cell = cell};
  r.items = TYPED(open_item_batch)(a, cell, (size_t)n);
  r.past = TYPED(open_trace_batch)(a, cell, 1);
  r.live = arena_take(a, (size_t)n, sizeof *r.live);
  r.sums = arena_take(a, cell->sinks * (size_t)symbols * (size_t)cell->H, sizeof(real));
  r.weights = arena_take(a, cell->sinks * S, sizeof(real));
  r.carried = arena_take(a, S, sizeof(real));
  if (cell->columns) TYPED(open_column_batch)(a, cell, symbols, &r.columns);
  return r;
}

size_t TYPED(grouped_work_size)(const sparc_cell *cell, int n, int symbols) {
  arena a = arena_measure();
  (void)carve_run(&a, cell, n, symbols);
  return TYPED(work_elements)(&a);
}

/* out (rows, H) += w_re q_re + w_im q_im, q (rows, S) */
static void add_contractions(const sparc_cell *cell, size_t rows, const real *restrict w, const real *restrict q,
                             real *restrict out) {
  const size_t H = (size_t)cell->H, S = cell->sizes.state;
#ifndef SPARC_DOUBLE
  if (cell->kernels->rtrl.entry_vectors) {
    cell->kernels->rtrl.entry_vectors(H, rows, (size_t)cell->parts, w, q, out);
    return;
  }
#endif
  for (size_t row = 0; row < rows; row++, q += S, out += H)
    for (size_t j = 0; j < H; j++) out[j] += w[j] * q[j] + (cell->parts == 2 ? w[H + j] * q[H + j] : 0);
}

static real sum_of(size_t n, const real *values) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) sum += (double)values[i];
  return (real)sum;
}

/* from the sums (count, H) of a sink to its rows: count inputs (count, width) */
static void spread(const run *r, const rtrl_sink *sink, size_t count, const real *sums, size_t width,
                   const real *inputs) {
  const sparc_cell *cell = r->cell;
  const size_t H = (size_t)cell->H, length = sink_row_length(cell, sink);
  real *out = r->dparams + cell->block[sink->block].offset + (size_t)sink->column;
  if (sink->row == ROW_OF_MODE) {
    gemm(cell->kernels, TRANSPOSED, AS_IS, H, width, count, sums, H, inputs, width, 1, out, length);
    return;
  }
  for (size_t v = 0; v < count; v++) {
    const size_t group = sink->row == ROW_SHARED ? H : (size_t)sink->width;
    for (size_t j = 0; j < H; j += group) {
      const real sum = sum_of(group < H - j ? group : H - j, sums + v * H + j);
      real *row = out + (sink->row == ROW_SHARED ? 0 : TYPED(sink_row_of)(sink, j) * length);
      for (size_t d = 0; d < width; d++) row[d] += sum * inputs[v * width + d];
    }
  }
}

/* the traces are scattered over more memory than the caches hold, in runs too short for the hardware's prefetcher */
enum { AHEAD = 2 };

static void prefetch_rows(size_t bytes, const real *rows) {
  for (size_t at = 0; at < bytes; at += CACHE_LINE) __builtin_prefetch((const char *)rows + at);
}

/* one sink over all items, then to its parameters */
static void contract_sink(void *context, size_t s) {
  const run *r = context;
  const sparc_cell *cell = r->cell;
  const rtrl_sink *sink = &cell->sink[s];
  const size_t H = (size_t)cell->H, S = cell->sizes.state, symbols = (size_t)r->g->symbols;
  const size_t count = sink->outer ? symbols : 1;
  const size_t row =
      sink->outer ? outer_row(cell, r->g->symbols, (size_t)sink->slot, 0) : scalar_row((size_t)sink->slot);
  real *sums = r->sums + s * symbols * H;
  memset(sums, 0, count * H * sizeof(real));
  for (size_t k = 0; k < r->lives; k++) {
    const size_t i = r->live[k];
    if (k + AHEAD < r->lives) prefetch_rows(count * S * sizeof(real), r->traces[r->live[k + AHEAD]] + row * S);
    const real *w = TYPED(sink_weights)(cell, sink, r->items.weights.constants, r->items.y + i * S, r->weights + s * S);
    add_contractions(cell, count, w, r->traces[i] + row * S, sums);
  }
  const real one = 1;
  spread(r, sink, count, sums, sink->outer ? (size_t)cell->D : 1, sink->outer ? r->g->inputs : &one);
}

/* a sum is the cotangent of the pre-activation that its mode and symbol had: back through the weights of that time */
static void add_inputs_gradient(const run *r, real *dinputs) {
  const sparc_cell *cell = r->cell;
  const size_t D = (size_t)cell->D, H = (size_t)cell->H, symbols = (size_t)r->g->symbols;
  const TYPED(prepared_view) weights = TYPED(view_prepared)(cell, r->g->prepared);
  for (size_t s = 0; s < cell->sinks; s++) {
    const real *sums = r->sums + s * symbols * H;
    for (size_t v = 0; v < symbols && cell->sink[s].outer; v++)
      for (size_t j = 0; j < H; j++)
        TYPED(add_sink_row)(cell, &weights, &cell->sink[s], j, sums[v * H + j], dinputs + v * D);
  }
}

static void contract_past(run *r, real *dinputs, int threads) {
  parallel_for(threads, r->cell->sinks, contract_sink, r);
  if (dinputs) add_inputs_gradient(r, dinputs);
}

static void contract_past_columns(run *r, real *dinputs, int threads) {
  TYPED(column_batch) *b = &r->columns;
  b->cell = r->cell;
  b->grouping = r->g;
  b->n = r->lives;
  b->item = r->live;
  b->traces = r->traces;
  b->y = r->items.y;
  b->dparams = r->dparams;
  b->dinputs = dinputs;
  TYPED(contract_columns)(b, threads);
}

static bool all_zero(size_t n, const real *values) {
  for (size_t i = 0; i < n; i++)
    if (values[i] != 0) return false;
  return true;
}

/* carried = sum_i conj(p_i) y_i; whether any item remembers what was before the rollout */
static bool gather_carried(const run *r) {
  const size_t H = (size_t)r->cell->H, S = r->cell->sizes.state;
  bool any = false;
  memset(r->carried, 0, S * sizeof(real));
  for (size_t k = 0; k < r->lives; k++) {
    const real *p = r->traces[r->live[k]], *y = r->items.y + r->live[k] * S;
    if (all_zero(S, p)) continue;
    any = true;
    for (size_t j = 0; j < H; j++) {
      r->carried[j] += p[j] * y[j];
      if (r->cell->parts == 1) continue;
      r->carried[j] += p[H + j] * y[H + j];
      r->carried[H + j] += p[j] * y[H + j] - p[H + j] * y[j];
    }
  }
  return any;
}

void TYPED(grouped_gradient)(const sparc_cell *cell, const real *prepared, const grouping *g, int n,
                             const real *const *traces, real *tapes, const real *dy, real *dparams, real *dx,
                             real *dinputs, real *dstate, real *work, int threads) {
  arena a = TYPED(work_arena)(work);
  run r = carve_run(&a, cell, n, g->symbols);
  r.g = g;
  r.traces = traces;
  r.dparams = dparams;
  r.items.weights = TYPED(view_prepared)(cell, prepared);
  r.items.tapes = tapes;
  r.items.dy = dy;
  r.items.dparams = dparams;
  r.items.dx = dx;
  TYPED(item_gradients)(&r.items, threads);
  for (size_t i = 0; i < r.items.n; i++)
    if (TYPED(item_has_past)(&r.items, i)) r.live[r.lives++] = i;
  if (cell->columns)
    contract_past_columns(&r, dinputs, threads);
  else
    contract_past(&r, dinputs, threads);
  if (!gather_carried(&r)) return;
  for (size_t i = 0; dstate && i < cell->sizes.state; i++) dstate[i] += r.carried[i];
  if (!g->boundary) return;
  TYPED(add_trace)(&r.past, r.items.weights.constants, g->boundary, r.carried);
  TYPED(contract_traces)(&r.past, dparams, threads);
}
