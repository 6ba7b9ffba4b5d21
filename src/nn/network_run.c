/* SPDX-License-Identifier: MIT */
/* network_run.c: the schedule of a network over whole sequences: embedding, layers, pooling, heads, and the backward
 * pass.
 *
 * Arguments (masks, lengths, symbols) are checked here, once. Every loop over activations is a stage of the plan's
 * executor (stages_impl.h) or a layer's own call (sparc/layer.h).
 */
#include "nn/network_run.h"

#include "base/block.h"
#include "base/error.h"
#include "base/memory.h"
#include "nn/layer_impl.h"
#include "nn/network_rows_impl.h"
#include "nn/stages_impl.h"
#include "seq/sequence_impl.h"

#ifdef SPARC_DOUBLE
typedef sparc_network_sequence_f64 network_sequence;
typedef sparc_network_gradient_f64 network_gradient;
#else
typedef sparc_network_sequence network_sequence;
typedef sparc_network_gradient network_gradient;
#endif

/* ---- memory ------------------------------------------------------------------------------------ */

typedef struct layer_memory {
  real *y;     /* (N, outputs) */
  void *saved; /* the layer's */
} layer_memory;

/* N = B T tokens, F features */
typedef struct network_memory {
  layer_memory *layer;     /* (layers) */
  real *mask;              /* (N): 0 at the first step of every sequence */
  real *embedded;          /* (N, width) */
  segment *segments;       /* (B) */
  real *mean, *last;       /* (B, F) */
  real *dmean, *dlast;     /* (B, F) */
  real *cotangents[2];     /* (N, greatest width): of outputs of layers, alternating */
  void *work;              /* of the current layer */
  real *hidden[MAX_HEADS]; /* of heads */
  real *dhidden[MAX_HEADS];
} network_memory;

/* whether the cotangent of a layer's input has an array of its own; the first one may write to the caller's */
static bool has_cotangent(const sparc_network *net, size_t layer) {
  return !net->layer[layer]->in_place && (layer || has_embedding(net));
}

/* the widths of the two arrays of cotangents, which alternate */
static void cotangent_widths(const sparc_network *net, size_t width[2]) {
  size_t now = 0;
  width[0] = net->features;
  width[1] = 0;
  for (size_t i = net->layers; i-- > 0;) {
    if (!has_cotangent(net, i)) continue;
    now = !now;
    if (net->layer[i]->inputs > width[now]) width[now] = net->layer[i]->inputs;
  }
}

static size_t layer_bytes(const sparc_network_plan *plan, size_t i,
                          size_t (*bytes)(const sparc_layer *layer, int B, int T, const void *plan)) {
  return bytes ? bytes(plan->network->layer[i], plan->B, plan->T, plan->layer[i]) : 0;
}

static void carve_layers(arena *a, const sparc_network_plan *plan, network_memory *m) {
  const sparc_network *net = plan->network;
  size_t most = 0;
  m->layer = arena_take(a, net->layers, sizeof *m->layer);
  for (size_t i = 0; i < net->layers; i++) {
    const TYPED(layer_ops) *ops = TYPED(layer_ops_of)(net->layer[i]);
    layer_memory at = {.y = arena_take(a, plan->tokens * net->layer[i]->sizes.outputs, sizeof(real))};
    at.saved = arena_take(a, layer_bytes(plan, i, ops->saved), 1);
    const size_t work = layer_bytes(plan, i, ops->work);
    if (work > most) most = work;
    if (m->layer) m->layer[i] = at;
  }
  m->work = arena_take(a, most, 1);
}

static network_memory carve(arena *a, const sparc_network_plan *plan) {
  const sparc_network *net = plan->network;
  const size_t N = plan->tokens, B = (size_t)plan->B, F = net->features;
  size_t width[2];
  cotangent_widths(net, width);
  network_memory m;
  carve_layers(a, plan, &m);
  m.mask = arena_take(a, N, sizeof(real));
  m.embedded = arena_take(a, N * net->embed.out, sizeof(real));
  m.segments = arena_take(a, B, sizeof *m.segments);
  m.mean = arena_take(a, B * F, sizeof(real));
  m.last = arena_take(a, B * F, sizeof(real));
  m.dmean = arena_take(a, B * F, sizeof(real));
  m.dlast = arena_take(a, B * F, sizeof(real));
  for (int i = 0; i < 2; i++) m.cotangents[i] = arena_take(a, N * width[i], sizeof(real));
  for (int i = 0; i < net->config.heads; i++) {
    const size_t rows = net->head[i].input == SPARC_HEAD_STEPS ? N : B, hidden = net->head[i].hidden.out;
    m.hidden[i] = arena_take(a, rows * hidden, sizeof(real));
    m.dhidden[i] = arena_take(a, rows * hidden, sizeof(real));
  }
  return m;
}

size_t TYPED(network_plan_work_bytes)(const sparc_network_plan *plan) {
  if (check_precision(plan->network) != SPARC_OK) return 0;
  arena a = arena_measure();
  carve(&a, plan);
  return a.used;
}

/* ---- one call ---------------------------------------------------------------------------------- */

typedef struct network_run {
  const sparc_network_plan *plan;
  const sparc_network *net;
  const TYPED(stages) * stages;
  const network_sequence *io;
  const real *mask; /* (N); NULL: ones */
  network_memory memory;
  network_pass pass;
} network_run;

/* r must not be copied afterwards: it holds addresses of its own members */
static void start_run(network_run *r, const sparc_network_plan *plan, const real *prepared, const network_sequence *io,
                      void *work) {
  const sparc_network *net = plan->network;
  arena a = arena_over(work, (size_t)-1);
  *r =
      (network_run){.plan = plan, .net = net, .stages = stages_of(plan->executor), .io = io, .memory = carve(&a, plan)};
  const network_memory *m = &r->memory;
  r->mask = io->mask ? io->mask : io->state0 ? NULL : m->mask;
  r->pass = (network_pass){.net = net,
                           .prepared = prepared,
                           .B = (size_t)plan->B,
                           .T = (size_t)plan->T,
                           .threads = plan->threads,
                           .lengths = io->lengths,
                           .segments = m->segments,
                           .x = io->x,
                           .embedded = m->embedded,
                           .features = m->layer[net->layers - 1].y,
                           .mean = m->mean,
                           .last = m->last,
                           .hidden = m->hidden,
                           .outputs = io->outputs,
                           .state0 = io->state0,
                           .state_last = io->state_last};
}

/* the call of a layer */
static TYPED(layer_sequence) layer_call(const network_run *r, size_t i) {
  const sparc_layer *layer = r->net->layer[i];
  const network_memory *m = &r->memory;
  const size_t at = layer->state_at;
  return (TYPED(layer_sequence)){.params = r->pass.prepared + layer->params_at,
                                 .prepared = r->pass.prepared + layer->prepared_at,
                                 .B = r->plan->B,
                                 .T = r->plan->T,
                                 .threads = r->plan->threads,
                                 .x = i                       ? m->layer[i - 1].y
                                      : has_embedding(r->net) ? m->embedded
                                                              : r->io->x,
                                 .mask = r->mask,
                                 .state0 = r->io->state0 ? r->io->state0 + at : NULL,
                                 .dropout = r->io->dropout,
                                 .y = m->layer[i].y,
                                 .state_last = r->io->state_last ? r->io->state_last + at : NULL,
                                 .stride = r->net->sizes.state,
                                 .saved = m->layer[i].saved,
                                 .work = m->work,
                                 .plan = r->plan->layer[i]};
}

/* ---- the host's part --------------------------------------------------------------------------- */

static void find_segment(const network_run *r, size_t b) {
  const size_t T = (size_t)r->plan->T, state = r->net->sizes.state;
  segment s = {.first = (r->io->lengths ? (size_t)r->io->lengths[b] : T) - 1};
  while (s.first > 0 && (!r->mask || r->mask[b * T + s.first] != 0)) s.first--;
  s.carried = s.first == 0 && (!r->mask || r->mask[b * T] != 0);
  if (s.carried && r->io->state0) s.before = (size_t)r->io->state0[(b + 1) * state - 1];
  r->memory.segments[b] = s;
}

/* the mask of sequences without one, and the segments that a mean runs over */
static void read_masks(const network_run *r) {
  const size_t T = (size_t)r->plan->T;
  for (size_t i = 0; i < r->plan->tokens; i++) r->memory.mask[i] = i % T != 0;
  for (size_t b = 0; r->net->pools && b < (size_t)r->plan->B; b++) find_segment(r, b);
}

/* ---- checks ------------------------------------------------------------------------------------ */

static sparc_status check_lengths(const sparc_network_plan *plan, const int *lengths, const void *last) {
  for (int b = 0; lengths && b < plan->B; b++) {
    if (lengths[b] < 1 || lengths[b] > plan->T)
      return fail(SPARC_INVALID, "lengths[%d] is %d, expected 1 to %d", b, lengths[b], plan->T);
    if (last && lengths[b] < plan->T)
      return fail(SPARC_INVALID, "lengths[%d] is %d, expected all %d steps when a state is carried", b, lengths[b],
                  plan->T);
  }
  return SPARC_OK;
}

static sparc_status check_call(const sparc_network_plan *plan, const real *prepared, const network_sequence *io,
                               const void *work) {
  if (!plan || !prepared || !io)
    return fail(SPARC_INVALID, "%s is NULL", !plan ? "plan" : !prepared ? "prepared" : "sequence");
  if (!io->x || !io->outputs) return fail(SPARC_INVALID, "sequence.%s is NULL", io->x ? "outputs" : "x");
  for (int i = 0; i < plan->network->config.heads; i++)
    if (!io->outputs[i])
      return fail(SPARC_INVALID, "sequence.outputs[%d] is NULL, expected where head %s writes", i,
                  plan->network->config.head[i].name);
  sparc_status status = check_precision(plan->network);
  if (status == SPARC_OK) status = check_block(work, "work");
  if (status == SPARC_OK) status = check_lengths(plan, io->lengths, io->state_last);
  if (status == SPARC_OK) status = TYPED(check_mask)((size_t)plan->B, (size_t)plan->T, io->mask);
  return status == SPARC_OK ? check_symbols(plan->network, plan->tokens, io->x) : status;
}

static sparc_status check_backward(const sparc_network_plan *plan, const real *prepared, const network_sequence *io,
                                   const network_gradient *gradient, const void *work) {
  sparc_status status = check_call(plan, prepared, io, work);
  if (status != SPARC_OK) return status;
  if (!gradient) return fail(SPARC_INVALID, "gradient is NULL");
  if (!gradient->doutputs || !gradient->dparams)
    return fail(SPARC_INVALID, "gradient.%s is NULL", gradient->doutputs ? "dparams" : "doutputs");
  if (gradient->dx && reads_symbols(plan->network))
    return fail(SPARC_INVALID, "gradient.dx is given, expected NULL: symbols have no gradient");
  return check_lengths(plan, io->lengths, gradient->dstate_last);
}

/* ---- forward ----------------------------------------------------------------------------------- */

/* some head reads one row of an example */
static bool reads_rows(const sparc_network *net) {
  for (int i = 0; i < net->config.heads; i++)
    if (net->head[i].input == SPARC_HEAD_LAST) return true;
  return net->pools;
}

sparc_status PUBLIC(sparc_network_forward)(const sparc_network_plan *plan, const real *prepared,
                                           const network_sequence *sequence, void *work) {
  const sparc_status status = check_call(plan, prepared, sequence, work);
  if (status != SPARC_OK) return status;
  const sparc_network *net = plan->network;
  network_run r;
  start_run(&r, plan, prepared, sequence, work);
  read_masks(&r);
  if (has_embedding(net)) r.stages->embed(&r.pass);
  for (size_t i = 0; i < net->layers; i++) {
    const TYPED(layer_sequence) call = layer_call(&r, i);
    TYPED(layer_ops_of)(net->layer[i])->forward(net->layer[i], &call);
  }
  if (reads_rows(net)) r.stages->pool(&r.pass);
  r.stages->heads(&r.pass);
  return SPARC_OK;
}

#ifndef SPARC_DOUBLE
bool network_cell_sequence(const sparc_network_plan *plan, const sparc_network_sequence *sequence, size_t layer,
                           void *work, sparc_sequence *out) {
  const layer_cut_f32 *cut = layer_cut_of_f32(plan->network->layer[layer]);
  if (!cut) return false;
  network_run r;
  start_run(&r, plan, NULL, sequence, work);
  const layer_sequence_f32 call = layer_call(&r, layer);
  const sequence_call_f32 cell = cut->cell_sequence(plan->network->layer[layer], &call);
  *out = (sparc_sequence){
      .x = cell.x, .mask = cell.mask, .state0 = cell.state0, .y = cell.y, .state_last = cell.state_last};
  return true;
}

const float *network_pooled(const sparc_network_plan *plan, const sparc_network_sequence *sequence, void *work) {
  network_run r;
  start_run(&r, plan, NULL, sequence, work);
  return plan->network->head[0].input == SPARC_HEAD_LAST ? r.memory.last : r.memory.mean;
}
#endif

/* ---- backward ---------------------------------------------------------------------------------- */

/* whether heads on every step have left cotangents of features */
static int is_written(const network_run *r) {
  for (int i = 0; i < r->net->config.heads; i++)
    if (r->net->head[i].input == SPARC_HEAD_STEPS && r->pass.doutputs[i]) return 1;
  return 0;
}

/* backward pass of a layer. Returns the cotangent of its input; NULL: not requested. */
static real *layer_backward(const network_run *r, const network_gradient *gradient, size_t i, real *dy) {
  const sparc_layer *layer = r->net->layer[i];
  const size_t at = layer->state_at;
  const TYPED(layer_sequence) call = layer_call(r, i);
  real *const other = dy == r->memory.cotangents[0] ? r->memory.cotangents[1] : r->memory.cotangents[0];
  real *dx = layer->in_place ? dy : has_cotangent(r->net, i) ? other : gradient->dx;
  const TYPED(layer_gradient) to = {.dy = dy,
                                    .dstate_last = gradient->dstate_last ? gradient->dstate_last + at : NULL,
                                    .dx = dx,
                                    .dstate0 = gradient->dstate0 ? gradient->dstate0 + at : NULL,
                                    .dparams = gradient->dparams + layer->params_at};
  TYPED(layer_ops_of)(layer)->backward(layer, &call, &to);
  return dx;
}

static void notify(const gradient_listener *listener, size_t from) {
  if (listener) listener->ready(listener->context, from);
}

static sparc_status backward(const sparc_network_plan *plan, const real *prepared, const network_sequence *sequence,
                             const network_gradient *gradient, const gradient_listener *listener, void *work) {
  const sparc_status status = check_backward(plan, prepared, sequence, gradient, work);
  if (status != SPARC_OK) return status;
  const sparc_network *net = plan->network;
  const sparc_layer *last = net->layer[net->layers - 1];
  network_run r;
  start_run(&r, plan, prepared, sequence, work);
  real *d = r.memory.cotangents[0];
  r.pass.dmean = r.memory.dmean;
  r.pass.dlast = r.memory.dlast;
  r.pass.dhidden = r.memory.dhidden;
  r.pass.doutputs = gradient->doutputs;
  r.pass.dfeatures = d;
  r.pass.dstate_last = gradient->dstate_last;
  r.pass.dstate0 = gradient->dstate0;
  r.pass.dx = gradient->dx;
  r.pass.dparams = gradient->dparams;

  const int written = is_written(&r);
  r.stages->heads_backward(&r.pass);
  if (!written || reads_rows(net)) r.stages->pool_backward(&r.pass, written);
  notify(listener, last->params_at + last->params);
  for (size_t i = net->layers; i-- > 0;) {
    d = layer_backward(&r, gradient, i, d);
    if (net->layer[i]->params_at > 0) notify(listener, net->layer[i]->params_at);
  }
  r.pass.dembedded = d;
  if (has_embedding(net))
    r.stages->embed_backward(&r.pass);
  else if (gradient->dx && d != gradient->dx)
    r.stages->copy_rows(plan->tokens, (size_t)net->config.inputs, d, (size_t)net->config.inputs, gradient->dx,
                        (size_t)net->config.inputs);
  notify(listener, 0);
  return SPARC_OK;
}

sparc_status PUBLIC(sparc_network_backward)(const sparc_network_plan *plan, const real *prepared,
                                            const network_sequence *sequence, const network_gradient *gradient,
                                            void *work) {
  return backward(plan, prepared, sequence, gradient, NULL, work);
}

#ifndef SPARC_DOUBLE
sparc_status network_backward(const sparc_network_plan *plan, const float *prepared,
                              const sparc_network_sequence *sequence, const sparc_network_gradient *gradient,
                              const gradient_listener *listener, void *work) {
  return backward(plan, prepared, sequence, gradient, listener, work);
}
#endif
