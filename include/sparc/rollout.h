/* SPDX-License-Identifier: MIT */
/* rollout.h: gradients of steps that lie in the past, for agents that collect a rollout first and learn from it later.
 *
 * A minibatch is a set of steps of the rollout, each taken once more with the parameters of now, on the state and the
 * sensitivities that the rollout left. There are two ways to the same gradient. With stored traces Z_{t-1} of every
 * step (sparc_step_rtrl makes them) a minibatch reads some of them. With recorded steps (sparc_step alone) a minibatch
 * runs the adjoint of the rollout instead, for a small part of the memory. Both are for cells with an RTRL form, those
 * with sizes.trace > 0, and both give the same bits for any number of threads (threads below 1: all).
 */
#ifndef SPARC_ROLLOUT_H
#define SPARC_ROLLOUT_H

#include "sparc/cell.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- stored traces ------------------------------------------------------------------------------- */

/* sparc_rtrl_batch_gradient adds to dparams the gradients of n past steps. An item is a step t of a rollout under the
 * parameters of now: what it carries, h_{t-1} and Z_{t-1}, is what the rollout left. For a minibatch, copy the states
 * h_{t-1}, call sparc_step_streams, compute dy from y, then this with the same tapes:
 *   dparams += sum_i dy_i . (m a Z_{t-1} + R_t),   m a and R_t, what the step itself adds to the trace, of the tapes
 * dx receives the local input gradients, dstates those of the carried h_{t-1}. Every trace is read once and none is
 * written. */
SPARC_API sparc_status sparc_rtrl_batch_gradient(const sparc_cell *cell, const float *prepared, int n,
                                                 const float *const *traces /* n: Z_{t-1}; NULL: zeros */,
                                                 float *tapes /* n, tape */, const float *dy /* n, O */,
                                                 float *dparams /* += */, float *dx /* n, D or NULL */,
                                                 float *dstates /* n, S or NULL */, float *work, int threads);

/* sparc_rtrl_batch_work_size gives the elements of work for n items; 0 for a cell without an RTRL form. */
SPARC_API size_t sparc_rtrl_batch_work_size(const sparc_cell *cell, int n);

/* ---- recorded steps ------------------------------------------------------------------------------ */

/* sparc_record_size gives the elements that T recorded steps take, in float and double alike; 0 for a cell without an
 * RTRL form. */
SPARC_API size_t sparc_record_size(const sparc_cell *cell, int T);

/* sparc_record_step keeps step t of T, which filled the tape. */
SPARC_API sparc_status sparc_record_step(const sparc_cell *cell, const float *tape, int T, int t, float *records);

typedef struct sparc_record_view {
  int T;                    /* steps */
  const float *prepared;    /* of the parameters that collected them: keep a copy */
  const float *records;     /* sparc_record_size elements: every step by sparc_record_step */
  const float *states;      /* T, S: h_{t-1}, the state that each step found, before its mask */
  const float *boundary;    /* Z_{-1}: the trace before the first step; NULL: zeros */
  const float *checkpoints; /* the traces before steps C, 2 C, ...; NULL: none */
  int interval;             /* C, where there are checkpoints */
  const int *symbol;        /* T: which of the distinct inputs each step had; NULL: all may differ */
  int symbols;              /* their number */
} sparc_record_view;

/* sparc_record_gradient adds to dparams the gradient of sparc_rtrl_batch_gradient, for items at distinct steps in any
 * order, with the traces that the records imply. Scans go back from the items and end where a segment starts or, with
 * checkpoints, at the next one below; steps with equal inputs share their products where symbols are given. dinput
 * receives what the items owe to the inputs of earlier steps, as those were, and dstate what they owe to the state
 * before the first step: with dx this is the whole gradient of an encoder. Both end at checkpoints. */
SPARC_API sparc_status sparc_record_gradient(const sparc_cell *cell, const float *prepared,
                                             const sparc_record_view *view, int n, const int *steps /* n */,
                                             float *tapes /* n, tape */, const float *dy /* n, O */,
                                             float *dparams /* += */, float *dx /* n, D or NULL */,
                                             float *dinput /* T, D: += ; or NULL */,
                                             float *dstate /* S: += ; or NULL */, float *work, int threads);

/* sparc_record_boundary turns the trace before step `from` into the one before step `to`: the boundary of the next
 * rollout, or a checkpoint. view needs its first four members. */
SPARC_API sparc_status sparc_record_boundary(const sparc_cell *cell, const sparc_record_view *view, int from, int to,
                                             float *trace, float *work);

/* sparc_record_work_size gives the elements of work for both, with up to n items; interval and symbols are 0 where
 * there are no checkpoints or symbols. */
SPARC_API size_t sparc_record_work_size(const sparc_cell *cell, int T, int n, int interval, int symbols);

/* ---- the input ----------------------------------------------------------------------------------- */

/* sparc_input_jacobian gives dh_t / dx_t of the step that filled the tape, the carried state held fixed: what drives
 * the sensitivities of the state to an encoder in front of the cell [eq:app_upstream_derivative]. The tape's state,
 * input and coefficients stay as they are. */
SPARC_API sparc_status sparc_input_jacobian(const sparc_cell *cell, const float *prepared, float *tape,
                                            float *jacobian /* S, D */);

#ifdef __cplusplus
}
#endif

#endif
