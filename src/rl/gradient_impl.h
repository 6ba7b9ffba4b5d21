/* SPDX-License-Identifier: MIT */
/* gradient_impl.h: the loss of one minibatch and its gradient, in one precision.
 *
 * An item is one step of a rollout, rebuilt with current parameters on the state that the rollout kept. What the past
 * has of its gradient comes from one of three places: the sensitivities that the rollout kept before the step, the
 * records of the steps before it, or, for cells without an RTRL form, nowhere: such items are windows of consecutive
 * steps, and the gradient ends at the window's start.
 */
#ifndef SPARC_RL_GRADIENT_IMPL_H
#define SPARC_RL_GRADIENT_IMPL_H

#include "base/memory.h"
#include "rl/loss_impl.h"
#include "sparc/double.h"
#include "sparc/network.h"

/* steps of a window: the paper's truncated backpropagation */
enum { WINDOW = 4 };

/* what does not change within a minibatch */
typedef struct TYPED(learner) {
  const sparc_network *network;
  const real *prepared;
  policy policy;
  ppo_coefficients coefficients;
  sparc_encoder_gradient encoder;
  int threads;
} TYPED(learner);

/* M items. Windows lie one behind the other, the steps of a window in the order of time. */
typedef struct TYPED(minibatch) {
  size_t M;
  real *x;                                                 /* (M, observation) */
  real *masks;                                             /* (M) */
  real *states;                                            /* (M, state): before the step; moved by it */
  real *actions;                                           /* (M, action) */
  real *log_probabilities, *values, *advantages, *targets; /* (M), as collected */
  real *y, *dy;                                            /* (M, outputs) */
  real *tapes;                                             /* (M, tape) */
  real *work;                                              /* of the gradient through time */
} TYPED(minibatch);

/* places the arrays of M items */
void TYPED(minibatch_carve)(arena *a, const sparc_network *network, const policy *p, TYPED(minibatch) * b);

/* Each adds the gradient of the minibatch's loss to dparams and says how the loss was. traces (M): Z_{t-1} of each
 * item, as sparc_network_step_rtrl leaves it for the learner's kind of encoder gradient. */
sparc_status TYPED(gradient_by_traces)(const TYPED(learner) * l, TYPED(minibatch) * b, const real *const *traces,
                                       real *dparams, sparc_ppo_diagnostics *d);
/* plan: of M / WINDOW sequences of WINDOW steps, with its work */
sparc_status TYPED(gradient_by_windows)(const TYPED(learner) * l, TYPED(minibatch) * b, const sparc_network_plan *plan,
                                        void *plan_work, real *dparams, sparc_ppo_diagnostics *d);

#define learner             TYPED(learner)
#define minibatch           TYPED(minibatch)
#define minibatch_carve     TYPED(minibatch_carve)
#define gradient_by_traces  TYPED(gradient_by_traces)
#define gradient_by_windows TYPED(gradient_by_windows)

#endif
