/* SPDX-License-Identifier: MIT */
/* rollout.h: gradients of steps that lie in the past, for agents that collect a rollout first and learn from it later.
 *
 * All calls are for cells with an RTRL form (sizes.trace > 0).
 */
#ifndef SPARC_ROLLOUT_H
#define SPARC_ROLLOUT_H

#include "sparc/cell.h"

#ifdef __cplusplus
extern "C" {
#endif

/* sparc_input_jacobian gives dh_t / dx_t of the step that filled the tape, the carried state held fixed: what drives
 * the sensitivities of the state to an encoder in front of the cell [eq:app_upstream_derivative]. The tape's state,
 * input and coefficients stay as they are. */
SPARC_API sparc_status sparc_input_jacobian(const sparc_cell *cell, const float *prepared, float *tape,
                                            float *jacobian /* S, D */);

#ifdef __cplusplus
}
#endif

#endif
