/* SPDX-License-Identifier: MIT */
/* ppo.c: creation of runs, and one iteration. All memory is one block, allocated once; an iteration allocates nothing. */
#include "rl/ppo.h"

#include "base/clock.h"
#include "base/error.h"
#include "envs/envs.h"
#include "nn/network.h"
#include "rl/actor_critic.h"
#include "rl/team.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- memory ---------------------------------------------------------------------------------------- */

static float *take(arena *a, size_t count) { return arena_take(a, count, sizeof(float)); }

static void carve_step(arena *a, sparc_ppo *ppo) {
  const size_t N = ppo->rollout.n.N;
  step_scratch *s = &ppo->step;
  s->x = take(a, N * ppo->rollout.n.observation);
  s->masks = take(a, N);
  s->states = take(a, N * ppo->n.state);
  s->y = take(a, N * ppo->n.outputs);
  s->tapes = take(a, N * ppo->n.tape);
  s->clipped = take(a, N * ppo->rollout.n.action);
  s->rewards = take(a, N);
  s->next_masks = take(a, N);
  s->returns = arena_take(a, N, sizeof *s->returns);
  s->lengths = arena_take(a, N, sizeof *s->lengths);
}

static void carve_index(arena *a, sparc_ppo *ppo) {
  minibatch_index *c = &ppo->index;
  c->order = arena_take(a, ppo->rollout.n.N * ppo->rollout.n.T, sizeof *c->order);
  c->rows = arena_take(a, ppo->batch.M, sizeof *c->rows);
  c->traces = arena_take(a, ppo->batch.M, sizeof *c->traces);
  c->first = arena_take(a, ppo->rollout.n.N + 1, sizeof *c->first);
  c->steps = arena_take(a, ppo->batch.M, sizeof *c->steps);
}

/* size of the work array of the gradient through time */
static size_t past_work(const sparc_ppo *ppo) {
  const sparc_cell *cell = ppo->network->cell;
  const int M = (int)ppo->batch.M, T = (int)ppo->rollout.n.T;
  const int interval = ppo->rollout.n.checkpoints ? ppo->config.trace_interval : 0;
  if (ppo->gradient_method == STORED_TRACES) return sparc_rtrl_sizes_of(cell, &(sparc_rtrl_shape){.n = M}).batch_work;
  if (ppo->gradient_method == TBPTT) return 0;
  const size_t records =
      ppo->rollout.n.records
          ? sparc_rtrl_sizes_of(cell, &(sparc_rtrl_shape){.T = T, .n = M, .interval = interval}).record_work
          : 0;
  const size_t grouped = ppo->rollout.n.grouped ? grouped_work_size_f32(cell, M, (int)ppo->rollout.n.groups) : 0;
  return records > grouped ? records : grouped;
}

static void carve(arena *a, sparc_ppo *ppo) {
  const size_t N = ppo->rollout.n.N, params = ppo->n.params, streams = (size_t)ppo->config.streams;
  observation_normaliser *o = &ppo->observations;
  ppo->params = take(a, params);
  ppo->moments = take(a, 2 * params);
  ppo->gradient = take(a, params);
  ppo->prepared = take(a, ppo->n.prepared);
  ppo->collected_with = take(a, ppo->gradient_method == TRACE_FREE ? ppo->network->cell->sizes.prepared : 0);
  o->moments = arena_take(a, observation_moments(o->mode, o->width), sizeof *o->moments);
  ppo->accumulated = arena_take(a, streams, sizeof *ppo->accumulated);
  ppo->action_rng = arena_take(a, N, sizeof *ppo->action_rng);
  ppo->past = arena_take(a, N, sizeof *ppo->past);
  carve_step(a, ppo);
  carve_index(a, ppo);
  const bool exact = ppo->config.encoder == SPARC_ENCODER_EXACT;
  const size_t encoder = exact ? encoder_elements(ppo->network, ppo->batch.M, ppo->rollout.n.T) : 0;
  minibatch_carve(a, ppo->network, &ppo->policy, past_work(ppo), encoder, &ppo->batch);
  if (ppo->config.refresh != SPARC_REFRESH_NONE) {
    ppo->replayed.states = take(a, N * (ppo->rollout.n.T + 1) * ppo->n.state);
    ppo->replayed.traces = take(a, N * (ppo->rollout.n.T + 1) * ppo->rollout.n.trace);
    ppo->replayed_gradient = take(a, params);
  }
  if (ppo->plan) ppo->plan_work = arena_take(a, sparc_network_plan_work_bytes(ppo->plan, SPARC_FLOAT32), 1);
  rollout_carve(a, &ppo->rollout);
}

static size_t bytes_of(sparc_ppo *ppo) {
  arena size = arena_measure();
  carve(&size, ppo);
  return size.used;
}

static sparc_status allocate(sparc_ppo *ppo) {
  const size_t bytes = bytes_of(ppo);
  ppo->memory = sparc_alloc(bytes);
  if (!ppo->memory) return fail(SPARC_NO_MEMORY, "no memory for the %zu bytes of a run", bytes);
  arena block = arena_over(ppo->memory, bytes);
  carve(&block, ppo);
  return SPARC_OK;
}

/* ---- the gradient method ----------------------------------------------------------------------------- */

sparc_envs_config ppo_task_of(const sparc_ppo_config *c, int n) {
  return (sparc_envs_config){.name = c->kind ? NULL : c->task,
                             .kind = c->kind,
                             .options = c->task_options,
                             .n = n,
                             .seed = c->seed,
                             .threads = c->threads};
}

/* number of distinct observations under random actions; 0: too many to be grouped. Cells that read the input directly
 * have no grouped traces. */
static sparc_status count_symbols(const sparc_ppo *ppo, int *count) {
  const sparc_ppo_config *c = &ppo->config;
  *count = 0;
  if (c->kind && is_external(c->kind)) return SPARC_OK; /* only one exists, which the run has opened */
  if (c->obsnorm != SPARC_OBSNORM_NONE || grouped_trace_size_f32(ppo->network->cell, 1) == 0) return SPARC_OK;
  const sparc_envs_config envs = ppo_task_of(c, 1);
  return symbols_probe(&envs, count);
}

/* GRU and Mamba-3 have no RTRL form */
static bool uses_tbptt(const sparc_ppo *ppo) { return ppo->n.trace == 0 || ppo->config.tbptt > 0; }

/* whether stored sensitivities are grouped by corners, which are smaller; a replay and an exact encoder need full ones */
static bool has_corners(const sparc_ppo *ppo) {
  const sparc_ppo_config *c = &ppo->config;
  return ppo->network->cell->columns > 0 && c->refresh == SPARC_REFRESH_NONE && c->encoder == SPARC_ENCODER_LOCAL;
}

/* sizes of what the rollout stores for the gradient through time */
static void size_past(sparc_ppo *ppo, gradient_method method) {
  const sparc_cell *cell = ppo->network->cell;
  const int interval = ppo->config.trace_interval;
  const bool exact = ppo->config.encoder == SPARC_ENCODER_EXACT;
  const size_t trace = exact ? ppo->n.trace_exact : ppo->n.trace;
  const bool corners = method == STORED_TRACES && has_corners(ppo), recorded = method == TRACE_FREE;
  rollout_sizes *n = &ppo->rollout.n;
  ppo->gradient_method = corners ? TRACE_FREE : method;
  n->trace = ppo->gradient_method == STORED_TRACES ? trace : 0;
  n->records = recorded ? sparc_rtrl_sizes_of(cell, &(sparc_rtrl_shape){.T = (int)n->T}).records : 0;
  n->boundary = ppo->gradient_method == TRACE_FREE ? trace : 0;
  n->checkpoints = recorded && interval > 0 ? (n->T - 1) / (size_t)interval : 0;
  n->corners = corners;
  n->groups = corners ? (size_t)cell->D + 1 : recorded ? (size_t)ppo->rollout.symbols.limit : 0;
  n->grouped = n->groups ? grouped_trace_size_f32(cell, (int)n->groups) : 0;
  n->input = ppo->gradient_method == TRACE_FREE ? (size_t)cell->D : 0;
  n->pre = n->grouped ? (size_t)cell->pre : 0;
}

/* bytes of a rollout's sensitivities, or of the records that replace them */
static size_t past_bytes(const rollout_sizes *n) {
  const size_t per_stream = (n->T + 1) * (n->trace + n->grouped) + n->records + (2 + n->checkpoints) * n->boundary;
  return n->N * per_stream * sizeof(float);
}

/* of all shards: one process may compute them alone */
static sparc_ppo_memory times_shards(const sparc_ppo *ppo, sparc_ppo_memory m) {
  const size_t shards = (size_t)ppo_shards(&ppo->config);
  m.stored_bytes *= shards;
  m.free_bytes *= shards;
  m.other_bytes *= shards;
  return m;
}

static sparc_ppo_memory measure_memory(sparc_ppo *ppo) {
  sparc_ppo_memory m = {.traces = SPARC_TRACES_AUTO};
  if (!uses_tbptt(ppo)) {
    size_past(ppo, STORED_TRACES);
    m.stored_bytes = past_bytes(&ppo->rollout.n);
    size_past(ppo, TRACE_FREE);
    m.free_bytes = past_bytes(&ppo->rollout.n);
    m.other_bytes = bytes_of(ppo) - m.free_bytes;
  } else {
    size_past(ppo, TBPTT);
    m.other_bytes = bytes_of(ppo);
  }
  return times_shards(ppo, m);
}

size_t machine_memory(void) {
  const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
  return pages > 0 && size > 0 ? (size_t)pages * (size_t)size : (size_t)-1;
}

static void choose_gradient_method(sparc_ppo *ppo) {
  const sparc_ppo_config *c = &ppo->config;
  sparc_ppo_memory *m = &ppo->needs;
  /* the default limit of auto is half of the machine's memory */
  const size_t limit = c->memory_limit ? c->memory_limit : machine_memory() / 2;
  if (uses_tbptt(ppo)) return;
  m->traces = c->traces;
  if (m->traces == SPARC_TRACES_AUTO)
    m->traces =
        c->refresh == SPARC_REFRESH_NONE && (ppo->rollout.symbols.limit > 0 || c->encoder == SPARC_ENCODER_EXACT ||
                                             m->stored_bytes + m->other_bytes > limit)
            ? SPARC_TRACES_FREE
            : SPARC_TRACES_STORED;
  size_past(ppo, m->traces == SPARC_TRACES_STORED ? STORED_TRACES : TRACE_FREE);
}

static sparc_status check_memory(const sparc_ppo *ppo) {
  const sparc_ppo_memory *m = &ppo->needs;
  const double mega = 1e6, limit = (double)ppo->config.memory_limit;
  const bool stored = m->traces == SPARC_TRACES_STORED;
  const double needed = (double)((stored ? m->stored_bytes : m->free_bytes) + m->other_bytes);
  if (limit == 0 || needed <= limit) return SPARC_OK;
  if (stored)
    return fail(SPARC_NO_MEMORY,
                "stored sensitivities need %.0f MB of the %.0f MB that memory_limit allows; records need %.0f MB "
                "(traces: free)",
                needed / mega, limit / mega, (double)(m->free_bytes + m->other_bytes) / mega);
  return fail(SPARC_NO_MEMORY, "the run needs %.0f MB of the %.0f MB that memory_limit allows", needed / mega,
              limit / mega);
}

/* ---- life cycle -------------------------------------------------------------------------------------- */

static sparc_status make_environments(sparc_ppo *ppo) {
  const sparc_ppo_config *c = &ppo->config;
  const int n = c->streams / ppo_shards(c);
  const sparc_envs_config envs = ppo_task_of(c, n);
  return envs_create_from(&envs, ppo->shard * n, &ppo->envs);
}

static sparc_status make_task(sparc_ppo *ppo) {
  const sparc_ppo_config *c = &ppo->config;
  sparc_status status = make_environments(ppo);
  if (status != SPARC_OK) return status;
  ppo->shape = sparc_envs_info_of(ppo->envs).shape;
  ppo->policy = policy_of(&ppo->shape);
  status = actor_critic_create(c, &ppo->shape, &ppo->network);
  if (status == SPARC_OK) ppo->n = sparc_network_sizes_of(ppo->network);
  return status;
}

static void measure(sparc_ppo *ppo) {
  const sparc_ppo_config *c = &ppo->config;
  const int shards = ppo_shards(c);
  ppo->rollout.n = (rollout_sizes){.N = (size_t)(c->streams / shards),
                                   .T = (size_t)(c->rollout_steps / c->streams),
                                   .observation = (size_t)ppo->shape.observation,
                                   .action = (size_t)ppo->shape.action,
                                   .state = ppo->n.state};
  ppo->batch.M = (size_t)(c->rollout_steps / c->minibatches / shards);
  ppo->observations = (observation_normaliser){.mode = c->obsnorm, .width = ppo->rollout.n.observation};
  ppo->rewards = (reward_normaliser){.discount = c->discount, .moments = moments_initial()};
}

static sparc_status plan_tbptt(sparc_ppo *ppo) {
  const sparc_ppo_config *c = &ppo->config;
  const int window = c->tbptt > 0 ? c->tbptt : TBPTT_STEPS;
  if (!uses_tbptt(ppo)) return SPARC_OK;
  if (ppo->rollout.n.T % (size_t)window != 0 || ppo->batch.M % (size_t)window != 0)
    return fail(SPARC_INVALID, "cell %s learns by windows of %d steps, but a stream has %zu steps and a minibatch %zu",
                c->cell, window, ppo->rollout.n.T, ppo->batch.M);
  return sparc_network_plan_create(ppo->network, (int)ppo->batch.M / window, window, c->threads, &ppo->plan);
}

static sparc_status check_encoder(const sparc_ppo *ppo) {
  const sparc_ppo_config *c = &ppo->config;
  if (c->encoder == SPARC_ENCODER_LOCAL) return SPARC_OK;
  if (ppo->n.trace == 0)
    return fail(SPARC_UNSUPPORTED, "cell %s has no RTRL form, so its encoder has no exact sensitivities", c->cell);
  if (c->tbptt > 0)
    return fail(SPARC_INVALID,
                "tbptt is %d, expected 0: exact encoder gradients reach back to the start of the rollout", c->tbptt);
  if (c->trace_interval > 0)
    return fail(SPARC_INVALID,
                "trace_interval is %d, expected 0: exact encoder gradients reach back to the start of the rollout",
                c->trace_interval);
  return SPARC_OK;
}

/* a replay recomputes stored sensitivities */
static sparc_status check_refresh(const sparc_ppo *ppo) {
  const sparc_ppo_config *c = &ppo->config;
  if (c->refresh == SPARC_REFRESH_NONE) return SPARC_OK;
  if (uses_tbptt(ppo))
    return fail(
        SPARC_INVALID,
        "refresh is not none, but cell %s learns by truncated backpropagation here, which keeps no sensitivities",
        c->cell);
  if (c->traces == SPARC_TRACES_FREE)
    return fail(SPARC_INVALID, "traces is free, expected stored or auto: refresh replays stored sensitivities");
  return SPARC_OK;
}

void ppo_choose_traces(sparc_ppo *ppo, sparc_traces traces, size_t memory_limit) {
  ppo->config.traces = traces;
  ppo->config.memory_limit = memory_limit;
  ppo->needs = measure_memory(ppo);
  choose_gradient_method(ppo);
  ppo->config.traces = ppo->needs.traces;
}

static sparc_status describe(const sparc_ppo_config *config, sparc_ppo *ppo) {
  sparc_status status = config_resolve(config, &ppo->config, &ppo->strings);
  if (status == SPARC_OK) status = make_task(ppo);
  if (status != SPARC_OK) return status;
  measure(ppo);
  status = check_encoder(ppo);
  if (status == SPARC_OK) status = check_refresh(ppo);
  if (status == SPARC_OK) status = plan_tbptt(ppo);
  if (status == SPARC_OK) status = count_symbols(ppo, &ppo->rollout.symbols.limit);
  if (status == SPARC_OK) ppo_choose_traces(ppo, ppo->config.traces, ppo->config.memory_limit);
  return status;
}

sparc_status ppo_describe(const sparc_ppo_config *config, sparc_ppo **out) {
  *out = NULL;
  sparc_ppo *ppo = sparc_alloc(sizeof *ppo);
  if (!ppo) return fail(SPARC_NO_MEMORY, "no memory for a run");
  const sparc_status status = describe(config, ppo);
  if (status == SPARC_OK)
    *out = ppo;
  else
    sparc_ppo_free(ppo);
  return status;
}

sparc_status ppo_memory_of(const sparc_ppo_config *config, sparc_ppo_memory *memory) {
  sparc_ppo *ppo;
  const sparc_status status = ppo_describe(config, &ppo);
  if (ppo) *memory = ppo->needs;
  sparc_ppo_free(ppo);
  return status;
}

static void open_streams(sparc_ppo *ppo) {
  for (size_t i = 0; i < ppo->rollout.n.N; i++) {
    char name[32];
    snprintf(name, sizeof name, "%zu", ppo_first_stream(ppo) + i);
    sparc_random_init(&ppo->action_rng[i], ppo->config.seed, "policy", name);
  }
}

sparc_status ppo_allocate(sparc_ppo *ppo) {
  sparc_status status = check_memory(ppo);
  if (status == SPARC_OK) status = allocate(ppo);
  if (status != SPARC_OK) return status;
  ppo->rewards.accumulated = ppo->accumulated + ppo_first_stream(ppo);
  open_streams(ppo);
  const bool divided = ppo_shards(&ppo->config) > 1;
  return divided && !ppo->borrows ? team_create(ppo, &ppo->team) : SPARC_OK;
}

void ppo_open_episodes(sparc_ppo *ppo) {
  const rollout *r = &ppo->rollout;
  for (size_t i = 0; i < r->n.N; i++) {
    const size_t row = rollout_row(r, i, r->n.T), d = r->n.observation;
    observation_normalise(&ppo->observations, true, ppo->step.x + i * d);
    memcpy(r->observations + row * d, ppo->step.x + i * d, d * sizeof(float));
    r->masks[row] = 0;
  }
}

sparc_status ppo_begin_episodes(sparc_ppo *ppo) {
  if (ppo->team) return team_begin(ppo->team);
  const sparc_status status = sparc_envs_reset(ppo->envs, ppo->step.x);
  if (status == SPARC_OK) ppo_open_episodes(ppo);
  return status;
}

/* states and sensitivities are initially zero */
static sparc_status begin(sparc_ppo *ppo) {
  const observation_normaliser *o = &ppo->observations;
  for (size_t i = 0; i < observation_moments(o->mode, o->width); i++) o->moments[i] = moments_initial();
  return ppo_begin_episodes(ppo);
}

sparc_status ppo_start(sparc_ppo *ppo) {
  sparc_status status = ppo_allocate(ppo);
  if (status == SPARC_OK) status = sparc_network_init(ppo->network, ppo->config.seed, ppo->params);
  if (status == SPARC_OK) status = sparc_network_prepare(ppo->network, ppo->params, ppo->prepared);
  return status == SPARC_OK ? begin(ppo) : status;
}

sparc_status sparc_ppo_create(const sparc_ppo_config *config, sparc_ppo **out) {
  if (!out) return fail(SPARC_INVALID, "out is NULL, expected where to put the run");
  sparc_status status = ppo_describe(config, out);
  if (status == SPARC_OK && *out) status = ppo_start(*out);
  if (status == SPARC_OK) return SPARC_OK;
  sparc_ppo_free(*out);
  *out = NULL;
  return status;
}

void sparc_ppo_free(sparc_ppo *ppo) {
  if (!ppo) return;
  team_free(ppo->team);
  sparc_network_plan_free(ppo->plan);
  sparc_network_free(ppo->network);
  sparc_envs_free(ppo->envs);
  sparc_free(ppo->memory);
  sparc_free(ppo);
}

sparc_ppo_info sparc_ppo_info_of(const sparc_ppo *ppo) {
  if (!ppo) return (sparc_ppo_info){.config = NULL};
  return (sparc_ppo_info){
      .config = &ppo->config, .rollouts_done = ppo->rollouts, .parameters = ppo->n.params, .memory = ppo->needs};
}

sparc_status ppo_join(sparc_ppo *ppo, ranks *group) {
  ppo->group = group;
  ppo->shard = ranks_share(group, ppo_shards(&ppo->config)).first;
  if (ppo->shard == 0) return SPARC_OK;
  sparc_envs_free(ppo->envs);
  ppo->envs = NULL;
  return make_environments(ppo);
}

sparc_status ppo_describe_shard(const sparc_ppo *leader, int shard, sparc_ppo **out) {
  sparc_ppo_config config = leader->config;
  config.traces = leader->needs.traces;
  config.memory_limit = 0;
  sparc_status status = ppo_describe(&config, out);
  if (!*out) return status;
  sparc_envs_free((*out)->envs);
  (*out)->envs = NULL;
  (*out)->shard = shard;
  (*out)->borrows = true;
  status = make_environments(*out);
  return status == SPARC_OK ? ppo_allocate(*out) : status;
}

static sparc_ppo_activity activity_of(const sparc_ppo *ppo, const collection_stats *c) {
  const cell_activity *a = &c->activity;
  const double numbers = (double)ppo->config.rollout_steps * (double)ppo->n.state;
  const double gate = a->gate_sum / a->gates, variance = a->gate_squares / a->gates - gate * gate;
  return (sparc_ppo_activity){.saturation = a->contents > 0 ? a->saturated / a->contents : NAN,
                              .gate_deviation = a->gates > 0 ? sqrt(fmax(variance, 0)) : NAN,
                              .state_rms = sqrt(c->state_squares / numbers)};
}

/* ---- one iteration ------------------------------------------------------------------------------------ */

sparc_status sparc_ppo_iterate(sparc_ppo *ppo, sparc_ppo_report *report) {
  return ppo ? ppo_iterate(ppo, NULL, report) : fail(SPARC_INVALID, "ppo is NULL");
}

sparc_status ppo_iterate(sparc_ppo *ppo, bool *stop, sparc_ppo_report *report) {
  sparc_ppo_report result = {.rollout = ppo->rollouts + 1};
  collection_stats collected;
  const double start = seconds_now();
  sparc_status status = ppo->team ? team_collect(ppo->team, stop, &collected) : collect(ppo, &collected);
  const double middle = seconds_now();
  if (status == SPARC_OK) status = ppo->team ? team_update(ppo->team, &result.update) : update(ppo, &result.update);
  if (status != SPARC_OK) return status;
  ppo->rollouts++;
  result.steps = ppo->rollouts * ppo->config.rollout_steps;
  result.episodes = collected.episodes;
  result.mean_return = collected.episodes ? collected.returns / collected.episodes : NAN;
  result.mean_length = collected.episodes ? collected.lengths / collected.episodes : NAN;
  result.activity = activity_of(ppo, &collected);
  result.staleness = ppo->staleness;
  result.symbols = collected.symbols;
  result.faults = collected.faults;
  result.environment_seconds = collected.environment_seconds;
  result.collection_seconds = middle - start - collected.environment_seconds;
  result.update_seconds = seconds_now() - middle;
  if (report) *report = result;
  return SPARC_OK;
}
