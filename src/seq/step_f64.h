/* SPDX-License-Identifier: MIT */
/* step_f64.h: sparc_step_streams in double, for networks in double and tests. */
#ifndef SPARC_SEQ_STEP_F64_H
#define SPARC_SEQ_STEP_F64_H

#include "sparc/double.h"

sparc_status sparc_step_streams_f64(const sparc_cell *cell, const double *prepared, int n, double *states,
                                    const double *x, const double *masks, double *y, double *tapes, int threads);

#endif
