/* SPDX-License-Identifier: MIT */
/* loss_impl.h: the clipped losses of PPO over one minibatch, in one precision. */
#ifndef SPARC_RL_LOSS_IMPL_H
#define SPARC_RL_LOSS_IMPL_H

#include "base/moments.h"
#include "rl/policy_impl.h"
#include "sparc/rl.h"

typedef struct ppo_coefficients {
  double clip;    /* of the ratio, and of the value's change */
  double value;   /* of the value loss */
  double entropy; /* of the entropy bonus */
} ppo_coefficients;

/* n collected steps. The loss normalises advantages over the n steps. For a shard of a minibatch, `whole` is the number of
 * steps of all shards, over which the loss is a mean, and `moments` are those of their advantages; NULL: the n steps are
 * the whole minibatch. */
typedef struct TYPED(ppo_batch) {
  size_t n, whole;
  const batch_moments *moments;
  const real *actions;                                                 /* (n, action) */
  const real *log_probabilities, *values, *advantages, *value_targets; /* (n) */
} TYPED(ppo_batch);

/* The loss for outputs y (n, outputs) of the current parameters. Writes dy (n, outputs), and all diagnostics except the
 * norm of the gradient. */
double TYPED(ppo_loss)(const ppo_coefficients *c, const policy *p, const TYPED(ppo_batch) * batch, const real *y,
                       real *dy, sparc_ppo_diagnostics *diagnostics);

#define ppo_loss TYPED(ppo_loss)

#endif
