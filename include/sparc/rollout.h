/* SPDX-License-Identifier: MIT */
/* rollout.h: gradients of steps that lie in the past, for agents that collect a rollout first and learn from it later.
 *
 * All calls are for cells with an RTRL form (sizes.trace > 0), and give the same bits for any number of threads
 * (threads below 1: all).
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
 * dx receives the local input gradients. Every trace is read once and none is written. */
SPARC_API sparc_status sparc_rtrl_batch_gradient(const sparc_cell *cell, const float *prepared, int n,
                                                 const float *const *traces /* n: Z_{t-1}; NULL: zeros */,
                                                 float *tapes /* n, tape */, const float *dy /* n, O */,
                                                 float *dparams /* += */, float *dx /* n, D or NULL */, float *work,
                                                 int threads);

/* sparc_rtrl_batch_work_size gives the elements of work for n items; 0 for a cell without an RTRL form. */
SPARC_API size_t sparc_rtrl_batch_work_size(const sparc_cell *cell, int n);

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
