/* SPDX-License-Identifier: MIT */
/* double.h: steps, sequences and stepwise RTRL in double precision, for gradient checks and numerical studies.
 *
 * Cells, sizes, blocks and plans are shared with the float functions; only the arrays differ. Each function is the twin
 * of the one without the suffix in cell.h, sequence.h or rtrl.h.
 */
#ifndef SPARC_DOUBLE_H
#define SPARC_DOUBLE_H

#include "sparc/rtrl.h"
#include "sparc/sequence.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sparc_sequence_f64 {
  const double *x, *mask, *state0;
  double *y, *state_last;
} sparc_sequence_f64;

typedef struct sparc_sequence_gradient_f64 {
  const double *dy, *dstate_last;
  double *dx, *dstate0, *dparams;
} sparc_sequence_gradient_f64;

SPARC_API sparc_status sparc_prepare_f64(const sparc_cell *cell, const double *params, double *prepared);
SPARC_API sparc_status sparc_step_f64(const sparc_cell *cell, const double *prepared, double *state, const double *x,
                                      double mask, double *y, double *tape);
SPARC_API sparc_status sparc_step_rtrl_f64(const sparc_cell *cell, const double *prepared, double *state, double *trace,
                                           const double *x, double mask, double *y, double *tape);
SPARC_API sparc_status sparc_rtrl_gradient_f64(const sparc_cell *cell, const double *prepared, const double *trace,
                                               double *tape, const double *dy, double *dparams, double *dx);
SPARC_API sparc_status sparc_forward_f64(const sparc_plan *plan, const double *prepared,
                                         const sparc_sequence_f64 *sequence, void *saved, void *work);
SPARC_API sparc_status sparc_backward_f64(const sparc_plan *plan, const double *prepared,
                                          const sparc_sequence_f64 *sequence, const void *saved,
                                          const sparc_sequence_gradient_f64 *gradient, void *work);

#ifdef __cplusplus
}
#endif

#endif
