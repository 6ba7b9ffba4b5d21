/* SPDX-License-Identifier: MIT */
/* collect.c: one rollout. Step t reads row t of the rollout and fills row t + 1, in place. A start that came with an
 * observation resets the carry before the cell runs; parameters are fixed, so what is carried over from the rollout
 * before is stale by one update, as in the reference. */
#include "base/threads.h"
#include "rl/gae.h"
#include "rl/ppo.h"

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

/* state and sensitivities of one stream, from row t to row t + 1 */
static void step_with_trace(void *context, size_t i) {
  stream_steps *s = context;
  sparc_ppo *ppo = s->ppo;
  const rollout *r = &ppo->rollout;
  const size_t row = s->t * r->n.N + i, next = row + r->n.N, width = r->n.trace;
  memcpy(r->traces + next * width, r->traces + row * width, width * sizeof(float));
  const sparc_status status =
      sparc_network_step_rtrl(ppo->network, ppo->prepared, ppo->own.config.encoder, r->states + next * r->n.state,
                              r->traces + next * width, r->observations + row * r->n.observation, ppo->step.masks[i],
                              ppo->step.y + i * ppo->n.outputs, ppo->step.tapes + i * ppo->n.tape);
  if (status != SPARC_OK) s->status = status;
}

static void set_masks(sparc_ppo *ppo, size_t t) {
  const rollout *r = &ppo->rollout;
  for (size_t i = 0; i < r->n.N; i++) ppo->step.masks[i] = 1 - r->starts[t * r->n.N + i];
}

/* outputs y of row t, with the carry moved to row t + 1 */
static sparc_status step_network(sparc_ppo *ppo, size_t t) {
  const rollout *r = &ppo->rollout;
  const size_t N = r->n.N, width = N * r->n.state;
  float *states = r->states + (t + 1) * width;
  set_masks(ppo, t);
  memcpy(states, r->states + t * width, width * sizeof *states);
  if (ppo->way == BY_TRACES) {
    stream_steps steps = {.ppo = ppo, .t = t, .status = SPARC_OK};
    parallel_for(thread_count(ppo->own.config.threads), N, step_with_trace, &steps);
    return steps.status;
  }
  return sparc_network_step(ppo->network, ppo->prepared, (int)N, states, r->observations + t * N * r->n.observation,
                            ppo->step.masks, ppo->step.y, ppo->step.tapes, ppo->own.config.threads);
}

/* the values of row T, whose carry stays where it is */
static sparc_status look_ahead(sparc_ppo *ppo) {
  const rollout *r = &ppo->rollout;
  const size_t N = r->n.N, T = r->n.T;
  set_masks(ppo, T);
  memcpy(ppo->step.ahead, r->states + T * N * r->n.state, N * r->n.state * sizeof(float));
  const sparc_status status = sparc_network_step(ppo->network, ppo->prepared, (int)N, ppo->step.ahead,
                                                 r->observations + T * N * r->n.observation, ppo->step.masks,
                                                 ppo->step.y, ppo->step.tapes, ppo->own.config.threads);
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
  seek_actions(ppo);
  for (size_t t = 0; t < r->n.T && status == SPARC_OK; t++) {
    status = step_network(ppo, t);
    if (status != SPARC_OK) break;
    act(ppo, t);
    status = step_environments(ppo, t, made);
  }
  if (status == SPARC_OK) status = look_ahead(ppo);
  const size_t N = r->n.N;
  for (size_t i = 0; i < N && status == SPARC_OK; i++)
    gae(r->n.T, N, ppo->own.config.discount, ppo->own.config.lambda, r->rewards + i, r->values + i, r->starts + i,
        r->advantages + i, r->targets + i);
  return status;
}
