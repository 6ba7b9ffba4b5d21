/* SPDX-License-Identifier: MIT */
/* ppo.c: one iteration of PPO: a rollout of one stream, and all epochs of minibatches over it.
 *
 * A piece of the collection is some steps, a piece of the update one minibatch. Weights stay as they were drawn (the
 * rate is zero, the optimiser works all the same), so that every pass has episodes of the same sort. The environment is
 * timed alone as well, with random actions. Robots are stood for by fixed observations of the size of Ant-P's, in
 * episodes of full length: what an agent takes without the physics.
 */
#include "bench/kinds/ppo.h"

#include "base/error.h"
#include "bench/bench_cell.h"
#include "nn/network.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE_STEPS = 64, CHECK_STEPS = 256, WIDTH = 64 };
enum { POOL = 997 }; /* observations and actions, in turn */

typedef struct agent {
  sparc_ppo *ppo;
  collection_stats collected;
  sparc_envs *envs; /* timed alone */
  float *actions;   /* (POOL, action) */
  float *observation;
  double reached;      /* see bench_ppo_work */
  sparc_status status; /* of the last call that failed */
} agent;

/* ---- an environment without physics ---------------------------------------------------------------- */

enum { ROBOT_OBSERVATION = 13, ROBOT_ACTION = 8, ROBOT_STEPS = 1000 };

typedef struct robot_state {
  int t;
} robot_state;

static sparc_status robot_open(const char *options, sparc_env_shape *shape, void **model) {
  float *pool = malloc(sizeof *pool * POOL * ROBOT_OBSERVATION);
  if (*options || !pool) {
    free(pool);
    return fail(SPARC_INVALID, *options ? "it has no options" : "no memory for its observations");
  }
  bench_fill(pool, (size_t)POOL * ROBOT_OBSERVATION, "observations");
  *shape =
      (sparc_env_shape){.observation = ROBOT_OBSERVATION, .choices = 0, .action = ROBOT_ACTION, .horizon = ROBOT_STEPS};
  *model = pool;
  return SPARC_OK;
}

static size_t robot_bytes(const void *model) {
  (void)model;
  return sizeof(robot_state);
}

static void robot_observe(const void *model, const robot_state *state, float *observation) {
  const float *pool = model;
  memcpy(observation, pool + (size_t)(state->t % POOL) * ROBOT_OBSERVATION, ROBOT_OBSERVATION * sizeof *observation);
}

static void robot_reset(const void *model, void *scratch, void *state, sparc_random *random, float *observation) {
  (void)scratch, (void)random;
  robot_state *s = state;
  s->t = 0;
  robot_observe(model, s, observation);
}

static void robot_step(const void *model, void *scratch, void *state, sparc_random *random, const float *action,
                       float *observation, float *reward, int *done) {
  (void)scratch, (void)random, (void)action;
  robot_state *s = state;
  *done = ++s->t == ROBOT_STEPS;
  robot_observe(model, s, observation);
  *reward = observation[0];
}

static const sparc_env_kind robot = {.version = SPARC_ENV_VERSION,
                                     .name = "fixed-observations",
                                     .summary = "observations of a robot's size, whatever the action",
                                     .random_return = NAN,
                                     .optimal_return = NAN,
                                     .open = robot_open,
                                     .close = free,
                                     .state_bytes = robot_bytes,
                                     .reset = robot_reset,
                                     .step = robot_step};

/* ---- stages ------------------------------------------------------------------------------------- */

static void note(agent *a, sparc_status status) {
  if (status != SPARC_OK) a->status = status;
}

static void collect_piece(void *context, size_t piece, int thread, int threads) {
  (void)thread, (void)threads;
  agent *a = context;
  const size_t T = a->ppo->rollout.n.T, first = piece * PIECE_STEPS, end = first + PIECE_STEPS;
  if (piece == 0) collect_begin(a->ppo, &a->collected);
  for (size_t t = first; t < end && t < T; t++) note(a, collect_step(a->ppo, t, &a->collected));
  if (end >= T) note(a, collect_finish(a->ppo, &a->collected));
}

static void update_piece(void *context, size_t piece, int thread, int threads) {
  (void)thread, (void)threads;
  agent *a = context;
  const sparc_ppo_config *c = &a->ppo->config;
  const int epoch = (int)piece / c->minibatches, k = (int)piece % c->minibatches;
  sparc_ppo_diagnostics d;
  note(a, update_minibatch(a->ppo, epoch, k, &d));
  if (epoch + 1 == c->epochs && k + 1 == c->minibatches) a->ppo->rollouts++;
}

static void environment_piece(void *context, size_t piece, int thread, int threads) {
  (void)thread, (void)threads;
  agent *a = context;
  const size_t width = a->ppo->rollout.n.action;
  float reward, mask;
  for (size_t t = piece * PIECE_STEPS; t < (piece + 1) * PIECE_STEPS && t < a->ppo->rollout.n.T; t++)
    note(a, sparc_envs_step(a->envs, a->actions + t % POOL * width, a->observation, &reward, &mask, NULL, NULL));
}

/* ---- what it does --------------------------------------------------------------------------------- */

/* steps that the scans of the present minibatch go through: from its items back to where their episodes start */
static double scan_steps(const sparc_ppo *ppo, char *marked) {
  const rollout *r = &ppo->rollout;
  double count = 0;
  memset(marked, 0, r->n.T);
  for (size_t m = 0; m < ppo->batch.M; m++)
    for (size_t t = (size_t)ppo->index.steps[m]; t > 0 && r->masks[t] != 0 && !marked[t - 1]; t--) {
      marked[t - 1] = 1;
      count++;
    }
  return count;
}

/* an iteration whose minibatches are counted */
static sparc_status count_reached(agent *a) {
  sparc_ppo *ppo = a->ppo;
  const int minibatches = ppo->config.epochs * ppo->config.minibatches;
  char *marked = malloc(ppo->rollout.n.T);
  if (!marked) return fail(SPARC_NO_MEMORY, "no memory to count the steps of a rollout");
  sparc_status status = collect(ppo, &a->collected);
  for (int i = 0; i < minibatches && status == SPARC_OK; i++) {
    sparc_ppo_diagnostics d;
    status = update_minibatch(ppo, i / ppo->config.minibatches, i % ppo->config.minibatches, &d);
    a->reached += scan_steps(ppo, marked);
  }
  ppo->rollouts++;
  free(marked);
  return status;
}

static bool is_grouped(const sparc_ppo *ppo) {
  const rollout *r = &ppo->rollout;
  return r->n.corners || (r->n.grouped && r->symbols.count > 0);
}

bench_ppo_work bench_ppo_work_of(const bench_case *c) {
  const agent *a = c->state;
  const sparc_ppo *ppo = a->ppo;
  const sparc_ppo_config *config = &ppo->config;
  const rollout_sizes *n = &ppo->rollout.n;
  const double hidden = 2.0 * config->width, outputs = (double)policy_actor(&ppo->policy) + 1;
  bench_ppo_work w = {.steps = config->rollout_steps,
                      .items = config->rollout_steps * config->epochs,
                      .gradient_method = ppo->gradient_method};
  w.layer_flops =
      2 * ((double)n->observation * config->width + (double)ppo->network->features * hidden + config->width * outputs);
  w.cell_flops = bench_product_flops(ppo->network->cell);
  sparc_ppo_config other = *config;
  sparc_ppo_memory memory = {.traces = config->traces};
  other.traces = SPARC_TRACES_AUTO;
  w.is_default =
      w.gradient_method == TBPTT || (ppo_memory_of(&other, &memory) == SPARC_OK && memory.traces == config->traces);
  const double row = 4 * (double)(n->trace ? n->trace : n->grouped), record = 4 * (double)n->records / (double)n->T;
  w.written = w.steps * (row + record);
  w.kept = (size_t)w.written;
  if (n->trace || is_grouped(ppo)) {
    w.read = w.items * row;
  } else if (n->records) {
    w.reached = a->reached;
    w.read = a->reached * (record + 4 * (double)n->state);
  }
  return w;
}

/* ---- life --------------------------------------------------------------------------------------- */

static sparc_status configure(const bench_case *c, sparc_ppo_config *out) {
  const bench_problem *p = c->problem;
  const bool fixed = bench_value(p, "robot") != 0, stored = bench_value(p, "stored") != 0;
  sparc_status status = sparc_ppo_defaults(bench_value(p, "cartpole") ? "cartpole" : "repeat-previous", out);
  if (status != SPARC_OK) return status;
  if (fixed) status = sparc_ppo_defaults("ant-p", out);
  if (fixed) {
    out->task = NULL;
    out->kind = &robot;
  }
  out->cell = p->cell;
  out->cell_options = p->options;
  out->H = (int)bench_value(p, "H");
  out->width = WIDTH;
  out->epochs = (int)bench_value(p, "E");
  out->rollout_steps = (int)bench_value(p, "T");
  out->learning_rate = 0;
  out->traces = stored ? SPARC_TRACES_STORED : bench_value(p, "free") ? SPARC_TRACES_FREE : SPARC_TRACES_AUTO;
  out->threads = c->threads;
  if (c->requested_kernel)
    return fail(SPARC_UNSUPPORTED, "%s: a run uses the kernels of SPARC_KERNEL, not those of --kernel", p->text);
  if (stored && bench_value(p, "free")) return fail(SPARC_INVALID, "%s: leave out stored or free", p->text);
  return status;
}

static void destroy(bench_case *c) {
  agent *a = c->state;
  if (!a) return;
  sparc_ppo_free(a->ppo);
  sparc_envs_free(a->envs);
  free(a->actions);
  free(a->observation);
  free(a);
}

/* the environment alone, and random actions for it */
static sparc_status make_environment(agent *a, const sparc_ppo_config *config) {
  const sparc_envs_config envs = {
      .name = config->kind ? NULL : config->task, .kind = config->kind, .n = 1, .threads = 1};
  sparc_status status = sparc_envs_create(&envs, &a->envs);
  if (status != SPARC_OK) return status;
  const sparc_env_shape shape = sparc_envs_info_of(a->envs).shape;
  const size_t numbers = (size_t)POOL * (size_t)shape.action;
  a->actions = malloc(numbers * sizeof *a->actions);
  a->observation = malloc((size_t)shape.observation * sizeof *a->observation);
  if (!a->actions || !a->observation) return fail(SPARC_NO_MEMORY, "no memory for an environment's actions");
  bench_fill(a->actions, numbers, "actions");
  sparc_random random;
  sparc_random_init(&random, 1, "bench", "choices");
  for (size_t i = 0; i < numbers && shape.choices; i++)
    a->actions[i] = (float)sparc_random_below(&random, (uint32_t)shape.choices);
  return sparc_envs_reset(a->envs, a->observation);
}

static void add_stages(bench_case *c, agent *a) {
  const sparc_ppo_config *config = &a->ppo->config;
  const size_t pieces = (a->ppo->rollout.n.T + PIECE_STEPS - 1) / PIECE_STEPS;
  const size_t minibatches = (size_t)config->epochs * (size_t)config->minibatches;
  bench_stage_add(c, "collection", (bench_task){.context = a, .pieces = pieces, .cold = true, .run = collect_piece});
  bench_stage_add(c, "update", (bench_task){.context = a, .pieces = minibatches, .cold = true, .run = update_piece});
  bench_stage_add(c, "iteration", (bench_task){.pieces = 0})->sum_of = 2;
  bench_stage_add(c, "environment",
                  (bench_task){.context = a, .pieces = pieces, .cold = true, .run = environment_piece});
}

static sparc_status create(bench_case *c) {
  agent *a = c->state = calloc(1, sizeof *a);
  if (!a) return fail(SPARC_NO_MEMORY, "%s: no memory", c->problem->text);
  sparc_ppo_config config;
  sparc_ppo_memory memory;
  sparc_status status = configure(c, &config);
  if (status == SPARC_OK) status = ppo_memory_of(&config, &memory);
  if (status != SPARC_OK) return status;
  c->memory = memory.other_bytes + (memory.traces == SPARC_TRACES_STORED ? memory.stored_bytes : memory.free_bytes);
  c->footprint = c->memory;
  status = bench_afford(c, c->memory);
  if (status == SPARC_OK) status = sparc_ppo_create(&config, &a->ppo);
  if (status == SPARC_OK) status = make_environment(a, &config);
  if (status == SPARC_OK && a->ppo->gradient_method == TRACE_FREE && !a->ppo->rollout.n.grouped)
    status = count_reached(a);
  if (status != SPARC_OK) return status;
  c->kernel = sparc_cell_config_of(a->ppo->network->cell).kernel;
  c->H = sparc_cell_config_of(a->ppo->network->cell).H;
  add_stages(c, a);
  return SPARC_OK;
}

/* ---- reference -------------------------------------------------------------------------------------- */

/* the gradient of the last minibatch of a short rollout */
static sparc_status short_gradient(const sparc_ppo_config *config, sparc_ppo **ppo) {
  sparc_status status = sparc_ppo_create(config, ppo);
  return status == SPARC_OK ? sparc_ppo_iterate(*ppo, NULL) : status;
}

/* against the other way through time; windows, for which there is none, against themselves on one thread */
static sparc_status verify(bench_case *c) {
  const agent *a = c->state;
  sparc_ppo_config config;
  sparc_status status = a->status == SPARC_OK ? configure(c, &config) : a->status;
  if (status != SPARC_OK) return status;
  config.rollout_steps = config.rollout_steps < CHECK_STEPS ? config.rollout_steps : CHECK_STEPS;
  config.epochs = 1;
  sparc_ppo_config other = config;
  config.traces = a->ppo->config.traces;
  other.traces = config.traces == SPARC_TRACES_STORED ? SPARC_TRACES_FREE : SPARC_TRACES_STORED;
  if (a->ppo->gradient_method == TBPTT) other.threads = 1;
  sparc_ppo *got = NULL, *want = NULL;
  status = short_gradient(&config, &got);
  if (status == SPARC_OK) status = short_gradient(&other, &want);
  double *wide = status == SPARC_OK ? malloc(want->n.params * sizeof *wide) : NULL;
  if (status == SPARC_OK && !wide) status = fail(SPARC_NO_MEMORY, "%s: no memory to verify it", c->problem->text);
  for (size_t i = 0; wide && i < want->n.params; i++) wide[i] = (double)want->gradient[i];
  if (wide) bench_compare(c, "the gradient", GRADIENT_TOLERANCE, got->gradient, wide, want->n.params);
  free(wide);
  sparc_ppo_free(got);
  sparc_ppo_free(want);
  return status;
}

const bench_kind bench_kind_ppo = {
    .name = "ppo",
    .summary = "an iteration of PPO on repeat-previous, cartpole or observations of a robot's size without physics",
    .keys = {{"H", "modes", 64},
             {"E", "epochs", 10},
             {"T", "steps of the rollout", 2048},
             {"cartpole", "instead of repeat-previous", 0},
             {"robot", "instead of repeat-previous", 0},
             {"stored", "sensitivities", 0},
             {"free", "records instead", 0}},
    .cell = "sparc",
    .create = create,
    .verify = verify,
    .destroy = destroy,
};
