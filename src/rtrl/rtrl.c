/* SPDX-License-Identifier: MIT */
/* rtrl.c: exact structured RTRL of diagonal affine cells [eq:rtrl_recurrence, eq:app_reset_trace].
 *
 *   Z_j <- m a_j Z_j + driver_j        one complex factor per mode, so the full influence matrix never exists
 *
 * Trace layout: (H, outer, parts, D) rows driven by c_j x^T, then (scalar, parts, H) entries driven by c_j. Which
 * parameters a slot belongs to is the cell's table of sinks; the contraction [eq:online_loss_gradient] walks it.
 */
#include "base/error.h"
#include "base/threads.h"
#include "cells/affine/tokens_impl.h"
#include "kernels/gemm_impl.h"
#include "kernels/kernels.h"
#include "rtrl/rtrl_impl.h"

#include <string.h>

/* this file writes the plain names */
#define scalar_traces   TYPED(scalar_traces)
#define check_rtrl      TYPED(check_rtrl)
#define compute_drivers TYPED(compute_drivers)
#define advance_scalar  TYPED(advance_scalar)
#define advance_slot    TYPED(advance_slot)
#define adjoint_step    TYPED(adjoint_step)
#define state_gradient  TYPED(state_gradient)
#define sink_factor_of  TYPED(sink_factor_of)
#define sink_weights    TYPED(sink_weights)
#define sink_row_of     TYPED(sink_row_of)
#define contract        TYPED(contract)
#define local_gradient  TYPED(local_gradient)
#define sink_choice     TYPED(sink_choice)
#define ALL_SINKS       TYPED(ALL_SINKS)
#define SCALAR_SINKS    TYPED(SCALAR_SINKS)

/* ---- step -------------------------------------------------------------------------------------- */

/* Z <- a Z + c x over one row of D entries */
static void advance_outer_complex(size_t D, real a_re, real a_im, real c_re, real c_im, const real *restrict x,
                                  real *restrict z_re, real *restrict z_im) {
  for (size_t d = 0; d < D; d++) {
    const real re = z_re[d], im = z_im[d];
    z_re[d] = a_re * re - a_im * im + c_re * x[d];
    z_im[d] = a_re * im + a_im * re + c_im * x[d];
  }
}

static void advance_outer_real(size_t D, real a, real c, const real *restrict x, real *restrict z) {
  for (size_t d = 0; d < D; d++) z[d] = a * z[d] + c * x[d];
}

void advance_slot(const sparc_cell *cell, real a_re, real a_im, real c_re, real c_im, const real *x, real *z) {
  const size_t D = (size_t)cell->D;
  if (cell->parts == 2)
    advance_outer_complex(D, a_re, a_im, c_re, c_im, x, z, z + D);
  else
    advance_outer_real(D, a_re, c_re, x, z);
}

static void advance_outer(const sparc_cell *cell, const TYPED(tape_view) * tape, real *trace) {
  const size_t D = (size_t)cell->D, H = (size_t)cell->H, outer = (size_t)cell->outer, parts = (size_t)cell->parts;
  const real mask = *tape->mask;
  for (size_t j = 0; j < H; j++) {
    const real a_re = mask * tape->a[j], a_im = parts == 2 ? mask * tape->a[H + j] : 0;
    for (size_t row = j * outer; row < (j + 1) * outer; row++) {
      real *z = trace + row * parts * D;
      const real *c = tape->outer + (row - j * outer) * parts * H + j;
      advance_slot(cell, a_re, a_im, c[0], parts == 2 ? c[H] : 0, tape->x, z);
    }
  }
}

void advance_scalar(const sparc_cell *cell, const TYPED(tape_view) * tape, real *trace) {
  const size_t H = (size_t)cell->H, parts = (size_t)cell->parts;
  const real mask = *tape->mask;
#ifndef SPARC_DOUBLE
  if (cell->kernels->rtrl.entries) {
    cell->kernels->rtrl.entries(&(entry_rows){.H = H,
                                              .entries = (size_t)cell->scalar,
                                              .parts = parts,
                                              .mask = mask,
                                              .a = tape->a,
                                              .c = tape->scalar,
                                              .z = scalar_traces(cell, trace)});
    return;
  }
#endif
  real *entry = scalar_traces(cell, trace);
  const real *driver = tape->scalar;
  for (size_t s = 0; s < (size_t)cell->scalar; s++, entry += parts * H, driver += parts * H) {
    for (size_t j = 0; j < H; j++) {
      const real a_re = mask * tape->a[j];
      if (parts == 1) {
        entry[j] = a_re * entry[j] + driver[j];
        continue;
      }
      const real a_im = mask * tape->a[H + j], re = entry[j], im = entry[H + j];
      entry[j] = a_re * re - a_im * im + driver[j];
      entry[H + j] = a_re * im + a_im * re + driver[H + j];
    }
  }
}

#ifndef SPARC_DOUBLE
static trace_rows trace_rows_of(const sparc_cell *cell, const TYPED(tape_view) * tape, const real *before,
                                real *trace) {
  return (trace_rows){.H = (size_t)cell->H,
                      .n = (size_t)cell->H,
                      .rows = (size_t)cell->outer,
                      .D = (size_t)cell->D,
                      .mask = *tape->mask,
                      .a = tape->a,
                      .c = tape->outer,
                      .part = cell->driver,
                      .x = tape->x,
                      .before = before,
                      .Z = trace};
}
#endif

/* a new segment drops the past, even one that is not finite */
static void drop_past(const sparc_cell *cell, const TYPED(tape_view) * tape, real *trace) {
  if (*tape->mask == 0) memset(trace, 0, cell->sizes.trace * sizeof(real));
}

/* drivers of the step that filled the tape */
void compute_drivers(const sparc_cell *cell, const real *constants, const TYPED(tape_view) * tape) {
  const TYPED(fused_ops) *fused = TYPED(fused_of)(cell, constants);
  const TYPED(token) token = {tape->pre, tape->shared, *tape->mask, tape->x};
  if (fused && fused->drivers)
    fused->drivers(cell, constants, &token, tape->kept, tape->a, tape->b, tape->outer, tape->scalar);
  else
    TYPED(ops_of)
  (cell)->affine->drivers(cell, constants, &token, tape->kept, tape->a, tape->b, tape->outer, tape->scalar);
}

#ifndef SPARC_DOUBLE
typedef struct trace_tiles {
  const sparc_cell *cell;
  trace_rows rows;
  size_t tiles;
} trace_tiles;

static void advance_tile(void *context, size_t tile) {
  const trace_tiles *t = context;
  trace_rows rows = t->rows;
  const range modes = even_share(rows.H, t->tiles, tile);
  rows.first = modes.first;
  rows.n = modes.n;
  t->cell->kernels->rtrl.trace(&rows);
}

static void advance_by_kernel(const sparc_cell *cell, const trace_rows *rows, size_t floats, int threads) {
  enum { WORTH_A_THREAD = 1 << 14 }; /* floats */
  const size_t useful = floats / WORTH_A_THREAD;
  trace_tiles t = {.cell = cell, .rows = *rows, .tiles = (size_t)threads < useful ? (size_t)threads : useful};
  if (t.tiles > 1)
    parallel_for(threads, t.tiles, advance_tile, &t);
  else
    cell->kernels->rtrl.trace(rows);
}
#endif

/* from one place to another, or in place; only a kernel spares the copy of the rows, and divides them among threads */
static void advance_traces(const sparc_cell *cell, const TYPED(tape_view) * tape, const real *before, real *trace,
                           int threads) {
  const size_t rows = cell->sizes.state * (size_t)cell->outer * (size_t)cell->D;
  if (before != trace) memcpy(trace + rows, before + rows, (cell->sizes.trace - rows) * sizeof *trace);
  advance_scalar(cell, tape, trace);
#ifndef SPARC_DOUBLE
  if (cell->parts == 2 && cell->kernels->rtrl.trace) {
    const trace_rows outer = trace_rows_of(cell, tape, before, trace);
    advance_by_kernel(cell, &outer, rows, threads);
    return;
  }
#endif
  (void)threads;
  if (before != trace) memcpy(trace, before, rows * sizeof *trace);
  advance_outer(cell, tape, trace);
}

sparc_status check_rtrl(const sparc_cell *cell, const real *trace) {
  if (cell->sizes.trace == 0)
    return fail(SPARC_UNSUPPORTED, "cell %s has no RTRL form; train it with sparc_backward over short sequences",
                cell->about->kind.name);
  if (!trace) return fail(SPARC_INVALID, "trace is NULL");
  return SPARC_OK;
}

sparc_status TYPED(step_rtrl)(const sparc_cell *cell, const real *prepared, real *state, const real *before,
                              real *trace, const real *x, real mask, real *y, real *tape, int threads) {
  sparc_status status = TYPED(check_step)(cell, prepared, state, x, mask, tape);
  if (status == SPARC_OK) status = check_rtrl(cell, trace);
  if (status != SPARC_OK) return status;
  const TYPED(tape_view) view = TYPED(view_tape)(cell, tape);
  const uint64_t mode = flush_denormals_begin();
  TYPED(affine_step)(cell, prepared, state, x, mask, y, STEP_AND_DRIVERS, &view);
  drop_past(cell, &view, trace);
  advance_traces(cell, &view, mask == 0 ? trace : before, trace, threads);
  flush_denormals_end(mode);
  return SPARC_OK;
}

sparc_status PUBLIC(sparc_step_rtrl)(const sparc_cell *cell, const real *prepared, real *state, real *trace,
                                     const real *x, real mask, real *y, real *tape) {
  return TYPED(step_rtrl)(cell, prepared, state, trace, trace, x, mask, y, tape, 1);
}

/* ---- contraction ------------------------------------------------------------------------------- */

/* the factor of mode j: the sensitivity is factor times the slot */
void sink_factor_of(const sparc_cell *cell, const rtrl_sink *sink, const real *constants, size_t j, real *re,
                    real *im) {
  *re = sink->factor == FACTOR_ONE ? 1 : 0;
  *im = sink->factor == FACTOR_I ? 1 : 0;
  if (sink->factor != FACTOR_CONSTANT) return;
  *re = constants[sink->constant + j];
  *im = constants[sink->constant + (size_t)cell->H + j];
}

/* Re(conj(d) factor Z) = weight_re Re Z + weight_im Im Z: the weights (parts, H) of a sink for all modes */
const real *sink_weights(const sparc_cell *cell, const rtrl_sink *sink, const real *constants, const real *d,
                         real *scratch) {
  const size_t H = (size_t)cell->H;
  if (cell->parts == 1 || sink->factor == FACTOR_ONE) return d;
  for (size_t j = 0; j < H; j++) {
    real re, im;
    sink_factor_of(cell, sink, constants, j, &re, &im);
    scratch[j] = d[j] * re + d[H + j] * im;
    scratch[H + j] = d[H + j] * re - d[j] * im;
  }
  return scratch;
}

/* the slot of mode j: `count` entries of the real part at re and, for complex cells, of the imaginary part at im */
typedef struct slot_view {
  const real *re, *im;
  size_t count;
} slot_view;

static slot_view slot_of(const sparc_cell *cell, const rtrl_sink *sink, const real *trace, size_t j) {
  const size_t D = (size_t)cell->D, H = (size_t)cell->H, parts = (size_t)cell->parts, slot = (size_t)sink->slot;
  if (sink->outer) {
    const real *row = trace + (j * (size_t)cell->outer + slot) * parts * D;
    return (slot_view){row, parts == 2 ? row + D : NULL, D};
  }
  const real *entry = scalar_traces(cell, (real *)trace) + slot * parts * H + j;
  return (slot_view){entry, parts == 2 ? entry + H : NULL, 1};
}

/* row of the parameter block that state coordinate j influences through this sink */
size_t sink_row_of(const rtrl_sink *sink, size_t j) {
  if (sink->row == ROW_OF_GROUP) return j / (size_t)sink->width * (size_t)sink->rows + (size_t)sink->member;
  return sink->row == ROW_OF_MODE ? j : 0;
}

/* every state coordinate has its own row of the block, or its group does */
static void contract_rows(const sparc_cell *cell, const rtrl_sink *sink, const real *weights, const real *trace,
                          real *dblock) {
  const size_t H = (size_t)cell->H, length = sink_row_length(cell, sink);
  for (size_t j = 0; j < H; j++) {
    const slot_view z = slot_of(cell, sink, trace, j);
    real *out = dblock + sink_row_of(sink, j) * length + (size_t)sink->column;
    if (!z.im) {
      for (size_t i = 0; i < z.count; i++) out[i] += weights[j] * z.re[i];
    } else {
      for (size_t i = 0; i < z.count; i++) out[i] += weights[j] * z.re[i] + weights[H + j] * z.im[i];
    }
  }
}

/* all modes add to the same number: a sum in double over the parts, which lie one after the other as those of the
 * weights do */
static void contract_number(const sparc_cell *cell, const rtrl_sink *sink, const real *weights, const real *trace,
                            real *dblock) {
  const slot_view z = slot_of(cell, sink, trace, 0);
#ifndef SPARC_DOUBLE
  if (cell->kernels->rtrl.entry_number) {
    dblock[sink->column] += (float)cell->kernels->rtrl.entry_number(cell->sizes.state, weights, z.re);
    return;
  }
#endif
  double sum = 0;
  for (size_t i = 0; i < cell->sizes.state; i++) sum += (double)weights[i] * (double)z.re[i];
  dblock[sink->column] += (real)sum;
}

/* all modes add to the same row: sum them in double first, a strip of columns at a time */
static void contract_shared(const sparc_cell *cell, const rtrl_sink *sink, const real *weights, const real *trace,
                            real *dblock) {
  enum { STRIP = 64 };
  const size_t H = (size_t)cell->H, count = (size_t)cell->D;
  for (size_t first = 0; first < count; first += STRIP) {
    const size_t n = count - first < STRIP ? count - first : STRIP;
    double sums[STRIP] = {0};
    for (size_t j = 0; j < H; j++) {
      const slot_view z = slot_of(cell, sink, trace, j);
      const double w_re = (double)weights[j], w_im = z.im ? (double)weights[H + j] : 0;
      const real *re = z.re + first, *im = z.im ? z.im + first : re;
      for (size_t i = 0; i < n; i++) sums[i] += w_re * (double)re[i] + w_im * (double)im[i];
    }
    for (size_t i = 0; i < n; i++) dblock[(size_t)sink->column + first + i] += (real)sums[i];
  }
}

/* one number per mode in a vector of H: the common case of a scalar slot, free of index arithmetic */
static void contract_vector(const sparc_cell *cell, const rtrl_sink *sink, const real *weights, const real *trace,
                            real *dblock) {
  const size_t H = (size_t)cell->H;
  const slot_view z = slot_of(cell, sink, trace, 0);
#ifndef SPARC_DOUBLE
  if (cell->kernels->rtrl.entry_vectors) {
    cell->kernels->rtrl.entry_vectors(H, 1, (size_t)cell->parts, weights, z.re, dblock);
    return;
  }
#endif
  if (!z.im) {
    for (size_t j = 0; j < H; j++) dblock[j] += weights[j] * z.re[j];
  } else {
    for (size_t j = 0; j < H; j++) dblock[j] += weights[j] * z.re[j] + weights[H + j] * z.im[j];
  }
}

void contract(const sparc_cell *cell, const real *constants, const real *trace, const TYPED(tape_view) * tape,
              sink_choice choice, real *dparams) {
  for (size_t s = 0; s < cell->sinks; s++) {
    const rtrl_sink *sink = &cell->sink[s];
    if (choice == SCALAR_SINKS && sink->outer) continue;
    const real *weights = sink_weights(cell, sink, constants, tape->dstate, tape->weights);
    real *dblock = dparams + cell->block[sink->block].offset;
    if (sink->row == ROW_SHARED && !sink->outer)
      contract_number(cell, sink, weights, trace, dblock);
    else if (sink->row == ROW_SHARED)
      contract_shared(cell, sink, weights, trace, dblock);
    else if (sink->row == ROW_OF_MODE && !sink->outer && sink_row_length(cell, sink) == 1)
      contract_vector(cell, sink, weights, trace, dblock);
    else
      contract_rows(cell, sink, weights, trace, dblock);
  }
}

/* a run of modes at a time */
void adjoint_step(const sparc_cell *cell, const real *constants, const TYPED(tape_view) * tape,
                  const TYPED(step_cotangents) * out) {
  const TYPED(fused_ops) *fused = TYPED(fused_of)(cell, constants);
  const size_t H = (size_t)cell->H, parts = (size_t)cell->parts, shared = (size_t)cell->shared;
  double dshared[MAX_SHARED] = {0};
  for (size_t first = 0; first < H; first += WIDE_TILE) {
    const size_t n = H - first < WIDE_TILE ? H - first : WIDE_TILE;
    const TYPED(span) span = {.first = first,
                              .n = n,
                              .tokens = 1,
                              .pre = tape->pre,
                              .shared = tape->shared,
                              .mask = tape->mask,
                              .x = tape->x,
                              .dx = out->dx,
                              .dx_stride = (size_t)cell->D};
    real before[2 * WIDE_TILE], g[2 * WIDE_TILE], of_run[MAX_SHARED] = {0};
    memset(g, 0, parts * n * sizeof(real));
    for (size_t part = 0; part < parts; part++)
      memcpy(before + part * n, tape->kept + part * H + first, n * sizeof(real));
    TYPED(adjoint_span)
    (cell, fused, constants, &span, before, tape->state, out->dstate, g, out->dpre, of_run, out->sums);
    for (size_t part = 0; out->dcarried && part < parts; part++)
      memcpy(out->dcarried + part * H + first, g + part * n, n * sizeof(real));
    for (size_t q = 0; q < shared; q++) dshared[q] += (double)of_run[q];
  }
  for (size_t q = 0; q < shared; q++) out->dshared[q] = (real)dshared[q];
}

/* what the state read of the input itself, or nothing */
static void start_input_gradient(const sparc_cell *cell, const TYPED(tape_view) * tape, real *dx) {
  const size_t bytes = (size_t)cell->D * sizeof(real);
  if (cell->direct_input)
    memcpy(dx, tape->dinput, bytes);
  else
    memset(dx, 0, bytes);
}

/* dx += W^T dpre; the double build has no kernels */
static void project_token_backward(const sparc_cell *cell, const real *weight_out, const real *dpre, real *dx) {
  const size_t D = (size_t)cell->D, N = (size_t)cell->projected;
#ifndef SPARC_DOUBLE
  if (cell->kernels->product && N > 0) {
    gemm(cell->kernels, AS_IS, PREPARED, 1, D, N, dpre, N, weight_out, D, 1, dx, D);
    return;
  }
#endif
  for (size_t n = 0; n < N; n++)
    for (size_t d = 0; d < D; d++) dx[d] += dpre[n] * weight_out[n * D + d];
}

/* dW += dpre x^T for the columns that only the output reads */
static void output_projection_gradient(const sparc_cell *cell, const real *dpre, const real *x, real *dparams) {
  for (int i = 0; i < cell->projections; i++) {
    const projection *p = &cell->project[i];
    if (!p->output_only) continue;
    for (size_t row = 0; row < (size_t)p->rows; row++) {
      const real g = dpre[(size_t)p->column + row];
      real *out = dparams + p->weight + row * (size_t)p->stride;
      for (size_t d = 0; d < (size_t)cell->D; d++) out[d] += g * x[d];
      if (p->has_bias) dparams[p->bias + row * (size_t)p->bias_stride] += g;
    }
  }
}

static sparc_status check_gradient(const sparc_cell *cell, const real *prepared, const real *trace, const real *tape,
                                   const real *dy) {
  if (!cell || !prepared || !tape || !dy)
    return fail(SPARC_INVALID, "%s is NULL", !cell ? "cell" : !prepared ? "prepared" : !tape ? "tape" : "dy");
  return check_rtrl(cell, trace);
}

/* through the readout to the state */
void state_gradient(const sparc_cell *cell, const real *constants, const TYPED(tape_view) * tape, const real *dy) {
  const TYPED(affine_ops) *ops = TYPED(ops_of)(cell)->affine;
  if (ops->output_backward)
    ops->output_backward(cell, constants, 1, tape->state, tape->pre, dy, tape->dstate, tape->dpre);
  else
    memcpy(tape->dstate, dy, cell->sizes.state * sizeof(real));
}

/* the present of everything that no trace covers: the input, and parameters after the state */
void local_gradient(const sparc_cell *cell, const TYPED(prepared_view) * weights, const TYPED(tape_view) * tape,
                    const real *dy, real *dparams, real *dx) {
  const TYPED(affine_ops) *ops = TYPED(ops_of)(cell)->affine;
  const bool direct = dparams && (ops->output_backward || ops->direct_gradient);
  if (!dx && !direct) return;
  adjoint_step(cell, weights->constants, tape,
               &(TYPED(step_cotangents)){
                   .dstate = tape->dstate, .dpre = tape->dpre, .dshared = tape->dshared, .dx = tape->dinput});
  if (dx) start_input_gradient(cell, tape, dx);
  if (ops->activate_backward)
    ops->activate_backward(cell, weights->constants, 1, tape->pre, tape->shared, tape->dpre, tape->dshared, dx);
  if (dx) project_token_backward(cell, weights->weight_out, tape->dpre, dx);
  if (dx && ops->shared_backward) ops->shared_backward(cell, weights->constants, 1, tape->dshared, dx);
  if (!direct) return;
  output_projection_gradient(cell, tape->dpre, tape->x, dparams);
  if (ops->direct_gradient) ops->direct_gradient(cell, tape->x, tape->pre, tape->dpre, dy, dparams);
}

sparc_status PUBLIC(sparc_rtrl_gradient)(const sparc_cell *cell, const real *prepared, const real *trace, real *tape,
                                         const real *dy, real *dparams, real *dx) {
  sparc_status status = check_gradient(cell, prepared, trace, tape, dy);
  if (status != SPARC_OK || !trace) return status;
  const TYPED(prepared_view) weights = TYPED(view_prepared)(cell, prepared);
  const TYPED(tape_view) view = TYPED(view_tape)(cell, tape);
  const uint64_t mode = flush_denormals_begin();
  state_gradient(cell, weights.constants, &view, dy);
  if (dparams) contract(cell, weights.constants, trace, &view, ALL_SINKS, dparams);
  local_gradient(cell, &weights, &view, dy, dparams, dx);
  flush_denormals_end(mode);
  return SPARC_OK;
}

/* ---- update and contraction in one pass ------------------------------------------------------------ */

#ifdef SPARC_DOUBLE
static bool update_outer(const sparc_cell *cell, const real *constants, const TYPED(tape_view) * tape, real *trace,
                         real *dparams) {
  (void)cell, (void)constants, (void)tape, (void)trace, (void)dparams;
  return false;
}
#else
enum { MAX_OUTER = 8 };

/* the sink of every outer slot, when each has exactly one */
static bool single_sinks(const sparc_cell *cell, const rtrl_sink **of_slot) {
  if (cell->outer > MAX_OUTER) return false;
  int found = 0;
  for (int slot = 0; slot < cell->outer; slot++) of_slot[slot] = NULL;
  for (size_t s = 0; s < cell->sinks; s++) {
    const rtrl_sink *sink = &cell->sink[s];
    if (!sink->outer) continue;
    if (of_slot[sink->slot] || sink->row == ROW_OF_GROUP) return false;
    of_slot[sink->slot] = sink;
    found++;
  }
  return found == cell->outer;
}

/* outer rows: advance and contract each while it is in the cache */
static bool update_outer(const sparc_cell *cell, const real *constants, const TYPED(tape_view) * tape, real *trace,
                         real *dparams) {
  const rtrl_sink *of_slot[MAX_OUTER];
  if (cell->parts != 2 || !cell->kernels->rtrl.trace || !single_sinks(cell, of_slot)) return false;
  real *out[MAX_OUTER];
  size_t stride[MAX_OUTER];
  for (int slot = 0; slot < cell->outer; slot++) {
    const rtrl_sink *sink = of_slot[slot];
    out[slot] = dparams + cell->block[sink->block].offset + sink->column;
    stride[slot] = sink_stride(cell, sink);
    real *weights = tape->weights + (size_t)slot * cell->sizes.state;
    const real *found = sink_weights(cell, sink, constants, tape->dstate, weights);
    if (found != weights) memcpy(weights, found, cell->sizes.state * sizeof(real));
  }
  trace_rows rows = trace_rows_of(cell, tape, trace, trace);
  rows.weights = tape->weights;
  rows.out = out;
  rows.out_stride = stride;
  cell->kernels->rtrl.trace(&rows);
  return true;
}
#endif

sparc_status PUBLIC(sparc_rtrl_update)(const sparc_cell *cell, const real *prepared, real *trace, real *tape,
                                       const real *dy, real *dparams, real *dx) {
  if (!dparams) return fail(SPARC_INVALID, "dparams is NULL");
  sparc_status status = check_gradient(cell, prepared, trace, tape, dy);
  if (status != SPARC_OK || !trace) return status;
  const TYPED(prepared_view) weights = TYPED(view_prepared)(cell, prepared);
  const TYPED(tape_view) view = TYPED(view_tape)(cell, tape);
  const uint64_t mode = flush_denormals_begin();
  state_gradient(cell, weights.constants, &view, dy);
  compute_drivers(cell, weights.constants, &view);
  drop_past(cell, &view, trace);
  const bool fused = update_outer(cell, weights.constants, &view, trace, dparams);
  if (fused)
    advance_scalar(cell, &view, trace);
  else
    advance_traces(cell, &view, trace, trace, 1);
  contract(cell, weights.constants, trace, &view, fused ? SCALAR_SINKS : ALL_SINKS, dparams);
  local_gradient(cell, &weights, &view, dy, dparams, dx);
  flush_denormals_end(mode);
  return SPARC_OK;
}

/* ---- reading a trace --------------------------------------------------------------------------- */

sparc_status PUBLIC(sparc_trace_read)(const sparc_cell *cell, const real *prepared, const real *trace,
                                      const char *block, real *out) {
  if (!cell || !prepared || !block || !out)
    return fail(SPARC_INVALID, "%s is NULL", !cell ? "cell" : !prepared ? "prepared" : !block ? "block" : "out");
  sparc_status status = check_rtrl(cell, trace);
  if (status != SPARC_OK || !trace) return status;
  const int index = cell_block_index(cell, block);
  const size_t size = index < 0 ? 0 : cell->block[index].trace;
  if (size == 0) return fail(SPARC_INVALID, "cell %s keeps no trace of block '%s'", cell->about->kind.name, block);
  const size_t H = (size_t)cell->H, row = size / cell->sizes.state;
  for (size_t s = 0; s < cell->sinks; s++) {
    const rtrl_sink *sink = &cell->sink[s];
    if (sink->block != index) continue;
    const size_t member = sink->row == ROW_OF_GROUP ? (size_t)sink->member : 0;
    const size_t start = member * sink_row_length(cell, sink) + (size_t)sink->column;
    for (size_t j = 0; j < H; j++) {
      const slot_view z = slot_of(cell, sink, trace, j);
      real *re = out + j * row + start, *im = out + (H + j) * row + start, f_re, f_im;
      sink_factor_of(cell, sink, prepared + cell->constants, j, &f_re, &f_im);
      for (size_t i = 0; i < z.count; i++) {
        re[i] = z.im ? f_re * z.re[i] - f_im * z.im[i] : z.re[i];
        if (z.im) im[i] = f_re * z.im[i] + f_im * z.re[i];
      }
    }
  }
  return SPARC_OK;
}
