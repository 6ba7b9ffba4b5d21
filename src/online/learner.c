/* SPDX-License-Identifier: MIT */
/* learner.c: steps, targets and updates of an online learner [eq:rtrl_recurrence, eq:online_loss_gradient]. */
#include "online/learner.h"

#include "base/error.h"
#include "base/memory.h"
#include "io/settings.h"
#include "nn/losses.h"
#include "nn/optimiser_step.h"
#include "online/learner_settings.h"
#include "train/train_settings.h"

#include <math.h>
#include <string.h>

static const double INPUT_LIMIT = 10; /* standard deviations */

/* ---- life cycle --------------------------------------------------------------------------------- */

sparc_learner_config sparc_learner_defaults(void) {
  sparc_learner_config c = {.objective = SPARC_LEARN_REGRESS};
  const settings_binding binding = {.part = {{.table = &learner_settings, .at = &c}}};
  settings_reset(&binding, DEFAULT_DATA);
  c.objective = SPARC_LEARN_REGRESS;
  c.horizon = 0;
  c.network = (sparc_network_config){.cell = "sparc", .H = 64, .init = SPARC_INIT_CLASSIFICATION};
  return c;
}

static bool is_mixture(const sparc_learner_config *c) {
  return c->objective == SPARC_LEARN_FORECAST && c->forecaster == SPARC_FORECAST_MIXTURE;
}

/* horizons of a mixture; 0 for other learners */
static int count_horizons(const sparc_learner_config *c) {
  int count = is_mixture(c);
  while (count > 0 && count < SPARC_MAX_HORIZONS && c->more_horizons[count - 1] != 0) count++;
  return count;
}

static sparc_status check_config(const sparc_learner_config *config) {
  sparc_learner_config c = *config;
  const sparc_status status =
      settings_check(&(settings_binding){.part = {{.table = &learner_settings, .at = &c}}}, true);
  if (status != SPARC_OK) return status;
  if (c.objective == SPARC_LEARN_FORECAST && c.horizon < 1)
    return fail(SPARC_INVALID, "horizon is %d, expected at least 1 for a forecast", c.horizon);
  const long forecasts = (long)c.network.inputs * (count_horizons(&c) + (c.forecaster == SPARC_FORECAST_NETWORK));
  if (c.objective == SPARC_LEARN_FORECAST && c.outputs != 0 && c.outputs != forecasts)
    return fail(SPARC_INVALID, "outputs is %d, expected 0 or %ld, one for each forecast input", c.outputs, forecasts);
  const int minimum = c.objective == SPARC_LEARN_CLASSIFY ? 2 : 1;
  if (c.objective != SPARC_LEARN_FORECAST && c.outputs < minimum)
    return fail(SPARC_INVALID, "outputs is %d, expected at least %d", c.outputs, minimum);
  return SPARC_OK;
}

/* clears the settings of a mixture in other learners */
static sparc_status make_forecaster(sparc_learner *l) {
  sparc_learner_config *c = &l->config;
  l->horizons = count_horizons(c);
  memset(c->more_horizons + (l->horizons ? l->horizons - 1 : 0), 0,
         (size_t)(SPARC_MAX_HORIZONS - 1 - (l->horizons ? l->horizons - 1 : 0)) * sizeof *c->more_horizons);
  if (l->horizons == 0) {
    c->forecaster = SPARC_FORECAST_NETWORK;
    c->coverage = 0;
    return SPARC_OK;
  }
  int horizon[SPARC_MAX_HORIZONS] = {c->horizon};
  memcpy(horizon + 1, c->more_horizons, sizeof c->more_horizons);
  for (int j = 0; j < l->horizons; j++) l->horizon[j] = horizon[j];
  c->outputs = c->network.inputs * l->horizons;
  return forecaster_create(l->inputs, horizon, l->horizons, c->coverage, &l->forecaster);
}

static sparc_status make_network(sparc_learner *l) {
  sparc_learner_config *c = &l->config;
  if (c->objective == SPARC_LEARN_FORECAST) c->outputs = c->network.inputs;
  l->head = (sparc_head_config){.input = c->objective == SPARC_LEARN_CLASSIFY ? SPARC_HEAD_LAST : SPARC_HEAD_STEPS,
                                .outputs = c->outputs,
                                .hidden = c->hidden};
  c->network.head = &l->head;
  c->network.heads = 1;
  c->network.dropout = 0;
  sparc_status status = sparc_network_create(&c->network, &l->network);
  if (status != SPARC_OK) return status;
  c->network = sparc_network_config_of(l->network);
  l->head = *c->network.head;
  l->n = sparc_network_sizes_of(l->network);
  if (l->n.trace == 0)
    return fail(SPARC_UNSUPPORTED,
                "cell %s with %d layers cannot learn online: expected a cell with an RTRL form and 0 or 1 layers",
                c->network.cell, c->network.layers);
  l->trace = c->encoder == SPARC_ENCODER_EXACT && l->n.trace_exact ? l->n.trace_exact : l->n.trace;
  if (l->trace == l->n.trace) c->encoder = SPARC_ENCODER_LOCAL; /* no embedding, or no exact form */
  l->inputs = (size_t)c->network.inputs;
  l->outputs = (size_t)c->outputs;
  l->lag = (size_t)(c->objective == SPARC_LEARN_FORECAST ? c->horizon - 1 : c->horizon);
  return SPARC_OK;
}

static void carve(arena *a, sparc_learner *l) {
  const size_t P = l->n.params, slots = l->lag + 1;
  l->params = arena_take(a, P, sizeof(float));
  l->moments = arena_take(a, 2 * P, sizeof(float));
  l->gradient = arena_take(a, P, sizeof(float));
  l->prepared = arena_take(a, l->n.prepared, sizeof(float));
  l->state = arena_take(a, l->n.state, sizeof(float));
  l->ahead = l->lag ? arena_take(a, l->n.state, sizeof(float)) : l->state;
  l->sensitivities = arena_take(a, l->trace, sizeof(float));
  l->tape = arena_take(a, l->n.tape, sizeof(float));
  l->raw = arena_take(a, l->outputs, sizeof(float));
  l->dy = arena_take(a, l->outputs, sizeof(float));
  l->target = arena_take(a, l->outputs, sizeof(float));
  l->waiting_x = arena_take(a, slots * l->inputs, sizeof(float));
  l->waiting_mask = arena_take(a, slots, sizeof(float));
  l->waiting_y = arena_take(a, slots * l->outputs, sizeof(float));
  l->waiting_present = arena_take(a, slots * l->inputs, sizeof(float));
  l->input_moments = arena_take(a, l->inputs, sizeof(running_moments));
  l->target_moments = arena_take(a, l->outputs, sizeof(running_moments));
  l->clean = arena_take(a, l->inputs, sizeof(float));
  l->last_target = arena_take(a, l->outputs, sizeof(float));
  l->predictions = arena_take(a, (size_t)l->horizons * l->inputs, sizeof(float));
}

sparc_status learner_allocate(sparc_learner *l) {
  arena size = arena_measure();
  carve(&size, l);
  l->memory = sparc_alloc(size.used);
  if (!l->memory)
    return fail(SPARC_NO_MEMORY, "no memory for the %zu bytes of a learner of %zu parameters", size.used, l->n.params);
  arena block = arena_over(l->memory, size.used);
  carve(&block, l);
  for (size_t i = 0; i < l->inputs; i++) l->input_moments[i] = moments_initial();
  for (size_t i = 0; i < l->outputs; i++) l->target_moments[i] = moments_initial(), l->last_target[i] = NAN;
  l->at.fresh = 1;
  return l->forecaster ? forecaster_allocate(l->forecaster) : SPARC_OK;
}

sparc_learner *learner_describe(const sparc_learner_config *config, sparc_status *status) {
  *status = check_config(config);
  if (*status != SPARC_OK) return NULL;
  sparc_learner *l = sparc_alloc(sizeof *l);
  if (!l) {
    *status = fail(SPARC_NO_MEMORY, "no memory for a learner");
    return NULL;
  }
  l->config = *config;
  *status = make_network(l);
  if (*status == SPARC_OK) *status = make_forecaster(l);
  if (*status == SPARC_OK) return l;
  sparc_learner_free(l);
  return NULL;
}

sparc_status sparc_learner_create(const sparc_learner_config *config, sparc_learner **out) {
  if (!out) return fail(SPARC_INVALID, "out is NULL");
  *out = NULL;
  if (!config) return fail(SPARC_INVALID, "config is NULL");
  sparc_status status;
  sparc_learner *l = learner_describe(config, &status);
  if (!l) return status;
  status = learner_allocate(l);
  if (status == SPARC_OK) status = sparc_network_init(l->network, l->config.seed, l->params);
  if (status == SPARC_OK) status = sparc_network_prepare(l->network, l->params, l->prepared);
  if (status == SPARC_OK)
    *out = l;
  else
    sparc_learner_free(l);
  return status;
}

void sparc_learner_free(sparc_learner *l) {
  if (!l) return;
  sparc_network_free(l->network);
  forecaster_free(l->forecaster);
  sparc_free(l->memory);
  sparc_free(l);
}

sparc_learner_report sparc_learner_report_of(const sparc_learner *l) {
  if (!l) return (sparc_learner_report){0};
  sparc_learner_report report = l->report;
  report.steps = l->at.steps;
  report.targets = l->at.targets;
  report.updates = l->at.updates;
  return report;
}

sparc_learner_info sparc_learner_info_of(const sparc_learner *l) {
  if (!l) return (sparc_learner_info){.network = NULL};
  return (sparc_learner_info){
      .config = &l->config, .network = l->network, .params = l->params, .param_count = l->n.params};
}

/* ---- normalisation -------------------------------------------------------------------------------------- */

static size_t slot_of(const sparc_learner *l, long step) { return (size_t)step % (l->lag + 1); }

static void update_moments(const sparc_learner *l, running_moments *m, double value) {
  moments_merge(m, value, 0, 1);
  if (l->config.normaliser_window > 0 && m->count > l->config.normaliser_window) m->count = l->config.normaliser_window;
}

static bool scales_targets(const sparc_learner *l) {
  return l->config.normalise && l->config.objective != SPARC_LEARN_CLASSIFY;
}

/* network input from x; forecasts use the change since the previous step */
static void encode_input(sparc_learner *l, const float *x, float *out) {
  const float *before = l->waiting_present + slot_of(l, l->at.steps + (long)l->lag) * l->inputs;
  const bool change = l->config.objective == SPARC_LEARN_FORECAST;
  for (size_t i = 0; i < l->inputs; i++) {
    const bool missing = isnan(x[i]);
    out[i] = missing ? 0 : !change ? x[i] : l->at.fresh ? 0 : x[i] - before[i];
    if (!l->config.normalise || missing) continue;
    running_moments *m = &l->input_moments[i];
    if (!l->frozen) update_moments(l, m, (double)out[i]);
    const double z = ((double)out[i] - m->mean) / moments_stddev(m);
    out[i] = (float)fmax(-INPUT_LIMIT, fmin(z, INPUT_LIMIT));
  }
}

/* the prediction y in original units, or as probabilities; present: the input of its step */
static void decode_output(const sparc_learner *l, const float *raw, const float *present, float *y) {
  if (l->config.objective == SPARC_LEARN_CLASSIFY) {
    cross_entropy_f32(1, l->outputs, raw, &(int){0}, y, NULL);
    return;
  }
  for (size_t k = 0; k < l->outputs; k++) {
    const running_moments *m = &l->target_moments[k];
    y[k] = scales_targets(l) ? (float)((double)raw[k] * moments_stddev(m) + m->mean) : raw[k];
    if (l->config.objective == SPARC_LEARN_FORECAST) y[k] += present[k];
  }
}

/* l->target from a target in original units */
static void encode_target(sparc_learner *l, const float *target, const float *present) {
  for (size_t k = 0; k < l->outputs; k++) {
    double value = (double)target[k] - (l->config.objective == SPARC_LEARN_FORECAST ? (double)present[k] : 0);
    running_moments *m = &l->target_moments[k];
    if (!l->frozen) update_moments(l, m, value);
    l->target[k] = (float)(scales_targets(l) ? (value - m->mean) / moments_stddev(m) : value);
  }
}

/* ---- learning ------------------------------------------------------------------------------------ */

/* drops a gradient that is not finite */
static sparc_status update(sparc_learner *l) {
  const sparc_learner_config *c = &l->config;
  sparc_adam_config adam = sparc_adam_defaults();
  adam.weight_decay = c->weight_decay;
  adam.recurrent_lr_scale = c->recurrent_lr_scale;
  const optimiser_step step = {.network = l->network,
                               .adam = adam,
                               .learning_rate = c->learning_rate,
                               .max_norm = c->max_gradient_norm,
                               .update = l->at.updates + 1,
                               .event = "step",
                               .number = l->at.steps,
                               .threads = 1,
                               .gradient = l->gradient,
                               .moments = l->moments,
                               .params = l->params,
                               .prepared = l->prepared};
  const float scale = 1 / (float)l->at.pending;
  double norm;
  for (size_t i = 0; i < l->n.params; i++) l->gradient[i] *= scale;
  const sparc_status status = optimiser_take_step(&step, &norm);
  if (status == SPARC_OK) {
    l->at.updates++;
    l->report.gradient_norm = norm;
  }
  memset(l->gradient, 0, l->n.params * sizeof *l->gradient);
  l->at.pending = 0;
  return status;
}

/* the trailing pass takes the oldest waiting step */
static sparc_status advance_trailing(sparc_learner *l, long step) {
  const size_t slot = slot_of(l, step);
  return sparc_network_step_rtrl(l->network, l->prepared, l->config.encoder, l->state, l->sensitivities,
                                 l->waiting_x + slot * l->inputs, l->waiting_mask[slot], l->raw, l->tape);
}

/* adds the gradient of the loss of l->raw for l->target or the label */
static sparc_status add_gradient(sparc_learner *l, int label) {
  if (l->config.objective == SPARC_LEARN_CLASSIFY)
    cross_entropy_f32(1, l->outputs, l->raw, &label, l->target, l->dy);
  else
    mean_squared_error_f32(l->outputs, l->raw, l->target, l->dy);
  const sparc_status status = sparc_network_rtrl_gradient(l->network, l->prepared, l->config.encoder, l->sensitivities,
                                                          l->tape, l->dy, l->gradient, NULL);
  if (status != SPARC_OK) return status;
  l->at.pending++;
  return l->at.pending == l->config.update_every ? update(l) : SPARC_OK;
}

/* squared error of the previous target as a prediction; NAN for the first */
static double last_target_error(const sparc_learner *l, const float *target) {
  double sum = 0;
  for (size_t k = 0; k < l->outputs; k++) sum += pow((double)l->last_target[k] - (double)target[k], 2);
  return sum / (double)l->outputs;
}

/* squared error of persistence (forecasts) or of the running mean */
static double baseline_error(const sparc_learner *l, const float *present, const float *target) {
  double sum = 0;
  for (size_t k = 0; k < l->outputs; k++) {
    const double prediction =
        l->config.objective == SPARC_LEARN_FORECAST ? (double)present[k] : l->target_moments[k].mean;
    sum += pow(prediction - (double)target[k], 2);
  }
  return sum / (double)l->outputs;
}

/* scores the prediction as it was made */
static void score_prediction(sparc_learner *l, size_t slot, const float *target, int label) {
  const float *y = l->waiting_y + slot * l->outputs;
  l->report.scored = 1;
  if (l->config.objective == SPARC_LEARN_CLASSIFY) {
    size_t best = 0;
    for (size_t k = 1; k < l->outputs; k++) best = y[k] > y[best] ? k : best;
    l->report.correct = (int)best == label;
    l->report.loss = -log(fmax((double)y[label], 1e-30));
    return;
  }
  l->report.loss = mean_squared_error_f32(l->outputs, y, target, NULL);
  l->report.baseline = baseline_error(l, l->waiting_present + slot * l->inputs, target);
  if (l->config.objective != SPARC_LEARN_REGRESS) return;
  l->report.last_target = last_target_error(l, target);
  memcpy(l->last_target, target, l->outputs * sizeof *target);
}

/* scores and learns from the target of a waiting step */
static sparc_status observe(sparc_learner *l, long step, const float *target, int label) {
  const size_t slot = slot_of(l, step);
  score_prediction(l, slot, target, label);
  if (l->config.objective != SPARC_LEARN_CLASSIFY) encode_target(l, target, l->waiting_present + slot * l->inputs);
  const sparc_status status = l->lag ? advance_trailing(l, step) : SPARC_OK;
  if (status != SPARC_OK) return status;
  l->at.resolved = step + 1;
  l->at.targets++;
  return l->frozen ? SPARC_OK : add_gradient(l, label);
}

/* the step of the next target */
static long target_step(const sparc_learner *l) { return l->at.steps - 1 - (long)l->lag; }

static sparc_status check_target_step(const sparc_learner *l) {
  const long step = target_step(l);
  if (step < 0)
    return fail(
        SPARC_INVALID,
        "there is no prediction to score yet: %ld steps were made, and a target belongs to the step %zu steps ago",
        l->at.steps, l->lag);
  if (l->at.resolved > step) return fail(SPARC_INVALID, "the target of step %ld was observed before", step + 1);
  return SPARC_OK;
}

sparc_status sparc_learner_observe(sparc_learner *l, const float *target) {
  if (!l || !target) return fail(SPARC_INVALID, "%s is NULL", l ? "target" : "learner");
  if (l->config.objective != SPARC_LEARN_REGRESS)
    return fail(SPARC_INVALID, "this learner does not take numbers as targets: %s",
                l->config.objective == SPARC_LEARN_CLASSIFY ? "it classifies, see sparc_learner_observe_class"
                                                            : "it forecasts, and its inputs are the targets");
  for (size_t k = 0; k < l->outputs; k++)
    if (!isfinite(target[k]))
      return fail(SPARC_NOT_FINITE, "target %zu is %g, expected a finite number", k, (double)target[k]);
  const sparc_status status = check_target_step(l);
  return status == SPARC_OK ? observe(l, target_step(l), target, 0) : status;
}

sparc_status sparc_learner_observe_class(sparc_learner *l, int label) {
  if (!l) return fail(SPARC_INVALID, "learner is NULL");
  if (l->config.objective != SPARC_LEARN_CLASSIFY) return fail(SPARC_INVALID, "this learner does not classify");
  if (label < 0 || (size_t)label >= l->outputs)
    return fail(SPARC_INVALID, "label is %d, expected 0 to %zu", label, l->outputs - 1);
  const sparc_status status = check_target_step(l);
  return status == SPARC_OK ? observe(l, target_step(l), NULL, label) : status;
}

/* ---- steps --------------------------------------------------------------------------------------- */

/* the oldest waiting step will be overwritten; its target can no longer be observed */
static sparc_status skip_target(sparc_learner *l) {
  const long step = target_step(l);
  if (step < 0 || l->at.resolved > step) return SPARC_OK;
  l->at.resolved = step + 1;
  return l->lag ? advance_trailing(l, step) : SPARC_OK;
}

/* forecasts: x is the target of an earlier prediction of the same sequence */
static sparc_status observe_input(sparc_learner *l, const float *x) {
  const long step = target_step(l);
  if (l->config.objective != SPARC_LEARN_FORECAST || l->at.fresh || step < l->at.first) return SPARC_OK;
  return observe(l, step, x, 0);
}

static sparc_status predict(sparc_learner *l, const float *x) {
  const size_t slot = slot_of(l, l->at.steps);
  float *input = l->waiting_x + slot * l->inputs, *present = l->waiting_present + slot * l->inputs;
  encode_input(l, x, input);
  for (size_t i = 0; i < l->inputs; i++) present[i] = isnan(x[i]) ? 0 : x[i];
  l->waiting_mask[slot] = l->at.fresh ? 0 : 1;
  if (l->at.fresh) l->at.first = l->at.steps;
  const sparc_status status = l->lag ? sparc_network_step(l->network, l->prepared, 1, l->ahead, input,
                                                          &l->waiting_mask[slot], l->raw, l->tape, 1)
                                     : advance_trailing(l, l->at.steps);
  if (status != SPARC_OK) return status;
  decode_output(l, l->raw, present, l->waiting_y + slot * l->outputs);
  l->at.fresh = 0;
  l->at.steps++;
  return SPARC_OK;
}

/* l->clean: x with missing values replaced by the previous value (forecasts) or by the mixture */
static void fill_missing(sparc_learner *l, const float *x) {
  const float *before = l->waiting_present + slot_of(l, l->at.steps + (long)l->lag) * l->inputs;
  memcpy(l->clean, x, l->inputs * sizeof *x);
  if (l->forecaster)
    forecaster_observe(l->forecaster, x, l->frozen, l->clean);
  else if (l->config.objective == SPARC_LEARN_FORECAST)
    for (size_t i = 0; i < l->inputs; i++)
      if (isnan(x[i])) l->clean[i] = l->at.steps > 0 ? before[i] : 0;
}

static bool has_missing(const sparc_learner *l, const float *x) {
  bool missing = false;
  for (size_t i = 0; i < l->inputs; i++) missing = missing || isnan(x[i]);
  return missing;
}

/* the mixture replaces the prediction and the score of the network */
static void predict_by_mixture(sparc_learner *l) {
  const sparc_forecast_score score = forecaster_score(l->forecaster, 0);
  l->report.scored = score.channels > 0;
  l->report.loss = score.loss;
  l->report.baseline = score.persistence;
  forecaster_predict(l->forecaster, l->waiting_y + slot_of(l, l->at.steps - 1) * l->outputs, l->predictions);
}

sparc_status sparc_learner_step(sparc_learner *l, const float *x, float *y) {
  if (!l || !x) return fail(SPARC_INVALID, "%s is NULL", l ? "x" : "learner");
  for (size_t i = 0; i < l->inputs; i++)
    if (isinf(x[i]))
      return fail(SPARC_NOT_FINITE, "channel %zu of the input is %g, expected a finite number", i, (double)x[i]);
  l->report.scored = 0;
  fill_missing(l, x);
  sparc_status learned = has_missing(l, x) ? SPARC_OK : observe_input(l, l->clean);
  if (learned != SPARC_OK && learned != SPARC_NOT_FINITE) return learned;
  sparc_status status = skip_target(l);
  if (status == SPARC_OK) status = predict(l, l->clean);
  if (status != SPARC_OK) return status;
  if (l->forecaster) predict_by_mixture(l), learned = SPARC_OK; /* the network is one of the experts */
  const float *output = l->forecaster ? l->predictions : l->waiting_y + slot_of(l, l->at.steps - 1) * l->outputs;
  if (y) memcpy(y, output, (size_t)l->config.outputs * sizeof *y);
  return learned;
}

sparc_status sparc_learner_reset_state(sparc_learner *l) {
  if (!l) return fail(SPARC_INVALID, "learner is NULL");
  l->at.fresh = 1;
  if (l->forecaster) forecaster_reset_state(l->forecaster);
  return SPARC_OK;
}

sparc_status sparc_learner_freeze(sparc_learner *l, int frozen) {
  if (!l) return fail(SPARC_INVALID, "learner is NULL");
  l->frozen = frozen != 0;
  return SPARC_OK;
}

/* ---- mixtures ------------------------------------------------------------------------------------ */

static sparc_status check_mixture(const sparc_learner *l, const void *out) {
  if (!l || !out) return fail(SPARC_INVALID, "%s is NULL", l ? "out" : "learner");
  return l->forecaster ? SPARC_OK : fail(SPARC_INVALID, "this learner is not a mixture of experts");
}

sparc_status sparc_learner_interval(const sparc_learner *l, float *low, float *high, float *anomaly) {
  const sparc_status status = check_mixture(l, l);
  if (status != SPARC_OK) return status;
  if (low || high) forecaster_interval(l->forecaster, low, high);
  if (anomaly) forecaster_anomaly(l->forecaster, anomaly);
  return SPARC_OK;
}

sparc_status sparc_learner_forecast_score(const sparc_learner *l, int horizon, sparc_forecast_score *out) {
  const sparc_status status = check_mixture(l, out);
  if (status != SPARC_OK) return status;
  if (horizon < 0 || horizon >= l->horizons)
    return fail(SPARC_INVALID, "horizon is %d, expected an index from 0 to %d", horizon, l->horizons - 1);
  *out = forecaster_score(l->forecaster, horizon);
  return SPARC_OK;
}

sparc_status sparc_learner_periods(const sparc_learner *l, int channel, int period[2]) {
  const sparc_status status = check_mixture(l, period);
  if (status != SPARC_OK) return status;
  if (channel < 0 || (size_t)channel >= l->inputs)
    return fail(SPARC_INVALID, "channel is %d, expected 0 to %zu", channel, l->inputs - 1);
  forecaster_periods(l->forecaster, (size_t)channel, period);
  return SPARC_OK;
}
