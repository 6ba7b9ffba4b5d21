/* SPDX-License-Identifier: MIT */
/* agent.c: inference with a trained policy. An agent has weights and scratch memory, and the recurrent state of one
 * stream; callers may hold the states of further streams. */
#include "rl/agent.h"

#include "base/error.h"
#include "base/memory.h"
#include "rl/actor_critic.h"
#include "rl/checkpoint.h"
#include "rl/normaliser.h"
#include "rl/policy.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct sparc_agent {
  sparc_tensors *file; /* owns the metadata */
  sparc_env_shape shape;
  policy policy;
  double action_limit;
  sparc_network *network;
  sparc_network_sizes n;
  observation_normaliser observations;
  void *memory;
  float *params, *prepared, *state; /* state: of the agent's stream */
  float *next, *tape, *y, *x;       /* scratch of a step; next: the state after it */
};

static void carve(arena *a, sparc_agent *agent) {
  observation_normaliser *o = &agent->observations;
  agent->params = arena_take(a, agent->n.params, sizeof(float));
  agent->prepared = arena_take(a, agent->n.prepared, sizeof(float));
  agent->state = arena_take(a, agent->n.state, sizeof(float));
  agent->next = arena_take(a, agent->n.state, sizeof(float));
  agent->tape = arena_take(a, agent->n.tape, sizeof(float));
  agent->y = arena_take(a, agent->n.outputs, sizeof(float));
  agent->x = arena_take(a, o->width, sizeof(float));
  o->moments = arena_take(a, observation_moments(o->mode, o->width), sizeof *o->moments);
}

static sparc_status allocate(sparc_agent *agent) {
  arena size = arena_measure();
  carve(&size, agent);
  agent->memory = sparc_alloc(size.used);
  if (!agent->memory) return fail(SPARC_NO_MEMORY, "no memory for the %zu bytes of an agent", size.used);
  arena block = arena_over(agent->memory, size.used);
  carve(&block, agent);
  return SPARC_OK;
}

static sparc_status check_shape(const char *path, const sparc_env_shape *s) {
  enum { MAX = 1 << 24 };
  if (s->observation >= 1 && s->observation <= MAX && s->choices <= MAX && s->action >= 1 && s->action <= MAX &&
      (s->choices == 0 || s->action == 1))
    return SPARC_OK;
  return fail(SPARC_FORMAT, "'%.200s': %d observed numbers, %d choices and actions of %d are not possible", path,
              s->observation, s->choices, s->action);
}

static sparc_status load(sparc_agent *agent, const char *path) {
  stored_run run;
  sparc_status status = sparc_tensors_load(path, &agent->file);
  if (status == SPARC_OK) status = stored_run_read(agent->file, path, &run);
  if (status == SPARC_OK) status = check_shape(path, &run.shape);
  if (status == SPARC_OK)
    status = stored_format_error(path, "the stored configuration is not possible",
                                 actor_critic_create(&run.config, &run.shape, &agent->network));
  if (status != SPARC_OK) return status;
  block_array weights[STORED_ARRAYS]; /* an agent uses the first */
  stored_arrays_of(agent->network, NULL, NULL, weights);
  status = stored_network_check(agent->file, path, agent->network);
  if (status != SPARC_OK) return status;
  observation_normaliser *o = &agent->observations;
  agent->shape = run.shape;
  agent->policy = policy_of(&run.shape);
  agent->action_limit = run.config.action_limit;
  agent->n = sparc_network_sizes_of(agent->network);
  *o = (observation_normaliser){.mode = run.config.obsnorm, .width = (size_t)run.shape.observation};
  status = allocate(agent);
  weights[0].data = agent->params;
  if (status == SPARC_OK) status = stored_blocks_read(agent->file, path, stored_blocks_of(agent->network), weights, 1);
  if (status == SPARC_OK)
    status = stored_moments_read(agent->file, path, STORED_OBSERVATION_MOMENTS, observation_moments(o->mode, o->width),
                                 o->moments);
  return status == SPARC_OK ? sparc_network_prepare(agent->network, agent->params, agent->prepared) : status;
}

sparc_status sparc_agent_load(const char *path, sparc_agent **out) {
  if (!out) return fail(SPARC_INVALID, "out is NULL, expected where to put the agent");
  *out = NULL;
  if (!path) return fail(SPARC_INVALID, "path is NULL");
  sparc_agent *agent = sparc_alloc(sizeof *agent);
  if (!agent) return fail(SPARC_NO_MEMORY, "no memory for an agent");
  const sparc_status status = load(agent, path);
  if (status == SPARC_OK)
    *out = agent;
  else
    sparc_agent_free(agent);
  return status;
}

void sparc_agent_free(sparc_agent *agent) {
  if (!agent) return;
  sparc_network_free(agent->network);
  sparc_tensors_free(agent->file);
  sparc_free(agent->memory);
  sparc_free(agent);
}

sparc_agent_info sparc_agent_info_of(const sparc_agent *agent) {
  if (!agent) return (sparc_agent_info){.state_size = 0};
  return (sparc_agent_info){.shape = agent->shape, .state_size = agent->n.state};
}

const char *sparc_agent_metadata(const sparc_agent *agent, const char *key) {
  return agent ? sparc_tensors_metadata_find(agent->file, key) : NULL;
}

const sparc_network *agent_network(const sparc_agent *agent) { return agent->network; }
const float *agent_params(const sparc_agent *agent) { return agent->params; }
const float *agent_input(const sparc_agent *agent) { return agent->x; }

static sparc_status check_finite(const char *what, const float *values, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (!isfinite(values[i]))
      return fail(SPARC_NOT_FINITE, "%s %zu is %g, expected a finite number", what, i, (double)values[i]);
  return SPARC_OK;
}

/* computes outputs and next state for a raw observation */
static sparc_status advance(sparc_agent *agent, const float *state, const float *observation, float mask) {
  sparc_status status = check_finite("observation", observation, agent->observations.width);
  if (status != SPARC_OK) return status;
  memcpy(agent->x, observation, agent->observations.width * sizeof *observation);
  observation_normalise(&agent->observations, false, agent->x);
  memcpy(agent->next, state, agent->n.state * sizeof *state);
  status =
      sparc_network_step(agent->network, agent->prepared, 1, agent->next, agent->x, &mask, agent->y, agent->tape, 1);
  if (status == SPARC_OK) status = check_finite("the agent's output", agent->y, agent->n.outputs);
  return status == SPARC_OK ? check_finite("the agent's state", agent->next, agent->n.state) : status;
}

sparc_status sparc_agent_step(sparc_agent *agent, float *state, const float *observation, float mask,
                              sparc_random *random, float *action) {
  if (!agent || !observation || !action)
    return fail(SPARC_INVALID, "%s is NULL", !agent ? "agent" : !observation ? "observation" : "action");
  if (!state) state = agent->state;
  const sparc_status status = advance(agent, state, observation, mask);
  if (status != SPARC_OK) {
    memset(action, 0, (size_t)agent->shape.action * sizeof *action);
    return status;
  }
  memcpy(state, agent->next, agent->n.state * sizeof *state);
  policy_act(&agent->policy, agent->y, random, action);
  policy_clip(&agent->policy, agent->action_limit, action, action);
  return SPARC_OK;
}
