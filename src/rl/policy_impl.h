/* SPDX-License-Identifier: MIT */
/* policy_impl.h: log-probabilities and entropies of actions with their derivatives, in one precision. */
#ifndef SPARC_RL_POLICY_IMPL_H
#define SPARC_RL_POLICY_IMPL_H

#include "base/real.h"
#include "rl/policy.h"

/* Log-probability of an action for outputs y (outputs), and entropy of the distribution. */
real TYPED(policy_log_probability)(const policy *p, const real *y, const real *action, real *entropy);
/* Write the actor and log_std parts of dy (outputs): dlog times the derivative of the log-probability plus dentropy times
 * that of the entropy. */
void TYPED(policy_backward)(const policy *p, const real *y, const real *action, real dlog, real dentropy, real *dy);

#define policy_log_probability TYPED(policy_log_probability)
#define policy_backward        TYPED(policy_backward)

#endif
