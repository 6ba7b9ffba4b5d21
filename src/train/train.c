/* SPDX-License-Identifier: MIT */
/* train.c: training updates.
 *
 * No random state is carried: the order of the examples in epoch e comes from the stream (seed, "batches",
 * "epoch.<e>"), dropout masks from (seed, update), augmentation from (seed, update, row). A checkpoint therefore needs
 * weights, moments, averages and the number of updates done only. Batch n takes places n * batch,
 * n * batch + 1, ... of the endless sequence of epochs.
 *
 * A batch of several shards is computed shard by shard, by the rank that owns it: `batch` holds one shard. Row r of
 * shard s is row s * (batch / shards) + r of the batch, for its example and its augmentation; dropout masks follow from
 * update and shard. Every rank then takes the same step along the same sum.
 *
 * With an average, what is evaluated and saved is a moving average of the weights (nn/optimiser_step.h).
 */
#include "train/train.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/shard_sum.h"
#include "nn/head.h"
#include "nn/network_run.h"
#include "nn/optimiser_step.h"
#include "train/augment.h"
#include "train/batch.h"
#include "train/closed_form.h"
#include "train/train_settings.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* contribution of a shard to the report of an update */
typedef struct shard_part {
  double loss, correct;
} shard_part;

struct sparc_trainer {
  sparc_train_config config; /* its strings belong to the network */
  sparc_network *network;
  sparc_samples samples;
  long update;   /* updates done */
  batch *batch;  /* of training: one shard */
  batch *passes; /* over samples of another shape; created when needed */
  int *order;    /* (samples.count): the examples in the order of this epoch */
  uint64_t epoch;
  size_t params;              /* their number */
  float *weights, *moments;   /* (params), (2, params) */
  float *average;             /* (params); NULL: the weights themselves are the result */
  float *before;              /* all of these, from before the update */
  float *gradient, *prepared; /* (params), (prepared) of sparc_network_sizes */
  float *prepared_average;    /* (prepared); NULL: as average */
  int shards;
  ranks *group;         /* NULL: one process */
  shard_sum sum;        /* of several shards */
  shard_part *part;     /* (2, shards): of all ranks, and a send buffer for this rank */
  double *class_weight; /* (outputs); NULL: 1 for all */
  float *buffer;        /* (longest, channels), of augmentation */
  void *memory;
};

/* ---- configuration ------------------------------------------------------------------------------ */

static settings_binding binding_of(sparc_train_config *config) {
  return (settings_binding){.part = {{.table = &training_settings, .at = config}}};
}

static sparc_train_config default_config(int kind) {
  sparc_train_config c = {.threads = 0};
  const settings_binding binding = binding_of(&c);
  settings_reset(&binding, kind);
  return c;
}

sparc_train_config sparc_train_defaults(const sparc_task *task) {
  sparc_train_config c = default_config(task ? DEFAULT_TASK : DEFAULT_DATA);
  if (!task) {
    c.warmup = c.updates / 10;
    return c;
  }
  const sparc_task_training *t = &task->training;
  c.batch = t->batch;
  c.updates = t->updates;
  c.warmup = 0;
  c.learning_rate = t->learning_rate;
  c.weight_decay = t->weight_decay;
  c.max_gradient_norm = t->max_gradient_norm;
  return c;
}

sparc_status check_train_config(const sparc_train_config *config) {
  enum { MAX_THREADS = 1 << 16 };
  sparc_train_config c = *config;
  const settings_binding binding = binding_of(&c);
  const sparc_status status = settings_check(&binding, true);
  if (status != SPARC_OK) return status;
  if (c.warmup > c.updates) return fail(SPARC_INVALID, "warmup is %ld, expected 0 to %ld", c.warmup, c.updates);
  if (c.min_learning_rate > c.learning_rate)
    return fail(SPARC_INVALID, "min_learning_rate is %g, expected 0 to %g", c.min_learning_rate, c.learning_rate);
  if (c.threads < 0 || c.threads > MAX_THREADS)
    return fail(SPARC_INVALID, "threads is %d, expected 0 to %d", c.threads, MAX_THREADS);
  return SPARC_OK;
}

/* ---- life cycle -------------------------------------------------------------------------------- */

static void carve(arena *a, sparc_trainer *t) {
  t->weights = arena_take(a, t->params, sizeof *t->weights);
  t->moments = arena_take(a, 2 * t->params, sizeof *t->moments);
  if (t->config.ema_decay > 0) t->average = arena_take(a, t->params, sizeof *t->average);
  t->before = arena_take(a, (t->config.ema_decay > 0 ? 4 : 3) * t->params, sizeof *t->before);
  t->gradient = arena_take(a, t->params, sizeof *t->gradient);
  t->part = arena_take(a, 2 * (size_t)t->shards, sizeof *t->part);
  if (t->shards > 1) shard_sum_carve(a, &t->sum);
  t->prepared = arena_take(a, sparc_network_sizes_of(t->network).prepared, sizeof *t->prepared);
  if (t->config.ema_decay > 0)
    t->prepared_average = arena_take(a, sparc_network_sizes_of(t->network).prepared, sizeof *t->prepared_average);
  if (t->config.class_weights)
    t->class_weight = arena_take(a, (size_t)t->config.network.head->outputs, sizeof *t->class_weight);
  t->buffer = arena_take(a, (size_t)t->samples.longest * (size_t)t->samples.channels, sizeof *t->buffer);
  t->order = arena_take(a, (size_t)t->samples.count, sizeof *t->order);
}

static sparc_status allocate(sparc_trainer *t) {
  arena size = arena_measure();
  carve(&size, t);
  t->memory = sparc_alloc(size.used);
  if (!t->memory)
    return fail(SPARC_NO_MEMORY, "no memory for the %zu bytes of training %zu parameters", size.used, t->params);
  arena block = arena_over(t->memory, size.used);
  carve(&block, t);
  return SPARC_OK;
}

static void shuffle_epoch(sparc_trainer *t, uint64_t epoch) {
  char name[32];
  snprintf(name, sizeof name, "epoch.%" PRIu64, epoch);
  sparc_random stream;
  sparc_random_init(&stream, t->config.seed, "batches", name);
  random_permutation(&stream, t->order, t->samples.count);
  t->epoch = epoch;
}

/* the weight of a class without examples is not used */
static void weigh_classes(sparc_trainer *t) {
  const int outputs = t->config.network.head->outputs;
  for (int c = 0; c < outputs; c++) t->class_weight[c] = 0;
  const bool steps = head_has_steps(t->config.network.head);
  double labels = 0;
  for (int i = 0; i < t->samples.count; i++) {
    const sparc_sample e = t->samples.at(t->samples.source, i);
    const int count = steps ? e.length : 1;
    for (int k = 0; k < count; k++) t->class_weight[steps ? e.labels[k] : e.label]++;
    labels += count;
  }
  for (int c = 0; c < outputs; c++)
    if (t->class_weight[c] > 0) t->class_weight[c] = labels / (outputs * t->class_weight[c]);
}

/* regularisation must be applicable to the head */
static sparc_status check_regularisation(const sparc_trainer *t, const sparc_samples *samples) {
  const sparc_train_config *c = &t->config;
  const bool steps = head_has_steps(c->network.head);
  const bool numbers = head_learns_values(c->network.head, samples->targets > 0);
  if (c->network.embedding == SPARC_EMBED_SYMBOLS && (c->jitter > 0 || c->scaling > 0 || c->crop > 0))
    return fail(SPARC_INVALID, "jitter, scaling or crop is given, but inputs are symbols, which have no neighbours");
  if (numbers && c->class_weights) return fail(SPARC_INVALID, "class-weights are given, but the head learns numbers");
  if (numbers && c->label_smoothing > 0)
    return fail(SPARC_INVALID, "label_smoothing is %g, but the head learns numbers, not classes", c->label_smoothing);
  if (c->readout == SPARC_READOUT_RIDGE && (t->shards > 1 || t->group))
    return fail(SPARC_UNSUPPORTED, "readout is ridge, which is not divided into shards");
  if (steps && c->crop > 0)
    return fail(SPARC_INVALID, "crop is %g, but the head is on every step, and its targets are not stretched", c->crop);
  return SPARC_OK;
}

static augmentation augmentation_of(const sparc_trainer *t) {
  return (augmentation){.jitter = t->config.jitter, .scaling = t->config.scaling, .window = t->config.crop};
}

int trainer_shards(const sparc_train_config *config) { return config->shards > 1 ? config->shards : 1; }

static sparc_status check_shards(const sparc_trainer *t) {
  if (t->config.batch % t->shards != 0)
    return fail(SPARC_INVALID, "shards is %d, expected a divisor of batch, which is %d", t->shards, t->config.batch);
  if (t->shards % ranks_count(t->group) != 0)
    return fail(SPARC_INVALID, "shards is %d, expected a multiple of the %d ranks", t->shards, ranks_count(t->group));
  return SPARC_OK;
}

/* everything but the weights; NULL on failure. Takes ownership of the network, also on failure. */
static sparc_trainer *make_trainer(const sparc_train_config *config, const sparc_samples *samples, ranks *group,
                                   sparc_network *network, sparc_status *status) {
  sparc_trainer *t = sparc_alloc(sizeof *t);
  if (!t) {
    sparc_network_free(network);
    *status = fail(SPARC_NO_MEMORY, "no memory for a trainer");
    return NULL;
  }
  *t = (sparc_trainer){.config = *config,
                       .network = network,
                       .params = sparc_network_sizes_of(network).params,
                       .shards = trainer_shards(config),
                       .group = group};
  t->sum = (shard_sum){.group = group, .width = t->params, .shards = t->shards, .threads = config->threads};
  t->config.network = sparc_network_config_of(network);
  *status = check_samples(network, samples);
  if (*status == SPARC_OK) {
    t->samples = *samples;
    const example_source source = source_of(samples);
    *status = check_examples(network, &source);
  }
  if (*status == SPARC_OK) *status = check_regularisation(t, samples);
  if (*status == SPARC_OK && config->readout == SPARC_READOUT_RIDGE) *status = check_closed_form(network, samples);
  if (*status == SPARC_OK) *status = check_shards(t);
  if (*status == SPARC_OK)
    *status = batch_create(network, (size_t)(config->batch / t->shards), (size_t)samples->longest, config->threads,
                           &t->batch);
  if (*status == SPARC_OK) *status = allocate(t);
  if (*status != SPARC_OK) {
    sparc_trainer_free(t);
    return NULL;
  }
  if (t->class_weight) weigh_classes(t);
  t->batch->class_weight = t->class_weight;
  t->batch->smoothing = config->label_smoothing;
  shuffle_epoch(t, 0);
  return t;
}

static sparc_status prepare(sparc_trainer *t) {
  sparc_status status = sparc_network_prepare(t->network, t->weights, t->prepared);
  if (status == SPARC_OK && t->average) status = sparc_network_prepare(t->network, t->average, t->prepared_average);
  return status;
}

static sparc_status finish(sparc_trainer *t, sparc_status status, sparc_trainer **out) {
  if (status == SPARC_OK) status = prepare(t);
  if (status == SPARC_OK) {
    *out = t;
  } else {
    sparc_trainer_free(t);
  }
  return status;
}

sparc_status trainer_create(const sparc_train_config *config, const sparc_samples *samples, ranks *group,
                            sparc_trainer **out) {
  if (!out) return fail(SPARC_INVALID, "out is NULL, expected where to put the trainer");
  *out = NULL;
  if (!config) return fail(SPARC_INVALID, "config is NULL");
  sparc_network *network;
  sparc_status status = check_train_config(config);
  if (status == SPARC_OK) status = sparc_network_create(&config->network, &network);
  if (status != SPARC_OK) return status;
  sparc_trainer *t = make_trainer(config, samples, group, network, &status);
  if (!t) return status;
  status = sparc_network_init(t->network, config->seed, t->weights);
  if (status == SPARC_OK && t->average) memcpy(t->average, t->weights, t->params * sizeof *t->average);
  return finish(t, status, out);
}

sparc_status sparc_trainer_create(const sparc_train_config *config, const sparc_samples *samples, sparc_trainer **out) {
  return trainer_create(config, samples, NULL, out);
}

sparc_status trainer_load_weights(sparc_trainer *t, const checkpoint *file, bool head) {
  sparc_status status = checkpoint_load_weights(file, t->network, head, t->weights);
  if (status == SPARC_OK && t->average) memcpy(t->average, t->weights, t->params * sizeof *t->average);
  return status == SPARC_OK ? prepare(t) : status;
}

sparc_status trainer_reschedule(sparc_trainer *t, long updates, long warmup) {
  sparc_train_config config = t->config;
  config.updates = updates;
  if (warmup >= 0) config.warmup = warmup;
  if (updates < t->update)
    return fail(SPARC_INVALID, "updates is %ld, but the run has done %ld already", updates, t->update);
  const sparc_status status = check_train_config(&config);
  if (status == SPARC_OK) t->config = config;
  return status;
}

void sparc_trainer_free(sparc_trainer *t) {
  if (!t) return;
  batch_free(t->batch);
  batch_free(t->passes);
  sparc_network_free(t->network);
  sparc_free(t->memory);
  sparc_free(t);
}

sparc_trainer_info sparc_trainer_info_of(const sparc_trainer *t) {
  if (!t) return (sparc_trainer_info){0};
  return (sparc_trainer_info){.config = &t->config,
                              .network = t->network,
                              .params = t->average ? t->average : t->weights,
                              .updates = t->update};
}

/* ---- one update -------------------------------------------------------------------------------- */

/* the example in a row of the batch */
static int example_at(sparc_trainer *t, size_t row) {
  const uint64_t place = (uint64_t)t->update * (uint64_t)t->config.batch + row, count = (uint64_t)t->samples.count;
  if (place / count != t->epoch) shuffle_epoch(t, place / count);
  return t->order[place % count];
}

static void choose_examples(sparc_trainer *t, int shard) {
  for (size_t i = 0; i < t->batch->B; i++) t->batch->index[i] = example_at(t, (size_t)shard * t->batch->B + i);
}

/* weight of the loaded shard in the mean over the batch: its loss terms over those of all */
static double share_of_shard(sparc_trainer *t) {
  if (t->shards == 1) return 1;
  if (!t->batch->steps) return 1 / (double)t->shards;
  double steps = 0, own = 0;
  for (int row = 0; row < t->config.batch; row++)
    steps += t->samples.at(t->samples.source, example_at(t, (size_t)row)).length;
  for (size_t i = 0; i < t->batch->B; i++) own += t->batch->length[i];
  return own / steps;
}

/* prefixes the last error message with `what` and appends the weight of largest magnitude */
static sparc_status name_largest_weight(const sparc_trainer *t, const char *what, sparc_status status) {
  if (status != SPARC_NOT_FINITE) return status;
  char message[256];
  snprintf(message, sizeof message, "%s", sparc_error());
  const size_t at = greatest_parameter(t->network, t->weights);
  return fail(status, "%s: %s; the largest weight is %g, in %s", what, message, (double)t->weights[at],
              parameter_block(t->network, at));
}

static double learning_rate_of(const sparc_trainer *t) {
  const sparc_schedule schedule = {.kind = t->config.cosine ? SPARC_SCHEDULE_COSINE : SPARC_SCHEDULE_CONSTANT,
                                   .peak = t->config.learning_rate,
                                   .floor = t->config.min_learning_rate,
                                   .warmup = t->config.warmup,
                                   .total = t->config.updates};
  return sparc_schedule_learning_rate(&schedule, t->update);
}

/* error of a loss that is not finite: names the output that is not finite, if any. Outputs are recomputed, because the
 * loss rearranges them. */
static sparc_status refuse_loss(sparc_trainer *t, const sparc_dropout *dropout, double loss) {
  batch *b = t->batch;
  const sparc_network_sequence sequence = batch_sequence(b, dropout);
  sparc_status status = sparc_network_forward(b->plan, t->prepared, &sequence, b->work);
  if (status == SPARC_OK) status = batch_check_outputs(b, b->B);
  if (status == SPARC_OK) status = fail(SPARC_NOT_FINITE, "every output is finite, but too large");
  char what[80];
  snprintf(what, sizeof what, "the loss of update %ld is %g", t->update + 1, loss);
  return name_largest_weight(t, what, status);
}

/* augments the loaded examples */
static void augment_shard(sparc_trainer *t, int shard) {
  const augmentation how = augmentation_of(t);
  const batch *b = t->batch;
  for (size_t row = 0; augments(&how) && row < b->B; row++)
    augment(&how, t->config.seed, (uint64_t)t->update, (size_t)shard * b->B + row, (size_t)b->length[row], b->C,
            b->x + row * b->T * b->C, t->buffer);
}

static sparc_dropout dropout_of(const sparc_trainer *t, int shard) {
  return (sparc_dropout){.seed = t->config.seed, .update = (uint64_t)t->update * (uint64_t)t->shards + (uint64_t)shard};
}

/* forward pass of a shard, and the gradient of its loss with respect to the outputs */
static sparc_status forward_shard(sparc_trainer *t, int shard, shard_part *part) {
  batch *b = t->batch;
  const sparc_dropout dropout = dropout_of(t, shard);
  const example_source source = source_of(&t->samples);
  choose_examples(t, shard);
  sparc_status status = batch_load(b, &source);
  if (status == SPARC_OK) augment_shard(t, shard);
  const sparc_network_sequence sequence = batch_sequence(b, &dropout);
  if (status == SPARC_OK) status = sparc_network_forward(b->plan, t->prepared, &sequence, b->work);
  if (status != SPARC_OK) return status;
  part->correct = (double)batch_correct(b, b->B); /* before the loss rearranges the outputs */
  const double loss = batch_loss(b, b->B, true), share = share_of_shard(t);
  if (!isfinite(loss)) return refuse_loss(t, &dropout, loss);
  part->loss = share * loss;
  const size_t outputs = b->B * (b->steps ? b->T : 1) * b->K;
  for (size_t i = 0; share != 1 && i < outputs; i++) b->doutput[i] = (float)(share * (double)b->doutput[i]);
  return SPARC_OK;
}

/* adds the gradient of the shard after its forward pass; listener may be NULL */
static sparc_status backward_shard(sparc_trainer *t, int shard, const gradient_listener *listener, float *dparams) {
  batch *b = t->batch;
  const sparc_dropout dropout = dropout_of(t, shard);
  const sparc_network_sequence sequence = batch_sequence(b, &dropout);
  const float *const doutputs[] = {b->doutput};
  const sparc_network_gradient gradient = {.doutputs = doutputs, .dparams = dparams};
  return network_backward(b->plan, t->prepared, &sequence, &gradient, listener, b->work);
}

static sparc_status differentiate_shard(sparc_trainer *t, int shard, float *dparams, shard_part *part) {
  const sparc_status status = forward_shard(t, shard, part);
  return status == SPARC_OK ? backward_shard(t, shard, NULL, dparams) : status;
}

/* gathers the contributions of all shards on all ranks */
static sparc_status gather_parts(sparc_trainer *t) {
  const shard_range own = t->sum.own;
  const size_t count = (size_t)(own.end - own.first);
  shard_part *mine = t->part + t->shards;
  if (!t->group) return SPARC_OK;
  memcpy(mine, t->part + own.first, count * sizeof *mine);
  return ranks_gather(t->group, mine, count * sizeof *mine, t->part);
}

static void send_ready(void *sum, size_t from) { shard_sum_ready(sum, from); }

/* gradient and reports of the shards of all ranks. Ranks agree after all forward passes, after which nothing fails, and
 * send gradients during the backward pass of the last shard. */
static sparc_status differentiate_shards(sparc_trainer *t, bool *stop) {
  const int last = t->sum.own.end - 1;
  const gradient_listener listener = {send_ready, &t->sum};
  sparc_status status = SPARC_OK;
  shard_sum_begin(&t->sum);
  for (int s = t->sum.own.first; s < last && status == SPARC_OK; s++) {
    status = differentiate_shard(t, s, shard_sum_leaf(&t->sum), &t->part[s]);
    if (status == SPARC_OK) shard_sum_add(&t->sum, s);
  }
  if (status == SPARC_OK) status = forward_shard(t, last, &t->part[last]);
  status = ranks_agree(t->group, status, stop);
  if (status == SPARC_OK) status = gather_parts(t);
  if (status != SPARC_OK) return status;
  float *const leaf = shard_sum_leaf(&t->sum);
  shard_sum_add(&t->sum, last);
  status = backward_shard(t, last, t->group ? &listener : NULL, leaf);
  return status == SPARC_OK ? shard_sum_finish(&t->sum, t->gradient) : status;
}

sparc_status trainer_differentiate(sparc_trainer *t, bool *stop, sparc_update_report *report) {
  memset(t->gradient, 0, t->params * sizeof *t->gradient);
  const sparc_status status =
      t->shards > 1 ? differentiate_shards(t, stop) : differentiate_shard(t, 0, t->gradient, t->part);
  if (status != SPARC_OK) return status;
  *report = (sparc_update_report){.update = t->update + 1, .learning_rate = learning_rate_of(t)};
  for (int s = 0; s < t->shards; s++) {
    report->loss += t->part[s].loss;
    report->accuracy += t->part[s].correct;
  }
  report->accuracy /= (double)t->config.batch;
  return SPARC_OK;
}

sparc_status trainer_apply(sparc_trainer *t, sparc_update_report *report) {
  sparc_adam_config adam = sparc_adam_defaults();
  adam.weight_decay = t->config.weight_decay;
  adam.recurrent_lr_scale = t->config.recurrent_lr_scale;
  const optimiser_step step = {.network = t->network,
                               .adam = adam,
                               .learning_rate = report->learning_rate,
                               .max_norm = t->config.max_gradient_norm,
                               .update = t->update + 1,
                               .event = "update",
                               .number = t->update + 1,
                               .threads = t->config.threads,
                               .gradient = t->gradient,
                               .moments = t->moments,
                               .params = t->weights,
                               .prepared = t->prepared,
                               .average_decay = t->config.ema_decay,
                               .average = t->average,
                               .prepared_average = t->prepared_average,
                               .before = t->before};
  const sparc_status status = optimiser_take_step(&step, &report->gradient_norm);
  if (status == SPARC_OK) t->update++;
  return status;
}

sparc_status sparc_trainer_update(sparc_trainer *t, sparc_update_report *report) {
  return t ? trainer_update(t, NULL, report) : fail(SPARC_INVALID, "trainer is NULL");
}

/* a closed form has no history: the average is set to the weights */
static sparc_status fit_in_closed_form(sparc_trainer *t, sparc_update_report *report) {
  sparc_update_report result = {.update = t->update + 1};
  sparc_status status =
      fit_closed_form(t->network, &t->samples, t->config.seed, t->batch, t->weights, t->prepared, &result);
  if (status == SPARC_OK && t->average) memcpy(t->average, t->weights, t->params * sizeof *t->average);
  if (status == SPARC_OK) status = prepare(t);
  if (status != SPARC_OK) return status;
  t->update++;
  if (report) *report = result;
  return SPARC_OK;
}

sparc_status trainer_update(sparc_trainer *t, bool *stop, sparc_update_report *report) {
  if (t->config.readout == SPARC_READOUT_RIDGE) return fit_in_closed_form(t, report);
  sparc_update_report result = {.update = 0};
  sparc_status status = trainer_differentiate(t, stop, &result);
  if (status == SPARC_OK) status = trainer_apply(t, &result);
  if (status == SPARC_OK && report) *report = result;
  return status;
}

/* ---- evaluation -------------------------------------------------------------------------------- */

sparc_status sparc_trainer_evaluate(sparc_trainer *t, const sparc_samples *samples, sparc_evaluation *evaluation) {
  if (!t || !evaluation) return fail(SPARC_INVALID, "%s is NULL", t ? "evaluation" : "trainer");
  sparc_status status = check_samples(t->network, samples);
  if (status != SPARC_OK) return status;
  /* reuse the training batch if the shape is equal */
  const bool same = batch_fits(t->batch, samples, t->config.batch);
  if (!same) status = batch_fit(&t->passes, t->network, samples, t->config.batch, t->config.threads);
  if (status != SPARC_OK) return status;
  const example_source source = source_of(samples);
  status =
      batch_evaluate(same ? t->batch : t->passes, t->average ? t->prepared_average : t->prepared, &source, evaluation);
  char what[64];
  snprintf(what, sizeof what, "the evaluation after update %ld", t->update);
  return name_largest_weight(t, what, status);
}

/* ---- files ------------------------------------------------------------------------------------- */

sparc_status sparc_trainer_save(const sparc_trainer *t, const sparc_preprocessing *preprocessing,
                                const sparc_metadata *extra, size_t extra_count, const char *path) {
  if (!t || !path) return fail(SPARC_INVALID, "%s is NULL", t ? "path" : "trainer");
  const checkpoint_content content = {.network = t->network,
                                      .state = {.config = t->config,
                                                .head = *t->config.network.head,
                                                .update = t->update,
                                                .examples = t->samples.count},
                                      .numbers = {.params = t->average ? t->average : t->weights,
                                                  .moments = t->moments,
                                                  .raw = t->average ? t->weights : NULL},
                                      .preprocessing = preprocessing,
                                      .extra = extra,
                                      .extra_count = extra_count};
  return checkpoint_write(path, &content);
}

static sparc_status load(checkpoint *c, const sparc_samples *samples, int threads, ranks *group, sparc_trainer **out) {
  if (samples->count != c->state.examples)
    return fail(SPARC_INVALID, "samples.count is %d, but '%.200s' was trained on %d examples", samples->count, c->path,
                c->state.examples);
  sparc_train_config config = c->state.config;
  config.threads = threads;
  sparc_status status;
  sparc_trainer *t = make_trainer(&config, samples, group, c->network, &status);
  if (t) {
    t->update = c->state.update;
    status = checkpoint_read(c, t->average ? t->average : t->weights, t->moments);
    if (status == SPARC_OK && t->average) status = checkpoint_read_raw(c, t->weights);
    status = finish(t, status, out);
  }
  c->network = NULL; /* owned by the trainer, or freed with it */
  return status;
}

sparc_status trainer_load(const char *path, const sparc_samples *samples, const sparc_layer_kind *const *kinds,
                          int threads, ranks *group, sparc_trainer **out) {
  if (!out) return fail(SPARC_INVALID, "out is NULL, expected where to put the trainer");
  *out = NULL;
  if (!path || !samples) return fail(SPARC_INVALID, "%s is NULL", path ? "samples" : "path");
  if (threads < 0) return fail(SPARC_INVALID, "threads is %d, expected 0 or more", threads);
  checkpoint c;
  sparc_status status = checkpoint_open_kinds(path, kinds, true, &c);
  if (status != SPARC_OK) return status;
  status = load(&c, samples, threads, group, out);
  checkpoint_close(&c);
  return status;
}

sparc_status sparc_trainer_load(const char *path, const sparc_samples *samples, const sparc_layer_kind *const *kinds,
                                int threads, sparc_trainer **out) {
  return trainer_load(path, samples, kinds, threads, NULL, out);
}
