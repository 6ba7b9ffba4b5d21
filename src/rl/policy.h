/* SPDX-License-Identifier: MIT */
/* policy.h: what the outputs of an actor mean: a categorical distribution, or a Gaussian with a learned deviation. */
#ifndef SPARC_RL_POLICY_H
#define SPARC_RL_POLICY_H

#include "sparc/env.h"

/* An actor-critic's outputs of one step lie one behind the other: actor (logits or means), critic (the value) and, for
 * continuous actions, the logarithm of the deviation, which does not depend on the step. */
typedef struct policy {
  size_t choices; /* discrete actions; 0: continuous */
  size_t action;  /* numbers of an action; 1 for a discrete one, its index */
} policy;

static inline policy policy_of(const sparc_env_shape *shape) {
  return (policy){.choices = (size_t)shape->choices, .action = (size_t)shape->action};
}
/* numbers of the actor, the place of the value and of log_std, and all outputs of a step */
static inline size_t policy_actor(const policy *p) { return p->choices ? p->choices : p->action; }
static inline size_t policy_value(const policy *p) { return policy_actor(p); }
static inline size_t policy_log_std(const policy *p) { return policy_actor(p) + 1; }
static inline size_t policy_outputs(const policy *p) { return policy_actor(p) + 1 + (p->choices ? 0 : p->action); }

/* words of the random stream that one action takes, always */
static inline size_t policy_words(const policy *p) { return 2 * (p->choices ? 1 : p->action); }

/* what an environment gets of an action: continuous ones are clipped */
void policy_send(const policy *p, double limit, const float *action, float *sent /* (action), may be action */);

/* draws an action; the most probable one with random == NULL */
void policy_act(const policy *p, const float *y /* (outputs) */, sparc_random *random, float *action /* (action) */);

#endif
