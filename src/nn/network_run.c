/* SPDX-License-Identifier: MIT */
/* network_run.c: forward and backward of a network.
 *
 * Between the cells everything is token by token, so a layer is three stages: tiles of tokens before the cell (layer
 * norm), the cell's own sequence call, tiles of tokens behind it (readout, GELU, dropout, GLU, residual). A tile never
 * crosses an example, so a dropout mask, which is shared over time, is one vector per tile. Weight gradients are formed
 * tile by tile while the operands are in the cache, in one partial sum per group of tiles; vectors (norm, skip, bias)
 * are partial sums per tile. Partial sums are added in their order.
 */
#include "base/error.h"
#include "base/memory.h"
#include "base/threads.h"
#include "cells/tiles.h"
#include "nn/layers_impl.h"
#include "nn/network.h"
#include "seq/sequence_impl.h"

#include <stdio.h>
#include <string.h>

enum { DROPOUT_PLACES = 2 };

/* rows of scratch: cotangents of the GLU's pre-activations and of its input, for the tokens of a tile */
enum { SCRATCH_ROWS = 3 * EXAMPLE_TILE };

/* vectors that are summed per tile; the GLU's bias is two of them */
enum { NORM_SCALE, NORM_BIAS, SKIP, GLU_BIAS, PARTIALS = GLU_BIAS + 2 };

/* ---- memory ------------------------------------------------------------------------------------ */

/* activations of one residual layer; N = B T tokens */
typedef struct layer_memory {
  real *u;           /* (N, width): the residual stream that enters */
  real *mean, *rstd; /* (N) */
  real *x;           /* (N, width): normalised, the cell's input */
  real *y;           /* (N, O): the cell's output */
  real *r;           /* (N, width): after the readout; y itself for cells that end in a projection */
  real *g;           /* (N, width): after GELU and dropout */
  real *o;           /* (N, 2 width): GLU pre-activations */
  void *saved;       /* the cell's */
  real *masks;       /* (B, DROPOUT_PLACES, width) */
} layer_memory;

typedef struct network_memory {
  real *mask;         /* (N): 0 at the first step of every sequence */
  real *u;            /* (N, width): the residual stream behind the last layer */
  real *features;     /* (N, F): without layers, the cell's output after its ReLU, or the output itself */
  real *pooled;       /* (B, F): what a head of one output per example reads */
  real *du;           /* (N, width) */
  real *dfeatures;    /* (N, F) */
  real *dpooled;      /* (B, F) */
  real *dr;           /* (N, width) */
  real *dy;           /* (N, O) */
  real *dx;           /* (N, width) */
  real *scratch;      /* (groups, SCRATCH_ROWS, width): cotangents inside a tile */
  real *dglu;         /* (groups, 2 width, width) */
  real *dreadout;     /* (groups, width, S): of the readout before it is split into its parts */
  real *dreadout_sum; /* (width, S) */
  double *partials;   /* (tiles, PARTIALS, width) */
  void *cell_work;
} network_memory;

static size_t readout_columns(const sparc_network *net) {
  return net->cell->about->readout == READOUT_NATIVE ? 0 : net->cell->sizes.output;
}

static layer_memory carve_layer(arena *a, const sparc_network_plan *plan) {
  const sparc_network *net = plan->network;
  const size_t N = plan->tokens, width = (size_t)net->config.width, B = (size_t)plan->B;
  layer_memory m;
  m.u = arena_take(a, N * width, sizeof(real));
  m.mean = arena_take(a, N, sizeof(real));
  m.rstd = arena_take(a, N, sizeof(real));
  m.x = arena_take(a, N * width, sizeof(real));
  m.y = arena_take(a, N * net->cell->sizes.output, sizeof(real));
  m.r = readout_columns(net) ? arena_take(a, N * width, sizeof(real)) : m.y;
  m.g = arena_take(a, N * width, sizeof(real));
  m.o = arena_take(a, N * 2 * width, sizeof(real));
  m.saved = arena_take(a, PUBLIC(sparc_plan_saved_bytes)(plan->cell_plan), 1);
  m.masks = arena_take(a, B * DROPOUT_PLACES * width, sizeof(real));
  return m;
}

static network_memory carve_network(arena *a, const sparc_network_plan *plan) {
  const sparc_network *net = plan->network;
  const size_t N = plan->tokens, width = net->config.layers ? (size_t)net->config.width : 0, F = net->features;
  const size_t B = (size_t)plan->B, O = net->cell->sizes.output;
  network_memory m;
  m.mask = arena_take(a, N, sizeof(real));
  m.u = arena_take(a, N * width, sizeof(real));
  m.features = arena_take(a, net->config.layers ? 0 : N * F, sizeof(real));
  m.pooled = arena_take(a, B * F, sizeof(real));
  m.du = arena_take(a, N * width, sizeof(real));
  m.dfeatures = arena_take(a, net->config.layers ? 0 : N * F, sizeof(real));
  m.dpooled = arena_take(a, B * F, sizeof(real));
  m.dr = arena_take(a, N * width, sizeof(real));
  m.dy = arena_take(a, N * O, sizeof(real));
  m.dx = arena_take(a, N * width, sizeof(real));
  m.scratch = arena_take(a, plan->groups * SCRATCH_ROWS * width, sizeof(real));
  m.dglu = arena_take(a, plan->groups * 2 * width * width, sizeof(real));
  m.dreadout = arena_take(a, plan->groups * width * readout_columns(net), sizeof(real));
  m.dreadout_sum = arena_take(a, width * readout_columns(net), sizeof(real));
  m.partials = arena_take(a, plan->tiles * PARTIALS * width, sizeof(double));
  m.cell_work = arena_take(a, PUBLIC(sparc_plan_work_bytes)(plan->cell_plan), 1);
  return m;
}

/* the bare cell keeps its output and saved block in a layer of width 0 */
static size_t layer_count(const sparc_network *net) { return net->config.layers ? (size_t)net->config.layers : 1; }

size_t PUBLIC(sparc_network_plan_work_bytes)(const sparc_network_plan *plan) {
  arena a = arena_measure();
  carve_network(&a, plan);
  const size_t outside = a.used;
  carve_layer(&a, plan);
  return outside + layer_count(plan->network) * (a.used - outside);
}

/* ---- one call ---------------------------------------------------------------------------------- */

typedef struct network_run {
  const sparc_network_plan *plan;
  const sparc_network *net;
  const real *prepared;
  const real *x; /* (B, T, inputs) */
  const int *lengths;
  const sparc_dropout *dropout;
  real *outputs;
  const real *doutputs;
  real *dparams;
  network_memory memory;
  layer_memory layer; /* the layer at work */
  const layer_offsets *at;
  char *layers; /* where the layers' memory starts */
  size_t layer_bytes, width;
  int index;
} network_run;

static network_run start_run(const sparc_network_plan *plan, const real *prepared, const real *x, const int *lengths,
                             const sparc_dropout *dropout, void *work) {
  network_run r = {.plan = plan,
                   .net = plan->network,
                   .prepared = prepared,
                   .x = x,
                   .lengths = lengths,
                   .dropout = dropout,
                   .width = (size_t)plan->network->config.width};
  arena a = arena_over(work, (size_t)-1);
  r.memory = carve_network(&a, plan);
  r.layers = (char *)work + a.used;
  const size_t outside = a.used;
  carve_layer(&a, plan);
  r.layer_bytes = a.used - outside;
  return r;
}

static layer_memory layer_memory_of(const network_run *r, int index) {
  arena a = arena_over(r->layers + (size_t)index * r->layer_bytes, r->layer_bytes);
  return carve_layer(&a, r->plan);
}

static void enter_layer(network_run *r, int index) {
  r->index = index;
  r->layer = layer_memory_of(r, index);
  r->at = &r->net->layer[index];
}

/* the residual stream that leaves a layer is the one that enters the next */
static real *stream_behind(const network_run *r, int index) {
  return index + 1 < r->net->config.layers ? layer_memory_of(r, index + 1).u : r->memory.u;
}

/* tokens of one example */
typedef struct example_range {
  size_t b, first, n; /* example, first token of all, number of tokens */
} example_range;

static example_range example_of(const network_run *r, size_t tile) {
  const size_t b = tile / r->plan->tiles_per_example, t = tile % r->plan->tiles_per_example * EXAMPLE_TILE;
  const size_t rest = (size_t)r->plan->T - t;
  return (example_range){b, b * (size_t)r->plan->T + t, rest < EXAMPLE_TILE ? rest : EXAMPLE_TILE};
}

static size_t length_of(const network_run *r, size_t b) {
  return r->lengths ? (size_t)r->lengths[b] : (size_t)r->plan->T;
}

static const real *mask_of(const network_run *r, size_t b, size_t place) {
  return r->dropout ? r->layer.masks + (b * DROPOUT_PLACES + place) * r->width : NULL;
}

/* one factor per feature, example and place, from a stream of its own at a position given by update and example */
static void draw_masks(network_run *r) {
  if (!r->dropout) return;
  const double p = r->net->config.dropout;
  const size_t B = (size_t)r->plan->B;
  for (size_t place = 0; place < DROPOUT_PLACES; place++) {
    char name[32];
    snprintf(name, sizeof name, "layers.%d.%zu", r->index, place);
    sparc_random stream;
    sparc_random_init(&stream, r->dropout->seed, "dropout", name);
    sparc_random_seek(&stream, r->dropout->update * B * r->width);
    for (size_t b = 0; b < B; b++)
      for (size_t i = 0; i < r->width; i++)
        r->layer.masks[(b * DROPOUT_PLACES + place) * r->width + i] =
            (double)sparc_random_uniform_f32(&stream) < p ? 0 : (real)(1 / (1 - p));
  }
}

/* ---- prepare ----------------------------------------------------------------------------------- */

sparc_status PUBLIC(sparc_network_prepare)(const sparc_network *net, const real *params, real *prepared) {
  if (!net || !params || !prepared)
    return fail(SPARC_INVALID, "%s is NULL", !net ? "network" : !params ? "params" : "prepared");
  const size_t width = (size_t)net->config.width, H = (size_t)net->cell->H;
  for (size_t b = 0; b < net->blocks; b++)
    for (size_t i = net->block[b].offset; i < net->block[b].offset + net->block[b].size; i++)
      if (!isfinite(params[i]))
        return fail(SPARC_NOT_FINITE, "params: element %zu of %s is %g, expected a finite number",
                    i - net->block[b].offset, net->block[b].name, (double)params[i]);
  memcpy(prepared, params, net->params * sizeof(real));
  transpose_matrix((size_t)net->config.outputs, net->features, params + net->head_weight, prepared + net->head_in);
  if (net->config.layers)
    transpose_matrix(width, (size_t)net->config.inputs, params + net->embed_weight, prepared + net->embed_in);
  for (size_t i = 0; i < layer_count(net); i++) {
    const layer_offsets *at = &net->layer[i];
    sparc_status status = PUBLIC(sparc_prepare)(net->cell, params + at->cell, prepared + at->cell_prepared);
    if (status != SPARC_OK) return status;
    if (net->config.layers == 0) break;
    if (net->cell->about->readout == READOUT_COMPLEX) {
      readout_weights(H, width, params + at->readout, params + at->readout_im, prepared + at->readout_weight,
                      prepared + at->readout_in);
    } else if (net->cell->about->readout == READOUT_REAL) {
      memcpy(prepared + at->readout_weight, params + at->readout, width * H * sizeof(real));
      transpose_matrix(width, H, params + at->readout, prepared + at->readout_in);
    }
    transpose_matrix(2 * width, width, params + at->glu_weight, prepared + at->glu_in);
  }
  return SPARC_OK;
}

/* ---- forward ----------------------------------------------------------------------------------- */

static void embed(void *context, size_t tile) {
  const network_run *r = context;
  const example_range e = example_of(r, tile);
  const size_t C = (size_t)r->net->config.inputs;
  dense_forward(r->net->cell->kernels, e.n, C, r->width, r->x + e.first * C, r->prepared + r->net->embed_in,
                r->prepared + r->net->embed_bias, layer_memory_of(r, 0).u + e.first * r->width);
}

static void before_cell(void *context, size_t tile) {
  const network_run *r = context;
  const example_range e = example_of(r, tile);
  const size_t at = e.first * r->width;
  layer_norm_forward(r->net->cell->kernels, e.n, r->width, r->layer.u + at, r->prepared + r->at->norm_scale,
                     r->prepared + r->at->norm_bias, r->layer.x + at, r->layer.mean + e.first, r->layer.rstd + e.first);
}

static void behind_cell(void *context, size_t tile) {
  const network_run *r = context;
  const example_range e = example_of(r, tile);
  const size_t width = r->width, at = e.first * width, S = readout_columns(r->net);
  if (S) {
    dense_forward(r->net->cell->kernels, e.n, S, width, r->layer.y + e.first * S, r->prepared + r->at->readout_in, NULL,
                  r->layer.r + at);
    skip_forward(e.n, width, r->layer.x + at, r->prepared + r->at->skip, r->layer.r + at);
  }
  gelu_forward(r->net->cell->kernels, e.n, width, r->layer.r + at, mask_of(r, e.b, 0), r->layer.g + at);
  dense_forward(r->net->cell->kernels, e.n, width, 2 * width, r->layer.g + at, r->prepared + r->at->glu_in,
                r->prepared + r->at->glu_bias, r->layer.o + 2 * at);
  glu_forward(r->net->cell->kernels, e.n, width, r->layer.o + 2 * at, mask_of(r, e.b, 1), r->layer.u + at,
              stream_behind(r, r->index) + at);
}

static sparc_status run_cell(const network_run *r, const real *x) {
  const TYPED(sequence) io = {.x = x, .mask = r->memory.mask, .y = r->layer.y};
  return PUBLIC(sparc_forward)(r->plan->cell_plan, r->prepared + r->at->cell_prepared, &io, r->layer.saved,
                               r->memory.cell_work);
}

/* what the head reads of example b, and where its cotangent goes */
static const real *features_of(const network_run *r) {
  return r->net->config.layers ? r->memory.u : r->memory.features;
}
static real *dfeatures_of(const network_run *r) { return r->net->config.layers ? r->memory.du : r->memory.dfeatures; }

static void relu(void *context, size_t tile) {
  const network_run *r = context;
  const example_range e = example_of(r, tile);
  const size_t F = r->net->features, at = e.first * F;
  if (r->net->config.relu)
    relu_forward(e.n, F, r->layer.y + at, r->memory.features + at);
  else
    memcpy(r->memory.features + at, r->layer.y + at, e.n * F * sizeof(real));
}

static void head_of_example(void *context, size_t b) {
  const network_run *r = context;
  const size_t F = r->net->features, T = (size_t)r->plan->T, K = (size_t)r->net->config.outputs, L = length_of(r, b);
  const real *features = features_of(r) + b * T * F, *weight_in = r->prepared + r->net->head_in;
  const real *bias = r->prepared + r->net->head_bias;
  if (r->net->config.head == SPARC_HEAD_STEPS) {
    dense_forward(r->net->cell->kernels, T, F, K, features, weight_in, bias, r->outputs + b * T * K);
    return;
  }
  real *pooled = r->memory.pooled + b * F;
  if (r->net->config.head == SPARC_HEAD_MEAN)
    mean_pool_forward(T, L, F, features, pooled);
  else
    memcpy(pooled, features + (L - 1) * F, F * sizeof(real));
  dense_forward(r->net->cell->kernels, 1, F, K, pooled, weight_in, bias, r->outputs + b * K);
}

static sparc_status check_call(const sparc_network_plan *plan, const real *prepared, const real *x, const int *lengths,
                               const void *out, const void *work) {
  if (!plan || !prepared || !x || !out || !work)
    return fail(SPARC_INVALID, "%s is NULL",
                !plan       ? "plan"
                : !prepared ? "prepared"
                : !x        ? "x"
                : !work     ? "work"
                            : "outputs or gradient");
  for (int b = 0; lengths && b < plan->B; b++)
    if (lengths[b] < 1 || lengths[b] > plan->T)
      return fail(SPARC_INVALID, "lengths[%d] is %d, expected 1 to %d", b, lengths[b], plan->T);
  return SPARC_OK;
}

sparc_status PUBLIC(sparc_network_forward)(const sparc_network_plan *plan, const real *prepared, const real *x,
                                           const int *lengths, const sparc_dropout *dropout, real *outputs,
                                           void *work) {
  sparc_status status = check_call(plan, prepared, x, lengths, outputs, work);
  if (status != SPARC_OK) return status;
  const sparc_network_config *config = &plan->network->config;
  network_run r = start_run(plan, prepared, x, lengths, config->dropout > 0 ? dropout : NULL, work);
  r.outputs = outputs;
  for (size_t i = 0; i < plan->tokens; i++) r.memory.mask[i] = i % (size_t)plan->T != 0;

  if (config->layers == 0) {
    enter_layer(&r, 0);
    if ((status = run_cell(&r, x)) != SPARC_OK) return status;
    parallel_for(plan->threads, plan->tiles, relu, &r);
  } else {
    parallel_for(plan->threads, plan->tiles, embed, &r);
  }
  for (int i = 0; i < config->layers; i++) {
    enter_layer(&r, i);
    draw_masks(&r);
    parallel_for(plan->threads, plan->tiles, before_cell, &r);
    if ((status = run_cell(&r, r.layer.x)) != SPARC_OK) return status;
    parallel_for(plan->threads, plan->tiles, behind_cell, &r);
  }
  parallel_for(plan->threads, (size_t)plan->B, head_of_example, &r);
  return SPARC_OK;
}

/* ---- backward ---------------------------------------------------------------------------------- */

static void head_backward(void *context, size_t b) {
  const network_run *r = context;
  const size_t F = r->net->features, T = (size_t)r->plan->T, K = (size_t)r->net->config.outputs, L = length_of(r, b);
  const real *weight = r->prepared + r->net->head_weight;
  real *dfeatures = dfeatures_of(r) + b * T * F, *dpooled = r->memory.dpooled + b * F;
  if (r->net->config.head == SPARC_HEAD_STEPS) {
    dense_backward_input(r->net->cell->kernels, T, F, K, r->doutputs + b * T * K, weight, 0, dfeatures);
    return;
  }
  dense_backward_input(r->net->cell->kernels, 1, F, K, r->doutputs + b * K, weight, 0, dpooled);
  if (r->net->config.head == SPARC_HEAD_MEAN) {
    mean_pool_backward(T, L, F, dpooled, dfeatures);
  } else {
    memset(dfeatures, 0, T * F * sizeof(real));
    memcpy(dfeatures + (L - 1) * F, dpooled, F * sizeof(real));
  }
}

static double *partial_of(const network_run *r, size_t tile, size_t which) {
  return r->memory.partials + (tile * PARTIALS + which) * r->width;
}

/* from the cotangent of the residual stream behind the layer to that of the cell's output */
static void behind_cell_backward_tile(const network_run *r, size_t group, size_t tile) {
  const kernels *k = r->net->cell->kernels;
  const example_range e = example_of(r, tile);
  const size_t width = r->width, at = e.first * width, S = readout_columns(r->net);
  real *d_o = r->memory.scratch + group * SCRATCH_ROWS * width, *dg = d_o + e.n * 2 * width;
  real *dr = (S ? r->memory.dr : r->memory.dy) + at;
  glu_backward(k, e.n, width, r->layer.o + 2 * at, mask_of(r, e.b, 1), r->memory.du + at, d_o);
  dense_backward_input(k, e.n, width, 2 * width, d_o, r->prepared + r->at->glu_weight, 0, dg);
  dense_backward_weight(k, e.n, width, 0, 2 * width, d_o, 2 * width, r->layer.g + at,
                        r->memory.dglu + group * 2 * width * width, NULL);
  memset(partial_of(r, tile, GLU_BIAS), 0, 2 * width * sizeof(double));
  TYPED(ordered_sum)(partial_of(r, tile, GLU_BIAS), d_o, e.n, 2 * width, 2 * width);
  gelu_backward(k, e.n, width, r->layer.r + at, mask_of(r, e.b, 0), dg, dr);
  if (!S) return;
  dense_backward_input(k, e.n, S, width, dr, r->prepared + r->at->readout_weight, 0, r->memory.dy + e.first * S);
  dense_backward_weight(k, e.n, S, 0, width, dr, width, r->layer.y + e.first * S,
                        r->memory.dreadout + group * width * S, NULL);
}

static void behind_cell_backward(void *context, size_t group) {
  const network_run *r = context;
  const size_t width = r->width, S = readout_columns(r->net), tiles = r->plan->tiles, groups = r->plan->groups;
  memset(r->memory.dglu + group * 2 * width * width, 0, 2 * width * width * sizeof(real));
  if (S) memset(r->memory.dreadout + group * width * S, 0, width * S * sizeof(real));
  for (size_t tile = group * tiles / groups; tile < (group + 1) * tiles / groups; tile++)
    behind_cell_backward_tile(r, group, tile);
}

/* from the cotangent of the cell's input to that of the residual stream before the layer */
static void before_cell_backward(void *context, size_t tile) {
  const network_run *r = context;
  const example_range e = example_of(r, tile);
  const size_t width = r->width, at = e.first * width;
  memset(partial_of(r, tile, NORM_SCALE), 0, (SKIP + 1) * width * sizeof(double));
  if (readout_columns(r->net))
    skip_backward(e.n, width, r->layer.x + at, r->prepared + r->at->skip, r->memory.dr + at, r->memory.dx + at,
                  partial_of(r, tile, SKIP));
  layer_norm_backward(r->net->cell->kernels, e.n, width, r->layer.u + at, r->layer.mean + e.first,
                      r->layer.rstd + e.first, r->prepared + r->at->norm_scale, r->memory.dx + at, r->memory.du + at,
                      partial_of(r, tile, NORM_SCALE), partial_of(r, tile, NORM_BIAS));
}

/* dparams += the sum of one of the partial vectors over tiles, in their order */
static void add_partials(const network_run *r, size_t which, size_t offset) {
  for (size_t i = 0; i < r->width; i++) {
    double sum = 0;
    for (size_t tile = 0; tile < r->plan->tiles; tile++) sum += partial_of(r, tile, which)[i];
    r->dparams[offset + i] += (real)sum;
  }
}

/* tile 0: the vectors; the others: rows of the GLU's weight, then of the readout's */
static void add_layer_gradient(void *context, size_t tile) {
  const network_run *r = context;
  const layer_offsets *at = r->at;
  const size_t width = r->width, S = readout_columns(r->net), groups = r->plan->groups;
  const size_t glu_tiles = tiles_of(2 * width, ROW_TILE);
  real *dparams = r->dparams;
  if (tile == 0) {
    add_partials(r, NORM_SCALE, at->norm_scale);
    add_partials(r, NORM_BIAS, at->norm_bias);
    add_partials(r, GLU_BIAS, at->glu_bias);
    add_partials(r, GLU_BIAS + 1, at->glu_bias + width);
    if (S) add_partials(r, SKIP, at->skip);
    return;
  }
  if (tile - 1 < glu_tiles) {
    const range rows = range_of(2 * width, ROW_TILE, tile - 1);
    TYPED(ordered_add)
    (dparams + at->glu_weight + rows.first * width, r->memory.dglu + rows.first * width, groups, 2 * width * width,
     rows.n * width);
    return;
  }
  const range rows = range_of(width, ROW_TILE, tile - 1 - glu_tiles);
  const bool complex = r->net->cell->about->readout == READOUT_COMPLEX;
  real *sum = (complex ? r->memory.dreadout_sum : dparams + at->readout) + rows.first * S;
  if (complex) memset(sum, 0, rows.n * S * sizeof(real));
  TYPED(ordered_add)(sum, r->memory.dreadout + rows.first * S, groups, width * S, rows.n * S);
  if (complex)
    readout_weights_backward(S / 2, rows.first, rows.n, r->memory.dreadout_sum, dparams + at->readout,
                             dparams + at->readout_im);
}

/* the head and the embedding are small: one tile each */
static void outer_weight_gradient(void *context, size_t tile) {
  const network_run *r = context;
  const sparc_network *net = r->net;
  const size_t K = (size_t)net->config.outputs, F = net->features, N = r->plan->tokens;
  const bool steps = net->config.head == SPARC_HEAD_STEPS;
  if (tile == 0)
    dense_backward_weight(r->net->cell->kernels, steps ? N : (size_t)r->plan->B, F, 0, K, r->doutputs, K,
                          steps ? features_of(r) : r->memory.pooled, r->dparams + net->head_weight,
                          r->dparams + net->head_bias);
  else
    dense_backward_weight(r->net->cell->kernels, N, (size_t)net->config.inputs, 0, r->width, r->memory.du, r->width,
                          r->x, r->dparams + net->embed_weight, r->dparams + net->embed_bias);
}

static sparc_status run_cell_backward(const network_run *r, const real *x, const real *dy, real *dx) {
  const TYPED(sequence) io = {.x = x, .mask = r->memory.mask, .y = r->layer.y};
  const TYPED(sequence_gradient) gradient = {.dy = dy, .dx = dx, .dparams = r->dparams + r->at->cell};
  return PUBLIC(sparc_backward)(r->plan->cell_plan, r->prepared + r->at->cell_prepared, &io, r->layer.saved, &gradient,
                                r->memory.cell_work);
}

static sparc_status bare_backward(network_run *r) {
  enter_layer(r, 0);
  const size_t count = r->plan->tokens * r->net->features;
  if (r->net->config.relu)
    relu_backward(r->plan->tokens, r->net->features, r->layer.y, r->memory.dfeatures, r->memory.dy);
  else
    memcpy(r->memory.dy, r->memory.dfeatures, count * sizeof(real));
  return run_cell_backward(r, r->x, r->memory.dy, NULL);
}

sparc_status PUBLIC(sparc_network_backward)(const sparc_network_plan *plan, const real *prepared, const real *x,
                                            const int *lengths, const sparc_dropout *dropout, const real *doutputs,
                                            real *dparams, void *work) {
  sparc_status status = check_call(plan, prepared, x, lengths, doutputs && dparams ? doutputs : NULL, work);
  if (status != SPARC_OK) return status;
  const sparc_network_config *config = &plan->network->config;
  network_run r = start_run(plan, prepared, x, lengths, config->dropout > 0 ? dropout : NULL, work);
  r.doutputs = doutputs;
  r.dparams = dparams;
  parallel_for(plan->threads, (size_t)plan->B, head_backward, &r);
  parallel_for(plan->threads, 1, outer_weight_gradient, &r);
  if (config->layers == 0) return bare_backward(&r);

  const size_t width = r.width;
  const size_t weight_tiles =
      1 + tiles_of(2 * width, ROW_TILE) + (readout_columns(r.net) ? tiles_of(width, ROW_TILE) : 0);
  for (int i = config->layers; i-- > 0;) {
    enter_layer(&r, i);
    parallel_for(plan->threads, plan->groups, behind_cell_backward, &r);
    if ((status = run_cell_backward(&r, r.layer.x, r.memory.dy, r.memory.dx)) != SPARC_OK) return status;
    parallel_for(plan->threads, plan->tiles, before_cell_backward, &r);
    parallel_for(plan->threads, weight_tiles, add_layer_gradient, &r);
  }
  outer_weight_gradient(&r, 1);
  return SPARC_OK;
}
