/* SPDX-License-Identifier: MIT */
/* batch.c: batches of padded examples, forward passes and losses.
 *
 * Shorter sequences are padded with zeros, which the network ignores. Targets are stored without padding, so that the
 * squared error is one sum over the existing steps.
 */
#include "train/batch.h"

#include "base/error.h"
#include "base/memory.h"
#include "data/normalise.h"
#include "nn/head.h"
#include "nn/losses.h"
#include "nn/network_run.h"

#include <math.h>
#include <string.h>

/* ---- examples ---------------------------------------------------------------------------------- */

sparc_status check_samples(const sparc_network *network, const sparc_samples *samples) {
  if (!samples) return fail(SPARC_INVALID, "samples is NULL");
  if (!samples->at) return fail(SPARC_INVALID, "samples.at is NULL, expected the function that fetches an example");
  if (samples->count < 1) return fail(SPARC_INVALID, "samples.count is %d, expected at least 1", samples->count);
  if (samples->longest < 1) return fail(SPARC_INVALID, "samples.longest is %d, expected at least 1", samples->longest);
  const sparc_network_config config = sparc_network_config_of(network);
  if (config.heads != 1 || config.head->input == SPARC_HEAD_CONSTANT)
    return fail(SPARC_UNSUPPORTED, "heads is %d, samples train a network of one head that reads them", config.heads);
  if (samples->targets && samples->targets != config.head->outputs)
    return fail(SPARC_INVALID, "samples.targets is %d, the head has %d outputs", samples->targets,
                config.head->outputs);
  if (samples->targets && !head_learns_values(config.head, true))
    return fail(SPARC_INVALID, "samples.targets is %d, but the head learns classes", samples->targets);
  if (samples->targets && samples->target_steps != head_has_steps(config.head))
    return fail(SPARC_INVALID, "samples.target_steps is %d, but the head %s", samples->target_steps,
                samples->target_steps ? "gives one output for a sequence" : "is on every step");
  if (samples->channels != config.inputs)
    return fail(SPARC_INVALID, "samples.channels is %d, the network has %d inputs", samples->channels, config.inputs);
  return SPARC_OK;
}

static sparc_status check_values(const char *what, int index, const float *values, size_t steps, size_t row) {
  for (size_t i = 0; i < steps * row; i++)
    if (!isfinite(values[i]))
      return fail(SPARC_NOT_FINITE, "example %d: %s %zu of step %zu is %g, expected a finite number", index, what,
                  i % row, i / row, (double)values[i]);
  return SPARC_OK;
}

static sparc_status check_step_labels(const sparc_sample *e, int classes, int index) {
  if (!e->labels) return fail(SPARC_INVALID, "example %d: labels is NULL, expected a class for every step", index);
  for (int t = 0; t < e->length; t++)
    if (e->labels[t] < 0 || e->labels[t] >= classes)
      return fail(SPARC_INVALID, "example %d: label of step %d is %d, expected 0 to %d", index, t, e->labels[t],
                  classes - 1);
  return SPARC_OK;
}

static sparc_status check_target(const sparc_network_config *config, const sparc_sample *e, bool numbers, int index) {
  const int outputs = config->head->outputs;
  const bool steps = head_has_steps(config->head);
  if (head_learns_values(config->head, numbers)) {
    if (!e->target) return fail(SPARC_INVALID, "example %d: target is NULL, expected numbers", index);
    return check_values("target", index, e->target, steps ? (size_t)e->length : 1, (size_t)outputs);
  }
  if (steps) return check_step_labels(e, outputs, index);
  if (e->label < 0 || e->label >= outputs)
    return fail(SPARC_INVALID, "example %d: label is %d, expected 0 to %d", index, e->label, outputs - 1);
  return SPARC_OK;
}

static sparc_status fetch(const sparc_network_config *config, const example_source *s, int index, sparc_sample *e) {
  *e = s->samples->at(s->samples->source, index);
  if (!e->x) return fail(SPARC_INVALID, "example %d: x is NULL, expected its values", index);
  if (e->length < 1 || e->length > s->samples->longest)
    return fail(SPARC_INVALID, "example %d: length is %d, expected 1 to %d", index, e->length, s->samples->longest);
  const int max = head_has_steps(config->head) ? e->length - 1 : 0;
  if (e->context < 0 || e->context > max)
    return fail(SPARC_INVALID, "example %d: context is %d, expected 0 to %d", index, e->context, max);
  return s->has_targets ? check_target(config, e, s->numbers, index) : SPARC_OK;
}

example_source source_of(const sparc_samples *samples) {
  return (example_source){.samples = samples,
                          .has_targets = true,
                          .numbers = samples->targets > 0,
                          .target_mean = samples->target_mean,
                          .target_stddev = samples->target_stddev};
}

sparc_status check_examples(const sparc_network *network, const example_source *s) {
  const sparc_network_config config = sparc_network_config_of(network);
  sparc_status status = SPARC_OK;
  for (int i = 0; i < s->samples->count && status == SPARC_OK; i++) {
    sparc_sample e;
    status = fetch(&config, s, i, &e);
    if (status == SPARC_OK) status = check_values("channel", i, e.x, (size_t)e.length, (size_t)config.inputs);
  }
  return status;
}

/* ---- life cycle -------------------------------------------------------------------------------- */

static void carve(arena *a, batch *b) {
  const size_t rows = b->steps ? b->B * b->T : b->B;
  const bool classes = !head_learns_values(sparc_network_config_of(b->network).head, false);
  b->index = arena_take(a, b->B, sizeof *b->index);
  b->length = arena_take(a, b->B, sizeof *b->length);
  b->context = arena_take(a, b->B, sizeof *b->context);
  b->label = arena_take(a, rows, sizeof *b->label);
  b->x = arena_take(a, b->B * b->T * b->C, sizeof *b->x);
  b->target = arena_take(a, rows * b->K, sizeof *b->target);
  b->output = arena_take(a, rows * b->K, sizeof *b->output);
  b->doutput = arena_take(a, rows * b->K, sizeof *b->doutput);
  b->probability = arena_take(a, classes ? rows * b->K : 0, sizeof *b->probability);
  b->errors = arena_take(a, 3 * b->K, sizeof *b->errors);
  b->work = arena_take(a, sparc_network_plan_work_bytes(b->plan, SPARC_FLOAT32), 1);
}

static sparc_status allocate(batch *b) {
  arena size = arena_measure();
  carve(&size, b);
  b->memory = sparc_alloc(size.used);
  if (!b->memory)
    return fail(SPARC_NO_MEMORY, "no memory for the %zu bytes of a batch of %zu sequences of %zu steps", size.used,
                b->B, b->T);
  arena block = arena_over(b->memory, size.used);
  carve(&block, b);
  return SPARC_OK;
}

sparc_status batch_create(const sparc_network *network, size_t B, size_t T, int threads, batch **out) {
  *out = NULL;
  batch *b = sparc_alloc(sizeof *b);
  if (!b) return fail(SPARC_NO_MEMORY, "no memory for a batch");
  const sparc_network_config config = sparc_network_config_of(network);
  *b = (batch){.network = network,
               .B = B,
               .T = T,
               .C = (size_t)config.inputs,
               .K = (size_t)config.head->outputs,
               .steps = head_has_steps(config.head)};
  sparc_status status = sparc_network_plan_create(network, (int)B, (int)T, threads, &b->plan);
  if (status == SPARC_OK) status = allocate(b);
  if (status != SPARC_OK) {
    batch_free(b);
    return status;
  }
  *out = b;
  return SPARC_OK;
}

void batch_free(batch *b) {
  if (!b) return;
  sparc_network_plan_free(b->plan);
  sparc_free(b->memory);
  sparc_free(b);
}

static size_t examples_at_once(const sparc_samples *samples, int max) {
  return (size_t)(samples->count < max ? samples->count : max);
}

bool batch_fits(const batch *b, const sparc_samples *samples, int max) {
  return b && b->T == (size_t)samples->longest && b->B == examples_at_once(samples, max);
}

sparc_status batch_fit(batch **b, const sparc_network *network, const sparc_samples *samples, int max, int threads) {
  if (batch_fits(*b, samples, max)) return SPARC_OK;
  batch_free(*b);
  return batch_create(network, examples_at_once(samples, max), (size_t)samples->longest, threads, b);
}

/* ---- loading ----------------------------------------------------------------------------------- */

void source_inputs(const example_source *s, const sparc_sample *e, int first, int n, float *x) {
  const int C = s->samples->channels;
  const size_t count = (size_t)n * (size_t)C, start = (size_t)first * (size_t)C;
  const float *values = e->x + start;
  if (s->change) {
    for (size_t i = 0; i < count; i++) x[i] = start + i < (size_t)C ? 0 : values[i] - *(values + i - C);
    values = x;
  }
  if (s->mean)
    normalise_rows(values, x, n, C, s->mean, s->stddev);
  else if (values != x)
    memcpy(x, values, count * sizeof *x);
}

static sparc_status load_values(batch *b, const example_source *s, size_t slot, const sparc_sample *e) {
  float *x = b->x + slot * b->T * b->C;
  const size_t count = (size_t)e->length * b->C;
  source_inputs(s, e, 0, e->length, x);
  memset(x + count, 0, (b->T * b->C - count) * sizeof *x);
  return check_values("channel", b->index[slot], x, (size_t)e->length, b->C);
}

/* labels of an example, zeros without targets; returns their number */
static size_t load_labels(const batch *b, const example_source *s, const sparc_sample *e, int *to) {
  const size_t count = b->steps ? (size_t)(e->length - e->context) : 1;
  for (size_t i = 0; i < count; i++)
    to[i] = !s->has_targets ? 0 : b->steps ? e->labels[(size_t)e->context + i] : e->label;
  return count;
}

sparc_status batch_load(batch *b, const example_source *s) {
  const sparc_network_config config = sparc_network_config_of(b->network);
  float *target = b->target;
  int *label = b->label;
  b->numbers = head_learns_values(config.head, s->numbers);
  for (size_t slot = 0; slot < b->B; slot++) {
    sparc_sample e;
    sparc_status status = fetch(&config, s, b->index[slot], &e);
    if (status == SPARC_OK) status = load_values(b, s, slot, &e);
    if (status != SPARC_OK) return status;
    b->length[slot] = e.length;
    b->context[slot] = e.context;
    if (!b->numbers) label += load_labels(b, s, &e, label);
    if (!b->numbers || !s->has_targets) continue;
    const int rows = b->steps ? e.length - e.context : 1;
    const size_t count = (size_t)rows * b->K;
    const float *from = e.target + (size_t)e.context * b->K;
    if (s->target_mean)
      normalise_rows(from, target, rows, (int)b->K, s->target_mean, s->target_stddev);
    else
      memcpy(target, from, count * sizeof *target);
    target += count;
  }
  return SPARC_OK;
}

sparc_network_sequence batch_sequence(const batch *b, const sparc_dropout *dropout) {
  return (sparc_network_sequence){.x = b->x, .lengths = b->length, .dropout = dropout, .outputs = &b->output};
}

sparc_status batch_check_outputs(const batch *b, size_t n) {
  sparc_status status = SPARC_OK;
  for (size_t slot = 0; slot < n && status == SPARC_OK; slot++) {
    const size_t steps = b->steps ? (size_t)b->length[slot] : 1, row = b->steps ? b->T * b->K : b->K;
    status = check_values("output", b->index[slot], b->output + slot * row, steps, b->K);
  }
  return status;
}

/* ---- loss -------------------------------------------------------------------------------------- */

/* number of steps of an example with a loss */
static size_t scored(const batch *b, size_t slot) { return (size_t)(b->length[slot] - b->context[slot]); }

/* compacts the outputs of steps with a loss, example by example; returns their number */
static size_t pack(batch *b, size_t n) {
  size_t packed = 0;
  for (size_t slot = 0; slot < n; slot++) {
    const size_t count = scored(b, slot) * b->K, first = (slot * b->T + (size_t)b->context[slot]) * b->K;
    memmove(b->output + packed, b->output + first, count * sizeof *b->output);
    packed += count;
  }
  return packed;
}

/* moves the gradient back to the layout of the outputs, with zeros at steps without loss. Works from the end, so that
 * no value is overwritten before it has moved. */
static void unpack(batch *b, size_t n, size_t packed) {
  const size_t row = b->T * b->K;
  memset(b->doutput + packed, 0, (b->B * row - packed) * sizeof *b->doutput);
  for (size_t slot = n; slot-- > 0;) {
    const size_t count = scored(b, slot) * b->K, before = (size_t)b->context[slot] * b->K;
    float *to = b->doutput + slot * row;
    packed -= count;
    memmove(to + before, b->doutput + packed, count * sizeof *to);
    memset(to, 0, before * sizeof *to);
    memset(to + before + count, 0, (row - before - count) * sizeof *to);
  }
}

double batch_loss(batch *b, size_t n, bool gradient) {
  float *doutput = gradient ? b->doutput : NULL;
  const size_t numbers = b->steps ? pack(b, n) : n * b->K;
  const double loss =
      b->numbers ? mean_squared_error_f32(numbers, b->output, b->target, doutput)
                 : cross_entropy_soft_f32(numbers / b->K, b->K, b->output, b->label, gradient ? b->class_weight : NULL,
                                          gradient ? b->smoothing : 0, b->probability, doutput);
  if (gradient && b->steps) unpack(b, n, numbers);
  return loss;
}

static size_t greatest_output(const batch *b, const float *output) {
  size_t best = 0;
  for (size_t k = 1; k < b->K; k++)
    if (output[k] > output[best]) best = k;
  return best;
}

size_t batch_correct(const batch *b, size_t n) {
  size_t right = 0;
  const int *label = b->label;
  for (size_t slot = 0; slot < n && !b->numbers; slot++) {
    const size_t rows = b->steps ? scored(b, slot) : 1;
    const float *output = b->output + (slot * (b->steps ? b->T : 1) + (size_t)b->context[slot]) * b->K;
    for (size_t t = 0; t < rows; t++) right += greatest_output(b, output + t * b->K) == (size_t)*label++;
  }
  return right;
}

/* ---- all samples ------------------------------------------------------------------------------- */

/* runs examples first, first + 1, ...; *n is the number that are not copies */
static sparc_status visit(batch *b, const float *prepared, const example_source *s, size_t first, size_t *n) {
  const size_t rest = (size_t)s->samples->count - first;
  *n = rest < b->B ? rest : b->B;
  for (size_t slot = 0; slot < b->B; slot++) b->index[slot] = (int)(first + (slot < *n ? slot : *n - 1));
  sparc_status status = batch_load(b, s);
  const sparc_network_sequence sequence = batch_sequence(b, NULL);
  if (status == SPARC_OK) status = sparc_network_forward(b->plan, prepared, &sequence, b->work);
  return status == SPARC_OK ? batch_check_outputs(b, *n) : status;
}

static double sum_of_squares(size_t count, const float *values) {
  double sum = 0;
  for (size_t i = 0; i < count; i++) sum += (double)values[i] * (double)values[i];
  return sum;
}

/* number of terms in the loss of the first n examples */
static size_t loss_terms(const batch *b, size_t n) {
  const size_t row = b->numbers ? b->K : 1;
  if (!b->steps) return n * row;
  size_t terms = 0;
  for (size_t slot = 0; slot < n; slot++) terms += scored(b, slot) * row;
  return terms;
}

/* ---- errors in the units of the targets ---- */

/* accumulates squared errors, targets and squared targets per output, over the `count` compacted numbers. Targets are
 * relative to their training mean, to avoid cancellation. */
static void target_errors(batch *b, const example_source *s, size_t count) {
  double *squares = b->errors, *sum = b->errors + b->K, *power = b->errors + 2 * b->K;
  for (size_t i = 0; i < count; i++) {
    const size_t k = i % b->K;
    const double scale = s->target_stddev ? s->target_stddev[k] : 1;
    const double target = scale * (double)b->target[i], error = scale * (double)b->output[i] - target;
    squares[k] += error * error;
    sum[k] += target;
    power[k] += target * target;
  }
}

/* the mean squared error, and R2 as the mean over the outputs whose targets vary */
static void conclude_errors(const batch *b, size_t count, sparc_evaluation *out) {
  const double *squares = b->errors, *sum = b->errors + b->K, *power = b->errors + 2 * b->K;
  const size_t rows = count / b->K;
  const double n = (double)rows;
  size_t varying = 0;
  for (size_t k = 0; k < b->K; k++) {
    const double variation = power[k] - sum[k] * sum[k] / n;
    out->mse += squares[k] / (double)count;
    if (!(variation > 0)) continue;
    out->r2 += 1 - squares[k] / variation;
    varying++;
  }
  if (varying) out->r2 /= (double)varying;
}

void restore_targets(const example_source *s, size_t rows, size_t outputs, float *values) {
  if (!s->target_mean) return;
  for (size_t i = 0; i < rows * outputs; i++)
    values[i] = (float)((double)values[i] * s->target_stddev[i % outputs] + s->target_mean[i % outputs]);
}

/* ---- all samples, measured or predicted ---- */

sparc_status batch_evaluate(batch *b, const float *prepared, const example_source *s, sparc_evaluation *out) {
  const size_t count = (size_t)s->samples->count;
  double loss = 0, power = 0;
  size_t terms = 0, right = 0, n;
  memset(b->errors, 0, 3 * b->K * sizeof *b->errors);
  for (size_t first = 0; first < count; first += n) {
    sparc_status status = visit(b, prepared, s, first, &n);
    if (status != SPARC_OK) return status;
    const size_t here = loss_terms(b, n);
    right += batch_correct(b, n);
    loss += batch_loss(b, n, false) * (double)here;
    terms += here;
    if (!b->numbers) continue;
    power += sum_of_squares(here, b->target);
    target_errors(b, s, here);
  }
  *out = (sparc_evaluation){.examples = (long)count,
                            .loss = loss / (double)terms,
                            .accuracy = (double)right / (double)terms,
                            .nmse = b->numbers ? loss / power : 0};
  if (b->numbers) conclude_errors(b, terms, out);
  return SPARC_OK;
}

/* copies the outputs of the batch to the caller's array; steps after the end become zeros */
static void deliver(batch *b, const example_source *s, size_t n, float *outputs) {
  if (!b->steps && b->numbers) {
    memcpy(outputs, b->output, n * b->K * sizeof *outputs);
    restore_targets(s, n, b->K, outputs);
    return;
  }
  if (!b->steps) {
    cross_entropy_f32(n, b->K, b->output, b->label, outputs, NULL);
    return;
  }
  for (size_t slot = 0; slot < n; slot++) {
    const size_t row = b->T * b->K, count = (size_t)b->length[slot] * b->K;
    if (b->numbers) {
      memcpy(outputs + slot * row, b->output + slot * row, count * sizeof *outputs);
      restore_targets(s, count / b->K, b->K, outputs + slot * row);
    } else {
      cross_entropy_f32(count / b->K, b->K, b->output + slot * row, b->label, outputs + slot * row, NULL);
    }
    memset(outputs + slot * row + count, 0, (row - count) * sizeof *outputs);
  }
}

sparc_status batch_predict(batch *b, const float *prepared, const example_source *s, float *outputs) {
  const size_t row = b->steps ? b->T * b->K : b->K;
  size_t n;
  for (size_t first = 0; first < (size_t)s->samples->count; first += n) {
    sparc_status status = visit(b, prepared, s, first, &n);
    if (status != SPARC_OK) return status;
    deliver(b, s, n, outputs + first * row);
  }
  return SPARC_OK;
}

sparc_status batch_features(batch *b, const float *prepared, const example_source *s, float *features) {
  const size_t F = b->network->features;
  size_t n;
  for (size_t first = 0; first < (size_t)s->samples->count; first += n) {
    const sparc_status status = visit(b, prepared, s, first, &n);
    if (status != SPARC_OK) return status;
    const sparc_network_sequence sequence = batch_sequence(b, NULL);
    memcpy(features + first * F, network_pooled(b->plan, &sequence, b->work), n * F * sizeof *features);
  }
  return SPARC_OK;
}
