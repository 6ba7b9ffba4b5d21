/* SPDX-License-Identifier: MIT */
/* rtrl_f64.h: the functions of sparc/rtrl.h in double that sparc/double.h does not have, for gradients in double and
 * tests. */
#ifndef SPARC_RTRL_RTRL_F64_H
#define SPARC_RTRL_RTRL_F64_H

#include "sparc/double.h"

sparc_status sparc_rtrl_update_f64(const sparc_cell *cell, const double *prepared, double *trace, double *tape,
                                   const double *dy, double *dparams, double *dx);
sparc_status sparc_trace_read_f64(const sparc_cell *cell, const double *prepared, const double *trace,
                                  const char *block, double *out);
sparc_status sparc_input_jacobian_f64(const sparc_cell *cell, const double *prepared, double *tape, double *jacobian);

typedef struct sparc_lazy_f64 {
  int capacity, count, gradients;
  double *trace, *steps;
} sparc_lazy_f64;

sparc_status sparc_lazy_update_f64(const sparc_cell *cell, const double *prepared, sparc_lazy_f64 *lazy, double *tape,
                                   const double *dy, double *dparams, double *dx);
sparc_status sparc_lazy_flush_f64(const sparc_cell *cell, sparc_lazy_f64 *lazy, double *dparams);

sparc_status sparc_rtrl_batch_gradient_f64(const sparc_cell *cell, const double *prepared, int n,
                                           const double *const *traces, double *tapes, const double *dy,
                                           double *dparams, double *dx, double *dstates, double *work, int threads);

typedef struct sparc_record_view_f64 {
  int T;
  const double *prepared, *records, *states, *boundary, *checkpoints;
  int interval;
  const int *symbol;
  int symbols;
} sparc_record_view_f64;

sparc_status sparc_record_step_f64(const sparc_cell *cell, const double *tape, int T, int t, double *records);
sparc_status sparc_record_gradient_f64(const sparc_cell *cell, const double *prepared,
                                       const sparc_record_view_f64 *view, int n, const int *steps, double *tapes,
                                       const double *dy, double *dparams, double *dx, double *dinput, double *dstate,
                                       double *work, int threads);
sparc_status sparc_record_boundary_f64(const sparc_cell *cell, const sparc_record_view_f64 *view, int from, int to,
                                       double *trace, double *work);

#endif
