/* SPDX-License-Identifier: MIT */
/* traces.c: the contraction of many traces at once, each of which is read once and never written.
 *
 * The traces are scattered and far larger than any cache, so time is that of reading them. A tile of modes walks
 * through all items: what it reads of one lies in one run, and the rows of the gradient that it adds to stay in the
 * first-level cache. Tiles own their rows; a row that all modes share has a partial sum per tile.
 */
#include "base/threads.h"
#include "cells/tiles.h"
#include "kernels/kernels.h"
#include "rtrl/batch_impl.h"
#include "rtrl/chunk.h"

#include <string.h>

typedef TYPED(trace_batch) trace_batch;

/* ---- channels ------------------------------------------------------------------------------------ */

/* sinks whose cotangents are made once per item; the rows turn theirs by i as they go */
static bool has_channel(const sparc_cell *cell, const rtrl_sink *sink) {
  if (cell->parts == 1) return false;
  return sink->factor == FACTOR_CONSTANT || (sink->factor == FACTOR_I && !sink->outer);
}

static size_t channel_of(const sparc_cell *cell, const rtrl_sink *sink) {
  if (!has_channel(cell, sink)) return 0;
  size_t channel = 1;
  for (const rtrl_sink *other = cell->sink; other < sink; other++) channel += has_channel(cell, other);
  return channel;
}

void TYPED(add_trace)(trace_batch *batch, const real *constants, const real *Z, const real *y) {
  const sparc_cell *cell = batch->cell;
  const size_t S = cell->sizes.state;
  real *g = batch->g + batch->n * batch->channels * S;
  batch->Z[batch->n++] = Z;
  memcpy(g, y, S * sizeof(real));
  for (size_t s = 0; s < cell->sinks && batch->channels > 1; s++)
    if (has_channel(cell, &cell->sink[s]))
      (void)TYPED(sink_weights)(cell, &cell->sink[s], constants, y, g + channel_of(cell, &cell->sink[s]) * S);
}

/* ---- tiles --------------------------------------------------------------------------------------- */

static size_t count_sinks(const sparc_cell *cell, bool outer, bool shared_only) {
  size_t count = 0;
  for (size_t s = 0; s < cell->sinks; s++)
    count += cell->sink[s].outer == outer && (!shared_only || cell->sink[s].row == ROW_SHARED);
  return count;
}

/* modes whose gradient rows fill a part of the first-level cache: whole groups */
static size_t mode_tile(const sparc_cell *cell) {
  enum { GRADIENT = 2048 };
  size_t group = 1;
  for (size_t s = 0; s < cell->sinks; s++)
    if (cell->sink[s].row == ROW_OF_GROUP) group = sink_group(&cell->sink[s]);
  const size_t row = count_sinks(cell, true, false) * (size_t)cell->D, modes = row > 0 ? GRADIENT / row : 0;
  return tiles_of(modes > 0 ? modes : 1, group) * group;
}

static size_t mode_tiles(const sparc_cell *cell) {
  return cell->outer > 0 ? tiles_of((size_t)cell->H, mode_tile(cell)) : 0;
}

trace_batch TYPED(open_trace_batch)(arena *a, const sparc_cell *cell, size_t n) {
  trace_batch batch = {.cell = cell, .channels = 1};
  for (size_t s = 0; s < cell->sinks; s++) batch.channels += has_channel(cell, &cell->sink[s]);
  batch.Z = arena_take(a, n, sizeof *batch.Z);
  batch.g = arena_take(a, n * batch.channels * cell->sizes.state, sizeof(real));
  batch.partials = arena_take(a, mode_tiles(cell) * count_sinks(cell, true, true) * (size_t)cell->D, sizeof(real));
  return batch;
}

/* the partial sums of a tile, one row per shared sink, in the order of the table */
static real *partial_of(const trace_batch *batch, const rtrl_sink *sink, size_t tile) {
  const sparc_cell *cell = batch->cell;
  size_t row = tile * count_sinks(cell, true, true);
  for (const rtrl_sink *other = cell->sink; other < sink; other++) row += other->outer && other->row == ROW_SHARED;
  return batch->partials + row * (size_t)cell->D;
}

/* where a sink's gradient starts, for mode 0; shared rows are the tile's own */
static real *output_of(const trace_batch *batch, const rtrl_sink *sink, size_t tile) {
  const sparc_cell *cell = batch->cell;
  if (sink->row == ROW_SHARED) return partial_of(batch, sink, tile);
  return batch->dparams + cell->block[sink->block].offset + (size_t)sink->column +
         TYPED(sink_row_of)(sink, 0) * sink_row_length(cell, sink);
}

/* ---- rows ---------------------------------------------------------------------------------------- */

/* out += Re(conj(g) f Z) of one item, mode and sink */
static void contract_row(const sparc_cell *cell, const rtrl_sink *sink, const real *g, size_t j, const real *trace,
                         real *restrict out) {
  const size_t D = (size_t)cell->D, H = (size_t)cell->H, parts = (size_t)cell->parts;
  const real *restrict z = trace + (j * (size_t)cell->outer + (size_t)sink->slot) * parts * D;
  if (parts == 1) {
    for (size_t d = 0; d < D; d++) out[d] += g[j] * z[d];
    return;
  }
  const bool turned = chunk_turned(cell, sink);
  const real w_re = turned ? g[H + j] : g[j], w_im = turned ? -g[j] : g[H + j];
  for (size_t d = 0; d < D; d++) out[d] += w_re * z[d] + w_im * z[D + d];
}

static void contract_sink(const trace_batch *batch, const rtrl_sink *sink, range modes, real *out) {
  const sparc_cell *cell = batch->cell;
  const size_t S = cell->sizes.state, channel = channel_of(cell, sink);
  const size_t group = sink_group(sink), stride = sink_stride(cell, sink);
  for (size_t i = 0; i < batch->n; i++) {
    const real *g = batch->g + (i * batch->channels + channel) * S;
    for (size_t j = modes.first; j < modes.first + modes.n; j++)
      contract_row(cell, sink, g, j, batch->Z[i], out + j / group * stride);
  }
}

#ifdef SPARC_DOUBLE
static bool contract_by_kernel(const trace_batch *batch, size_t tile, range modes) {
  (void)batch, (void)tile, (void)modes;
  return false;
}
#else
static lazy_sink kernel_sink(const trace_batch *batch, const rtrl_sink *sink, size_t tile) {
  return (lazy_sink){.slot = (size_t)sink->slot,
                     .channel = channel_of(batch->cell, sink),
                     .turned = chunk_turned(batch->cell, sink),
                     .out = output_of(batch, sink, tile),
                     .stride = sink_stride(batch->cell, sink),
                     .group = sink_group(sink)};
}

/* the sinks in the order of their slots: a trace is read from its beginning to its end */
static bool contract_by_kernel(const trace_batch *batch, size_t tile, range modes) {
  enum { MAX_SINKS = 64 };
  const sparc_cell *cell = batch->cell;
  lazy_sink table[MAX_SINKS];
  size_t count = 0;
  if (!cell->kernels->rtrl.contract || count_sinks(cell, true, false) > MAX_SINKS) return false;
  for (int slot = 0; slot < cell->outer; slot++)
    for (const rtrl_sink *sink = cell->sink; sink < cell->sink + cell->sinks; sink++)
      if (sink->outer && sink->slot == slot) table[count++] = kernel_sink(batch, sink, tile);
  cell->kernels->rtrl.contract(&(batch_rows){.H = (size_t)cell->H,
                                             .D = (size_t)cell->D,
                                             .rows = (size_t)cell->outer,
                                             .parts = (size_t)cell->parts,
                                             .first = modes.first,
                                             .n = modes.n,
                                             .items = batch->n,
                                             .Z = batch->Z,
                                             .g = batch->g,
                                             .channels = batch->channels,
                                             .sink = table,
                                             .sinks = count});
  return true;
}
#endif

static void contract_modes(const trace_batch *batch, size_t tile) {
  const sparc_cell *cell = batch->cell;
  const range modes = range_of((size_t)cell->H, mode_tile(cell), tile);
  const size_t width = count_sinks(cell, true, true) * (size_t)cell->D;
  memset(batch->partials + tile * width, 0, width * sizeof(real));
  if (contract_by_kernel(batch, tile, modes)) return;
  for (size_t s = 0; s < cell->sinks; s++)
    if (cell->sink[s].outer) contract_sink(batch, &cell->sink[s], modes, output_of(batch, &cell->sink[s], tile));
}

/* ---- single numbers ------------------------------------------------------------------------------ */

/* all modes add to one number */
static double contract_number(const sparc_cell *cell, const real *g, const real *z) {
#ifndef SPARC_DOUBLE
  if (cell->kernels->rtrl.entry_number) return cell->kernels->rtrl.entry_number(cell->sizes.state, g, z);
#endif
  double sum = 0;
  for (size_t i = 0; i < cell->sizes.state; i++) sum += (double)g[i] * (double)z[i];
  return sum;
}

/* every mode has its number, `stride` apart */
static void contract_numbers(const sparc_cell *cell, const rtrl_sink *sink, const real *g, const real *z, real *out) {
  const size_t H = (size_t)cell->H, stride = sink_row_length(cell, sink);
  const real *im = cell->parts == 2 ? z + H : NULL;
#ifndef SPARC_DOUBLE
  if (cell->kernels->rtrl.entry_vectors && sink->row == ROW_OF_MODE && stride == 1) {
    cell->kernels->rtrl.entry_vectors(H, 1, (size_t)cell->parts, g, z, out);
    return;
  }
#endif
  for (size_t j = 0; j < H; j++) out[TYPED(sink_row_of)(sink, j) * stride] += g[j] * z[j] + (im ? g[H + j] * im[j] : 0);
}

static void contract_entries(const trace_batch *batch, const rtrl_sink *sink) {
  const sparc_cell *cell = batch->cell;
  const size_t S = cell->sizes.state, channel = channel_of(cell, sink);
  real *out = batch->dparams + cell->block[sink->block].offset + (size_t)sink->column;
  double sum = 0;
  for (size_t i = 0; i < batch->n; i++) {
    const real *g = batch->g + (i * batch->channels + channel) * S;
    const real *z = TYPED(scalar_traces)(cell, (real *)batch->Z[i]) + (size_t)sink->slot * S;
    if (sink->row == ROW_SHARED)
      sum += contract_number(cell, g, z);
    else
      contract_numbers(cell, sink, g, z, out);
  }
  if (sink->row == ROW_SHARED) *out += (real)sum;
}

/* ---- all of it ----------------------------------------------------------------------------------- */

/* tiles of modes, then the sinks of single numbers */
static void contract_tile(void *context, size_t tile) {
  const trace_batch *batch = context;
  const size_t tiles = mode_tiles(batch->cell);
  if (tile < tiles) {
    contract_modes(batch, tile);
    return;
  }
  const rtrl_sink *sink = batch->cell->sink;
  for (size_t left = tile - tiles; sink->outer || left-- > 0;) sink++;
  contract_entries(batch, sink);
}

void TYPED(contract_traces)(trace_batch *batch, real *dparams, int threads) {
  const sparc_cell *cell = batch->cell;
  const size_t D = (size_t)cell->D, width = count_sinks(cell, true, true) * D;
  if (batch->n == 0) return;
  batch->dparams = dparams;
  parallel_for(threads, mode_tiles(cell) + count_sinks(cell, false, false), contract_tile, batch);
  for (size_t s = 0; s < cell->sinks; s++) {
    const rtrl_sink *sink = &cell->sink[s];
    if (!sink->outer || sink->row != ROW_SHARED) continue;
    real *out = dparams + cell->block[sink->block].offset + (size_t)sink->column;
    TYPED(ordered_add)(out, partial_of(batch, sink, 0), mode_tiles(cell), width, D);
  }
}
