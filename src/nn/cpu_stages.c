/* SPDX-License-Identifier: MIT */
/* cpu_stages.c: the stages of a network outside its layers on the CPU, and the table of all of them. */
#include "base/threads.h"
#include "nn/cpu_impl.h"
#include "nn/network_rows_impl.h"
#include "nn/optimiser.h"
#include "sparc/double.h"

#include <string.h>

static void copy_rows(size_t rows, size_t width, const real *from, size_t from_stride, real *to, size_t to_stride) {
  for (size_t b = 0; b < rows; b++) memcpy(to + b * to_stride, from + b * from_stride, width * sizeof *to);
}

static size_t length_of(const network_pass *p, size_t b) { return p->lengths ? (size_t)p->lengths[b] : p->T; }

/* a stage over the tiles of a pass, or over its examples */
static void run(const network_pass *p, size_t count, void (*body)(void *context, size_t item)) {
  network_pass pass = *p;
  parallel_for(p->threads, count, body, &pass);
}

static void run_tiles(const network_pass *p, void (*tile)(void *context, size_t tile)) {
  run(p, tiling_of(p->B, p->T).tiles, tile);
}

/* ---- cells ------------------------------------------------------------------------------------- */

static void run_cell(const sparc_plan *plan, const real *prepared, const TYPED(sequence_call) * call) {
  const uint64_t mode = flush_denormals_begin();
  TYPED(ops_of)(plan->cell)->forward(plan, prepared, call);
  flush_denormals_end(mode);
}

static void run_cell_backward(const sparc_plan *plan, const real *prepared, const TYPED(sequence_call) * call) {
  const uint64_t mode = flush_denormals_begin();
  TYPED(ops_of)(plan->cell)->backward(plan, prepared, call);
  flush_denormals_end(mode);
}

/* ---- embedding --------------------------------------------------------------------------------- */

static void embed_tile(void *context, size_t tile) {
  const network_pass *p = context;
  const example_range e = example_of(p->T, tile);
  embed_rows(p->net, p->prepared, e.n, p->x + e.first * (size_t)p->net->config.inputs,
             p->embedded + e.first * p->net->embed.out);
}

static void embed_backward_tile(void *context, size_t tile) {
  const network_pass *p = context;
  const example_range e = example_of(p->T, tile);
  const size_t C = (size_t)p->net->config.inputs, at = e.first * p->net->embed.out;
  embed_rows_backward(p->net, p->prepared, e.n, p->embedded + at, p->dembedded + at,
                      p->dx ? p->dx + e.first * C : NULL);
}

static void embed(const network_pass *p) { run_tiles(p, embed_tile); }

static void embed_backward(const network_pass *p) {
  run_tiles(p, embed_backward_tile);
  embed_gradient(p->net, p->threads, p->B * p->T, p->x, p->dembedded, p->dparams);
}

/* ---- pooling ----------------------------------------------------------------------------------- */

/* the mean over the segment that example b ends in; its sum is part of the state */
static void pool_mean(const network_pass *p, size_t b) {
  const sparc_network *net = p->net;
  const size_t F = net->features, at = b * net->sizes.state + net->pool;
  const segment *s = &p->segments[b];
  const size_t n = length_of(p, b) - s->first;
  const real *sum0 = s->carried && p->state0 ? p->state0 + at : NULL;
  real *last = p->state_last ? p->state_last + at : NULL;
  mean_pool_forward(n, F, p->features + (b * p->T + s->first) * F, sum0, s->before + n, p->mean + b * F, last);
  if (last) last[F] = (real)(s->before + n);
}

static void pool_example(void *context, size_t b) {
  const network_pass *p = context;
  const size_t F = p->net->features, end = b * p->T + length_of(p, b) - 1;
  if (p->net->pools) pool_mean(p, b);
  memcpy(p->last + b * F, p->features + end * F, F * sizeof(real));
}

static void pool(const network_pass *p) { run(p, p->B, pool_example); }

/* whether some head with this input has a gradient */
static bool has_gradient(const network_pass *p, sparc_head_input input) {
  for (int i = 0; i < p->net->config.heads; i++)
    if (p->net->head[i].input == input && p->doutputs[i]) return true;
  return false;
}

/* the cotangent of the sum that example b carries on */
static const real *dsum_last_of(const network_pass *p, size_t b) {
  return p->dstate_last ? p->dstate_last + b * p->net->sizes.state + p->net->pool : NULL;
}

/* adds the cotangent of the mean to tokens of the segment that the example ends in */
static void pool_mean_backward(const network_pass *p, const example_range *e, int accumulate, real *dz) {
  const size_t F = p->net->features, length = length_of(p, e->b);
  const segment *s = &p->segments[e->b];
  const size_t end = e->t + e->n < length ? e->t + e->n : length, first = e->t > s->first ? e->t : s->first;
  if (!accumulate) memset(dz, 0, e->n * F * sizeof *dz);
  if (first >= end) return;
  mean_pool_backward(end - first, F, has_gradient(p, SPARC_HEAD_MEAN) ? p->dmean + e->b * F : NULL,
                     s->before + length - s->first, dsum_last_of(p, e->b), accumulate, dz + (first - e->t) * F);
}

static void pool_backward_tile(const network_pass *p, size_t tile, int accumulate) {
  const example_range e = example_of(p->T, tile);
  const size_t F = p->net->features, end = length_of(p, e.b) - 1;
  real *dz = p->dfeatures + e.first * F;
  if (p->net->pools)
    pool_mean_backward(p, &e, accumulate, dz);
  else if (!accumulate)
    memset(dz, 0, e.n * F * sizeof *dz);
  if (has_gradient(p, SPARC_HEAD_LAST) && end >= e.t && end < e.t + e.n)
    for (size_t i = 0; i < F; i++) dz[(end - e.t) * F + i] += p->dlast[e.b * F + i];
}

static void pool_overwrite(void *context, size_t tile) { pool_backward_tile(context, tile, 0); }
static void pool_accumulate(void *context, size_t tile) { pool_backward_tile(context, tile, 1); }

/* the cotangents of the sums that came with state0; their counts have none */
static void pool_backward_to_state0(const network_pass *p) {
  const size_t F = p->net->features;
  for (size_t b = 0; b < p->B; b++) {
    const segment *s = &p->segments[b];
    real *dsum = p->dstate0 + b * p->net->sizes.state + p->net->pool;
    memset(dsum, 0, (F + 1) * sizeof *dsum);
    if (s->carried)
      mean_pool_backward(1, F, has_gradient(p, SPARC_HEAD_MEAN) ? p->dmean + b * F : NULL, s->before + length_of(p, b),
                         dsum_last_of(p, b), 0, dsum);
  }
}

static void pool_backward(const network_pass *p, int accumulate) {
  run_tiles(p, accumulate ? pool_accumulate : pool_overwrite);
  if (p->net->pools && p->dstate0) pool_backward_to_state0(p);
}

/* ---- heads ------------------------------------------------------------------------------------- */

static bool is_pooled(const network_head *head) {
  return head->input == SPARC_HEAD_MEAN || head->input == SPARC_HEAD_LAST;
}

/* the row that a pooled head reads of example b, or where the row's cotangent goes */
static real *pooled_row(const network_pass *p, const network_head *head, size_t b, real *mean, real *last) {
  return (head->input == SPARC_HEAD_MEAN ? mean : last) + b * p->net->features;
}

static void step_heads(void *context, size_t tile) {
  const network_pass *p = context;
  const example_range e = example_of(p->T, tile);
  for (int i = 0; i < p->net->config.heads; i++) {
    const network_head *head = &p->net->head[i];
    if (head->input == SPARC_HEAD_STEPS)
      head_rows(p->net, p->prepared, head, e.n, p->features + e.first * p->net->features,
                p->hidden[i] + e.first * head->hidden.out, p->outputs[i] + e.first * head->linear.out,
                head->linear.out);
  }
}

static void pooled_heads(void *context, size_t b) {
  const network_pass *p = context;
  for (int i = 0; i < p->net->config.heads; i++) {
    const network_head *head = &p->net->head[i];
    if (is_pooled(head))
      head_rows(p->net, p->prepared, head, 1, pooled_row(p, head, b, p->mean, p->last),
                p->hidden[i] + b * head->hidden.out, p->outputs[i] + b * head->linear.out, head->linear.out);
  }
}

static void heads(const network_pass *p) {
  run_tiles(p, step_heads);
  run(p, p->B, pooled_heads);
  for (int i = 0; i < p->net->config.heads; i++)
    if (p->net->head[i].input == SPARC_HEAD_CONSTANT)
      head_rows(p->net, p->prepared, &p->net->head[i], 1, NULL, NULL, p->outputs[i], 0);
}

/* from pooled heads to the cotangents of the rows that they read */
static void pooled_heads_backward(void *context, size_t b) {
  const network_pass *p = context;
  bool written[2] = {false, false};
  for (int i = 0; i < p->net->config.heads; i++) {
    const network_head *head = &p->net->head[i];
    const real *dout = p->doutputs[i];
    if (!is_pooled(head) || !dout) continue;
    bool *again = &written[head->input == SPARC_HEAD_MEAN];
    head_rows_backward(p->net, p->prepared, head, 1, dout + b * head->linear.out, head->linear.out,
                       p->hidden[i] + b * head->hidden.out, p->dhidden[i] + b * head->hidden.out, *again,
                       pooled_row(p, head, b, p->dmean, p->dlast));
    *again = true;
  }
}

/* from heads on every step to the cotangents of features */
static void step_heads_backward(void *context, size_t tile) {
  const network_pass *p = context;
  const example_range e = example_of(p->T, tile);
  int written = 0;
  for (int i = 0; i < p->net->config.heads; i++) {
    const network_head *head = &p->net->head[i];
    const real *dout = p->doutputs[i];
    if (head->input != SPARC_HEAD_STEPS || !dout) continue;
    head_rows_backward(p->net, p->prepared, head, e.n, dout + e.first * head->linear.out, head->linear.out,
                       p->hidden[i] + e.first * head->hidden.out, p->dhidden[i] + e.first * head->hidden.out, written,
                       p->dfeatures + e.first * p->net->features);
    written = 1;
  }
}

/* the weights of all heads */
static void add_head_gradients(const network_pass *p) {
  const sparc_network *net = p->net;
  weight_job jobs[2 * MAX_HEADS];
  size_t count = 0;
  for (int i = 0; i < net->config.heads; i++) {
    const network_head *head = &net->head[i];
    const size_t rows[] = {[SPARC_HEAD_MEAN] = p->B,
                           [SPARC_HEAD_LAST] = p->B,
                           [SPARC_HEAD_STEPS] = p->B * p->T,
                           [SPARC_HEAD_CONSTANT] = 1};
    const real *const read[] = {[SPARC_HEAD_MEAN] = p->mean,
                                [SPARC_HEAD_LAST] = p->last,
                                [SPARC_HEAD_STEPS] = p->features,
                                [SPARC_HEAD_CONSTANT] = NULL};
    if (p->doutputs[i])
      count += head_weight_jobs(head, rows[head->input], read[head->input], p->hidden[i], p->dhidden[i], p->doutputs[i],
                                head->linear.out, jobs + count);
  }
  add_weight_gradients(net->kernels, p->threads, jobs, count, p->dparams);
}

static void heads_backward(const network_pass *p) {
  run(p, p->B, pooled_heads_backward);
  if (has_gradient(p, SPARC_HEAD_STEPS)) run_tiles(p, step_heads_backward);
  add_head_gradients(p);
}

/* ---- the table --------------------------------------------------------------------------------- */

const TYPED(stages) TYPED(cpu_stages) = {.copy_rows = copy_rows,
                                         .embed = embed,
                                         .embed_backward = LEARNING(embed_backward),
                                         .layer_scratch = TYPED(cpu_layer_scratch),
                                         .draw_masks = LEARNING(TYPED(cpu_draw_masks)),
                                         .pre_cell = TYPED(cpu_pre_cell),
                                         .cell = run_cell,
                                         .post_cell = TYPED(cpu_post_cell),
                                         .features = TYPED(cpu_features),
                                         .features_backward = LEARNING(TYPED(cpu_features_backward)),
                                         .post_cell_backward = LEARNING(TYPED(cpu_post_cell_backward)),
                                         .cell_backward = LEARNING(run_cell_backward),
                                         .pre_cell_backward = LEARNING(TYPED(cpu_pre_cell_backward)),
                                         .layer_gradient = LEARNING(TYPED(cpu_layer_gradient)),
                                         .pool = pool,
                                         .heads = heads,
                                         .heads_backward = LEARNING(heads_backward),
                                         .pool_backward = LEARNING(pool_backward),
                                         .cross_entropy = TYPED(cross_entropy_soft),
                                         .squared_error = TYPED(mean_squared_error),
                                         .gradient_norm = LEARNING(TYPED(gradient_norm)),
                                         .gradient_clip = LEARNING(TYPED(gradient_clip)),
                                         .adam = LEARNING(PUBLIC(sparc_adam_update))};

const executor_entry TYPED(cpu_entry) = {&TYPED(cpu_stages)};
