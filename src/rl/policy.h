/* SPDX-License-Identifier: MIT */
/* policy.h: distributions of actions: categorical, or Gaussian with a learned standard deviation. */
#ifndef SPARC_RL_POLICY_H
#define SPARC_RL_POLICY_H

#include "sparc/env.h"

/* The outputs of an actor-critic for one step are contiguous: actor (logits or means), critic (value) and, for continuous
 * actions, the logarithm of the standard deviation, which is independent of the step. */
typedef struct policy {
  size_t choices; /* discrete actions; 0: continuous */
  size_t action;  /* numbers of an action; 1 for a discrete one, its index */
} policy;

static inline policy policy_of(const sparc_env_shape *shape) {
  return (policy){.choices = (size_t)shape->choices, .action = (size_t)shape->action};
}
/* Number of actor outputs, offsets of the value and of log_std, and number of all outputs. */
static inline size_t policy_actor(const policy *p) { return p->choices ? p->choices : p->action; }
static inline size_t policy_value(const policy *p) { return policy_actor(p); }
static inline size_t policy_log_std(const policy *p) { return policy_actor(p) + 1; }
static inline size_t policy_outputs(const policy *p) { return policy_actor(p) + 1 + (p->choices ? 0 : p->action); }

/* Random words per action. */
static inline size_t policy_words(const policy *p) { return 2 * (p->choices ? 1 : p->action); }

/* Clip continuous actions for the environment. */
void policy_clip(const policy *p, double limit, const float *action, float *clipped /* (action), may be action */);

/* Draw an action; random NULL: the most probable one. */
void policy_act(const policy *p, const float *y /* (outputs) */, sparc_random *random, float *action /* (action) */);

#endif
