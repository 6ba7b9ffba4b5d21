/* SPDX-License-Identifier: MIT */
/* network_run.c: forward and backward of a network over whole sequences.
 *
 * Between the cells everything is token by token, so a layer is three stages: tiles of tokens before the cell (layer
 * norm), the cell's own sequence call, tiles of tokens behind it (readout, GELU, dropout, GLU, residual). A tile never
 * crosses an example, so a dropout mask, which is shared over time, is one vector per tile. Weight gradients of layers
 * are formed tile by tile while the operands are in the cache, in one partial sum per group of tiles; vectors (norm,
 * skip, bias) are partial sums per tile. Partial sums are added in their order.
 */
#include "nn/network_run.h"

#include "base/block.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/threads.h"
#include "cells/tiles.h"
#include "nn/network_rows_impl.h"
#include "seq/sequence_impl.h"

#include <stdio.h>
#include <string.h>

#ifdef SPARC_DOUBLE
typedef sparc_network_sequence_f64 network_sequence;
typedef sparc_network_gradient_f64 network_gradient;
#else
typedef sparc_network_sequence network_sequence;
typedef sparc_network_gradient network_gradient;
#endif

enum { DROPOUT_PLACES = 2 };

/* rows of scratch: cotangents of the GLU's pre-activations and of its input, for the tokens of a tile */
enum { SCRATCH_ROWS = 3 * EXAMPLE_TILE };

/* vectors that are summed per tile; the GLU's bias is two of them */
enum { NORM_SCALE, NORM_BIAS, SKIP, GLU_BIAS, PARTIALS = GLU_BIAS + 2 };

/* ---- memory ------------------------------------------------------------------------------------ */

/* activations of one residual layer; N = B T tokens. A bare cell keeps y and saved in a layer of width 0. */
typedef struct layer_memory {
  layer_rows rows; /* of all N tokens; its masks are those of no example */
  real *u;         /* (N, width): rows.u, to be written */
  void *saved;     /* the cell's */
  real *masks;     /* (B, DROPOUT_PLACES, width) */
} layer_memory;

typedef struct head_memory {
  real *hidden, *dhidden; /* (rows, hidden): N rows for a head on every step, else B */
} head_memory;

/* the segment that an example ends in */
typedef struct segment {
  size_t first;  /* its first step here */
  size_t before; /* its steps before these */
  bool carried;  /* it goes on from state0 */
} segment;

typedef struct network_memory {
  real *mask;                  /* (N): 0 at the first step of every sequence */
  real *embedded;              /* (N, width): a bare cell's input, with an embedding */
  real *stream;                /* (N, width): the residual stream behind the last layer */
  real *features;              /* (N, F): those of a bare cell that are not its output */
  segment *segments;           /* (B) */
  real *mean, *last;           /* (B, F): what heads of one row per example read */
  real *dmean, *dlast;         /* (B, F) */
  real *dfeatures;             /* (N, F): du of residual layers */
  real *dr;                    /* (N, width) */
  real *dy;                    /* (N, O), where the output is not what heads read */
  real *dx;                    /* (N, D): of the cell's input, where somebody is in front of it */
  real *state0, *state_last;   /* (B, S): of the cell at work */
  real *dstate0, *dstate_last; /* (B, S) */
  real *scratch;               /* (groups, SCRATCH_ROWS, width): cotangents inside a tile */
  real *dglu;                  /* (groups, 2 width, width) */
  real *dreadout;              /* (groups, width, S): of the readout before it is split into its parts */
  real *dreadout_sum;          /* (width, S), or (F, S) of a bare cell */
  double *partials;            /* (tiles, PARTIALS, width) */
  void *cell_work;
  head_memory head[MAX_HEADS];
} network_memory;

static size_t stream_width(const sparc_network *net) { return net->config.layers ? (size_t)net->config.width : 0; }
static size_t readout_columns(const sparc_network *net) { return net->layer[0].readout.in; }

static layer_memory carve_layer(arena *a, const sparc_network_plan *plan) {
  const sparc_network *net = plan->network;
  const size_t N = plan->tokens, width = stream_width(net), B = (size_t)plan->B;
  layer_memory m = {.u = arena_take(a, N * width, sizeof(real))};
  layer_rows *rows = &m.rows;
  rows->u = m.u;
  rows->mean = arena_take(a, width ? N : 0, sizeof(real));
  rows->rstd = arena_take(a, width ? N : 0, sizeof(real));
  rows->x = arena_take(a, N * width, sizeof(real));
  rows->y = arena_take(a, N * net->cell->sizes.output, sizeof(real));
  rows->r = readout_columns(net) ? arena_take(a, N * width, sizeof(real)) : rows->y;
  rows->g = arena_take(a, N * width, sizeof(real));
  rows->o = arena_take(a, N * 2 * width, sizeof(real));
  m.saved = arena_take(a, PUBLIC(sparc_plan_saved_bytes)(plan->cell_plan), 1);
  m.masks = arena_take(a, B * DROPOUT_PLACES * width, sizeof(real));
  return m;
}

static network_memory carve_network(arena *a, const sparc_network_plan *plan) {
  const sparc_network *net = plan->network;
  const size_t N = plan->tokens, width = stream_width(net), F = net->features, B = (size_t)plan->B;
  const size_t S = net->cell->sizes.state, O = net->cell->sizes.output, front = net->embed.out;
  network_memory m;
  m.mask = arena_take(a, N, sizeof(real));
  m.embedded = arena_take(a, width ? 0 : N * front, sizeof(real));
  m.stream = arena_take(a, N * width, sizeof(real));
  m.features = arena_take(a, has_features(net) ? N * F : 0, sizeof(real));
  m.segments = arena_take(a, B, sizeof *m.segments);
  m.mean = arena_take(a, B * F, sizeof(real));
  m.last = arena_take(a, B * F, sizeof(real));
  m.dmean = arena_take(a, B * F, sizeof(real));
  m.dlast = arena_take(a, B * F, sizeof(real));
  m.dfeatures = arena_take(a, N * F, sizeof(real));
  m.dr = arena_take(a, N * width, sizeof(real));
  m.dy = arena_take(a, width || has_features(net) ? N * O : 0, sizeof(real));
  m.dx = arena_take(a, N * front, sizeof(real));
  m.state0 = arena_take(a, B * S, sizeof(real));
  m.state_last = arena_take(a, B * S, sizeof(real));
  m.dstate0 = arena_take(a, B * S, sizeof(real));
  m.dstate_last = arena_take(a, B * S, sizeof(real));
  m.scratch = arena_take(a, plan->groups * SCRATCH_ROWS * width, sizeof(real));
  m.dglu = arena_take(a, plan->groups * 2 * width * width, sizeof(real));
  m.dreadout = arena_take(a, plan->groups * width * readout_columns(net), sizeof(real));
  m.dreadout_sum = arena_take(a, width * readout_columns(net) + net->readout.out * net->readout.in, sizeof(real));
  m.partials = arena_take(a, plan->tiles * PARTIALS * width, sizeof(double));
  m.cell_work = arena_take(a, PUBLIC(sparc_plan_work_bytes)(plan->cell_plan), 1);
  for (int i = 0; i < net->config.heads; i++) {
    const size_t rows = net->head[i].input == SPARC_HEAD_STEPS ? N : B, hidden = net->head[i].hidden.out;
    m.head[i].hidden = arena_take(a, rows * hidden, sizeof(real));
    m.head[i].dhidden = arena_take(a, rows * hidden, sizeof(real));
  }
  return m;
}

size_t PUBLIC(sparc_network_plan_work_bytes)(const sparc_network_plan *plan) {
  if (!plan) return 0;
  arena a = arena_measure();
  carve_network(&a, plan);
  const size_t outside = a.used;
  carve_layer(&a, plan);
  return outside + cells_of(plan->network) * (a.used - outside);
}

/* ---- one call ---------------------------------------------------------------------------------- */

typedef struct network_run {
  const sparc_network_plan *plan;
  const sparc_network *net;
  const real *prepared;
  const network_sequence *io;
  const network_gradient *gradient; /* backward only */
  const sparc_dropout *dropout;     /* NULL where nothing is dropped */
  const real *mask;                 /* (N); NULL: ones */
  network_memory memory;
  layer_memory layer; /* the layer at work */
  const layer_offsets *at;
  char *layers; /* where the layers' memory starts */
  size_t layer_bytes, width;
  size_t index;
} network_run;

static network_run start_run(const sparc_network_plan *plan, const real *prepared, const network_sequence *io,
                             void *work) {
  network_run r = {.plan = plan,
                   .net = plan->network,
                   .prepared = prepared,
                   .io = io,
                   .dropout = plan->network->config.dropout > 0 ? io->dropout : NULL,
                   .width = stream_width(plan->network)};
  arena a = arena_over(work, (size_t)-1);
  r.memory = carve_network(&a, plan);
  r.layers = (char *)work + a.used;
  const size_t outside = a.used;
  carve_layer(&a, plan);
  r.layer_bytes = a.used - outside;
  r.mask = io->mask ? io->mask : io->state0 ? NULL : r.memory.mask;
  return r;
}

static layer_memory layer_memory_of(const network_run *r, size_t index) {
  arena a = arena_over(r->layers + index * r->layer_bytes, r->layer_bytes);
  return carve_layer(&a, r->plan);
}

/* the residual stream that leaves a layer is the one that enters the next */
static void enter_layer(network_run *r, size_t index) {
  r->index = index;
  r->layer = layer_memory_of(r, index);
  r->layer.rows.out = index + 1 < cells_of(r->net) ? layer_memory_of(r, index + 1).u : r->memory.stream;
  r->at = &r->net->layer[index];
}

/* tokens of one example */
typedef struct example_range {
  size_t b, t, first, n; /* example, first step in it, first token of all, number of tokens */
} example_range;

static example_range example_of(const network_run *r, size_t tile) {
  const size_t b = tile / r->plan->tiles_per_example, t = tile % r->plan->tiles_per_example * EXAMPLE_TILE;
  const size_t rest = (size_t)r->plan->T - t;
  return (example_range){b, t, b * (size_t)r->plan->T + t, rest < EXAMPLE_TILE ? rest : EXAMPLE_TILE};
}

static size_t length_of(const network_run *r, size_t b) {
  return r->io->lengths ? (size_t)r->io->lengths[b] : (size_t)r->plan->T;
}

/* the activations of these tokens */
static layer_rows rows_of(const network_run *r, const example_range *e) {
  const size_t width = r->width, at = e->first * width;
  const layer_rows *all = &r->layer.rows;
  const real *masks = r->dropout ? r->layer.masks + e->b * DROPOUT_PLACES * width : NULL;
  layer_rows rows = {.u = all->u + at,
                     .mean = all->mean + e->first,
                     .rstd = all->rstd + e->first,
                     .x = all->x + at,
                     .y = all->y + e->first * r->net->cell->sizes.output,
                     .g = all->g + at,
                     .o = all->o + 2 * at,
                     .out = all->out + at,
                     .drop_g = masks,
                     .drop_v = masks ? masks + width : NULL};
  rows.r = all->r == all->y ? rows.y : all->r + at;
  return rows;
}

/* one factor per feature, example and place, from a stream of its own at a position given by update and example */
static void draw_masks(network_run *r) {
  if (!r->dropout) return;
  const double p = r->net->config.dropout;
  const size_t B = (size_t)r->plan->B;
  for (size_t place = 0; place < DROPOUT_PLACES; place++) {
    char name[BLOCK_NAME];
    snprintf(name, sizeof name, "layers.%zu.%zu", r->index, place);
    sparc_random stream;
    sparc_random_init(&stream, r->dropout->seed, "dropout", name);
    sparc_random_seek(&stream, r->dropout->update * B * r->width);
    for (size_t b = 0; b < B; b++)
      for (size_t i = 0; i < r->width; i++)
        r->layer.masks[(b * DROPOUT_PLACES + place) * r->width + i] =
            (double)sparc_random_uniform_f32(&stream) < p ? 0 : (real)(1 / (1 - p));
  }
}

/* rows of `width` numbers, some of them in rows of the networks' state */
static void copy_rows(size_t B, size_t width, const real *from, size_t from_stride, real *to, size_t to_stride) {
  for (size_t b = 0; b < B; b++) memcpy(to + b * to_stride, from + b * from_stride, width * sizeof *to);
}

/* what the heads read, and where its cotangent goes */
static const real *features_of(const network_run *r) {
  return r->width ? r->memory.stream : has_features(r->net) ? r->memory.features : r->layer.rows.y;
}

static bool is_pooled(const network_head *head) {
  return head->input == SPARC_HEAD_MEAN || head->input == SPARC_HEAD_LAST;
}

/* the row that a pooled head reads of example b, or where the row's cotangent goes */
static real *pooled_row(const network_run *r, const network_head *head, size_t b, real *mean, real *last) {
  return (head->input == SPARC_HEAD_MEAN ? mean : last) + b * r->net->features;
}

/* ---- forward ----------------------------------------------------------------------------------- */

static void embed(void *context, size_t tile) {
  const network_run *r = context;
  const example_range e = example_of(r, tile);
  const size_t C = (size_t)r->net->config.inputs, width = r->net->embed.out;
  real *to = r->width ? layer_memory_of(r, 0).u : r->memory.embedded;
  embed_rows(r->net, r->prepared, e.n, r->io->x + e.first * C, to + e.first * width);
}

static void before_cell(void *context, size_t tile) {
  const network_run *r = context;
  const example_range e = example_of(r, tile);
  const layer_rows rows = rows_of(r, &e);
  before_cell_rows(r->net, r->prepared, r->at, e.n, &rows);
}

static void behind_cell(void *context, size_t tile) {
  const network_run *r = context;
  const example_range e = example_of(r, tile);
  const layer_rows rows = rows_of(r, &e);
  behind_cell_rows(r->net, r->prepared, r->at, e.n, &rows);
}

/* the cell's input */
static const real *input_of(const network_run *r) {
  return r->width ? r->layer.rows.x : r->net->embed.out ? r->memory.embedded : r->io->x;
}

/* the sequence as the cell at work sees it; states are those of its layer */
static TYPED(sequence) cell_sequence(const network_run *r) {
  return (TYPED(sequence)){.x = input_of(r),
                           .mask = r->mask,
                           .state0 = r->io->state0 ? r->memory.state0 : NULL,
                           .y = r->layer.rows.y,
                           .state_last = r->io->state_last ? r->memory.state_last : NULL};
}

static void load_state0(const network_run *r) {
  const size_t S = r->net->cell->sizes.state, state = r->net->sizes.state;
  if (r->io->state0) copy_rows((size_t)r->plan->B, S, r->io->state0 + r->index * S, state, r->memory.state0, S);
}

static sparc_status run_cell(const network_run *r) {
  const size_t S = r->net->cell->sizes.state, state = r->net->sizes.state;
  const TYPED(sequence) io = cell_sequence(r);
  load_state0(r);
  const sparc_status status = PUBLIC(sparc_forward)(r->plan->cell_plan, r->prepared + r->at->cell_prepared, &io,
                                                    r->layer.saved, r->memory.cell_work);
  if (status == SPARC_OK && r->io->state_last)
    copy_rows((size_t)r->plan->B, S, r->memory.state_last, S, r->io->state_last + r->index * S, state);
  return status;
}

/* features, and the heads on every step */
static void step_heads(void *context, size_t tile) {
  const network_run *r = context;
  const sparc_network *net = r->net;
  const example_range e = example_of(r, tile);
  const size_t F = net->features;
  if (has_features(net))
    feature_rows(net, r->prepared, e.n, r->layer.rows.y + e.first * net->cell->sizes.output,
                 r->memory.features + e.first * F);
  for (int i = 0; i < net->config.heads; i++) {
    const network_head *head = &net->head[i];
    if (head->input == SPARC_HEAD_STEPS)
      head_rows(net, r->prepared, head, e.n, features_of(r) + e.first * F,
                r->memory.head[i].hidden + e.first * head->hidden.out, r->io->outputs[i] + e.first * head->linear.out,
                head->linear.out);
  }
}

static void find_segment(const network_run *r, size_t b) {
  const size_t T = (size_t)r->plan->T, state = r->net->sizes.state;
  segment s = {.first = length_of(r, b) - 1};
  while (s.first > 0 && (!r->mask || r->mask[b * T + s.first] != 0)) s.first--;
  s.carried = s.first == 0 && (!r->mask || r->mask[b * T] != 0);
  if (s.carried && r->io->state0) s.before = (size_t)r->io->state0[(b + 1) * state - 1];
  r->memory.segments[b] = s;
}

/* the mean over the segment that example b ends in; its sum is part of the state */
static void pool(const network_run *r, size_t b) {
  const sparc_network *net = r->net;
  const size_t F = net->features, T = (size_t)r->plan->T, state = net->sizes.state, at = b * state + pool_of(net);
  find_segment(r, b);
  const segment *s = &r->memory.segments[b];
  const size_t n = length_of(r, b) - s->first;
  const real *sum0 = s->carried && r->io->state0 ? r->io->state0 + at : NULL;
  real *last = r->io->state_last ? r->io->state_last + at : NULL;
  mean_pool_forward(n, F, features_of(r) + (b * T + s->first) * F, sum0, s->before + n, r->memory.mean + b * F, last);
  if (last) last[F] = (real)(s->before + n);
}

static void pooled_heads(void *context, size_t b) {
  const network_run *r = context;
  const sparc_network *net = r->net;
  const size_t F = net->features, end = b * (size_t)r->plan->T + length_of(r, b) - 1;
  if (net->pools) pool(r, b);
  memcpy(r->memory.last + b * F, features_of(r) + end * F, F * sizeof(real));
  for (int i = 0; i < net->config.heads; i++) {
    const network_head *head = &net->head[i];
    if (is_pooled(head))
      head_rows(net, r->prepared, head, 1, pooled_row(r, head, b, r->memory.mean, r->memory.last),
                r->memory.head[i].hidden + b * head->hidden.out, r->io->outputs[i] + b * head->linear.out,
                head->linear.out);
  }
}

/* ---- checks ------------------------------------------------------------------------------------ */

static sparc_status check_lengths(const sparc_network_plan *plan, const int *lengths, const void *last) {
  for (int b = 0; lengths && b < plan->B; b++) {
    if (lengths[b] < 1 || lengths[b] > plan->T)
      return fail(SPARC_INVALID, "lengths[%d] is %d, expected 1 to %d", b, lengths[b], plan->T);
    if (last && lengths[b] < plan->T)
      return fail(SPARC_INVALID, "lengths[%d] is %d, expected all %d steps where a state goes on from the last one", b,
                  lengths[b], plan->T);
  }
  return SPARC_OK;
}

static sparc_status check_call(const sparc_network_plan *plan, const real *prepared, const network_sequence *io,
                               const void *work) {
  if (!plan || !prepared || !io)
    return fail(SPARC_INVALID, "%s is NULL", !plan ? "plan" : !prepared ? "prepared" : "sequence");
  const sparc_status status = check_block(work, "work");
  if (status != SPARC_OK) return status;
  if (!io->x || !io->outputs) return fail(SPARC_INVALID, "sequence.%s is NULL", io->x ? "outputs" : "x");
  for (int i = 0; i < plan->network->config.heads; i++)
    if (!io->outputs[i])
      return fail(SPARC_INVALID, "sequence.outputs[%d] is NULL, expected where head %s writes", i,
                  plan->network->config.head[i].name);
  return check_lengths(plan, io->lengths, io->state_last);
}

static sparc_status check_backward(const sparc_network_plan *plan, const real *prepared, const network_sequence *io,
                                   const network_gradient *gradient, const void *work) {
  sparc_status status = check_call(plan, prepared, io, work);
  if (status != SPARC_OK) return status;
  if (!gradient) return fail(SPARC_INVALID, "gradient is NULL");
  if (!gradient->doutputs || !gradient->dparams)
    return fail(SPARC_INVALID, "gradient.%s is NULL", gradient->doutputs ? "dparams" : "doutputs");
  return check_lengths(plan, io->lengths, gradient->dstate_last);
}

sparc_status PUBLIC(sparc_network_forward)(const sparc_network_plan *plan, const real *prepared,
                                           const network_sequence *sequence, void *work) {
  sparc_status status = check_call(plan, prepared, sequence, work);
  if (status != SPARC_OK) return status;
  const sparc_network *net = plan->network;
  network_run r = start_run(plan, prepared, sequence, work);
  for (size_t i = 0; i < plan->tokens; i++) r.memory.mask[i] = i % (size_t)plan->T != 0;

  if (net->embed.in) parallel_for(plan->threads, plan->tiles, embed, &r);
  for (size_t i = 0; i < cells_of(net); i++) {
    enter_layer(&r, i);
    draw_masks(&r);
    if (r.width) parallel_for(plan->threads, plan->tiles, before_cell, &r);
    if ((status = run_cell(&r)) != SPARC_OK) return status;
    if (r.width) parallel_for(plan->threads, plan->tiles, behind_cell, &r);
  }
  parallel_for(plan->threads, plan->tiles, step_heads, &r);
  parallel_for(plan->threads, (size_t)plan->B, pooled_heads, &r);
  for (int i = 0; i < net->config.heads; i++)
    if (net->head[i].input == SPARC_HEAD_CONSTANT)
      head_rows(net, prepared, &net->head[i], 1, NULL, NULL, sequence->outputs[i], 0);
  return SPARC_OK;
}

#ifndef SPARC_DOUBLE
sparc_sequence network_cell_sequence(const sparc_network_plan *plan, const sparc_network_sequence *sequence,
                                     size_t layer, void *work) {
  network_run r = start_run(plan, NULL, sequence, work);
  enter_layer(&r, layer);
  load_state0(&r);
  return cell_sequence(&r);
}
#endif

/* ---- backward ---------------------------------------------------------------------------------- */

/* from pooled heads to the cotangents of the rows that they read */
static void pooled_heads_backward(void *context, size_t b) {
  const network_run *r = context;
  const sparc_network *net = r->net;
  bool written[2] = {false, false};
  for (int i = 0; i < net->config.heads; i++) {
    const network_head *head = &net->head[i];
    const real *dout = r->gradient->doutputs[i];
    if (!is_pooled(head) || !dout) continue;
    bool *again = &written[head->input == SPARC_HEAD_MEAN];
    head_rows_backward(net, r->prepared, head, 1, dout + b * head->linear.out, head->linear.out,
                       r->memory.head[i].hidden + b * head->hidden.out,
                       r->memory.head[i].dhidden + b * head->hidden.out, *again,
                       pooled_row(r, head, b, r->memory.dmean, r->memory.dlast));
    *again = true;
  }
}

/* whether some head with this input has a gradient */
static bool has_gradient(const network_run *r, sparc_head_input input) {
  for (int i = 0; i < r->net->config.heads; i++)
    if (r->net->head[i].input == input && r->gradient->doutputs[i]) return true;
  return false;
}

/* the cotangent of the sum that example b carries on */
static const real *dsum_last_of(const network_run *r, size_t b) {
  return r->gradient->dstate_last ? r->gradient->dstate_last + b * r->net->sizes.state + pool_of(r->net) : NULL;
}

/* what the mean adds to these tokens: those of the segment that the example ends in */
static void pool_backward(const network_run *r, const example_range *e, int accumulate, real *dz) {
  const size_t F = r->net->features, length = length_of(r, e->b);
  const segment *s = &r->memory.segments[e->b];
  const size_t end = e->t + e->n < length ? e->t + e->n : length, first = e->t > s->first ? e->t : s->first;
  if (!accumulate) memset(dz, 0, e->n * F * sizeof *dz);
  if (first >= end) return;
  mean_pool_backward(end - first, F, has_gradient(r, SPARC_HEAD_MEAN) ? r->memory.dmean + e->b * F : NULL,
                     s->before + length - s->first, dsum_last_of(r, e->b), accumulate, dz + (first - e->t) * F);
}

/* from all heads to the cotangents of features, and of a bare cell's output */
static void heads_backward(void *context, size_t tile) {
  const network_run *r = context;
  const sparc_network *net = r->net;
  const example_range e = example_of(r, tile);
  const size_t F = net->features, end = length_of(r, e.b) - 1, O = net->cell->sizes.output;
  real *dz = r->memory.dfeatures + e.first * F;
  int written = 0;
  for (int i = 0; i < net->config.heads; i++) {
    const network_head *head = &net->head[i];
    const real *dout = r->gradient->doutputs[i];
    if (head->input != SPARC_HEAD_STEPS || !dout) continue;
    head_rows_backward(net, r->prepared, head, e.n, dout + e.first * head->linear.out, head->linear.out,
                       r->memory.head[i].hidden + e.first * head->hidden.out,
                       r->memory.head[i].dhidden + e.first * head->hidden.out, written, dz);
    written = 1;
  }
  if (net->pools) {
    pool_backward(r, &e, written, dz);
    written = 1;
  }
  if (!written) memset(dz, 0, e.n * F * sizeof *dz);
  if (has_gradient(r, SPARC_HEAD_LAST) && end >= e.t && end < e.t + e.n)
    for (size_t i = 0; i < F; i++) dz[(end - e.t) * F + i] += r->memory.dlast[e.b * F + i];
  if (has_features(net))
    feature_rows_backward(net, r->prepared, e.n, r->layer.rows.y + e.first * O, dz, r->memory.dy + e.first * O);
}

/* the weights of all heads */
static void add_head_gradients(const network_run *r) {
  const sparc_network *net = r->net;
  weight_job jobs[2 * MAX_HEADS];
  size_t count = 0;
  for (int i = 0; i < net->config.heads; i++) {
    const network_head *head = &net->head[i];
    const real *dout = r->gradient->doutputs[i];
    const size_t rows[] = {[SPARC_HEAD_MEAN] = (size_t)r->plan->B,
                           [SPARC_HEAD_LAST] = (size_t)r->plan->B,
                           [SPARC_HEAD_STEPS] = r->plan->tokens,
                           [SPARC_HEAD_CONSTANT] = 1};
    const real *const read[] = {[SPARC_HEAD_MEAN] = r->memory.mean,
                                [SPARC_HEAD_LAST] = r->memory.last,
                                [SPARC_HEAD_STEPS] = features_of(r),
                                [SPARC_HEAD_CONSTANT] = NULL};
    if (dout)
      count += head_weight_jobs(head, rows[head->input], read[head->input], r->memory.head[i].hidden,
                                r->memory.head[i].dhidden, dout, head->linear.out, jobs + count);
  }
  add_weight_gradients(net, r->plan->threads, jobs, count, r->gradient->dparams);
}

/* rows of a bare cell's readout that are summed together */
enum { READOUT_TILE = 12 };

static void add_bare_readout(void *context, size_t tile) {
  const network_run *r = context;
  const readout_offsets *at = &r->net->readout;
  const range rows = range_of(at->out, READOUT_TILE, tile);
  real *sum = r->memory.dreadout_sum;
  memset(sum + rows.first * at->in, 0, rows.n * at->in * sizeof *sum);
  dense_backward_weight(r->net->cell->kernels, r->plan->tokens, at->in, rows.first, rows.n, r->memory.dfeatures,
                        at->out, r->layer.rows.y, sum, NULL);
  readout_weights_backward(at->in / 2, rows.first, rows.n, sum, r->gradient->dparams + at->re,
                           r->gradient->dparams + at->im);
}

static double *partial_of(const network_run *r, size_t tile, size_t which) {
  return r->memory.partials + (tile * PARTIALS + which) * r->width;
}

/* the cotangents of these tokens; those inside a tile are in the scratch of its group */
static layer_cotangents cotangents_of(const network_run *r, const example_range *e, size_t group) {
  const size_t width = r->width, at = e->first * width;
  layer_cotangents d = {.du = r->memory.dfeatures + at,
                        .d_o = r->memory.scratch + group * SCRATCH_ROWS * width,
                        .dy = r->memory.dy + e->first * r->net->cell->sizes.output,
                        .dx = r->memory.dx + at};
  d.dg = d.d_o + e->n * 2 * width;
  d.dr = readout_columns(r->net) ? r->memory.dr + at : d.dy;
  return d;
}

/* from the cotangent of the residual stream behind the layer to that of the cell's output */
static void behind_cell_backward_tile(const network_run *r, size_t group, size_t tile) {
  const kernels *k = r->net->cell->kernels;
  const example_range e = example_of(r, tile);
  const layer_rows rows = rows_of(r, &e);
  const layer_cotangents d = cotangents_of(r, &e, group);
  const size_t width = r->width, S = readout_columns(r->net);
  behind_cell_rows_backward(r->net, r->prepared, r->at, e.n, &rows, &d);
  dense_backward_weight(k, e.n, width, 0, 2 * width, d.d_o, 2 * width, rows.g,
                        r->memory.dglu + group * 2 * width * width, NULL);
  memset(partial_of(r, tile, GLU_BIAS), 0, 2 * width * sizeof(double));
  TYPED(ordered_sum)(partial_of(r, tile, GLU_BIAS), d.d_o, e.n, 2 * width, 2 * width);
  if (S) dense_backward_weight(k, e.n, S, 0, width, d.dr, width, rows.y, r->memory.dreadout + group * width * S, NULL);
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
  const layer_rows rows = rows_of(r, &e);
  const layer_cotangents d = cotangents_of(r, &e, 0);
  memset(partial_of(r, tile, NORM_SCALE), 0, (SKIP + 1) * r->width * sizeof(double));
  before_cell_rows_backward(r->net, r->prepared, r->at, e.n, &rows, &d, partial_of(r, tile, NORM_SCALE),
                            partial_of(r, tile, NORM_BIAS), partial_of(r, tile, SKIP));
}

/* dparams += the sum of one of the partial vectors over tiles, in their order */
static void add_partials(const network_run *r, size_t which, size_t offset) {
  for (size_t i = 0; i < r->width; i++) {
    double sum = 0;
    for (size_t tile = 0; tile < r->plan->tiles; tile++) sum += partial_of(r, tile, which)[i];
    r->gradient->dparams[offset + i] += (real)sum;
  }
}

/* tile 0: the vectors; the others: rows of the GLU's weight, then of the readout's */
static void add_layer_gradient(void *context, size_t tile) {
  const network_run *r = context;
  const layer_offsets *at = r->at;
  const size_t width = r->width, S = readout_columns(r->net), groups = r->plan->groups;
  const size_t glu_tiles = tiles_of(2 * width, ROW_TILE);
  real *dparams = r->gradient->dparams;
  if (tile == 0) {
    add_partials(r, NORM_SCALE, at->norm_scale);
    add_partials(r, NORM_BIAS, at->norm_bias);
    add_partials(r, GLU_BIAS, at->glu.bias);
    add_partials(r, GLU_BIAS + 1, at->glu.bias + width);
    if (S) add_partials(r, SKIP, at->skip);
    return;
  }
  if (tile - 1 < glu_tiles) {
    const range rows = range_of(2 * width, ROW_TILE, tile - 1);
    TYPED(ordered_add)
    (dparams + at->glu.weight + rows.first * width, r->memory.dglu + rows.first * width, groups, 2 * width * width,
     rows.n * width);
    return;
  }
  const range rows = range_of(width, ROW_TILE, tile - 1 - glu_tiles);
  const bool complex = at->readout.has_im;
  real *sum = (complex ? r->memory.dreadout_sum : dparams + at->readout.re) + rows.first * S;
  if (complex) memset(sum, 0, rows.n * S * sizeof(real));
  TYPED(ordered_add)(sum, r->memory.dreadout + rows.first * S, groups, width * S, rows.n * S);
  if (complex)
    readout_weights_backward(S / 2, rows.first, rows.n, r->memory.dreadout_sum, dparams + at->readout.re,
                             dparams + at->readout.im);
}

static size_t layer_gradient_tiles(const network_run *r) {
  return 1 + tiles_of(2 * r->width, ROW_TILE) + (readout_columns(r->net) ? tiles_of(r->width, ROW_TILE) : 0);
}

static sparc_status run_cell_backward(const network_run *r) {
  const size_t S = r->net->cell->sizes.state, state = r->net->sizes.state, B = (size_t)r->plan->B;
  const network_gradient *to = r->gradient;
  const network_memory *m = &r->memory;
  const TYPED(sequence) io = cell_sequence(r);
  const TYPED(sequence_gradient) gradient = {.dy = r->width || has_features(r->net) ? m->dy : m->dfeatures,
                                             .dstate_last = to->dstate_last ? m->dstate_last : NULL,
                                             .dx = r->net->embed.in ? m->dx : to->dx,
                                             .dstate0 = to->dstate0 ? m->dstate0 : NULL,
                                             .dparams = to->dparams + r->at->cell};
  load_state0(r);
  if (to->dstate_last) copy_rows(B, S, to->dstate_last + r->index * S, state, m->dstate_last, S);
  const sparc_status status = PUBLIC(sparc_backward)(r->plan->cell_plan, r->prepared + r->at->cell_prepared, &io,
                                                     r->layer.saved, &gradient, m->cell_work);
  if (status == SPARC_OK && to->dstate0) copy_rows(B, S, m->dstate0, S, to->dstate0 + r->index * S, state);
  return status;
}

/* the cotangents of the sums that came with state0; their counts have none */
static void pool_backward_to_state0(const network_run *r) {
  const size_t F = r->net->features;
  for (size_t b = 0; b < (size_t)r->plan->B; b++) {
    const segment *s = &r->memory.segments[b];
    real *dsum = r->gradient->dstate0 + b * r->net->sizes.state + pool_of(r->net);
    memset(dsum, 0, (F + 1) * sizeof *dsum);
    if (s->carried)
      mean_pool_backward(1, F, has_gradient(r, SPARC_HEAD_MEAN) ? r->memory.dmean + b * F : NULL,
                         s->before + length_of(r, b), dsum_last_of(r, b), 0, dsum);
  }
}

/* the cotangent of the embedding's output */
static real *dembedded_of(const network_run *r) { return r->width ? r->memory.dfeatures : r->memory.dx; }

static void embed_backward(void *context, size_t tile) {
  const network_run *r = context;
  const example_range e = example_of(r, tile);
  const size_t C = (size_t)r->net->config.inputs, at = e.first * r->net->embed.out;
  const real *embedded = r->width ? layer_memory_of(r, 0).u : r->memory.embedded;
  embed_rows_backward(r->net, r->prepared, e.n, embedded + at, dembedded_of(r) + at,
                      r->gradient->dx ? r->gradient->dx + e.first * C : NULL);
}

sparc_status PUBLIC(sparc_network_backward)(const sparc_network_plan *plan, const real *prepared,
                                            const network_sequence *sequence, const network_gradient *gradient,
                                            void *work) {
  sparc_status status = check_backward(plan, prepared, sequence, gradient, work);
  if (status != SPARC_OK) return status;
  const sparc_network *net = plan->network;
  network_run r = start_run(plan, prepared, sequence, work);
  r.gradient = gradient;
  enter_layer(&r, cells_of(net) - 1);
  parallel_for(plan->threads, (size_t)plan->B, pooled_heads_backward, &r);
  parallel_for(plan->threads, plan->tiles, heads_backward, &r);
  add_head_gradients(&r);
  parallel_for(plan->threads, tiles_of(net->readout.out, READOUT_TILE), add_bare_readout, &r);

  for (size_t i = cells_of(net); i-- > 0;) {
    enter_layer(&r, i);
    if (r.width) parallel_for(plan->threads, plan->groups, behind_cell_backward, &r);
    if ((status = run_cell_backward(&r)) != SPARC_OK) return status;
    if (!r.width) continue;
    parallel_for(plan->threads, plan->tiles, before_cell_backward, &r);
    parallel_for(plan->threads, layer_gradient_tiles(&r), add_layer_gradient, &r);
  }
  if (net->pools && gradient->dstate0) pool_backward_to_state0(&r);
  if (!net->embed.in) return SPARC_OK;
  parallel_for(plan->threads, plan->tiles, embed_backward, &r);
  const weight_job job = {&net->embed, plan->tokens, sequence->x, dembedded_of(&r), net->embed.out};
  add_weight_gradients(net, plan->threads, &job, 1, gradient->dparams);
  return SPARC_OK;
}
