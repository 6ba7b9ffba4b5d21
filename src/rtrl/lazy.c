/* SPDX-License-Identifier: MIT */
/* lazy.c: RTRL that touches the long rows of its trace once per chunk of steps.
 *
 *   Z_T  = P_0 Z_0 + sum_s P_s c_s x_s^T,    P_s the product of the transitions after step s
 *   sum_t Re(conj g_t Z_t) = Re(conj(A_0) Z_0) + sum_s Re(conj(A_s) c_s) x_s^T,    A the reverse scan of g
 *
 * Each step leaves its transition, drivers, input and cotangent in the chunk; the products with the inputs then are one
 * small matrix product per mode, with all sums in registers (kernels/rtrl_body.h). The single numbers of a trace are
 * few: they advance, and are contracted, at every step. Without a kernel the steps are replayed mode by mode, while the
 * rows of the mode are in the cache: the same sums in the order of the stepwise form.
 */
#include "base/error.h"
#include "base/threads.h"
#include "kernels/kernels.h"
#include "rtrl/chunk.h"
#include "rtrl/rtrl_impl.h"

#include <string.h>

typedef PUBLIC(sparc_lazy) lazy_block;

/* a chunk with its arrays found */
typedef struct chunk {
  chunk_layout at;
  real *x, *mask, *a, *c, *g;
  size_t count;
} chunk;

static chunk chunk_of(const sparc_cell *cell, const lazy_block *lazy) {
  const chunk_layout at = chunk_layout_of(cell, lazy->capacity);
  real *base = lazy->steps;
  return (chunk){at, base + at.x, base + at.mask, base + at.a, base + at.c, base + at.g, (size_t)lazy->count};
}

/* ---- a step goes in ------------------------------------------------------------------------------ */

static void keep_drivers(const sparc_cell *cell, const TYPED(tape_view) * tape, const chunk *k) {
  const size_t H = (size_t)cell->H, parts = (size_t)cell->parts;
  real *row = k->c + k->count * k->at.drivers * H;
  for (int slot = 0; slot < cell->outer; slot++) {
    const lazy_slot part = chunk_slot(cell, slot);
    const real *driver = tape->outer + (size_t)slot * parts * H;
    if (part.re != NO_PART) memcpy(row + part.re * H, driver, H * sizeof(real));
    if (part.im != NO_PART) memcpy(row + part.im * H, driver + H, H * sizeof(real));
  }
}

/* channel 0 is the cotangent of the state; the others have the factor of their sink in it */
static void keep_cotangents(const sparc_cell *cell, const real *constants, const TYPED(tape_view) * tape, bool given,
                            const chunk *k) {
  const size_t S = cell->sizes.state;
  real *channels = k->g + k->count * k->at.channels * S;
  if (!given) {
    memset(channels, 0, k->at.channels * S * sizeof(real));
    return;
  }
  memcpy(channels, tape->dstate, S * sizeof(real));
  for (size_t i = 0; i < cell->sinks && k->at.channels > 1; i++) {
    const rtrl_sink *sink = &cell->sink[i];
    const size_t channel = sink->outer ? chunk_channel(cell, sink) : 0;
    if (channel > 0) (void)TYPED(sink_weights)(cell, sink, constants, tape->dstate, channels + channel * S);
  }
}

static void keep_step(const sparc_cell *cell, const real *constants, const TYPED(tape_view) * tape, bool with_gradient,
                      const chunk *k) {
  const size_t D = (size_t)cell->D, S = cell->sizes.state;
  const real mask = *tape->mask;
  real *x = k->x + k->count * k->at.x_stride, *a = k->a + k->count * S;
  k->mask[k->count] = mask;
  if (cell->outer == 0) return;
  memcpy(x, tape->x, D * sizeof(real));
  memset(x + D, 0, (k->at.x_stride - D) * sizeof(real));
  for (size_t i = 0; i < S; i++) a[i] = mask == 0 ? 0 : tape->a[i];
  keep_drivers(cell, tape, k);
  keep_cotangents(cell, constants, tape, with_gradient, k);
}

/* ---- the chunk goes out -------------------------------------------------------------------------- */

/* out += Re(conj(d) factor Z) for one mode and sink */
static void contract_mode(const sparc_cell *cell, const rtrl_sink *sink, const real *g, size_t j, const real *z,
                          real *dparams) {
  const size_t D = (size_t)cell->D, H = (size_t)cell->H;
  const real g_re = g[j], g_im = cell->parts == 2 ? g[H + j] : 0;
  const bool turned = chunk_turned(cell, sink);
  const real w_re = turned ? g_im : g_re, w_im = turned ? -g_re : g_im;
  real *out = dparams + cell->block[sink->block].offset + (size_t)sink->column +
              TYPED(sink_row_of)(sink, j) * sink_row_length(cell, sink);
  if (cell->parts == 1) {
    for (size_t d = 0; d < D; d++) out[d] += w_re * z[d];
  } else {
    for (size_t d = 0; d < D; d++) out[d] += w_re * z[d] + w_im * z[D + d];
  }
}

/* one step of one slot of mode j, and its contraction unless dparams is NULL */
static void replay_step(const sparc_cell *cell, const chunk *k, size_t t, int slot, size_t j, real *z, real *dparams) {
  const size_t D = (size_t)cell->D, H = (size_t)cell->H, S = cell->sizes.state, parts = (size_t)cell->parts;
  const lazy_slot part = chunk_slot(cell, slot);
  const real *a = k->a + t * S + j, *c = k->c + t * k->at.drivers * H + j;
  if (k->mask[t] == 0) memset(z, 0, parts * D * sizeof(real));
  TYPED(advance_slot)
  (cell, a[0], parts == 2 ? a[H] : 0, part.re == NO_PART ? 0 : c[part.re * H], part.im == NO_PART ? 0 : c[part.im * H],
   k->x + t * k->at.x_stride, z);
  for (size_t s = 0; s < cell->sinks && dparams; s++) {
    const rtrl_sink *sink = &cell->sink[s];
    if (!sink->outer || sink->slot != slot) continue;
    contract_mode(cell, sink, k->g + (t * k->at.channels + chunk_channel(cell, sink)) * S, j, z, dparams);
  }
}

static void replay(const sparc_cell *cell, const chunk *k, real *trace, real *dparams) {
  const size_t D = (size_t)cell->D, H = (size_t)cell->H, parts = (size_t)cell->parts;
  for (size_t j = 0; j < H; j++)
    for (int slot = 0; slot < cell->outer; slot++)
      for (size_t t = 0; t < k->count; t++)
        replay_step(cell, k, t, slot, j, trace + (j * (size_t)cell->outer + (size_t)slot) * parts * D, dparams);
}

#ifdef SPARC_DOUBLE
static bool flush_by_kernel(const sparc_cell *cell, const chunk *k, real *trace, real *dparams) {
  (void)cell, (void)k, (void)trace, (void)dparams;
  return false;
}
#else
enum { MAX_SLOTS = 64, MAX_SINKS = 128 }; /* of the table below; cells with more of them replay */

static lazy_sink kernel_sink(const sparc_cell *cell, const rtrl_sink *sink, float *dparams) {
  return (lazy_sink){
      .slot = (size_t)sink->slot,
      .channel = chunk_channel(cell, sink),
      .turned = chunk_turned(cell, sink),
      .out = dparams + cell->block[sink->block].offset + (size_t)sink->column +
             TYPED(sink_row_of)(sink, 0) * sink_row_length(cell, sink),
      .stride = sink_stride(cell, sink),
      .group = sink_group(sink),
  };
}

static bool flush_by_kernel(const sparc_cell *cell, const chunk *k, float *trace, float *dparams) {
  if (!cell->kernels->rtrl.lazy || cell->outer > MAX_SLOTS) return false;
  lazy_slot slot[MAX_SLOTS];
  lazy_sink sink[MAX_SINKS];
  size_t sinks = 0, live = 0;
  bool forgotten = false;
  for (int i = 0; i < cell->outer; i++) slot[i] = chunk_slot(cell, i);
  for (size_t i = 0; i < cell->sinks && dparams; i++) {
    if (!cell->sink[i].outer) continue;
    if (sinks == MAX_SINKS) return false;
    sink[sinks++] = kernel_sink(cell, &cell->sink[i], dparams);
  }
  for (size_t t = 0; t < k->count; t++) {
    if (k->mask[t] != 0) continue;
    live = t;
    forgotten = true;
  }
  cell->kernels->rtrl.lazy(&(lazy_rows){.H = (size_t)cell->H,
                                        .D = (size_t)cell->D,
                                        .rows = (size_t)cell->outer,
                                        .parts = (size_t)cell->parts,
                                        .steps = k->count,
                                        .x = k->x,
                                        .x_stride = k->at.x_stride,
                                        .a = k->a,
                                        .c = k->c,
                                        .drivers = k->at.drivers,
                                        .slot = slot,
                                        .g = k->g,
                                        .channels = k->at.channels,
                                        .sink = sink,
                                        .sinks = sinks,
                                        .live = live,
                                        .forgotten = forgotten,
                                        .severed = k->mask[0] == 0,
                                        .Z = trace});
  return true;
}
#endif

static void flush(const sparc_cell *cell, lazy_block *lazy, real *dparams) {
  const chunk k = chunk_of(cell, lazy);
  real *gradient = lazy->gradients > 0 ? dparams : NULL;
  if (cell->outer > 0 && k.count > 0 && !flush_by_kernel(cell, &k, lazy->trace, gradient))
    replay(cell, &k, lazy->trace, gradient);
  lazy->count = lazy->gradients = 0;
}

/* ---- calls --------------------------------------------------------------------------------------- */

static sparc_status check_lazy(const sparc_cell *cell, const lazy_block *lazy, bool gradient, const real *dparams) {
  if (!cell || !lazy) return fail(SPARC_INVALID, "%s is NULL", cell ? "lazy" : "cell");
  sparc_status status = TYPED(check_rtrl)(cell, lazy->trace);
  if (status != SPARC_OK) return status;
  if (!lazy->steps) return fail(SPARC_INVALID, "lazy->steps is NULL");
  if (lazy->gradients < 0 || lazy->count < lazy->gradients || lazy->capacity <= lazy->count)
    return fail(SPARC_INVALID,
                "lazy has capacity %d, count %d, gradients %d, expected capacity > count >= gradients >= 0",
                lazy->capacity, lazy->count, lazy->gradients);
  if (!dparams && (gradient || lazy->gradients > 0))
    return fail(SPARC_INVALID, "dparams is NULL, and the chunk holds gradients");
  return SPARC_OK;
}

/* the step on the tape, then a flush where the chunk is full */
static void update(const sparc_cell *cell, const real *prepared, lazy_block *lazy, const TYPED(tape_view) * tape,
                   const real *dy, real *dparams, real *dx) {
  const TYPED(prepared_view) weights = TYPED(view_prepared)(cell, prepared);
  const chunk k = chunk_of(cell, lazy);
  if (dy) TYPED(state_gradient)(cell, weights.constants, tape, dy);
  TYPED(compute_drivers)(cell, weights.constants, tape);
  keep_step(cell, weights.constants, tape, dy != NULL, &k);

  /* a new segment drops the past, even one that is not finite; the rows are left to the flush */
  const size_t entries = cell->sizes.state * (size_t)cell->scalar;
  if (*tape->mask == 0) memset(TYPED(scalar_traces)(cell, lazy->trace), 0, entries * sizeof(real));
  TYPED(advance_scalar)(cell, tape, lazy->trace);
  if (dy) {
    TYPED(contract)(cell, weights.constants, lazy->trace, tape, TYPED(SCALAR_SINKS), dparams);
    TYPED(local_gradient)(cell, &weights, tape, dy, dparams, dx);
    lazy->gradients++;
  }
  if (++lazy->count == lazy->capacity) flush(cell, lazy, dparams);
}

sparc_status PUBLIC(sparc_lazy_update)(const sparc_cell *cell, const real *prepared, lazy_block *lazy, real *tape,
                                       const real *dy, real *dparams, real *dx) {
  if (!prepared || !tape) return fail(SPARC_INVALID, "%s is NULL", prepared ? "tape" : "prepared");
  sparc_status status = check_lazy(cell, lazy, dy != NULL, dparams);
  if (status != SPARC_OK || !lazy->steps) return status;
  const TYPED(tape_view) view = TYPED(view_tape)(cell, tape);
  const uint64_t mode = flush_denormals_begin();
  update(cell, prepared, lazy, &view, dy, dparams, dx);
  flush_denormals_end(mode);
  return SPARC_OK;
}

sparc_status PUBLIC(sparc_lazy_flush)(const sparc_cell *cell, lazy_block *lazy, real *dparams) {
  sparc_status status = check_lazy(cell, lazy, false, dparams);
  if (status != SPARC_OK || !lazy->steps) return status;
  const uint64_t mode = flush_denormals_begin();
  flush(cell, lazy, dparams);
  flush_denormals_end(mode);
  return SPARC_OK;
}
