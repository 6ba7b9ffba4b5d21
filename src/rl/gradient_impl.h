/* SPDX-License-Identifier: MIT */
/* gradient_impl.h: the loss of one minibatch and its gradient, in one precision.
 *
 * An item is one step of a rollout, rebuilt with current parameters on the state that the rollout kept. What the past
 * has of its gradient comes from one of three places: the sensitivities that the rollout kept before the step, the
 * records of the steps before it, or, by truncated backpropagation, nowhere: such items are windows of consecutive
 * steps, and the gradient ends at the window's start.
 */
#ifndef SPARC_RL_GRADIENT_IMPL_H
#define SPARC_RL_GRADIENT_IMPL_H

#include "base/memory.h"
#include "rl/loss_impl.h"
#include "rtrl/grouped_impl.h"
#include "rtrl/rtrl_f64.h"
#include "sparc/network.h"

/* steps of a window where a configuration names none: the paper's truncated backpropagation */
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
  size_t whole;                                            /* of a shard: see ppo_batch */
  const batch_moments *moments;                            /* likewise; NULL: it is not divided */
  real *x;                                                 /* (M, observation) */
  real *masks;                                             /* (M) */
  real *states;                                            /* (M, state): before the step; moved by it */
  real *actions;                                           /* (M, action) */
  real *log_probabilities, *values, *advantages, *targets; /* (M), as collected */
  real *y, *dy;                                            /* (M, outputs) */
  real *tapes;                                             /* (M, tape) */
  real *work;                                              /* of the gradient through time */
  real *dpast;                                             /* of exact encoder gradients, see encoder_elements */
} TYPED(minibatch);

/* what records know of the past of one stream */
typedef struct TYPED(stream_past) {
  PUBLIC(sparc_record_view) view;
  TYPED(grouping) grouping;
  const real *grouped; /* (T + 1, size for grouping.symbols): grouped traces; NULL: there are too many symbols */
  /* for exact encoder gradients: the observations and the cell's inputs of all steps, or of each symbol, and the
   * sensitivities before the first step, as sparc_network_step_rtrl has them */
  const real *observations, *inputs;
  const real *boundary;
} TYPED(stream_past);

/* places the arrays of M items; past: elements of work that the caller's way to differentiate through time takes */
void TYPED(minibatch_carve)(arena *a, const sparc_network *network, const policy *p, size_t past, size_t encoder,
                            TYPED(minibatch) * b);
/* elements that exact encoder gradients take besides: cotangents of carried states of M items, or of the state before a
 * stream of T steps and of its inputs */
size_t TYPED(encoder_elements)(const sparc_network *network, size_t M, size_t T);

/* Each adds the gradient of the minibatch's loss to dparams and says how the loss was. traces (M): Z_{t-1} of each
 * item, as sparc_network_step_rtrl leaves it for the learner's kind of encoder gradient. */
sparc_status TYPED(gradient_by_traces)(const TYPED(learner) * l, TYPED(minibatch) * b, const real *const *traces,
                                       real *dparams, sparc_ppo_diagnostics *d);
/* items are sorted by stream: those of stream i are first[i] to first[i + 1], at the steps `steps` (M) of their stream.
 * rows (M) is scratch. */
sparc_status TYPED(gradient_by_records)(const TYPED(learner) * l, TYPED(minibatch) * b, size_t streams,
                                        const TYPED(stream_past) * past, const size_t *first, const int *steps,
                                        const real **rows, real *dparams, sparc_ppo_diagnostics *d);
/* plan: of the windows, sequences of equal length that together have M steps, with its work */
sparc_status TYPED(gradient_by_windows)(const TYPED(learner) * l, TYPED(minibatch) * b, const sparc_network_plan *plan,
                                        void *plan_work, real *dparams, sparc_ppo_diagnostics *d);

#define learner             TYPED(learner)
#define minibatch           TYPED(minibatch)
#define stream_past         TYPED(stream_past)
#define encoder_elements    TYPED(encoder_elements)
#define minibatch_carve     TYPED(minibatch_carve)
#define gradient_by_traces  TYPED(gradient_by_traces)
#define gradient_by_records TYPED(gradient_by_records)
#define gradient_by_windows TYPED(gradient_by_windows)

#endif
