/* SPDX-License-Identifier: MIT */
/* collect.c: one rollout. Step t reads row t of the rollout and fills row t + 1. A start that came with an observation
 * resets the carry before the cell runs. Parameters are fixed within a rollout; the carry that enters it was made with
 * those of the rollout before. */
#include "base/threads.h"
#include "rl/gae.h"
#include "rl/records.h"

#include <math.h>
#include <string.h>
#include <time.h>

double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- the network ---------------------------------------------------------------------------------- */

typedef struct stream_steps {
  sparc_ppo *ppo;
  size_t t;
  sparc_status status;
} stream_steps;

/* state and sensitivities of one stream, which also go from row t to row t + 1 */
static void step_with_trace(void *context, size_t i) {
  stream_steps *s = context;
  sparc_ppo *ppo = s->ppo;
  const rollout *r = &ppo->rollout;
  const size_t width = r->n.trace;
  float *trace = r->traces + (i * (r->n.T + 1) + s->t) * width;
  memcpy(trace + width, trace, width * sizeof *trace);
  const sparc_status status =
      sparc_network_step_rtrl(ppo->network, ppo->prepared, ppo->own.config.encoder, ppo->step.states + i * r->n.state,
                              trace + width, r->observations + (s->t * r->n.N + i) * r->n.observation,
                              ppo->step.masks[i], ppo->step.y + i * ppo->n.outputs, ppo->step.tapes + i * ppo->n.tape);
  if (status != SPARC_OK) s->status = status;
}

/* one step of all streams without sensitivities, on the observations of row t */
static sparc_status step_plainly(sparc_ppo *ppo, size_t t) {
  const rollout *r = &ppo->rollout;
  return sparc_network_step(ppo->network, ppo->prepared, (int)r->n.N, ppo->step.states,
                            r->observations + t * r->n.N * r->n.observation, ppo->step.masks, ppo->step.y,
                            ppo->step.tapes, ppo->own.config.threads);
}

/* masks and states of row t */
static void load_carry(sparc_ppo *ppo, size_t t) {
  const rollout *r = &ppo->rollout;
  const size_t S = r->n.state;
  for (size_t i = 0; i < r->n.N; i++) {
    ppo->step.masks[i] = 1 - r->starts[t * r->n.N + i];
    memcpy(ppo->step.states + i * S, r->states + (i * (r->n.T + 1) + t) * S, S * sizeof(float));
  }
}

static void keep_states(sparc_ppo *ppo, size_t t) {
  const rollout *r = &ppo->rollout;
  const size_t S = r->n.state;
  for (size_t i = 0; i < r->n.N; i++)
    memcpy(r->states + (i * (r->n.T + 1) + t) * S, ppo->step.states + i * S, S * sizeof(float));
}

/* outputs y of row t, with the carry moved to row t + 1 */
static sparc_status step_network(sparc_ppo *ppo, size_t t) {
  sparc_status status;
  load_carry(ppo, t);
  if (ppo->way == BY_TRACES) {
    stream_steps steps = {.ppo = ppo, .t = t, .status = SPARC_OK};
    parallel_for(thread_count(ppo->own.config.threads), ppo->rollout.n.N, step_with_trace, &steps);
    status = steps.status;
  } else {
    status = step_plainly(ppo, t);
  }
  keep_states(ppo, t + 1);
  return status == SPARC_OK && ppo->way == BY_RECORDS ? records_keep(ppo, t) : status;
}

/* the values of row T, whose carry stays where it is */
static sparc_status look_ahead(sparc_ppo *ppo) {
  const rollout *r = &ppo->rollout;
  const size_t N = r->n.N, T = r->n.T;
  load_carry(ppo, T);
  const sparc_status status = step_plainly(ppo, T);
  for (size_t i = 0; i < N; i++) r->values[T * N + i] = ppo->step.y[i * ppo->n.outputs + policy_value(&ppo->policy)];
  return status;
}

/* ---- actions and environments --------------------------------------------------------------------- */

static void act(sparc_ppo *ppo, size_t t) {
  const rollout *r = &ppo->rollout;
  const size_t N = r->n.N, A = r->n.action;
  for (size_t i = 0; i < N; i++) {
    const float *y = ppo->step.y + i * ppo->n.outputs;
    const size_t item = t * N + i;
    float *action = r->actions + item * A, entropy;
    policy_act(&ppo->policy, y, &ppo->acting[i], action);
    policy_send(&ppo->policy, ppo->own.config.action_limit, action, ppo->step.sent + i * A);
    r->log_probabilities[item] = policy_log_probability(&ppo->policy, y, action, &entropy);
    r->values[item] = y[policy_value(&ppo->policy)];
  }
}

static sparc_status step_environments(sparc_ppo *ppo, size_t t, collection *made) {
  const rollout *r = &ppo->rollout;
  const size_t N = r->n.N;
  float *observations = r->observations + (t + 1) * N * r->n.observation, *rewards = r->rewards + t * N;
  float *starts = r->starts + (t + 1) * N;
  const double before = seconds_now();
  const sparc_status status =
      sparc_envs_step(ppo->envs, ppo->step.sent, observations, rewards, starts, ppo->step.returns, ppo->step.lengths);
  made->environment_seconds += seconds_now() - before;
  if (status != SPARC_OK) return status;
  for (size_t i = 0; i < N; i++) {
    const int done = starts[i] != 0;
    made->episodes += done;
    made->returns += done ? ppo->step.returns[i] : 0;
    made->lengths += done ? ppo->step.lengths[i] : 0;
    observation_normalise(&ppo->observations, true, observations + i * r->n.observation);
    if (ppo->own.config.rewardnorm) rewards[i] = reward_normalise(&ppo->rewards, i, rewards[i], done);
  }
  return SPARC_OK;
}

/* ---- the rollout ----------------------------------------------------------------------------------- */

/* actions of stream i take a fixed number of words, so their place in the stream follows from the rollout's number */
static void seek_actions(sparc_ppo *ppo) {
  const uint64_t words = policy_words(&ppo->policy);
  for (size_t i = 0; i < ppo->rollout.n.N; i++)
    sparc_random_seek(&ppo->acting[i], (uint64_t)ppo->rollouts * ppo->rollout.n.T * words);
}

sparc_status collect(sparc_ppo *ppo, collection *made) {
  rollout *r = &ppo->rollout;
  *made = (collection){.episodes = 0};
  sparc_status status = SPARC_OK;
  rollout_begin(r);
  if (ppo->way == BY_RECORDS) records_begin(ppo);
  seek_actions(ppo);
  for (size_t t = 0; t < r->n.T && status == SPARC_OK; t++) {
    status = step_network(ppo, t);
    if (status != SPARC_OK) break;
    act(ppo, t);
    status = step_environments(ppo, t, made);
  }
  if (status == SPARC_OK) status = look_ahead(ppo);
  if (status == SPARC_OK && ppo->way == BY_RECORDS) status = records_finish(ppo);
  const size_t N = r->n.N;
  for (size_t i = 0; i < N && status == SPARC_OK; i++)
    gae(r->n.T, N, ppo->own.config.discount, ppo->own.config.lambda, r->rewards + i, r->values + i, r->starts + i,
        r->advantages + i, r->targets + i);
  return status;
}
