/* SPDX-License-Identifier: MIT */
/* network_step.c: one input at a time: n streams, or one stream with its exact sensitivities.
 *
 * A tile of streams goes through the whole network while its rows are in the cache, and reads each weight once; rows do
 * not influence each other's bits. A gradient follows the same path backward, all n rows at a time, with the sums over
 * rows cut by rows of the weights. The sum of a head on the mean, part of a stream's state, is
 * updated here; layers update the rest.
 */
#include "base/error.h"
#include "base/threads.h"
#include "nn/layer_impl.h"
#include "nn/network_encoder_impl.h"
#include "nn/network_rows_impl.h"
#include "nn/network_step_impl.h"
#include "rtrl/rtrl_f64.h"
#include "rtrl/rtrl_impl.h"

#include <string.h>

/* this file writes the plain names */
#define layer_streams                   TYPED(layer_streams)
#define network_tape                    TYPED(network_tape)
#define network_tape_of                 TYPED(network_tape_of)
#define network_step_pre_cell           TYPED(network_step_pre_cell)
#define network_step_post_cell          TYPED(network_step_post_cell)
#define network_step_post_cell_backward TYPED(network_step_post_cell_backward)
#define network_step_pre_cell_backward  TYPED(network_step_pre_cell_backward)

/* streams of a tile: a multiple of what a product takes at once */
enum { STREAM_TILE = 12 };

/* ---- the tape ---------------------------------------------------------------------------------- */

/* one call: n streams, their tapes, inputs and outputs */
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

static const real *features_at(const step_run *r, size_t first) {
  return rows_at(r, r->net->layer[r->net->layers - 1]->y_place, first, r->net->features);
}

/* the arrays around the layer of a network that has one */
static layer_streams only_layer(const step_run *r) {
  const sparc_layer *layer = r->net->layer[0];
  return (layer_streams){.params = r->prepared + layer->params_at,
                         .prepared = r->prepared + layer->prepared_at,
                         .n = r->n,
                         .x = rows_at(r, layer->x_place, 0, 0),
                         .y = rows_at(r, layer->y_place, 0, 0),
                         .tape = rows_at(r, r->net->tape.layer, 0, 0),
                         .dy = rows_at(r, r->net->tape.dfeatures, 0, 0),
                         .scratch = rows_at(r, r->net->tape.scratch, 0, 0)};
}

static const TYPED(layer_cut) * cut_of(const sparc_network *net) { return TYPED(layer_cut_of)(net->layer[0]); }

network_tape network_tape_of(const sparc_network *net, int n, real *tapes) {
  const step_run r = {.net = net, .prepared = tapes, .n = (size_t)n, .tapes = tapes}; /* weights are not used */
  const layer_streams s = only_layer(&r);
  return cut_of(net)->tape(net->layer[0], &s);
}

/* ---- one step ---------------------------------------------------------------------------------- */

/* the inputs, and the embedding of them */
static void embed_streams(const step_run *r, range streams) {
  const sparc_network *net = r->net;
  const size_t C = (size_t)net->config.inputs;
  const real *x = r->x + streams.first * C;
  memcpy(rows_at(r, net->tape.x, streams.first, C), x, streams.n * C * sizeof *x);
  if (has_embedding(net))
    embed_rows(net, r->prepared, streams.n, x, rows_at(r, net->tape.embedded, streams.first, net->embed.out));
}

static void step_layer(const step_run *r, const sparc_layer *layer, range streams) {
  const TYPED(layer_step) call = {.params = r->prepared + layer->params_at,
                                  .prepared = r->prepared + layer->prepared_at,
                                  .n = (int)r->n,
                                  .first = (int)streams.first,
                                  .count = (int)streams.n,
                                  .x = rows_at(r, layer->x_place, 0, 0),
                                  .masks = r->masks,
                                  .states = r->states + layer->state_at,
                                  .y = rows_at(r, layer->y_place, 0, 0),
                                  .stride = r->net->sizes.state,
                                  .tapes = rows_at(r, r->net->tape.layer, 0, 0)};
  TYPED(layer_ops_of)(layer)->step(layer, &call);
}

/* the running mean of one stream: sum (F) and, after it, the number of steps */
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
    pool_stream(F, r->masks ? r->masks[i] : 1, features_at(r, i), r->states + i * net->sizes.state + net->pool,
                rows_at(r, net->tape.pooled, i, F));
}

static const real *head_input_at(const step_run *r, const network_head *head, size_t first) {
  return head->input == SPARC_HEAD_MEAN ? rows_at(r, r->net->tape.pooled, first, r->net->features)
                                        : features_at(r, first);
}

/* from the last layer's output to the heads */
static void read_streams(const step_run *r, range streams) {
  const sparc_network *net = r->net;
  const size_t first = streams.first, outputs = net->sizes.outputs;
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
  for (size_t i = 0; i < r->net->layers; i++) step_layer(r, r->net->layer[i], streams);
  read_streams(r, streams);
}

/* checks the arguments of a one-step call; masks (n) may be NULL */
static sparc_status check_step(const sparc_network *net, const real *prepared, const real *states, const real *x,
                               const real *tapes, int n, const real *masks) {
  const struct {
    const void *pointer;
    const char *name;
  } needed[] = {{net, "network"}, {prepared, "prepared"}, {states, "state"}, {x, "x"}, {tapes, "tape"}};
  for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
    if (!needed[i].pointer) return fail(SPARC_INVALID, "%s is NULL", needed[i].name);
  const sparc_status status = check_precision(net);
  if (status != SPARC_OK) return status;
  if (n < 1) return fail(SPARC_INVALID, "n is %d, expected at least one stream", n);
  for (int i = 0; i < n && masks; i++)
    if (masks[i] != 0 && masks[i] != 1)
      return fail(SPARC_INVALID, "mask of stream %d is %g, expected 0 or 1", i, (double)masks[i]);
  return SPARC_OK;
}

sparc_status PUBLIC(sparc_network_step)(const sparc_network *net, const real *prepared, int n, real *states,
                                        const real *x, const real *masks, real *y, real *tapes, int threads) {
  sparc_status status = check_step(net, prepared, states, x, tapes, n, masks);
  if (status == SPARC_OK) status = check_symbols(net, (size_t)n, x);
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

static void pre_cell_tile(void *context, size_t tile) {
  const step_run *r = context;
  const range streams = streams_of(r, tile);
  const layer_streams s = only_layer(r);
  embed_streams(r, streams);
  cut_of(r->net)->pre_cell(r->net->layer[0], &s, streams);
}

static void post_cell_tile(void *context, size_t tile) {
  const step_run *r = context;
  const range streams = streams_of(r, tile);
  const layer_streams s = only_layer(r);
  cut_of(r->net)->post_cell(r->net->layer[0], &s, streams);
  read_streams(r, streams);
}

void network_step_pre_cell(const sparc_network *net, const real *prepared, int n, const real *x, real *tapes,
                           int threads) {
  step_run r = {.net = net, .prepared = prepared, .n = (size_t)n, .tapes = tapes, .x = x};
  parallel_for(threads, stream_tiles(&r), pre_cell_tile, &r);
}

void network_step_post_cell(const sparc_network *net, const real *prepared, int n, real *tapes, real *y, int threads) {
  step_run r = {.net = net, .prepared = prepared, .n = (size_t)n, .tapes = tapes, .y = y};
  parallel_for(threads, stream_tiles(&r), post_cell_tile, &r);
}

/* ---- gradients --------------------------------------------------------------------------------- */

static void heads_backward_tile(void *context, size_t tile) {
  const step_run *r = context;
  const sparc_network *net = r->net;
  const range streams = streams_of(r, tile);
  const layer_streams s = only_layer(r);
  const size_t first = streams.first, F = net->features, outputs = net->sizes.outputs;
  real *dz = s.dy + first * F;
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
  cut_of(net)->post_cell_backward(net->layer[0], &s, streams);
}

void network_step_post_cell_backward(const sparc_network *net, const real *prepared, int n, const real *dy, real *tapes,
                                     real *dparams, int threads) {
  step_run r = {.net = net, .prepared = prepared, .n = (size_t)n, .tapes = tapes, .dy = dy};
  const layer_streams s = only_layer(&r);
  parallel_for(threads, stream_tiles(&r), heads_backward_tile, &r);
  weight_job jobs[2 * MAX_HEADS];
  size_t count = 0;
  for (int i = 0; i < net->config.heads; i++) {
    const network_head *head = &net->head[i];
    count +=
        head_weight_jobs(head, r.n, features_at(&r, 0), rows_at(&r, head->hidden_tape, 0, 0),
                         rows_at(&r, head->dhidden_tape, 0, 0), dy + head->first, net->sizes.outputs, jobs + count);
  }
  cut_of(net)->post_cell_gradient(net->layer[0], &s, threads, dparams + net->layer[0]->params_at);
  add_weight_gradients(net->kernels, threads, jobs, count, dparams);
}

/* the cotangent of the layer's input */
static real *dinput_of(const step_run *r) {
  const layer_streams s = only_layer(r);
  return r->net->layer[0]->cell_reads_input ? cut_of(r->net)->tape(r->net->layer[0], &s).dcell_input : s.dy;
}

static void pre_cell_backward_tile(void *context, size_t tile) {
  const step_run *r = context;
  const sparc_network *net = r->net;
  const range streams = streams_of(r, tile);
  const layer_streams s = only_layer(r);
  const size_t first = streams.first, at = first * net->embed.out;
  cut_of(net)->pre_cell_backward(net->layer[0], &s, streams);
  if (has_embedding(net))
    embed_rows_backward(net, r->prepared, streams.n, rows_at(r, net->tape.embedded, 0, 0) + at, dinput_of(r) + at,
                        r->dx ? r->dx + first * (size_t)net->config.inputs : NULL);
}

void network_step_pre_cell_backward(const sparc_network *net, const real *prepared, int n, real *tapes, real *dparams,
                                    real *dx, int threads) {
  step_run r = {.net = net, .prepared = prepared, .n = (size_t)n, .tapes = tapes, .dx = dx};
  const layer_streams s = only_layer(&r);
  parallel_for(threads, stream_tiles(&r), pre_cell_backward_tile, &r);
  cut_of(net)->pre_cell_gradient(net->layer[0], &s, dparams + net->layer[0]->params_at);
  if (has_embedding(net))
    embed_gradient(net, threads, r.n, rows_at(&r, net->tape.x, 0, 0), dinput_of(&r), dparams);
  else if (dx)
    memcpy(dx, dinput_of(&r), r.n * (size_t)net->config.inputs * sizeof *dx);
}

/* ---- exact sensitivities ----------------------------------------------------------------------- */

static sparc_status check_rtrl(const sparc_network *net, sparc_encoder_gradient encoder, const real *trace) {
  if (encoder != SPARC_ENCODER_LOCAL && encoder != SPARC_ENCODER_EXACT)
    return fail(SPARC_INVALID, "encoder is %d, expected SPARC_ENCODER_LOCAL or SPARC_ENCODER_EXACT", (int)encoder);
  if (net->pools)
    return fail(SPARC_UNSUPPORTED,
                "a head reads the mean over time, whose sensitivities are not carried; use a head on "
                "every step, or train with sparc_network_backward");
  if (net->layers > 1 || !net->cell)
    return fail(SPARC_UNSUPPORTED,
                "layers is %zu: RTRL exists for one recurrent layer; train with sparc_network_backward", net->layers);
  if (net->sizes.trace == 0)
    return fail(SPARC_UNSUPPORTED, "cell %s has no RTRL form; train with sparc_network_backward over short sequences",
                net->config.cell);
  if (encoder == SPARC_ENCODER_EXACT && net->sizes.trace_exact == 0)
    return fail(SPARC_UNSUPPORTED,
                "layers is %d: exact sensitivities of an embedding of values exist only before a bare cell; "
                "use SPARC_ENCODER_LOCAL",
                net->config.layers);
  return trace ? SPARC_OK : fail(SPARC_INVALID, "trace is NULL");
}

sparc_status TYPED(network_step_rtrl)(const sparc_network *net, const real *prepared, sparc_encoder_gradient encoder,
                                      real *state, const real *before, real *trace, const real *x, real mask, real *y,
                                      real *tape, int threads) {
  sparc_status status = check_step(net, prepared, state, x, tape, 1, &mask);
  if (status == SPARC_OK) status = check_symbols(net, 1, x);
  if (status == SPARC_OK) status = check_rtrl(net, encoder, trace);
  if (status != SPARC_OK) return status;
  const network_tape at = network_tape_of(net, 1, tape);
  network_step_pre_cell(net, prepared, 1, x, tape, 1);
  status = TYPED(step_rtrl)(net->cell, prepared + net->cell_prepared, state, before, trace, at.cell_input, mask,
                            at.cell_output, at.cell_tapes, threads);
  if (status != SPARC_OK) return status;
  if (encoder == SPARC_ENCODER_EXACT && has_embedding(net)) {
    const size_t first = net->cell->sizes.trace;
    if (before != trace) memcpy(trace + first, before + first, (net->sizes.trace_exact - first) * sizeof *trace);
    TYPED(encoder_advance)(net, prepared, x, at.cell_input, at.cell_tapes, trace);
  }
  network_step_post_cell(net, prepared, 1, tape, y, 1);
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
  embed_gradient(net, 1, 1, rows_at(&r, net->tape.x, 0, 0), at.dcell_input, dparams);
}

sparc_status PUBLIC(sparc_network_rtrl_gradient)(const sparc_network *net, const real *prepared,
                                                 sparc_encoder_gradient encoder, const real *trace, real *tape,
                                                 const real *dy, real *dparams, real *dx) {
  if (!net || !dy || !dparams) return fail(SPARC_INVALID, "%s is NULL", !net ? "network" : dy ? "dparams" : "dy");
  sparc_status status = check_step(net, prepared, dy, dy, tape, 1, NULL);
  if (status == SPARC_OK) status = check_rtrl(net, encoder, trace);
  /* a tape may come from a file */
  if (status == SPARC_OK) status = check_symbols(net, 1, tape + net->tape.x);
  if (status == SPARC_OK && dx && reads_symbols(net))
    return fail(SPARC_INVALID, "dx is given, expected NULL: symbols have no gradient");
  if (status != SPARC_OK) return status;
  const network_tape at = network_tape_of(net, 1, tape);
  network_step_post_cell_backward(net, prepared, 1, dy, tape, dparams, 1);
  status = PUBLIC(sparc_rtrl_gradient)(net->cell, prepared + net->cell_prepared, trace, at.cell_tapes, at.dcell_output,
                                       dparams + net->cell_params, has_embedding(net) || dx ? at.dcell_input : NULL);
  if (status != SPARC_OK) return status;
  if (encoder == SPARC_ENCODER_EXACT && has_embedding(net))
    exact_encoder_gradient(net, prepared, trace, tape, dparams, dx);
  else
    network_step_pre_cell_backward(net, prepared, 1, tape, dparams, dx, 1);
  return SPARC_OK;
}
