/* SPDX-License-Identifier: MIT */
/* network_step.c: one input at a time: n streams, or one stream with its exact sensitivities.
 *
 * A tile of streams goes through the whole network while its rows are in the cache, and reads each weight once; rows do
 * not influence each other's bits. A gradient follows the same path backward, all n rows at a time, with the sums over
 * rows cut by rows of the weights. The state of a stream that is carried past the cell, the sum of a head on the mean,
 * is moved here; everything else that moves is the cell's.
 */
#include "base/error.h"
#include "base/threads.h"
#include "cells/tiles.h"
#include "nn/network_encoder_impl.h"
#include "nn/network_rows_impl.h"
#include "nn/network_step_impl.h"
#include "rtrl/rtrl_impl.h"
#include "sparc/double.h"

#include <string.h>

/* this file writes the plain names */
#define network_tape                 TYPED(network_tape)
#define network_tape_of              TYPED(network_tape_of)
#define network_step_before          TYPED(network_step_before)
#define network_step_behind          TYPED(network_step_behind)
#define network_step_behind_backward TYPED(network_step_behind_backward)
#define network_step_before_backward TYPED(network_step_before_backward)

/* streams of a tile: a multiple of what a product takes at once */
enum { STREAM_TILE = 12 };

/* ---- the tape ---------------------------------------------------------------------------------- */

/* one call: n streams, their tapes, and what goes in and out */
typedef struct step_run {
  const sparc_network *net;
  const real *prepared;
  size_t n;
  real *tapes, *states;
  const real *x, *masks, *dy;
  real *y, *dx;
} step_run;

/* rows from `first` on of an array of `width` numbers a stream */
static real *rows_at(const step_run *r, size_t place, size_t first, size_t width) {
  return r->tapes + r->n * place + first * width;
}

/* the cell's input: x itself, the embedding, or that after the layer norm. Without an embedding it has no array of its
 * own; its copy on the tape of the cell serves nobody here. */
static size_t input_place(const sparc_network *net) {
  return net->config.layers ? net->tape.normed : net->embed.in ? net->tape.embedded : net->tape.x;
}

static const real *features_at(const step_run *r, size_t first) {
  const network_tape_layout *at = &r->net->tape;
  const size_t place = r->net->config.layers ? at->stream : has_features(r->net) ? at->features : at->y;
  return rows_at(r, place, first, r->net->features);
}

network_tape network_tape_of(const sparc_network *net, int n, real *tapes) {
  const step_run r = {.net = net, .n = (size_t)n, .tapes = tapes};
  const network_tape_layout *at = &net->tape;
  const bool same = !net->config.layers && !has_features(net); /* the heads read the output itself */
  return (network_tape){.cell_input = rows_at(&r, input_place(net), 0, 0),
                        .cell_output = rows_at(&r, at->y, 0, 0),
                        .cell_tapes = rows_at(&r, at->cell, 0, 0),
                        .dcell_output = rows_at(&r, same ? at->dfeatures : at->dy, 0, 0),
                        .dcell_input = rows_at(&r, at->dx, 0, 0)};
}

/* ---- one step ---------------------------------------------------------------------------------- */

/* the activations of a layer, for streams from `first` on; layers behind the first go on where the one before left the
 * stream */
static layer_rows layer_at(const step_run *r, size_t layer, size_t first) {
  const network_tape_layout *at = &r->net->tape;
  const size_t width = (size_t)r->net->config.width, O = r->net->cell->sizes.output;
  real *y = rows_at(r, at->y, first, O);
  return (layer_rows){.u = rows_at(r, layer ? at->stream : at->embedded, first, width),
                      .mean = rows_at(r, at->mean, first, 1),
                      .rstd = rows_at(r, at->rstd, first, 1),
                      .x = rows_at(r, at->normed, first, width),
                      .y = y,
                      .r = r->net->layer[0].readout.in ? rows_at(r, at->read, first, width) : y,
                      .g = rows_at(r, at->gelu, first, width),
                      .o = rows_at(r, at->glu, first, 2 * width),
                      .out = rows_at(r, at->stream, first, width)};
}

/* the inputs, and the embedding of them */
static void embed_streams(const step_run *r, range streams) {
  const sparc_network *net = r->net;
  const size_t C = (size_t)net->config.inputs;
  const real *x = r->x + streams.first * C;
  memcpy(rows_at(r, net->tape.x, streams.first, C), x, streams.n * C * sizeof *x);
  if (net->embed.in)
    embed_rows(net, r->prepared, streams.n, x, rows_at(r, net->tape.embedded, streams.first, net->embed.out));
}

/* the cell of a layer, from and to the streams' states */
static void step_cells(const step_run *r, size_t layer, range streams) {
  const sparc_network *net = r->net;
  const sparc_sizes *cell = &net->cell->sizes;
  const size_t S = cell->state, state = net->sizes.state, first = streams.first;
  real *states = rows_at(r, net->tape.state, first, S);
  real *carried = r->states + first * state + layer * S;
  for (size_t i = 0; i < streams.n; i++) memcpy(states + i * S, carried + i * state, S * sizeof *states);
  (void)PUBLIC(sparc_step_streams)(net->cell, r->prepared + net->layer[layer].cell_prepared, (int)streams.n, states,
                                   rows_at(r, input_place(net), first, (size_t)net->cell->D),
                                   r->masks ? r->masks + first : NULL, rows_at(r, net->tape.y, first, cell->output),
                                   rows_at(r, net->tape.cell, first, cell->tape), 1);
  for (size_t i = 0; i < streams.n; i++) memcpy(carried + i * state, states + i * S, S * sizeof *states);
}

/* the running mean of one stream: sum (F) and, behind it, the number of steps */
static void pool_stream(size_t F, real mask, const real *z, real *sum, real *mean) {
  if (mask == 0) memset(sum, 0, (F + 1) * sizeof *sum);
  const real count = sum[F] += 1;
  for (size_t i = 0; i < F; i++) {
    sum[i] += z[i];
    mean[i] = sum[i] / count;
  }
}

static void pool_streams(const step_run *r, range streams) {
  const sparc_network *net = r->net;
  const size_t F = net->features;
  for (size_t i = streams.first; i < streams.first + streams.n; i++)
    pool_stream(F, r->masks ? r->masks[i] : 1, features_at(r, i), r->states + i * net->sizes.state + pool_of(net),
                rows_at(r, net->tape.pooled, i, F));
}

static const real *head_input_at(const step_run *r, const network_head *head, size_t first) {
  return head->input == SPARC_HEAD_MEAN ? rows_at(r, r->net->tape.pooled, first, r->net->features)
                                        : features_at(r, first);
}

/* from the last layer's output to features and heads */
static void read_streams(const step_run *r, range streams) {
  const sparc_network *net = r->net;
  const size_t F = net->features, O = net->cell->sizes.output, first = streams.first, outputs = net->sizes.outputs;
  if (has_features(net))
    feature_rows(net, r->prepared, streams.n, rows_at(r, net->tape.y, first, O),
                 rows_at(r, net->tape.features, first, F));
  if (net->pools) pool_streams(r, streams);
  for (int i = 0; r->y && i < net->config.heads; i++) {
    const network_head *head = &net->head[i];
    head_rows(net, r->prepared, head, streams.n, head_input_at(r, head, first),
              rows_at(r, head->hidden_tape, first, head->hidden.out), r->y + first * outputs + head->first, outputs);
  }
}

static range streams_of(const step_run *r, size_t tile) { return range_of(r->n, STREAM_TILE, tile); }
static size_t stream_tiles(const step_run *r) { return tiles_of(r->n, STREAM_TILE); }

static void step_tile(void *context, size_t tile) {
  const step_run *r = context;
  const range streams = streams_of(r, tile);
  embed_streams(r, streams);
  for (size_t i = 0; i < cells_of(r->net); i++) {
    const layer_rows rows = layer_at(r, i, streams.first);
    if (r->net->config.layers) before_cell_rows(r->net, r->prepared, &r->net->layer[i], streams.n, &rows);
    step_cells(r, i, streams);
    if (r->net->config.layers) behind_cell_rows(r->net, r->prepared, &r->net->layer[i], streams.n, &rows);
  }
  read_streams(r, streams);
}

/* what every one-step call requires of its arguments; the masks of n streams, or NULL */
static sparc_status check_step(const sparc_network *net, const real *prepared, const real *states, const real *x,
                               const real *tapes, int n, const real *masks) {
  const struct {
    const void *pointer;
    const char *name;
  } needed[] = {{net, "network"}, {prepared, "prepared"}, {states, "state"}, {x, "x"}, {tapes, "tape"}};
  for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
    if (!needed[i].pointer) return fail(SPARC_INVALID, "%s is NULL", needed[i].name);
  if (n < 1) return fail(SPARC_INVALID, "n is %d, expected at least one stream", n);
  for (int i = 0; i < n && masks; i++)
    if (masks[i] != 0 && masks[i] != 1)
      return fail(SPARC_INVALID, "mask of stream %d is %g, expected 0 or 1", i, (double)masks[i]);
  return SPARC_OK;
}

sparc_status PUBLIC(sparc_network_step)(const sparc_network *net, const real *prepared, int n, real *states,
                                        const real *x, const real *masks, real *y, real *tapes, int threads) {
  sparc_status status = check_step(net, prepared, states, x, tapes, n, masks);
  if (status != SPARC_OK) return status;
  step_run r = {.net = net,
                .prepared = prepared,
                .n = (size_t)n,
                .tapes = tapes,
                .states = states,
                .x = x,
                .masks = masks,
                .y = y};
  parallel_for(threads, stream_tiles(&r), step_tile, &r);
  return SPARC_OK;
}

/* ---- the step in parts ------------------------------------------------------------------------- */

static void before_tile(void *context, size_t tile) {
  const step_run *r = context;
  const range streams = streams_of(r, tile);
  embed_streams(r, streams);
  if (!r->net->config.layers) return;
  const layer_rows rows = layer_at(r, 0, streams.first);
  before_cell_rows(r->net, r->prepared, r->net->layer, streams.n, &rows);
}

static void behind_tile(void *context, size_t tile) {
  const step_run *r = context;
  const range streams = streams_of(r, tile);
  if (r->net->config.layers) {
    const layer_rows rows = layer_at(r, 0, streams.first);
    behind_cell_rows(r->net, r->prepared, r->net->layer, streams.n, &rows);
  }
  read_streams(r, streams);
}

void network_step_before(const sparc_network *net, const real *prepared, int n, const real *x, real *tapes,
                         int threads) {
  step_run r = {.net = net, .prepared = prepared, .n = (size_t)n, .tapes = tapes, .x = x};
  parallel_for(threads, stream_tiles(&r), before_tile, &r);
}

void network_step_behind(const sparc_network *net, const real *prepared, int n, real *tapes, real *y, int threads) {
  step_run r = {.net = net, .prepared = prepared, .n = (size_t)n, .tapes = tapes, .y = y};
  parallel_for(threads, stream_tiles(&r), behind_tile, &r);
}

/* ---- gradients --------------------------------------------------------------------------------- */

/* out[i] += the sum over rows of a . b, in double; b NULL: of a */
static void add_row_products(size_t n, size_t width, const real *a, const real *b, real *out) {
  enum { COLUMNS = 256 };
  for (size_t first = 0; first < width; first += COLUMNS) {
    const size_t rest = width - first, columns = rest < COLUMNS ? rest : COLUMNS;
    double sum[COLUMNS] = {0};
    for (size_t t = 0; t < n; t++)
      for (size_t i = 0; i < columns; i++) {
        const size_t k = t * width + first + i;
        sum[i] += (double)a[k] * (b ? (double)b[k] : 1);
      }
    for (size_t i = 0; i < columns; i++) out[first + i] += (real)sum[i];
  }
}

/* dC += dr^T y: the columns of re and im, and the sign of im, go through a copy of y */
static void add_readout_gradient(const step_run *r, const readout_offsets *at, const real *dr, real *dparams) {
  const kernels *k = r->net->cell->kernels;
  const size_t H = at->has_im ? at->in / 2 : at->in;
  const real *y = rows_at(r, r->net->tape.y, 0, 0);
  real *re = rows_at(r, r->net->tape.split, 0, 0), *im = re + r->n * H;
  for (size_t t = 0; t < r->n; t++) {
    memcpy(re + t * H, y + t * at->in, H * sizeof *re);
    for (size_t j = 0; at->has_im && j < H; j++) im[t * H + j] = -y[t * at->in + H + j];
  }
  dense_backward_weight(k, r->n, H, 0, at->out, dr, at->out, re, dparams + at->re, NULL);
  if (at->has_im) dense_backward_weight(k, r->n, H, 0, at->out, dr, at->out, im, dparams + at->im, NULL);
}

static layer_cotangents cotangents_at(const step_run *r, size_t first) {
  const network_tape_layout *at = &r->net->tape;
  const size_t width = (size_t)r->net->config.width;
  real *dy = rows_at(r, at->dy, first, r->net->cell->sizes.output);
  return (layer_cotangents){.du = rows_at(r, at->dfeatures, first, width),
                            .d_o = rows_at(r, at->dglu, first, 2 * width),
                            .dg = rows_at(r, at->dgelu, first, width),
                            .dr = r->net->layer[0].readout.in ? rows_at(r, at->dread, first, width) : dy,
                            .dy = dy,
                            .dx = rows_at(r, at->dx, first, width)};
}

static void heads_backward_tile(void *context, size_t tile) {
  const step_run *r = context;
  const sparc_network *net = r->net;
  const range streams = streams_of(r, tile);
  const size_t first = streams.first, F = net->features, O = net->cell->sizes.output, outputs = net->sizes.outputs;
  real *dz = rows_at(r, net->tape.dfeatures, first, F);
  int written = 0;
  for (int i = 0; i < net->config.heads; i++) {
    const network_head *head = &net->head[i];
    if (head->input == SPARC_HEAD_CONSTANT) continue;
    head_rows_backward(net, r->prepared, head, streams.n, r->dy + first * outputs + head->first, outputs,
                       rows_at(r, head->hidden_tape, first, head->hidden.out),
                       rows_at(r, head->dhidden_tape, first, head->hidden.out), written, dz);
    written = 1;
  }
  if (!written) memset(dz, 0, streams.n * F * sizeof *dz);
  if (has_features(net)) {
    feature_rows_backward(net, r->prepared, streams.n, rows_at(r, net->tape.y, first, O), dz,
                          rows_at(r, net->tape.dy, first, O));
  } else if (net->config.layers) {
    const layer_rows rows = layer_at(r, 0, first);
    const layer_cotangents d = cotangents_at(r, first);
    behind_cell_rows_backward(net, r->prepared, net->layer, streams.n, &rows, &d);
  }
}

void network_step_behind_backward(const sparc_network *net, const real *prepared, int n, const real *dy, real *tapes,
                                  real *dparams, int threads) {
  step_run r = {.net = net, .prepared = prepared, .n = (size_t)n, .tapes = tapes, .dy = dy};
  parallel_for(threads, stream_tiles(&r), heads_backward_tile, &r);
  weight_job jobs[2 * MAX_HEADS + 1];
  size_t count = 0;
  for (int i = 0; i < net->config.heads; i++) {
    const network_head *head = &net->head[i];
    count +=
        head_weight_jobs(head, r.n, features_at(&r, 0), rows_at(&r, head->hidden_tape, 0, 0),
                         rows_at(&r, head->dhidden_tape, 0, 0), dy + head->first, net->sizes.outputs, jobs + count);
  }
  if (net->config.layers) {
    const layer_rows rows = layer_at(&r, 0, 0);
    const layer_cotangents d = cotangents_at(&r, 0);
    jobs[count++] = (weight_job){&net->layer->glu, r.n, rows.g, d.d_o, net->layer->glu.out};
    if (net->layer->readout.in) add_readout_gradient(&r, &net->layer->readout, d.dr, dparams);
  } else if (net->readout.in) {
    add_readout_gradient(&r, &net->readout, rows_at(&r, net->tape.dfeatures, 0, 0), dparams);
  }
  add_weight_gradients(net, threads, jobs, count, dparams);
}

/* the vectors of the layer: skip, and scale and bias of its norm */
static void add_vector_gradients(const step_run *r, const layer_rows *rows, const layer_cotangents *d, real *dparams) {
  const layer_offsets *at = r->net->layer;
  const size_t width = (size_t)r->net->config.width;
  real *normal = d->dg; /* free by now */
  for (size_t t = 0; t < r->n; t++)
    for (size_t i = 0; i < width; i++) normal[t * width + i] = (rows->u[t * width + i] - rows->mean[t]) * rows->rstd[t];
  add_row_products(r->n, width, d->dx, normal, dparams + at->norm_scale);
  add_row_products(r->n, width, d->dx, NULL, dparams + at->norm_bias);
  if (at->readout.in) add_row_products(r->n, width, d->dr, rows->x, dparams + at->skip);
}

static void before_backward_tile(void *context, size_t tile) {
  const step_run *r = context;
  const sparc_network *net = r->net;
  const range streams = streams_of(r, tile);
  const size_t first = streams.first, C = (size_t)net->config.inputs;
  if (net->config.layers) {
    const layer_rows rows = layer_at(r, 0, first);
    const layer_cotangents d = cotangents_at(r, first);
    before_cell_rows_backward(net, r->prepared, net->layer, streams.n, &rows, &d, NULL, NULL, NULL);
  }
  embed_rows_backward(net, r->prepared, streams.n, rows_at(r, net->tape.embedded, first, net->embed.out),
                      rows_at(r, net->config.layers ? net->tape.dfeatures : net->tape.dx, first, net->embed.out),
                      r->dx ? r->dx + first * C : NULL);
}

void network_step_before_backward(const sparc_network *net, const real *prepared, int n, real *tapes, real *dparams,
                                  real *dx, int threads) {
  step_run r = {.net = net, .prepared = prepared, .n = (size_t)n, .tapes = tapes, .dx = dx};
  if (!net->embed.in) {
    if (dx) memcpy(dx, rows_at(&r, net->tape.dx, 0, 0), r.n * (size_t)net->config.inputs * sizeof *dx);
    return;
  }
  parallel_for(threads, stream_tiles(&r), before_backward_tile, &r);
  if (net->config.layers) {
    const layer_rows rows = layer_at(&r, 0, 0);
    const layer_cotangents d = cotangents_at(&r, 0);
    add_vector_gradients(&r, &rows, &d, dparams);
  }
  const weight_job job = {&net->embed, r.n, rows_at(&r, net->tape.x, 0, 0),
                          rows_at(&r, net->config.layers ? net->tape.dfeatures : net->tape.dx, 0, 0), net->embed.out};
  add_weight_gradients(net, threads, &job, 1, dparams);
}

/* ---- exact sensitivities ----------------------------------------------------------------------- */

static sparc_status check_rtrl(const sparc_network *net, sparc_encoder_gradient encoder, const real *trace) {
  if (encoder != SPARC_ENCODER_LOCAL && encoder != SPARC_ENCODER_EXACT)
    return fail(SPARC_INVALID, "encoder is %d, expected SPARC_ENCODER_LOCAL or SPARC_ENCODER_EXACT", (int)encoder);
  if (net->pools)
    return fail(SPARC_UNSUPPORTED,
                "a head reads the mean over time, whose sensitivities are not carried; use a head on "
                "every step, or train with sparc_network_backward");
  if (net->config.layers > 1)
    return fail(SPARC_UNSUPPORTED,
                "layers is %d: RTRL exists for one recurrent layer; train with sparc_network_backward",
                net->config.layers);
  if (net->sizes.trace == 0)
    return fail(SPARC_UNSUPPORTED, "cell %s has no RTRL form; train with sparc_network_backward over short sequences",
                net->config.cell);
  if (encoder == SPARC_ENCODER_EXACT && net->sizes.trace_exact == 0)
    return fail(SPARC_UNSUPPORTED,
                "layers is %d: exact sensitivities of an embedding exist in front of a bare cell; "
                "use SPARC_ENCODER_LOCAL",
                net->config.layers);
  return trace ? SPARC_OK : fail(SPARC_INVALID, "trace is NULL");
}

sparc_status TYPED(network_step_rtrl)(const sparc_network *net, const real *prepared, sparc_encoder_gradient encoder,
                                      real *state, const real *before, real *trace, const real *x, real mask, real *y,
                                      real *tape, int threads) {
  sparc_status status = check_step(net, prepared, state, x, tape, 1, &mask);
  if (status == SPARC_OK) status = check_rtrl(net, encoder, trace);
  if (status != SPARC_OK) return status;
  const network_tape at = network_tape_of(net, 1, tape);
  network_step_before(net, prepared, 1, x, tape, 1);
  status = TYPED(step_rtrl)(net->cell, prepared + net->layer->cell_prepared, state, before, trace, at.cell_input, mask,
                            at.cell_output, at.cell_tapes, threads);
  if (status != SPARC_OK) return status;
  if (encoder == SPARC_ENCODER_EXACT && net->embed.in) {
    const size_t first = net->cell->sizes.trace;
    if (before != trace) memcpy(trace + first, before + first, (net->sizes.trace_exact - first) * sizeof *trace);
    TYPED(encoder_advance)(net, prepared, x, at.cell_input, at.cell_tapes, trace);
  }
  network_step_behind(net, prepared, 1, tape, y, 1);
  return SPARC_OK;
}

sparc_status PUBLIC(sparc_network_step_rtrl)(const sparc_network *net, const real *prepared,
                                             sparc_encoder_gradient encoder, real *state, real *trace, const real *x,
                                             real mask, real *y, real *tape) {
  return TYPED(network_step_rtrl)(net, prepared, encoder, state, trace, trace, x, mask, y, tape, 1);
}

/* the embedding's gradient: through the state over all time, and past it at this step; dx is local in any case */
static void exact_encoder_gradient(const sparc_network *net, const real *prepared, const real *trace, real *tape,
                                   real *dparams, real *dx) {
  const step_run r = {.net = net, .n = 1, .tapes = tape};
  const network_tape at = network_tape_of(net, 1, tape);
  embed_rows_backward(net, prepared, 1, at.cell_input, at.dcell_input, dx);
  if (!TYPED(encoder_contract)(net, trace, at.cell_tapes, at.dcell_input, dparams)) return;
  const weight_job job = {&net->embed, 1, rows_at(&r, net->tape.x, 0, 0), at.dcell_input, net->embed.out};
  add_weight_gradients(net, 1, &job, 1, dparams);
}

sparc_status PUBLIC(sparc_network_rtrl_gradient)(const sparc_network *net, const real *prepared,
                                                 sparc_encoder_gradient encoder, const real *trace, real *tape,
                                                 const real *dy, real *dparams, real *dx) {
  if (!dy || !dparams) return fail(SPARC_INVALID, "%s is NULL", dy ? "dparams" : "dy");
  sparc_status status = check_step(net, prepared, dy, dy, tape, 1, NULL);
  if (status == SPARC_OK) status = check_rtrl(net, encoder, trace);
  if (status != SPARC_OK) return status;
  const network_tape at = network_tape_of(net, 1, tape);
  network_step_behind_backward(net, prepared, 1, dy, tape, dparams, 1);
  status = PUBLIC(sparc_rtrl_gradient)(net->cell, prepared + net->layer->cell_prepared, trace, at.cell_tapes,
                                       at.dcell_output, dparams + net->layer->cell,
                                       net->embed.in || dx ? at.dcell_input : NULL);
  if (status != SPARC_OK) return status;
  if (encoder == SPARC_ENCODER_EXACT && net->embed.in)
    exact_encoder_gradient(net, prepared, trace, tape, dparams, dx);
  else
    network_step_before_backward(net, prepared, 1, tape, dparams, dx, 1);
  return SPARC_OK;
}
