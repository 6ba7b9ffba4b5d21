/* SPDX-License-Identifier: MIT */
/* collect.c: collects one rollout. Step t reads row t of the rollout and writes row t + 1. A mask of 0 resets state and
 * sensitivities before the cell runs. Parameters are fixed within a rollout; the state before it was computed with those
 * of the previous rollout. */
#include "base/clock.h"
#include "base/error.h"
#include "base/random.h"
#include "base/threads.h"
#include "rl/gae.h"
#include "rl/records.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* ---- the network ---------------------------------------------------------------------------------- */

/* observations, masks and states of all streams at step t */
static void load(sparc_ppo *ppo, const float *states, size_t t) {
  const rollout *r = &ppo->rollout;
  const size_t d = r->n.observation, S = r->n.state;
  for (size_t i = 0; i < r->n.N; i++) {
    const size_t row = rollout_row(r, i, t);
    memcpy(ppo->step.x + i * d, r->observations + row * d, d * sizeof(float));
    memcpy(ppo->step.states + i * S, states + row * S, S * sizeof(float));
    ppo->step.masks[i] = r->masks[row];
  }
}

static sparc_status step_without_traces(sparc_ppo *ppo) {
  return sparc_network_step(ppo->network, ppo->prepared, (int)ppo->rollout.n.N, ppo->step.states, ppo->step.x,
                            ppo->step.masks, ppo->step.y, ppo->step.tapes, ppo->config.threads);
}

typedef struct stream_steps {
  sparc_ppo *ppo;
  float *traces; /* rows of the rollout */
  size_t t;
  int threads;
  pthread_mutex_t lock; /* of what follows */
  size_t failed;        /* the first failed stream, independent of the order of threads */
  sparc_status status;
  char sentence[512];
} stream_steps;

/* error messages are per thread, so the message is copied */
static void note_failure(stream_steps *s, size_t i, sparc_status status) {
  pthread_mutex_lock(&s->lock);
  if (s->status == SPARC_OK || i < s->failed) {
    s->failed = i;
    s->status = status;
    snprintf(s->sentence, sizeof s->sentence, "%s", sparc_error());
  }
  pthread_mutex_unlock(&s->lock);
}

/* one stream with its sensitivities, from row t to row t + 1 */
static void step_with_trace(void *context, size_t i) {
  stream_steps *s = context;
  sparc_ppo *ppo = s->ppo;
  const rollout *r = &ppo->rollout;
  const size_t width = r->n.trace;
  float *trace = s->traces + rollout_row(r, i, s->t) * width;
  const sparc_status status =
      network_step_rtrl_f32(ppo->network, ppo->prepared, ppo->config.encoder, ppo->step.states + i * r->n.state, trace,
                            trace + width, ppo->step.x + i * r->n.observation, ppo->step.masks[i],
                            ppo->step.y + i * ppo->n.outputs, ppo->step.tapes + i * ppo->n.tape, s->threads);
  if (status != SPARC_OK) note_failure(s, i, status);
}

static sparc_status step_with_traces(sparc_ppo *ppo, float *traces, size_t t) {
  stream_steps steps = {.ppo = ppo,
                        .traces = traces,
                        .t = t,
                        .threads = thread_count(ppo->config.threads),
                        .lock = PTHREAD_MUTEX_INITIALIZER,
                        .status = SPARC_OK};
  if (ppo->rollout.n.N == 1) /* not in a parallel loop, so that threads share the sensitivities */
    step_with_trace(&steps, 0);
  else
    parallel_for(steps.threads, ppo->rollout.n.N, step_with_trace, &steps);
  return steps.status == SPARC_OK
             ? SPARC_OK
             : fail(steps.status, "stream %zu: %s", ppo_first_stream(ppo) + steps.failed, steps.sentence);
}

/* the cell's tape of stream i; a step with traces stores the tapes of networks consecutively */
static float *cell_tape_of(sparc_ppo *ppo, size_t i) {
  const size_t tape = ppo->network->cell->sizes.tape;
  if (ppo->gradient_method == STORED_TRACES)
    return network_tape_of_f32(ppo->network, 1, ppo->step.tapes + i * ppo->n.tape).cell_tapes;
  return network_tape_of_f32(ppo->network, (int)ppo->rollout.n.N, ppo->step.tapes).cell_tapes + i * tape;
}

/* copies the states to row t + 1 */
static void keep_states(sparc_ppo *ppo, size_t t, collection_stats *stats) {
  const rollout *r = &ppo->rollout;
  const size_t S = r->n.state;
  for (size_t i = 0; i < r->n.N; i++) {
    const float *state = ppo->step.states + i * S;
    memcpy(r->states + rollout_row(r, i, t + 1) * S, state, S * sizeof *state);
    for (size_t s = 0; s < S; s++) stats->state_squares += (double)state[s] * (double)state[s];
    tape_activity_f32(ppo->network->cell, ppo->prepared + ppo->network->cell_prepared, cell_tape_of(ppo, i),
                      &stats->activity);
  }
}

/* outputs y of step t; state and sensitivities advance to row t + 1 */
static sparc_status step_network(sparc_ppo *ppo, size_t t, collection_stats *stats) {
  load(ppo, ppo->rollout.states, t);
  const sparc_status status =
      ppo->gradient_method == STORED_TRACES ? step_with_traces(ppo, ppo->rollout.traces, t) : step_without_traces(ppo);
  keep_states(ppo, t, stats);
  return status == SPARC_OK && ppo->gradient_method == TRACE_FREE ? records_keep(ppo, t) : status;
}

static float value_of(const sparc_ppo *ppo, size_t i) {
  return ppo->step.y[i * ppo->n.outputs + policy_value(&ppo->policy)];
}

/* values of row T; its state does not advance */
static sparc_status bootstrap_values(sparc_ppo *ppo) {
  const rollout *r = &ppo->rollout;
  load(ppo, r->states, r->n.T);
  const sparc_status status = step_without_traces(ppo);
  for (size_t i = 0; i < r->n.N; i++) r->values[rollout_row(r, i, r->n.T)] = value_of(ppo, i);
  return status;
}

/* ---- actions and environments --------------------------------------------------------------------- */

static void act(sparc_ppo *ppo, size_t t) {
  const rollout *r = &ppo->rollout;
  const size_t A = r->n.action;
  for (size_t i = 0; i < r->n.N; i++) {
    const float *y = ppo->step.y + i * ppo->n.outputs;
    const size_t row = rollout_row(r, i, t);
    float *action = r->actions + row * A, entropy;
    policy_act(&ppo->policy, y, &ppo->action_rng[i], action);
    policy_clip(&ppo->policy, ppo->config.action_limit, action, ppo->step.clipped + i * A);
    r->log_probabilities[row] = policy_log_probability(&ppo->policy, y, action, &entropy);
    r->values[row] = value_of(ppo, i);
  }
}

/* stores the normalised transition of environment i, and counts a finished episode */
static void receive(sparc_ppo *ppo, size_t i, size_t t, collection_stats *stats) {
  const rollout *r = &ppo->rollout;
  const step_scratch *s = &ppo->step;
  const size_t d = r->n.observation, row = rollout_row(r, i, t);
  const bool done = s->next_masks[i] == 0;
  stats->episodes += done;
  stats->returns += done ? s->returns[i] : 0;
  stats->lengths += done ? s->lengths[i] : 0;
  observation_normalise(&ppo->observations, true, s->x + i * d);
  memcpy(r->observations + (row + 1) * d, s->x + i * d, d * sizeof(float));
  r->masks[row + 1] = s->next_masks[i];
  r->rewards[row] = ppo->config.rewardnorm != SPARC_REWARDNORM_NONE
                        ? reward_normalise(&ppo->rewards, i, s->rewards[i], done)
                        : s->rewards[i];
}

static sparc_status step_environments(sparc_ppo *ppo, collection_stats *stats) {
  const step_scratch *s = &ppo->step;
  const double before = seconds_now();
  const sparc_status status =
      sparc_envs_step(ppo->envs, s->clipped, s->x, s->rewards, s->next_masks, s->returns, s->lengths);
  stats->environment_seconds += seconds_now() - before;
  return status;
}

void collect_receive(sparc_ppo *ppo, size_t t, collection_stats *stats) {
  for (size_t i = 0; i < ppo->rollout.n.N; i++) receive(ppo, i, t, stats);
}

/* ---- the rollout ----------------------------------------------------------------------------------- */

/* an action takes a fixed number of random words, so the position follows from the number of rollouts */
static void seek_actions(sparc_ppo *ppo) {
  const uint64_t words = policy_words(&ppo->policy);
  for (size_t i = 0; i < ppo->rollout.n.N; i++)
    random_seek(&ppo->action_rng[i], (uint64_t)ppo->rollouts * ppo->rollout.n.T * words);
}

void collect_begin(sparc_ppo *ppo, collection_stats *stats) {
  *stats = (collection_stats){.episodes = 0};
  rollout_begin(&ppo->rollout);
  if (ppo->gradient_method == TRACE_FREE) records_begin(ppo);
  seek_actions(ppo);
}

sparc_status collect_act(sparc_ppo *ppo, size_t t, collection_stats *stats) {
  const sparc_status status = step_network(ppo, t, stats);
  if (status != SPARC_OK) return status;
  act(ppo, t);
  return step_environments(ppo, stats);
}

sparc_status collect_step(sparc_ppo *ppo, size_t t, collection_stats *stats) {
  const sparc_status status = collect_act(ppo, t, stats);
  if (status == SPARC_OK) collect_receive(ppo, t, stats);
  return status;
}

sparc_status collect_finish(sparc_ppo *ppo, collection_stats *stats) {
  const rollout *r = &ppo->rollout;
  sparc_status status = bootstrap_values(ppo);
  if (status == SPARC_OK && ppo->gradient_method == TRACE_FREE) status = records_finish(ppo);
  for (size_t i = 0; i < r->n.N && status == SPARC_OK; i++) {
    const size_t row = rollout_row(r, i, 0);
    gae(r->n.T, ppo->config.discount, ppo->config.gae_lambda, r->rewards + row, r->values + row, r->masks + row,
        r->advantages + row, r->targets + row);
  }
  stats->symbols = r->symbols.count > 0 ? r->symbols.count : 0;
  stats->faults = sparc_envs_info_of(ppo->envs).faults;
  return status;
}

sparc_status collect(sparc_ppo *ppo, collection_stats *stats) {
  sparc_status status = SPARC_OK;
  collect_begin(ppo, stats);
  for (size_t t = 0; t < ppo->rollout.n.T && status == SPARC_OK; t++) status = collect_step(ppo, t, stats);
  return status == SPARC_OK ? collect_finish(ppo, stats) : status;
}

/* ---- replay ----------------------------------------------------------------------------------------- */

/* copies row 0 of every stream, the state before the rollout */
static void copy_first_rows(const rollout *r, size_t width, const float *rows, float *out) {
  for (size_t i = 0; i < r->n.N; i++) {
    const size_t row = rollout_row(r, i, 0) * width;
    memcpy(out + row, rows + row, width * sizeof *out);
  }
}

sparc_status replay(sparc_ppo *ppo) {
  const rollout *r = &ppo->rollout;
  const carries *c = &ppo->replayed;
  const size_t S = r->n.state;
  sparc_status status = SPARC_OK;
  copy_first_rows(r, S, r->states, c->states);
  copy_first_rows(r, r->n.trace, r->traces, c->traces);
  for (size_t t = 0; t + 1 < r->n.T && status == SPARC_OK; t++) {
    load(ppo, c->states, t);
    status = step_with_traces(ppo, c->traces, t);
    for (size_t i = 0; i < r->n.N; i++)
      memcpy(c->states + rollout_row(r, i, t + 1) * S, ppo->step.states + i * S, S * sizeof(float));
  }
  return status;
}
