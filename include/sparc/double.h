/* SPDX-License-Identifier: MIT */
/* double.h: the same calls in double precision, for gradient checks and numerical studies.
 *
 * The description (cell, sizes, blocks, plan) is shared with the float calls; only the arrays differ.
 * Every function is the twin of the one without the suffix in cell.h, online.h, rollout.h or sequence.h.
 */
#ifndef SPARC_DOUBLE_H
#define SPARC_DOUBLE_H

#include "sparc/online.h"
#include "sparc/rollout.h"
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
SPARC_API sparc_status sparc_rtrl_update_f64(const sparc_cell *cell, const double *prepared, double *trace,
                                             double *tape, const double *dy, double *dparams, double *dx);
SPARC_API sparc_status sparc_trace_read_f64(const sparc_cell *cell, const double *prepared, const double *trace,
                                            const char *block, double *out);

typedef struct sparc_lazy_f64 {
  int capacity, count, gradients;
  double *trace, *steps;
} sparc_lazy_f64;

SPARC_API sparc_status sparc_lazy_update_f64(const sparc_cell *cell, const double *prepared, sparc_lazy_f64 *lazy,
                                             double *tape, const double *dy, double *dparams, double *dx);
SPARC_API sparc_status sparc_lazy_step_f64(const sparc_cell *cell, const double *prepared, sparc_lazy_f64 *lazy,
                                           double *state, const double *x, double mask, double *y, double *tape,
                                           double *dparams);
SPARC_API sparc_status sparc_lazy_flush_f64(const sparc_cell *cell, sparc_lazy_f64 *lazy, double *dparams);
SPARC_API sparc_status sparc_step_streams_f64(const sparc_cell *cell, const double *prepared, int n, double *states,
                                              const double *x, const double *masks, double *y, double *tapes,
                                              int threads);

SPARC_API sparc_status sparc_rtrl_batch_gradient_f64(const sparc_cell *cell, const double *prepared, int n,
                                                     const double *const *traces, double *tapes, const double *dy,
                                                     double *dparams, double *dx, double *dstates, double *work,
                                                     int threads);
SPARC_API size_t sparc_rtrl_batch_work_size_f64(const sparc_cell *cell, int n);

typedef struct sparc_record_view_f64 {
  int T;
  const double *prepared, *records, *states, *boundary, *checkpoints;
  int interval;
  const int *symbol;
  int symbols;
} sparc_record_view_f64;

SPARC_API sparc_status sparc_record_step_f64(const sparc_cell *cell, const double *tape, int T, int t, double *records);
SPARC_API sparc_status sparc_record_gradient_f64(const sparc_cell *cell, const double *prepared,
                                                 const sparc_record_view_f64 *view, int n, const int *steps,
                                                 double *tapes, const double *dy, double *dparams, double *dx,
                                                 double *dinput, double *dstate, double *work, int threads);
SPARC_API sparc_status sparc_record_boundary_f64(const sparc_cell *cell, const sparc_record_view_f64 *view, int from,
                                                 int to, double *trace, double *work);
SPARC_API size_t sparc_record_work_size_f64(const sparc_cell *cell, int T, int n, int interval, int symbols);
SPARC_API sparc_status sparc_input_jacobian_f64(const sparc_cell *cell, const double *prepared, double *tape,
                                                double *jacobian);

SPARC_API size_t sparc_plan_saved_bytes_f64(const sparc_plan *plan);
SPARC_API size_t sparc_plan_work_bytes_f64(const sparc_plan *plan);
SPARC_API sparc_status sparc_forward_f64(const sparc_plan *plan, const double *prepared,
                                         const sparc_sequence_f64 *sequence, void *saved, void *work);
SPARC_API sparc_status sparc_backward_f64(const sparc_plan *plan, const double *prepared,
                                          const sparc_sequence_f64 *sequence, const void *saved,
                                          const sparc_sequence_gradient_f64 *gradient, void *work);

#ifdef __cplusplus
}
#endif

#endif
