/* SPDX-License-Identifier: MIT */
/* gradient_impl.h: the loss of one minibatch and its gradient, in one precision.
 *
 * An item is one step of a rollout, recomputed with current parameters from its stored state. The gradient through
 * earlier steps comes from sensitivities stored before the step (stored traces), from records of earlier steps
 * (trace-free), or from backpropagation within windows of consecutive steps (TBPTT).
 */
#ifndef SPARC_RL_GRADIENT_IMPL_H
#define SPARC_RL_GRADIENT_IMPL_H

#include "base/memory.h"
#include "rl/loss_impl.h"
#include "rtrl/grouped_impl.h"
#include "rtrl/rtrl_f64.h"
#include "sparc/network.h"

/* default length of a window, as in the paper */
enum { TBPTT_STEPS = 4 };

/* constant within a minibatch */
typedef struct TYPED(gradient_context) {
  const sparc_network *network;
  const real *prepared;
  policy policy;
  ppo_coefficients coefficients;
  sparc_encoder_gradient encoder;
  int threads;
} TYPED(gradient_context);

/* M items. Windows are contiguous, their steps in the order of time. */
typedef struct TYPED(minibatch) {
  size_t M;
  size_t whole;                                            /* of a shard, see ppo_batch */
  const batch_moments *moments;                            /* likewise; NULL: it is not divided */
  real *x;                                                 /* (M, observation) */
  real *masks;                                             /* (M) */
  real *states;                                            /* (M, state): before the step; overwritten by it */
  real *actions;                                           /* (M, action) */
  real *log_probabilities, *values, *advantages, *targets; /* (M), as collected */
  real *y, *dy;                                            /* (M, outputs) */
  real *tapes;                                             /* (M, tape) */
  real *work;                                              /* of the gradient through time */
  real *dpast;                                             /* of exact encoder gradients, see encoder_elements */
} TYPED(minibatch);

/* the past of one stream, for the trace-free gradient */
typedef struct TYPED(stream_past) {
  PUBLIC(sparc_record_view) view;
  TYPED(grouping) grouping;
  const real *grouped; /* (T + 1, size for grouping.symbols): grouped traces; NULL: there are too many symbols */
  /* for exact encoder gradients: the observations and the cell's inputs of all steps, or of each symbol, and the
   * sensitivities before the first step, as sparc_network_step_rtrl has them */
  const real *observations, *inputs;
  const real *boundary;
} TYPED(stream_past);

/* Place the arrays of M items; past: elements of work of the gradient method. */
void TYPED(minibatch_carve)(arena *a, const sparc_network *network, const policy *p, size_t past, size_t encoder,
                            TYPED(minibatch) * b);
/* Additional elements of exact encoder gradients: cotangents of the states of M items, or of the state before a stream
 * of T steps and of its inputs. */
size_t TYPED(encoder_elements)(const sparc_network *network, size_t M, size_t T);

/* Each function adds the gradient of the minibatch's loss to dparams and writes diagnostics. traces (M): Z_{t-1} of each
 * item, as computed by sparc_network_step_rtrl for the same encoder gradient. */
sparc_status TYPED(gradient_stored_traces)(const TYPED(gradient_context) * g, TYPED(minibatch) * b,
                                           const real *const *traces, real *dparams, sparc_ppo_diagnostics *d);
/* Items are sorted by stream: those of stream i are first[i] to first[i + 1], at steps `steps` (M) of their stream. rows
 * (M) is scratch. */
sparc_status TYPED(gradient_trace_free)(const TYPED(gradient_context) * g, TYPED(minibatch) * b, size_t streams,
                                        const TYPED(stream_past) * past, const size_t *first, const int *steps,
                                        const real **rows, real *dparams, sparc_ppo_diagnostics *d);
/* plan: of the windows, sequences of equal length with M steps in total, and its work memory. */
sparc_status TYPED(gradient_tbptt)(const TYPED(gradient_context) * g, TYPED(minibatch) * b,
                                   const sparc_network_plan *plan, void *plan_work, real *dparams,
                                   sparc_ppo_diagnostics *d);

#define gradient_context       TYPED(gradient_context)
#define minibatch              TYPED(minibatch)
#define stream_past            TYPED(stream_past)
#define encoder_elements       TYPED(encoder_elements)
#define minibatch_carve        TYPED(minibatch_carve)
#define gradient_stored_traces TYPED(gradient_stored_traces)
#define gradient_trace_free    TYPED(gradient_trace_free)
#define gradient_tbptt         TYPED(gradient_tbptt)

#endif
