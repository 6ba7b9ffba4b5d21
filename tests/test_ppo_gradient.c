/* SPDX-License-Identifier: MIT */
/* test_ppo_gradient.c: the gradient of a minibatch in double: against central differences with the carry held fixed,
 * against backpropagation through encoder and cell over the whole rollout, and stored sensitivities against records and
 * against grouped traces with other parameters than those of the collection. */
#define SPARC_DOUBLE
#include "nn/network_encoder_impl.h"
#include "nn/network_step_impl.h"
#include "rl/gradient_impl.h"
#include "rtrl/sizes.h"
#include "sparc/rtrl.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const uint64_t SEED = 20240612;

enum { T = 48, WARM_UP = 7, INPUTS = 3, WIDTH = 6, SYMBOLS = 4, CORNERS = WIDTH + 1 };

static const char *const rtrl_cells[] = {"sparc", "rtu", "lru", "rglru", "gateloop"};
static const char *const window_cells[] = {"gru", "mamba3", "sparc"};

/* ---- an agent with random parameters ----------------------------------------------------------------------- */

typedef struct agent {
  sparc_network *network;
  sparc_network_sizes n;
  policy policy;
  double *params, *prepared;
} agent;

static void must(sparc_status status) {
  if (status != SPARC_OK) fail_msg("%s", sparc_error());
}

static double *zeros(size_t count) {
  double *values = sparc_alloc((count + 1) * sizeof *values);
  assert_non_null(values);
  return values;
}

/* every parameter that may be zero at the start gets a value, so that no path is closed */
static agent make_agent(const char *cell, const policy *p, sparc_random *stream) {
  const sparc_head_config heads[] = {
      {.name = "actor",
       .input = SPARC_HEAD_STEPS,
       .outputs = (int)policy_actor(p),
       .hidden = 5,
       .hidden_gain = 2,
       .gain = 1},
      {.name = "critic", .input = SPARC_HEAD_STEPS, .outputs = 1, .hidden = 5, .hidden_gain = 2, .gain = 1},
      {.name = "log_std", .input = SPARC_HEAD_CONSTANT, .outputs = (int)p->action}};
  sparc_cell_config fitted;
  char options[128];
  must(cell_fit(cell, strcmp(cell, "mamba3") == 0 ? 64 : 8, &fitted, options, sizeof options));
  const sparc_network_config config = {.cell = cell,
                                       .cell_options = options,
                                       .H = fitted.H,
                                       .inputs = INPUTS,
                                       .embedding = SPARC_EMBED_TANH,
                                       .width = WIDTH,
                                       .features = SPARC_FEATURES_POLICY,
                                       .head = heads,
                                       .heads = p->choices ? 2 : 3};
  agent a = {.policy = *p};
  must(sparc_network_create(&config, &a.network));
  a.n = sparc_network_sizes_of(a.network);
  float *drawn = sparc_alloc(a.n.params * sizeof *drawn);
  must(sparc_network_init(a.network, 1 + random_u32(stream), drawn));
  a.params = zeros(a.n.params);
  a.prepared = zeros(a.n.prepared);
  for (size_t i = 0; i < a.n.params; i++) a.params[i] = (double)drawn[i] + 0.2 * sparc_random_normal(stream);
  must(sparc_network_prepare_f64(a.network, a.params, a.prepared));
  sparc_free(drawn);
  return a;
}

static void free_agent(agent *a) {
  sparc_network_free(a->network);
  sparc_free(a->params);
  sparc_free(a->prepared);
}

/* ---- a rollout of one stream ---------------------------------------------------------------------------------- */

typedef struct history {
  double x[(T + 1) * INPUTS], masks[T];
  int symbol[T];
  double *states;             /* (T + 1, state) */
  double *traces[2];          /* (T + 1, trace or trace_exact): without and with those of the encoder */
  double *records, *prepared; /* of the cell */
  double *inputs;             /* (T, D) */
  double *grouped;            /* (T + 1, grouped) */
  double *symbol_x, *symbol_inputs, *symbol_pre;
  double *cornered; /* (T + 1, grouped for CORNERS): cells with columns only */
  double *corner_inputs, *corner_pre;
  double actions[T * 3], log_probabilities[T], values[T], advantages[T], targets[T];
} history;

static size_t trace_of(const agent *a, sparc_encoder_gradient encoder) {
  return encoder == SPARC_ENCODER_EXACT ? a->n.trace_exact : a->n.trace;
}

/* one of SYMBOLS observations */
static void show(int symbol, double *x) {
  for (int d = 0; d < INPUTS; d++) x[d] = sin(1.7 * symbol + 0.9 * d) + 0.3 * d;
}

static void draw_history(const agent *a, bool few, sparc_random *stream, history *h) {
  for (size_t t = 0; t < T; t++) {
    h->symbol[t] = (int)sparc_random_below(stream, SYMBOLS);
    show(h->symbol[t], h->x + t * INPUTS);
    for (size_t d = 0; d < INPUTS && !few; d++) h->x[t * INPUTS + d] = sparc_random_normal(stream);
    h->masks[t] = sparc_random_below(stream, 17) != 0;
    for (size_t d = 0; d < a->policy.action; d++)
      h->actions[t * a->policy.action + d] =
          a->policy.choices ? sparc_random_below(stream, (uint32_t)a->policy.choices) : sparc_random_normal(stream);
    h->log_probabilities[t] = -1 + 0.3 * sparc_random_normal(stream);
    h->values[t] = 0.3 * sparc_random_normal(stream);
    h->advantages[t] = sparc_random_normal(stream);
    h->targets[t] = sparc_random_normal(stream);
  }
}

/* steps with sensitivities of both kinds; warm: some steps with other parameters come first, so that the carry is that
 * of an earlier rollout */
static void collect(const agent *a, bool warm, sparc_random *stream, history *h) {
  const size_t S = a->n.state;
  const sparc_cell *cell = a->network->cell;
  double *tape = zeros(a->n.tape), *y = zeros(a->n.outputs), *other = zeros(a->n.params),
         *prepared = zeros(a->n.prepared);
  h->states = zeros((T + 1) * S);
  h->inputs = zeros(T * WIDTH);
  h->symbol_x = zeros(SYMBOLS * INPUTS);
  h->symbol_inputs = zeros(SYMBOLS * WIDTH);
  h->records = zeros(sparc_rtrl_sizes_of(cell, &(sparc_rtrl_shape){.T = T}).records);
  h->prepared = zeros(cell->sizes.prepared);
  h->grouped = zeros((T + 1) * grouped_trace_size_f64(cell, SYMBOLS));
  h->symbol_pre = zeros(SYMBOLS * (size_t)cell->pre);
  h->cornered = zeros((T + 1) * grouped_trace_size_f64(cell, CORNERS));
  h->corner_inputs = zeros(CORNERS * WIDTH);
  h->corner_pre = zeros(CORNERS * (size_t)cell->pre);
  for (size_t d = 0; d < WIDTH; d++) h->corner_inputs[d * WIDTH + d] = 1;
  memcpy(h->prepared, a->prepared + a->network->cell_prepared, cell->sizes.prepared * sizeof(double));
  for (size_t i = 0; i < a->n.params; i++) other[i] = a->params[i] + 0.1 * sparc_random_normal(stream);
  must(sparc_network_prepare_f64(a->network, other, prepared));
  for (int e = 0; e < 2; e++) {
    const sparc_encoder_gradient encoder = (sparc_encoder_gradient)e;
    const size_t width = trace_of(a, encoder);
    h->traces[e] = zeros((T + 1) * width);
    memset(h->states, 0, S * sizeof(double));
    for (int t = 0; t < WARM_UP && warm; t++) {
      double x[INPUTS];
      show(t, x);
      must(sparc_network_step_rtrl_f64(a->network, prepared, encoder, h->states, h->traces[e], x, 1, y, tape));
    }
    for (size_t t = 0; t < T; t++) {
      double *trace = h->traces[e] + t * width, *state = h->states + t * S;
      memcpy(trace + width, trace, width * sizeof *trace);
      memcpy(state + S, state, S * sizeof *state);
      must(sparc_network_step_rtrl_f64(a->network, a->prepared, encoder, state + S, trace + width, h->x + t * INPUTS,
                                       h->masks[t], y, tape));
      if (e > 0) continue;
      const network_tape_f64 at = network_tape_of_f64(a->network, 1, tape);
      const size_t group = grouped_trace_size_f64(cell, SYMBOLS), v = (size_t)h->symbol[t];
      memcpy(h->inputs + t * WIDTH, at.cell_input, WIDTH * sizeof(double));
      memcpy(h->symbol_inputs + v * WIDTH, at.cell_input, WIDTH * sizeof(double));
      memcpy(h->symbol_x + v * INPUTS, h->x + t * INPUTS, INPUTS * sizeof(double));
      must(sparc_record_step_f64(cell, at.cell_tapes, T, (int)t, h->records));
      if (t == 0) grouped_trace_start_f64(cell, SYMBOLS, h->grouped);
      grouped_trace_step_f64(cell, h->prepared, at.cell_tapes, SYMBOLS, (int)v, h->grouped + t * group,
                             h->grouped + (t + 1) * group);
      const size_t corners = grouped_trace_size_f64(cell, CORNERS);
      if (t == 0) grouped_trace_start_f64(cell, CORNERS, h->cornered);
      if (cell->columns)
        grouped_trace_step_f64(cell, h->prepared, at.cell_tapes, CORNERS, -1, h->cornered + t * corners,
                               h->cornered + (t + 1) * corners);
    }
  }
  if (a->n.trace) grouped_pre_f64(cell, h->prepared, SYMBOLS, h->symbol_inputs, h->symbol_pre);
  if (a->n.trace) grouped_pre_f64(cell, h->prepared, CORNERS, h->corner_inputs, h->corner_pre);
  sparc_free(tape);
  sparc_free(y);
  sparc_free(other);
  sparc_free(prepared);
}

static void free_history(history *h) {
  double *arrays[] = {h->states,   h->traces[0],     h->traces[1], h->records,       h->prepared,
                      h->inputs,   h->grouped,       h->symbol_x,  h->symbol_inputs, h->symbol_pre,
                      h->cornered, h->corner_inputs, h->corner_pre};
  for (size_t i = 0; i < COUNT(arrays); i++) sparc_free(arrays[i]);
}

/* ---- minibatches ------------------------------------------------------------------------------------------------- */

typedef struct batch_memory {
  void *memory;
  minibatch b;
} batch_memory;

static batch_memory make_batch(const agent *a, size_t M) {
  const sparc_cell *cell = a->network->cell;
  const size_t stored = batch_work_size_f64(cell, (int)M);
  const size_t recorded = record_work_size_f64(cell, T, (int)M, 0, 0);
  const size_t grouped = a->n.trace ? grouped_work_size_f64(cell, (int)M, CORNERS) : 0;
  const size_t encoder = encoder_elements(a->network, M, T);
  batch_memory m = {.b = {.M = M}};
  arena size = arena_measure();
  minibatch_carve(&size, a->network, &a->policy, stored + recorded + grouped, encoder, &m.b);
  m.memory = sparc_alloc(size.used);
  assert_non_null(m.memory);
  arena place = arena_over(m.memory, size.used);
  minibatch_carve(&place, a->network, &a->policy, stored + recorded + grouped, encoder, &m.b);
  return m;
}

static void fill_batch(const agent *a, const history *h, const int *steps, minibatch *b) {
  const size_t A = a->policy.action, S = a->n.state;
  for (size_t m = 0; m < b->M; m++) {
    const size_t t = (size_t)steps[m];
    memcpy(b->x + m * INPUTS, h->x + t * INPUTS, INPUTS * sizeof(double));
    memcpy(b->states + m * S, h->states + t * S, S * sizeof(double));
    memcpy(b->actions + m * A, h->actions + t * A, A * sizeof(double));
    b->masks[m] = h->masks[t];
    b->log_probabilities[m] = h->log_probabilities[t];
    b->values[m] = h->values[t];
    b->advantages[m] = h->advantages[t];
    b->targets[m] = h->targets[t];
  }
}

static gradient_context context_of(const agent *a, sparc_encoder_gradient encoder) {
  return (gradient_context){.network = a->network,
                            .prepared = a->prepared,
                            .policy = a->policy,
                            .coefficients = {.clip = 0.2, .value = 0.5, .entropy = 0.01},
                            .encoder = encoder,
                            .threads = 1};
}

typedef enum source { NO_PAST, STORED, RECORDED, GROUPED, CORNERED } source;

static void differentiate(const agent *a, const history *h, sparc_encoder_gradient encoder, source from, size_t M,
                          const int *steps, double *dparams) {
  const gradient_context g = context_of(a, encoder);
  batch_memory m = make_batch(a, M);
  const double *rows[T] = {NULL};
  const size_t first[2] = {0, M};
  sparc_ppo_diagnostics d;
  fill_batch(a, h, steps, &m.b);
  const double *boundary = h->traces[encoder];
  stream_past past = {
      .view = {.T = T, .prepared = h->prepared, .records = h->records, .states = h->states, .boundary = boundary},
      .observations = h->x,
      .inputs = h->inputs,
      .boundary = boundary};
  if (from == GROUPED) {
    past.grouped = h->grouped;
    past.grouping = (grouping_f64){SYMBOLS, h->prepared, h->symbol_inputs, boundary, h->symbol_pre};
    past.observations = h->symbol_x;
    past.inputs = h->symbol_inputs;
  }
  if (from == CORNERED) {
    past.grouped = h->cornered;
    past.grouping = (grouping_f64){CORNERS, h->prepared, h->corner_inputs, boundary, h->corner_pre};
  }
  for (size_t i = 0; i < M && from == STORED; i++)
    rows[i] = h->traces[encoder] + (size_t)steps[i] * trace_of(a, encoder);
  memset(dparams, 0, a->n.params * sizeof *dparams);
  must(from >= RECORDED ? gradient_trace_free(&g, &m.b, 1, &past, first, steps, rows, dparams, &d)
                        : gradient_stored_traces(&g, &m.b, rows, dparams, &d));
  sparc_free(m.memory);
}

/* the worst block: greatest difference over the block's greatest number */
static void expect_blocks(const char *what, const agent *a, const double *got, const double *want, double tolerance) {
  size_t blocks;
  const sparc_block *block = sparc_network_blocks(a->network, &blocks);
  double scale = 0;
  for (size_t i = 0; i < a->n.params; i++) scale = fmax(scale, fabs(want[i]));
  for (size_t k = 0; k < blocks; k++) {
    double difference = 0, most = 1e-3 * scale;
    for (size_t i = block[k].offset; i < block[k].offset + block[k].size; i++) {
      difference = fmax(difference, fabs(got[i] - want[i]));
      most = fmax(most, fabs(want[i]));
    }
    if (!(difference <= tolerance * most))
      fail_msg("%s, cell %s: block %s differs by %g of %g, allowed is %g of it", what, a->network->config.cell,
               block[k].name, difference, most, tolerance);
  }
}

static const policy policies[] = {{.choices = 3, .action = 1}, {.choices = 0, .action = 2}};

/* ---- the items' own steps ------------------------------------------------------------------------------------------
 */

typedef double (*loss_fn)(const agent *a, const history *h, size_t M, const int *steps);

static double step_loss(const agent *a, const history *h, size_t M, const int *steps) {
  const gradient_context g = context_of(a, SPARC_ENCODER_LOCAL);
  batch_memory m = make_batch(a, M);
  sparc_ppo_diagnostics d;
  fill_batch(a, h, steps, &m.b);
  must(sparc_network_step_f64(a->network, a->prepared, (int)M, m.b.states, m.b.x, m.b.masks, m.b.y, m.b.tapes, 1));
  const ppo_batch_f64 items = {.n = M,
                               .actions = m.b.actions,
                               .log_probabilities = m.b.log_probabilities,
                               .values = m.b.values,
                               .advantages = m.b.advantages,
                               .value_targets = m.b.targets};
  const double loss = ppo_loss(&g.coefficients, &g.policy, &items, m.b.y, m.b.dy, &d);
  sparc_free(m.memory);
  return loss;
}

static int window_steps = TBPTT_STEPS;

static void run_windows(const agent *a, const history *h, size_t M, const int *steps, double *dparams, double *loss) {
  const gradient_context g = context_of(a, SPARC_ENCODER_LOCAL);
  batch_memory m = make_batch(a, M);
  sparc_network_plan *plan;
  sparc_ppo_diagnostics d;
  must(sparc_network_plan_create(a->network, (int)M / window_steps, window_steps, 1, &plan));
  void *work = sparc_alloc(sparc_network_plan_work_bytes(plan, SPARC_FLOAT64));
  fill_batch(a, h, steps, &m.b);
  memset(dparams, 0, a->n.params * sizeof *dparams);
  must(gradient_tbptt(&g, &m.b, plan, work, dparams, &d));
  *loss = d.policy_loss + g.coefficients.value * d.value_loss - g.coefficients.entropy * d.entropy;
  sparc_network_plan_free(plan);
  sparc_free(work);
  sparc_free(m.memory);
}

static double window_loss(const agent *a, const history *h, size_t M, const int *steps) {
  double loss, *unused = zeros(a->n.params);
  run_windows(a, h, M, steps, unused, &loss);
  sparc_free(unused);
  return loss;
}

static void expect_differences(const char *what, agent *a, const history *h, size_t M, const int *steps, loss_fn loss,
                               const double *dparams) {
  const double step = 1e-6;
  double *want = zeros(a->n.params);
  for (size_t i = 0; i < a->n.params; i++) {
    const double kept = a->params[i];
    for (int sign = -1; sign <= 1; sign += 2) {
      a->params[i] = kept + sign * step;
      must(sparc_network_prepare_f64(a->network, a->params, a->prepared));
      want[i] += sign * loss(a, h, M, steps) / (2 * step);
    }
    a->params[i] = kept;
  }
  must(sparc_network_prepare_f64(a->network, a->params, a->prepared));
  expect_blocks(what, a, dparams, want, 1e-5);
  sparc_free(want);
}

/* one item with the trace set to zero: all blocks, the encoder's too */
static void single_steps_have_their_central_differences(void **state) {
  (void)state;
  sparc_random stream;
  sparc_random_init(&stream, SEED, "test", "single");
  for (size_t i = 0; i < COUNT(rtrl_cells); i++) {
    for (size_t p = 0; p < COUNT(policies); p++) {
      agent a = make_agent(rtrl_cells[i], &policies[p], &stream);
      history h = {.states = NULL};
      const int steps[] = {5, 6, 11, 30};
      double *dparams = zeros(a.n.params);
      draw_history(&a, false, &stream, &h);
      collect(&a, true, &stream, &h);
      differentiate(&a, &h, SPARC_ENCODER_LOCAL, NO_PAST, COUNT(steps), steps, dparams);
      expect_differences("items without a past", &a, &h, COUNT(steps), steps, step_loss, dparams);
      sparc_free(dparams);
      free_history(&h);
      free_agent(&a);
    }
  }
}

static void windows_have_their_central_differences(void **state) {
  (void)state;
  sparc_random stream;
  sparc_random_init(&stream, SEED, "test", "windows");
  for (size_t i = 0; i < COUNT(window_cells); i++) {
    for (size_t p = 0; p < COUNT(policies); p++) {
      agent a = make_agent(window_cells[i], &policies[p], &stream);
      history h = {.states = NULL};
      const int steps[] = {8, 9, 10, 11, 36, 37, 38, 39};
      double loss, *dparams = zeros(a.n.params);
      draw_history(&a, false, &stream, &h);
      h.masks[10] = 0; /* a reset inside a window */
      h.states = zeros((T + 1) * a.n.state);
      for (size_t k = 0; k < (T + 1) * a.n.state; k++) h.states[k] = 0.3 * sparc_random_normal(&stream);
      for (window_steps = 1; window_steps <= 8; window_steps *= 2) {
        run_windows(&a, &h, COUNT(steps), steps, dparams, &loss);
        expect_differences("windows", &a, &h, COUNT(steps), steps, window_loss, dparams);
      }
      sparc_free(dparams);
      free_history(&h);
      free_agent(&a);
    }
  }
}

/* ---- the whole rollout: backpropagation through encoder and cell
 * ----------------------------------------------------- */

static void backpropagate(const agent *a, const history *h, double *dparams) {
  const size_t A = policy_actor(&a->policy), outputs = policy_outputs(&a->policy);
  double *heads[3] = {zeros(T * A), zeros(T), zeros(A)}, *dheads[3] = {zeros(T * A), zeros(T), zeros(A)};
  double *y = zeros(T * outputs), *dy = zeros(T * outputs);
  const sparc_network_sequence_f64 sequence = {.x = h->x, .mask = h->masks, .state0 = h->states, .outputs = heads};
  const sparc_network_gradient_f64 gradient = {.doutputs = (const double *const *)dheads, .dparams = dparams};
  const gradient_context g = context_of(a, SPARC_ENCODER_EXACT);
  const ppo_batch_f64 items = {.n = T,
                               .actions = h->actions,
                               .log_probabilities = h->log_probabilities,
                               .values = h->values,
                               .advantages = h->advantages,
                               .value_targets = h->targets};
  sparc_network_plan *plan;
  sparc_ppo_diagnostics d;
  must(sparc_network_plan_create(a->network, 1, T, 1, &plan));
  void *work = sparc_alloc(sparc_network_plan_work_bytes(plan, SPARC_FLOAT64));
  must(sparc_network_forward_f64(plan, a->prepared, &sequence, work));
  for (size_t t = 0; t < T; t++) {
    memcpy(y + t * outputs, heads[0] + t * A, A * sizeof *y);
    y[t * outputs + A] = heads[1][t];
    if (!a->policy.choices) memcpy(y + t * outputs + A + 1, heads[2], A * sizeof *y);
  }
  ppo_loss(&g.coefficients, &g.policy, &items, y, dy, &d);
  for (size_t t = 0; t < T; t++) {
    memcpy(dheads[0] + t * A, dy + t * outputs, A * sizeof *y);
    dheads[1][t] = dy[t * outputs + A];
    for (size_t k = 0; k < A && !a->policy.choices; k++) dheads[2][k] += dy[t * outputs + A + 1 + k];
  }
  memset(dparams, 0, a->n.params * sizeof *dparams);
  must(sparc_network_backward_f64(plan, a->prepared, &sequence, &gradient, work));
  sparc_network_plan_free(plan);
  sparc_free(work);
  sparc_free(y);
  sparc_free(dy);
  for (int i = 0; i < 3; i++) sparc_free(heads[i]), sparc_free(dheads[i]);
}

/* with every step in the minibatch, parameters as collected and nothing before the rollout, the sum of all items is the
 * full temporal gradient, exact encoder included */
static void exact_gradients_are_those_of_backpropagation(void **state) {
  (void)state;
  sparc_random stream;
  sparc_random_init(&stream, SEED, "test", "whole");
  int steps[T];
  for (int t = 0; t < T; t++) steps[t] = t;
  for (size_t i = 0; i < COUNT(rtrl_cells); i++) {
    agent a = make_agent(rtrl_cells[i], &policies[i % 2], &stream);
    history h = {.states = NULL};
    double *want = zeros(a.n.params), *got = zeros(a.n.params);
    draw_history(&a, true, &stream, &h);
    collect(&a, false, &stream, &h);
    backpropagate(&a, &h, want);
    for (source from = STORED; from <= GROUPED; from++) {
      static const char *const names[] = {"", "exact, stored", "exact, recorded", "exact, grouped"};
      differentiate(&a, &h, SPARC_ENCODER_EXACT, from, T, steps, got);
      expect_blocks(names[from], &a, got, want, 1e-10);
    }
    sparc_free(want);
    sparc_free(got);
    free_history(&h);
    free_agent(&a);
  }
}

/* ---- three ways, other parameters
 * --------------------------------------------------------------------------------------- */

static void stored_recorded_and_grouped_agree(void **state) {
  (void)state;
  sparc_random stream;
  sparc_random_init(&stream, SEED, "test", "ways");
  const int steps[] = {40, 3, 17, 0, 22, 9, 47, 31, 2, 18};
  for (size_t i = 0; i < COUNT(rtrl_cells); i++) {
    agent a = make_agent(rtrl_cells[i], &policies[i % 2], &stream);
    history h = {.states = NULL};
    double *want = zeros(a.n.params), *got = zeros(a.n.params);
    draw_history(&a, true, &stream, &h);
    collect(&a, true, &stream, &h);
    for (size_t k = 0; k < a.n.params; k++) a.params[k] += 0.2 * sparc_random_normal(&stream);
    must(sparc_network_prepare_f64(a.network, a.params, a.prepared));
    for (int e = 0; e < 2; e++) {
      const sparc_encoder_gradient encoder = (sparc_encoder_gradient)e;
      differentiate(&a, &h, encoder, STORED, COUNT(steps), steps, want);
      differentiate(&a, &h, encoder, RECORDED, COUNT(steps), steps, got);
      expect_blocks(e ? "exact, recorded" : "local, recorded", &a, got, want, 1e-12);
      differentiate(&a, &h, encoder, GROUPED, COUNT(steps), steps, got);
      expect_blocks(e ? "exact, grouped" : "local, grouped", &a, got, want, 1e-12);
      if (e || !a.network->cell->columns) continue;
      differentiate(&a, &h, encoder, CORNERED, COUNT(steps), steps, got);
      expect_blocks("local, corners", &a, got, want, 1e-12);
    }
    sparc_free(want);
    sparc_free(got);
    free_history(&h);
    free_agent(&a);
  }
}

/* a grouped trace expands to the trace */
static void expect_expanded(const agent *a, const history *h, const grouping_f64 *g, const double *grouped) {
  const size_t width = a->n.trace, group = grouped_trace_size_f64(a->network->cell, g->symbols);
  double *trace = zeros(width), *tape = zeros(a->network->cell->sizes.tape);
  const int rows[] = {0, 4, T};
  for (size_t k = 0; k < COUNT(rows); k++) {
    const double *want = h->traces[0] + (size_t)rows[k] * width;
    grouped_trace_expand_f64(a->network->cell, g, grouped + (size_t)rows[k] * group, tape, trace);
    double most = 0, difference = 0;
    for (size_t n = 0; n < width; n++) {
      most = fmax(most, fabs(want[n]));
      difference = fmax(difference, fabs(trace[n] - want[n]));
    }
    if (!(difference <= 1e-13 * most))
      fail_msg("cell %s, row %d, %d symbols: the expanded trace differs by %g of %g", a->network->config.cell, rows[k],
               g->symbols, difference, most);
  }
  sparc_free(trace);
  sparc_free(tape);
}

static void grouped_traces_expand_to_traces(void **state) {
  (void)state;
  sparc_random stream;
  sparc_random_init(&stream, SEED, "test", "expand");
  for (size_t i = 0; i < COUNT(rtrl_cells); i++) {
    agent a = make_agent(rtrl_cells[i], &policies[0], &stream);
    history h = {.states = NULL};
    draw_history(&a, true, &stream, &h);
    h.masks[3] = 1, h.masks[0] = h.masks[1] = h.masks[2] = 1; /* the first steps remember what was before */
    collect(&a, true, &stream, &h);
    const grouping_f64 symbols = {SYMBOLS, h.prepared, h.symbol_inputs, h.traces[0], h.symbol_pre};
    const grouping_f64 corners = {CORNERS, h.prepared, h.corner_inputs, h.traces[0], h.corner_pre};
    expect_expanded(&a, &h, &symbols, h.grouped);
    if (a.network->cell->columns) expect_expanded(&a, &h, &corners, h.cornered);
    free_history(&h);
    free_agent(&a);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(single_steps_have_their_central_differences),
      cmocka_unit_test(windows_have_their_central_differences),
      cmocka_unit_test(exact_gradients_are_those_of_backpropagation),
      cmocka_unit_test(stored_recorded_and_grouped_agree),
      cmocka_unit_test(grouped_traces_expand_to_traces),
  };
  printf("seed %llu\n", (unsigned long long)SEED);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
