/* SPDX-License-Identifier: MIT */
/* grouped_impl.h: the traces of a rollout whose inputs take few distinct values, called symbols.
 *
 * A row of the trace is a sum of c_s x_s over the past, and with inputs x(v) it is sum_v q_v x(v). The numbers q_v obey
 * the recursion that the D entries of the row obey, so they can be kept in its place: a trace of some kilobytes instead
 * of some hundred, exact, from which a minibatch is contracted before one product with the inputs. What was there
 * before the rollout came from other inputs; it is kept as it was, beside the product of transitions that carries it to
 * each step.
 */
#ifndef SPARC_RTRL_GROUPED_IMPL_H
#define SPARC_RTRL_GROUPED_IMPL_H

#include "rtrl/batch_impl.h"

/* what a grouped trace means: how many symbols, their inputs, and the trace before the first step */
typedef struct TYPED(grouping) {
  int symbols;
  const real *prepared; /* the weights that the rollout was collected with */
  const real *inputs;   /* (symbols, D) */
  const real *boundary; /* NULL: zeros */
  const real *pre;      /* (symbols, pre): of the inputs, with these weights; for cells with columns alone */
} TYPED(grouping);

/* elements of a grouped trace; 0 for cells without RTRL, or whose state reads the input not through outer slots alone
 */
size_t TYPED(grouped_trace_size)(const sparc_cell *cell, int symbols);
/* the one before the first step */
void TYPED(grouped_trace_start)(const sparc_cell *cell, int symbols, real *trace);
/* the one after the step that filled the tape, whose input was this symbol; cells with columns take any input, which
 * is symbol -1 of D + 1 corners (columns_impl.h) */
void TYPED(grouped_trace_step)(const sparc_cell *cell, const real *prepared, real *tape, int symbols, int symbol,
                               const real *before, real *after);
/* pre (symbols, pre) of a grouping; for cells with columns, for others nothing */
void TYPED(grouped_pre)(const sparc_cell *cell, const real *prepared, int symbols, const real *inputs, real *pre);
/* the trace of a grouped one; the tape of a step is scratch */
void TYPED(grouped_trace_expand)(const sparc_cell *cell, const TYPED(grouping) * grouping, const real *grouped,
                                 real *tape, real *trace);

/* sparc_rtrl_batch_gradient from grouped traces (n). dinputs (symbols, D) and dstate (S), both added to or NULL,
 * receive what the items contribute to the inputs of earlier steps and to the state before the rollout. */
size_t TYPED(grouped_work_size)(const sparc_cell *cell, int n, int symbols);
void TYPED(grouped_gradient)(const sparc_cell *cell, const real *prepared, const TYPED(grouping) * grouping, int n,
                             const real *const *traces, real *tapes, const real *dy, real *dparams, real *dx,
                             real *dinputs, real *dstate, real *work, int threads);

#endif
