/* SPDX-License-Identifier: MIT */
/* train.c: the training step of a classifier: forward, backward, and the whole update with its optimiser. */
#include "sparc/train.h"

#include "base/error.h"
#include "base/memory.h"
#include "bench/bench_cell.h"
#include "bench/kinds/train.h"
#include "cells/cell.h"
#include "nn/network.h"
#include "sparc/double.h"
#include "sparc/network.h"
#include "sparc/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CLASSES = CLASSIFIER_CLASSES, EXAMPLES = 64, CHECK_B = 2, CHECK_T = 24 };

typedef struct training {
  int B, T, W, L;
  sparc_network_config config;
  sparc_network *network;
  sparc_network_plan *plan;
  sparc_trainer *trainer;
  float *params, *prepared, *dparams;
  float *x;        /* (EXAMPLES, T) */
  float *outputs;  /* (B, CLASSES) */
  float *doutputs; /* (B, CLASSES) */
  char *work;
  void *memory;
  uint64_t update;
  sparc_status status; /* of the last call that failed */
} training;

/* ---- stages ------------------------------------------------------------------------------------- */

static void note(training *t, sparc_status status) {
  if (status != SPARC_OK) t->status = status;
}

static void forward(void *context, size_t piece, int thread, int threads) {
  (void)piece, (void)thread, (void)threads;
  training *t = context;
  const sparc_dropout dropout = {1, t->update};
  const sparc_network_sequence sequence = {.x = t->x, .dropout = &dropout, .outputs = &t->outputs};
  note(t, sparc_network_forward(t->plan, t->prepared, &sequence, t->work));
}

static void backward(void *context, size_t piece, int thread, int threads) {
  (void)piece, (void)thread, (void)threads;
  training *t = context;
  const sparc_dropout dropout = {1, t->update};
  const sparc_network_sequence sequence = {.x = t->x, .dropout = &dropout, .outputs = &t->outputs};
  const float *const doutputs[] = {t->doutputs};
  const sparc_network_gradient gradient = {.doutputs = doutputs, .dparams = t->dparams};
  note(t, sparc_network_backward(t->plan, t->prepared, &sequence, &gradient, t->work));
}

static void clear_gradient(void *context) {
  const training *t = context;
  memset(t->dparams, 0, sparc_network_sizes_of(t->network).params * sizeof(float));
}

/* batch, forward, loss, backward, AdamW, prepared weights */
static void update(void *context, size_t piece, int thread, int threads) {
  (void)piece, (void)thread, (void)threads;
  training *t = context;
  sparc_update_report report;
  note(t, sparc_trainer_update(t->trainer, &report));
}

/* ---- life --------------------------------------------------------------------------------------- */

static sparc_sample sample_at(const void *source, int index) {
  const training *t = source;
  return (sparc_sample){.x = t->x + (size_t)index * (size_t)t->T, .length = t->T, .label = index % CLASSES};
}

static void destroy(bench_case *c) {
  training *t = c->state;
  if (!t) return;
  sparc_trainer_free(t->trainer);
  sparc_network_plan_free(t->plan);
  sparc_network_free(t->network);
  sparc_free(t->memory);
  free(t);
}

static void carve(training *t, arena *a) {
  const size_t params = sparc_network_sizes_of(t->network).params, logits = (size_t)t->B * CLASSES;
  const size_t examples = t->B > EXAMPLES ? (size_t)t->B : EXAMPLES;
  t->params = arena_take(a, params, sizeof(float));
  t->dparams = arena_take(a, params, sizeof(float));
  t->prepared = arena_take(a, sparc_network_sizes_of(t->network).prepared, sizeof(float));
  t->x = arena_take(a, examples * (size_t)t->T, sizeof(float));
  t->outputs = arena_take(a, logits, sizeof(float));
  t->doutputs = arena_take(a, logits, sizeof(float));
  t->work = arena_take(a, sparc_network_plan_work_bytes(t->plan, SPARC_FLOAT32), 1);
}

static sparc_status make_room(bench_case *c, training *t) {
  arena measure = arena_measure();
  carve(t, &measure);
  sparc_status status = bench_afford(c, measure.used);
  if (status != SPARC_OK) return status;
  t->memory = sparc_alloc(measure.used);
  if (!t->memory) return fail(SPARC_NO_MEMORY, "%s: no memory for %zu bytes", c->problem->text, measure.used);
  arena place = arena_over(t->memory, measure.used);
  carve(t, &place);
  c->memory = c->footprint = measure.used;
  bench_fill(t->x, (size_t)(t->B > EXAMPLES ? t->B : EXAMPLES) * (size_t)t->T, "x");
  bench_fill(t->doutputs, (size_t)t->B * CLASSES, "doutputs");
  return SPARC_OK;
}

static sparc_status make_trainer(const bench_case *c, training *t) {
  sparc_train_config config = sparc_train_defaults(NULL);
  config.network = t->config;
  config.batch = t->B;
  config.threads = c->threads;
  const sparc_samples samples = {
      .count = t->B > EXAMPLES ? t->B : EXAMPLES, .channels = 1, .longest = t->T, .source = t, .at = sample_at};
  return sparc_trainer_create(&config, &samples, &t->trainer);
}

/* products of a token in one layer and in the embedding, forward; the backward has twice as many */
static double product_flops(const training *t) {
  const sparc_cell *cell = network_cell(t->network);
  const double width = t->W, readout = (double)sparc_cell_sizes_of(cell).output;
  return 2 * width + t->L * (bench_product_flops(cell) + 2 * readout * width + 4 * width * width);
}

static void add_stages(bench_case *c, training *t) {
  const sparc_cell *cell = network_cell(t->network);
  const double tokens = (double)t->B * t->T, modes = tokens * t->L * sparc_cell_config_of(cell).H;
  const bool counted = bench_product_flops(cell) > 0;
  for (int i = 0; i < 2; i++) {
    bench_stage *stage = bench_stage_add(
        c, i ? "backward" : "forward",
        (bench_task){.context = t, .pieces = 1, .run = i ? backward : forward, .refresh = i ? clear_gradient : NULL});
    stage->modes = modes;
    stage->flops = counted ? (i ? 2 : 1) * tokens * product_flops(t) + modes * bench_mode_flops(cell, i == 1) : 0;
  }
  bench_stage *both = bench_stage_add(c, "forward+backward", (bench_task){.pieces = 0});
  both->sum_of = 2;
  bench_stage *whole = bench_stage_add(c, "update", (bench_task){.context = t, .pieces = 1, .run = update});
  for (bench_stage *stage = both; stage <= whole; stage++) {
    stage->modes = modes;
    stage->flops = c->stage[0].flops + c->stage[1].flops;
  }
}

sparc_status bench_classifier(const char *cell, int width, int layers, char *options, sparc_network_config *out) {
  static const sparc_head_config head = {.input = SPARC_HEAD_MEAN, .outputs = CLASSES};
  sparc_cell_config fit;
  const sparc_status status = cell_fit(cell, 2 * width, &fit, options, PROBLEM_TEXT);
  if (status != SPARC_OK) return status;
  *out = (sparc_network_config){.cell = cell,
                                .cell_options = options,
                                .H = fit.H,
                                .inputs = 1,
                                .embedding = SPARC_EMBED_LINEAR,
                                .width = width,
                                .layers = layers,
                                .dropout = 0.1,
                                .init = SPARC_INIT_CLASSIFICATION,
                                .head = &head,
                                .heads = 1};
  return SPARC_OK;
}

static sparc_status create(bench_case *c) {
  training *t = c->state = calloc(1, sizeof *t);
  if (!t) return fail(SPARC_NO_MEMORY, "%s: no memory", c->problem->text);
  t->B = (int)bench_value(c->problem, "B");
  t->T = (int)bench_value(c->problem, "T");
  t->W = (int)bench_value(c->problem, "W");
  t->L = (int)bench_value(c->problem, "L");
  char options[PROBLEM_TEXT];
  sparc_status status = bench_classifier(c->problem->cell, t->W, t->L, options, &t->config);
  if (status != SPARC_OK) return status;
  if (*c->problem->options) t->config.cell_options = c->problem->options;
  t->config.kernel = c->requested_kernel;
  status = sparc_network_create(&t->config, &t->network);
  if (status == SPARC_OK) status = sparc_network_plan_create(t->network, t->B, t->T, c->threads, &t->plan);
  if (status == SPARC_OK) status = make_room(c, t);
  if (status == SPARC_OK) status = sparc_network_init(t->network, 0, t->params);
  if (status == SPARC_OK) status = sparc_network_prepare(t->network, t->params, t->prepared);
  if (status == SPARC_OK) status = make_trainer(c, t);
  if (status != SPARC_OK) return status;
  c->kernel = sparc_cell_config_of(network_cell(t->network)).kernel;
  c->H = t->config.H;
  add_stages(c, t);
  return SPARC_OK;
}

/* ---- reference -------------------------------------------------------------------------------------- */

/* a short batch in double: outputs and gradient */
typedef struct reference_run {
  double *params, *prepared, *x, *outputs, *doutputs, *dparams;
  void *work;
} reference_run;

static void carve_reference(reference_run *d, arena *a, const training *t, const sparc_network_plan *plan) {
  const size_t params = sparc_network_sizes_of(t->network).params;
  d->params = arena_take(a, params, sizeof(double));
  d->dparams = arena_take(a, params, sizeof(double));
  d->prepared = arena_take(a, sparc_network_sizes_of(t->network).prepared, sizeof(double));
  d->x = arena_take(a, (size_t)CHECK_B * CHECK_T, sizeof(double));
  d->outputs = arena_take(a, (size_t)CHECK_B * CLASSES, sizeof(double));
  d->doutputs = arena_take(a, (size_t)CHECK_B * CLASSES, sizeof(double));
  d->work = arena_take(a, sparc_network_plan_work_bytes(plan, SPARC_FLOAT64), 1);
}

static void widen(size_t count, const float *from, double *to) {
  for (size_t i = 0; i < count; i++) to[i] = (double)from[i];
}

static const sparc_dropout check_dropout = {1, 0};

static sparc_status run_double(const sparc_network_plan *plan, const reference_run *d) {
  const sparc_network_sequence_f64 sequence = {.x = d->x, .dropout = &check_dropout, .outputs = &d->outputs};
  const double *const doutputs[] = {d->doutputs};
  const sparc_network_gradient_f64 gradient = {.doutputs = doutputs, .dparams = d->dparams};
  const sparc_status status = sparc_network_forward_f64(plan, d->prepared, &sequence, d->work);
  return status == SPARC_OK ? sparc_network_backward_f64(plan, d->prepared, &sequence, &gradient, d->work) : status;
}

static sparc_status run_single(const sparc_network_plan *plan, const training *t, void *work) {
  const sparc_network_sequence sequence = {.x = t->x, .dropout = &check_dropout, .outputs = &t->outputs};
  const float *const doutputs[] = {t->doutputs};
  const sparc_network_gradient gradient = {.doutputs = doutputs, .dparams = t->dparams};
  const sparc_status status = sparc_network_forward(plan, t->prepared, &sequence, work);
  return status == SPARC_OK ? sparc_network_backward(plan, t->prepared, &sequence, &gradient, work) : status;
}

static sparc_status compare_short(bench_case *c, training *t, const sparc_network_plan *plan) {
  const size_t params = sparc_network_sizes_of(t->network).params, logits = (size_t)CHECK_B * CLASSES;
  reference_run d;
  arena measure = arena_measure();
  carve_reference(&d, &measure, t, plan);
  void *memory = sparc_alloc(measure.used), *work = sparc_alloc(sparc_network_plan_work_bytes(plan, SPARC_FLOAT32));
  sparc_status status = SPARC_OK;
  if (!memory || !work) status = fail(SPARC_NO_MEMORY, "%s: no memory to verify it", c->problem->text);
  if (status == SPARC_OK) {
    arena place = arena_over(memory, measure.used);
    carve_reference(&d, &place, t, plan);
    widen(params, t->params, d.params);
    widen((size_t)CHECK_B * CHECK_T, t->x, d.x);
    widen(logits, t->doutputs, d.doutputs);
    memset(d.dparams, 0, params * sizeof(double));
    clear_gradient(t);
    status = sparc_network_prepare_f64(t->network, d.params, d.prepared);
  }
  if (status == SPARC_OK) status = run_double(plan, &d);
  if (status == SPARC_OK) status = run_single(plan, t, work);
  if (status == SPARC_OK) {
    bench_compare(c, "outputs", OUTPUT_TOLERANCE, t->outputs, d.outputs, logits);
    size_t count;
    const sparc_block *block = sparc_network_blocks(t->network, &count);
    for (size_t i = 0; i < count; i++)
      bench_compare(c, block[i].name, GRADIENT_TOLERANCE, t->dparams + block[i].offset, d.dparams + block[i].offset,
                    block[i].size);
  }
  sparc_free(work);
  sparc_free(memory);
  return status;
}

static sparc_status verify(bench_case *c) {
  training *t = c->state;
  if (t->status != SPARC_OK) return t->status;
  sparc_network_plan *plan;
  sparc_status status = sparc_network_plan_create(t->network, CHECK_B, CHECK_T, c->threads, &plan);
  if (status != SPARC_OK) return status;
  status = compare_short(c, t, plan);
  sparc_network_plan_free(plan);
  return status;
}

const bench_kind bench_kind_train = {
    .name = "train",
    .summary = "the training step of a classifier of one channel (W: width and modes, L: layers)",
    .keys = {{"B", "examples of a batch", REQUIRED},
             {"T", "steps", REQUIRED},
             {"W", "width of the residual stream", 64},
             {"L", "layers", 4}},
    .cell = "sparc",
    .create = create,
    .verify = verify,
    .destroy = destroy,
};
