/* SPDX-License-Identifier: MIT */
/* support_network.c: see support_network.h. */
#include "support_network.h"

#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- configurations ---------------------------------------------------------------------------- */

const char *small_options(const char *kind) {
  if (strcmp(kind, "rglru") == 0) return "block=2";
  if (strcmp(kind, "mamba3") == 0) return "heads=2,head_dim=3,state=2";
  return NULL;
}

static const sparc_head_config plain_head[] = {{.input = SPARC_HEAD_MEAN, .outputs = TRIAL_OUTPUTS},
                                               {.input = SPARC_HEAD_LAST, .outputs = TRIAL_OUTPUTS},
                                               {.input = SPARC_HEAD_STEPS, .outputs = TRIAL_OUTPUTS}};

sparc_network_config plain_config(const char *kind, int layers, sparc_head_input head) {
  return (sparc_network_config){.cell = kind,
                                .cell_options = small_options(kind),
                                .H = 4,
                                .inputs = TRIAL_INPUTS,
                                .embedding = layers ? SPARC_EMBED_LINEAR : SPARC_EMBED_NONE,
                                .width = layers ? 5 : 0,
                                .layers = layers,
                                .init = layers ? SPARC_INIT_CLASSIFICATION : SPARC_INIT_CONTROL,
                                .head = &plain_head[head],
                                .heads = 1};
}

sparc_network_config policy_config(const char *kind) {
  static const sparc_head_config heads[] = {
      {.name = "actor", .input = SPARC_HEAD_STEPS, .outputs = 2, .hidden = 6, .hidden_gain = 2, .gain = 0.5},
      {.name = "critic", .input = SPARC_HEAD_STEPS, .outputs = 1, .hidden = 7, .hidden_gain = 2, .gain = 1},
      {.name = "log_deviation", .input = SPARC_HEAD_CONSTANT, .outputs = 2}};
  sparc_network_config config = plain_config(kind, 0, SPARC_HEAD_STEPS);
  config.embedding = SPARC_EMBED_TANH;
  config.width = 5;
  config.features = SPARC_FEATURES_POLICY;
  config.head = heads;
  config.heads = 3;
  return config;
}

sparc_network_config many_heads_config(const char *kind, int layers) {
  static const sparc_head_config heads[TRIAL_HEADS] = {
      {.name = "mean", .input = SPARC_HEAD_MEAN, .outputs = 2},
      {.input = SPARC_HEAD_STEPS, .outputs = 3},
      {.name = "last", .input = SPARC_HEAD_LAST, .outputs = 1},
      {.name = "deep", .input = SPARC_HEAD_MEAN, .outputs = 2, .hidden = 3},
      {.name = "steps", .input = SPARC_HEAD_STEPS, .outputs = 1, .hidden = 4}};
  sparc_network_config config = plain_config(kind, layers, SPARC_HEAD_MEAN);
  config.head = heads;
  config.heads = TRIAL_HEADS;
  return config;
}

/* ---- trials ------------------------------------------------------------------------------------ */

double *draw_numbers(sparc_random *stream, size_t n, double stddev) {
  double *values = sparc_alloc(n * sizeof *values);
  for (size_t i = 0; i < n; i++) values[i] = (double)(float)(stddev * sparc_random_normal(stream));
  return values;
}

double greatest(size_t n, const double *values) {
  double largest = 0;
  for (size_t i = 0; i < n; i++) largest = fmax(largest, fabs(values[i]));
  return largest;
}

static size_t head_numbers(const sparc_head_config *head, int B, int T) {
  const int rows = head->input == SPARC_HEAD_STEPS ? B * T : head->input == SPARC_HEAD_CONSTANT ? 1 : B;
  return (size_t)(rows * head->outputs);
}

/* away from the initial weights, where gates and biases are zero and hide mistakes */
static double *draw_params(const trial *t, sparc_random *stream) {
  float *initial = sparc_alloc(t->n.params * sizeof *initial);
  assert_int_equal(sparc_network_init(t->network, 1, initial), SPARC_OK);
  double *p = draw_numbers(stream, t->n.params, 0.3);
  for (size_t i = 0; i < t->n.params; i++) p[i] = (double)((float)p[i] + initial[i]);
  sparc_free(initial);
  return p;
}

static bool pools(const sparc_network_config *config) {
  for (int i = 0; i < config->heads; i++)
    if (config->head[i].input == SPARC_HEAD_MEAN) return true;
  return false;
}

/* the last number of a state that pools is a count of steps */
static double *draw_states(const trial *t, sparc_random *stream) {
  double *states = draw_numbers(stream, (size_t)t->B * t->n.state, 1);
  for (int b = 0; b < t->B && pools(&t->config); b++)
    states[(size_t)(b + 1) * t->n.state - 1] = 1 + sparc_random_below(stream, 5);
  return states;
}

trial make_trial(const sparc_network_config *config, int B, int T, unsigned with) {
  trial t = {.B = B, .T = T};
  if (sparc_network_create(config, &t.network) != SPARC_OK) fail_msg("%s", sparc_error());
  t.config = sparc_network_config_of(t.network);
  t.n = sparc_network_sizes_of(t.network);
  snprintf(t.text, sizeof t.text, "%s, embedding %d, layers %d, features %d, head %s (%d), B %d, T %d, with %u",
           config->cell, (int)config->embedding, config->layers, (int)config->features, t.config.head->name,
           (int)config->head->input, B, T, with);
  sparc_random stream;
  sparc_random_init(&stream, 3, "test-network", t.text);
  for (int i = 0; i < config->heads; i++) {
    t.first[i] = t.outputs;
    t.outputs += head_numbers(&config->head[i], B, T);
  }
  t.first[config->heads] = t.outputs;
  t.p = draw_params(&t, &stream);
  t.x = draw_numbers(&stream, (size_t)(B * T * config->inputs), 1);
  t.cotangent = draw_numbers(&stream, t.outputs, 1);
  t.lengths = sparc_alloc((size_t)B * sizeof *t.lengths);
  for (int b = 0; b < B; b++)
    t.lengths[b] = with & WITH_LENGTHS && b ? 1 + (int)sparc_random_below(&stream, (uint32_t)T) : T;
  if (with & WITH_STATE0) t.state0 = draw_states(&t, &stream);
  if (with & WITH_STATE_LAST) t.cotangent_of_state = draw_numbers(&stream, (size_t)B * t.n.state, 1);
  if (with & WITH_MASK) {
    t.mask = sparc_alloc((size_t)(B * T) * sizeof *t.mask);
    for (int i = 0; i < B * T; i++) t.mask[i] = sparc_random_below(&stream, 4) != 0;
    if (B > 1) /* one stream without a reset */
      for (int i = T; i < 2 * T; i++) t.mask[i] = 1;
  }
  return t;
}

void free_trial(trial *t) {
  void *memory[] = {t->p, t->x, t->mask, t->state0, t->cotangent, t->cotangent_of_state, t->lengths};
  for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) sparc_free(memory[i]);
  sparc_network_free(t->network);
}

double trial_counts(const trial *t, size_t i) {
  int head = 0;
  while (i >= t->first[head + 1]) head++;
  if (t->config.head[head].input != SPARC_HEAD_STEPS) return 1;
  const size_t step = (i - t->first[head]) / (size_t)t->config.head[head].outputs;
  return step % (size_t)t->T < (size_t)t->lengths[step / (size_t)t->T];
}

double trial_loss(const trial *t, const double *output, const double *state_last, double *doutput) {
  double loss = 0;
  for (size_t i = 0; i < t->outputs; i++) {
    const double y = output[i], weight = trial_counts(t, i);
    loss += weight * (t->cotangent[i] * y + y * y / 2);
    doutput[i] = weight * (t->cotangent[i] + y);
  }
  for (size_t i = 0; t->cotangent_of_state && i < (size_t)t->B * t->n.state; i++)
    loss += t->cotangent_of_state[i] * state_last[i];
  return loss;
}

outcome make_outcome(const trial *t) {
  const size_t states = (size_t)t->B * t->n.state, inputs = (size_t)(t->B * t->T * t->config.inputs);
  return (outcome){.output = sparc_alloc(t->outputs * sizeof(double)),
                   .state_last = sparc_alloc(states * sizeof(double)),
                   .dparams = sparc_alloc(t->n.params * sizeof(double)),
                   .dx = sparc_alloc(inputs * sizeof(double)),
                   .dstate0 = sparc_alloc(states * sizeof(double))};
}

void free_outcome(outcome *o) {
  void *memory[] = {o->output, o->state_last, o->dparams, o->dx, o->dstate0};
  for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) sparc_free(memory[i]);
}

/* ---- the loss alone ------------------------------------------------------------------------------------ */

runner make_runner(const trial *t, int threads) {
  runner r;
  if (sparc_network_plan_create(t->network, t->B, t->T, threads, &r.plan) != SPARC_OK) fail_msg("%s", sparc_error());
  r.prepared = sparc_alloc(t->n.prepared * sizeof *r.prepared);
  r.doutput = sparc_alloc(t->outputs * sizeof *r.doutput);
  r.work = sparc_alloc(sparc_network_plan_work_bytes(r.plan, SPARC_FLOAT64));
  return r;
}

void free_runner(runner *r) {
  sparc_network_plan_free(r->plan);
  sparc_free(r->prepared);
  sparc_free(r->doutput);
  sparc_free(r->work);
}

double forward_network_f64(const trial *t, runner *r, outcome *o) {
  double *outputs[TRIAL_HEADS];
  for (int i = 0; i < t->config.heads; i++) outputs[i] = o->output + t->first[i];
  const sparc_network_sequence_f64 sequence = {.x = t->x,
                                               .mask = t->mask,
                                               .state0 = t->state0,
                                               .lengths = t->lengths,
                                               .dropout = t->dropout,
                                               .outputs = outputs,
                                               .state_last = t->cotangent_of_state ? o->state_last : NULL};
  assert_int_equal(sparc_network_prepare_f64(t->network, t->p, r->prepared), SPARC_OK);
  if (sparc_network_forward_f64(r->plan, r->prepared, &sequence, r->work) != SPARC_OK) fail_msg("%s", sparc_error());
  return trial_loss(t, o->output, o->state_last, r->doutput);
}
