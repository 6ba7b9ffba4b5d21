/* SPDX-License-Identifier: MIT */
/* rtrl_impl.h: the parts of an RTRL step that its stepwise and its lazy form share. */
#ifndef SPARC_RTRL_RTRL_IMPL_H
#define SPARC_RTRL_RTRL_IMPL_H

#include "cells/affine/affine_impl.h"
#include "rtrl/rtrl_f64.h"
#include "rtrl/sizes.h"
#include "seq/step_impl.h"

#include <stdbool.h>

/* SPARC_UNSUPPORTED for cells without an RTRL form; trace must not be NULL */
sparc_status TYPED(check_rtrl)(const sparc_cell *cell, const real *trace);

/* sparc_step_rtrl with the trace of the step before in another place, which may be the same, on up to `threads` threads
 */
sparc_status TYPED(step_rtrl)(const sparc_cell *cell, const real *prepared, real *state, const real *before,
                              real *trace, const real *x, real mask, real *y, real *tape, int threads);

/* the single numbers of a trace, after its rows */
static inline real *TYPED(scalar_traces)(const sparc_cell *cell, real *trace) {
  return trace + cell->sizes.state * (size_t)cell->outer * (size_t)cell->D;
}

/* drivers of the step that filled the tape */
void TYPED(compute_drivers)(const sparc_cell *cell, const real *constants, const TYPED(tape_view) * tape);
/* Z <- m a Z + c over the single numbers of a trace */
void TYPED(advance_scalar)(const sparc_cell *cell, const TYPED(tape_view) * tape, real *trace);
/* Z <- a Z + c x over one slot of D entries, parts of it D apart; a_im and c_im count for complex cells only */
void TYPED(advance_slot)(const sparc_cell *cell, real a_re, real a_im, real c_re, real c_im, const real *x, real *z);

/* Where the adjoint of one step, its carried state held fixed, leaves what. */
typedef struct TYPED(step_cotangents) {
  const real *dstate; /* (S): of the new state, given */
  real *dpre;         /* (pre) */
  real *dshared;      /* (shared) */
  real *dx;           /* (D): of cells with direct_input, what the state read of the input itself */
  real *dcarried;     /* (S): m conj(a) dstate; or NULL */
  double *sums;       /* (sums, H): added to; or NULL */
} TYPED(step_cotangents);
void TYPED(adjoint_step)(const sparc_cell *cell, const real *constants, const TYPED(tape_view) * tape,
                         const TYPED(step_cotangents) * out);

/* dy through the readout to tape->dstate */
void TYPED(state_gradient)(const sparc_cell *cell, const real *constants, const TYPED(tape_view) * tape,
                           const real *dy);
/* the factor of mode j: the sensitivity is factor times the slot */
void TYPED(sink_factor_of)(const sparc_cell *cell, const rtrl_sink *sink, const real *constants, size_t j, real *re,
                           real *im);
/* Re(conj(d) factor Z) = weight_re Re Z + weight_im Im Z: the weights (parts, H) of a sink for all modes, in scratch or
 * d itself */
const real *TYPED(sink_weights)(const sparc_cell *cell, const rtrl_sink *sink, const real *constants, const real *d,
                                real *scratch);
/* row of the parameter block that state coordinate j influences through this sink */
size_t TYPED(sink_row_of)(const rtrl_sink *sink, size_t j);
/* out (D) += c times the row of weights that the input reaches mode j through by way of this outer sink */
void TYPED(add_sink_row)(const sparc_cell *cell, const TYPED(prepared_view) * weights, const rtrl_sink *sink, size_t j,
                         real c, real *out);
/* whether outer sinks cover all that the state sees of the input */
bool TYPED(sinks_cover_input)(const sparc_cell *cell);
/* the contraction with tape->dstate */
typedef enum TYPED(sink_choice) { TYPED(ALL_SINKS), TYPED(SCALAR_SINKS) } TYPED(sink_choice);
void TYPED(contract)(const sparc_cell *cell, const real *constants, const real *trace, const TYPED(tape_view) * tape,
                     TYPED(sink_choice) choice, real *dparams);
/* the present of everything that no trace covers: the input, and parameters after the state; dparams and dx may be
 * NULL */
void TYPED(local_gradient)(const sparc_cell *cell, const TYPED(prepared_view) * weights, const TYPED(tape_view) * tape,
                           const real *dy, real *dparams, real *dx);

#endif
