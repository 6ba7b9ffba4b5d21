/* SPDX-License-Identifier: MIT */
/* ppo.c: the life of a run. All memory is one block, taken when the run is made; an iteration allocates nothing. */
#include "rl/ppo.h"

#include "base/error.h"
#include "rl/actor_critic.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- memory ---------------------------------------------------------------------------------------- */

static float *take(arena *a, size_t count) { return arena_take(a, count, sizeof(float)); }

static void carve_step(arena *a, sparc_ppo *ppo) {
  const size_t N = ppo->rollout.n.N;
  step_scratch *s = &ppo->step;
  s->masks = take(a, N);
  s->y = take(a, N * ppo->n.outputs);
  s->tapes = take(a, N * ppo->n.tape);
  s->sent = take(a, N * ppo->rollout.n.action);
  s->ahead = take(a, N * ppo->n.state);
  s->returns = arena_take(a, N, sizeof *s->returns);
  s->lengths = arena_take(a, N, sizeof *s->lengths);
}

static void carve_choice(arena *a, sparc_ppo *ppo) {
  choice *c = &ppo->choice;
  c->order = arena_take(a, ppo->rollout.n.N * ppo->rollout.n.T, sizeof *c->order);
  c->items = arena_take(a, ppo->batch.M, sizeof *c->items);
  c->traces = arena_take(a, ppo->batch.M, sizeof *c->traces);
}

static void carve(arena *a, sparc_ppo *ppo) {
  const size_t N = ppo->rollout.n.N, params = ppo->n.params;
  observation_normaliser *o = &ppo->observations;
  ppo->params = take(a, params);
  ppo->moments = take(a, 2 * params);
  ppo->gradient = take(a, params);
  ppo->prepared = take(a, ppo->n.prepared);
  o->moments = arena_take(a, observation_moments(o->mode, o->width), sizeof *o->moments);
  ppo->rewards.accumulated = arena_take(a, N, sizeof *ppo->rewards.accumulated);
  ppo->acting = arena_take(a, N, sizeof *ppo->acting);
  carve_step(a, ppo);
  carve_choice(a, ppo);
  minibatch_carve(a, ppo->network, &ppo->policy, &ppo->batch);
  if (ppo->plan) ppo->plan_work = arena_take(a, sparc_network_plan_work_bytes(ppo->plan), 1);
  rollout_carve(a, &ppo->rollout);
}

static sparc_status allocate(sparc_ppo *ppo) {
  arena size = arena_measure();
  carve(&size, ppo);
  ppo->memory = sparc_alloc(size.used);
  if (!ppo->memory) return fail(SPARC_NO_MEMORY, "no memory for the %zu bytes of a run", size.used);
  arena block = arena_over(ppo->memory, size.used);
  carve(&block, ppo);
  return SPARC_OK;
}

/* ---- life cycle -------------------------------------------------------------------------------------- */

static sparc_status make_task(sparc_ppo *ppo) {
  const sparc_ppo_config *c = &ppo->own.config;
  const sparc_envs_config envs = {.name = c->task,
                                  .kind = c->kind,
                                  .options = c->task_options,
                                  .n = c->streams,
                                  .seed = c->seed,
                                  .threads = c->threads};
  sparc_status status = sparc_envs_create(&envs, &ppo->envs);
  if (status != SPARC_OK) return status;
  ppo->shape = sparc_envs_shape(ppo->envs);
  ppo->policy = policy_of(&ppo->shape);
  status = actor_critic_create(c, &ppo->shape, &ppo->network);
  if (status == SPARC_OK) ppo->n = sparc_network_sizes_of(ppo->network);
  return status;
}

static void measure(sparc_ppo *ppo) {
  const sparc_ppo_config *c = &ppo->own.config;
  ppo->rollout.n = (rollout_sizes){.N = (size_t)c->streams,
                                   .T = (size_t)(c->steps / c->streams),
                                   .observation = (size_t)ppo->shape.observation,
                                   .action = (size_t)ppo->shape.action,
                                   .state = ppo->n.state,
                                   .trace = ppo->way == BY_TRACES ? ppo->n.trace : 0};
  ppo->batch.M = (size_t)(c->steps / c->minibatches);
  ppo->observations = (observation_normaliser){.mode = c->obsnorm, .width = ppo->rollout.n.observation};
  ppo->rewards = (reward_normaliser){.discount = c->discount, .moments = moments_initial()};
}

/* GRU, Mamba-3: no RTRL form, windows instead */
static sparc_status plan_windows(sparc_ppo *ppo) {
  const sparc_ppo_config *c = &ppo->own.config;
  if (ppo->n.trace > 0) return SPARC_OK;
  ppo->way = BY_WINDOWS;
  if (ppo->rollout.n.T % WINDOW != 0 || ppo->batch.M % WINDOW != 0)
    return fail(SPARC_INVALID, "cell %s learns by windows of %d steps, but a stream has %zu steps and a minibatch %zu",
                c->cell, (int)WINDOW, ppo->rollout.n.T, ppo->batch.M);
  return sparc_network_plan_create(ppo->network, (int)ppo->batch.M / WINDOW, WINDOW, c->threads, &ppo->plan);
}

static void open_streams(sparc_ppo *ppo) {
  for (size_t i = 0; i < ppo->rollout.n.N; i++) {
    char name[32];
    snprintf(name, sizeof name, "%zu", i);
    sparc_random_init(&ppo->acting[i], ppo->own.config.seed, "policy", name);
  }
}

sparc_status ppo_make(const sparc_ppo_config *config, sparc_ppo **out) {
  sparc_ppo *ppo = sparc_alloc(sizeof *ppo);
  if (!ppo) return fail(SPARC_NO_MEMORY, "no memory for a run");
  sparc_status status = config_complete(config, &ppo->own);
  if (status == SPARC_OK) status = make_task(ppo);
  if (status == SPARC_OK) {
    measure(ppo);
    status = plan_windows(ppo);
  }
  if (status == SPARC_OK) status = allocate(ppo);
  if (status != SPARC_OK) {
    sparc_ppo_free(ppo);
    return status;
  }
  open_streams(ppo);
  *out = ppo;
  return SPARC_OK;
}

/* the first observations open an episode each; state and sensitivities start at zero */
static sparc_status begin(sparc_ppo *ppo) {
  const rollout *r = &ppo->rollout;
  const size_t N = r->n.N, T = r->n.T, d = r->n.observation;
  const observation_normaliser *o = &ppo->observations;
  for (size_t i = 0; i < observation_moments(o->mode, o->width); i++) o->moments[i] = moments_initial();
  float *observations = r->observations + T * N * d;
  const sparc_status status = sparc_envs_reset(ppo->envs, observations);
  for (size_t i = 0; i < N && status == SPARC_OK; i++) {
    r->starts[T * N + i] = 1;
    observation_normalise(o, true, observations + i * d);
  }
  return status;
}

sparc_status sparc_ppo_create(const sparc_ppo_config *config, sparc_ppo **out) {
  if (!out) return fail(SPARC_INVALID, "out is NULL, expected where to put the run");
  *out = NULL;
  sparc_ppo *ppo = NULL;
  sparc_status status = ppo_make(config, &ppo);
  if (status != SPARC_OK) return status;
  status = sparc_network_init(ppo->network, ppo->own.config.seed, ppo->params);
  if (status == SPARC_OK) status = sparc_network_prepare(ppo->network, ppo->params, ppo->prepared);
  if (status == SPARC_OK) status = begin(ppo);
  if (status == SPARC_OK)
    *out = ppo;
  else
    sparc_ppo_free(ppo);
  return status;
}

void sparc_ppo_free(sparc_ppo *ppo) {
  if (!ppo) return;
  sparc_network_plan_free(ppo->plan);
  sparc_network_free(ppo->network);
  sparc_envs_free(ppo->envs);
  sparc_free(ppo->memory);
  sparc_free(ppo);
}

long sparc_ppo_rollouts_done(const sparc_ppo *ppo) { return ppo->rollouts; }
const sparc_ppo_config *sparc_ppo_config_of(const sparc_ppo *ppo) { return &ppo->own.config; }
const sparc_network *sparc_ppo_network(const sparc_ppo *ppo) { return ppo->network; }
const float *sparc_ppo_params(const sparc_ppo *ppo) { return ppo->params; }

/* ---- one iteration ------------------------------------------------------------------------------------ */

sparc_status sparc_ppo_iterate(sparc_ppo *ppo, sparc_ppo_report *report) {
  if (!ppo) return fail(SPARC_INVALID, "ppo is NULL");
  sparc_ppo_report made = {.rollout = ppo->rollouts + 1};
  collection collected;
  const double start = seconds_now();
  sparc_status status = collect(ppo, &collected);
  const double middle = seconds_now();
  if (status == SPARC_OK) status = update(ppo, &made.update);
  if (status != SPARC_OK) return status;
  ppo->rollouts++;
  made.steps = ppo->rollouts * ppo->own.config.steps;
  made.episodes = collected.episodes;
  made.mean_return = collected.episodes ? collected.returns / collected.episodes : NAN;
  made.mean_length = collected.episodes ? collected.lengths / collected.episodes : NAN;
  made.activity = collected.activity;
  made.faults = sparc_envs_faults(ppo->envs);
  made.environment_seconds = collected.environment_seconds;
  made.collection_seconds = middle - start - collected.environment_seconds;
  made.update_seconds = seconds_now() - middle;
  if (report) *report = made;
  return SPARC_OK;
}
