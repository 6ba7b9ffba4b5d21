/* SPDX-License-Identifier: MIT */
/* columns_impl.h: grouped traces of a cell with many slots, by the pre-activations of a mode.
 *
 * The gates of RG-LRU see a whole block of contents, so a state has k rows of D sensitivities to the projection and 2 k
 * to the gates' weights. All of them pass through three numbers of its own mode: the content and the two gates. As
 * long as weights stay what they are, as in a rollout, it is enough to keep the sensitivities to these three, for every
 * symbol. A minibatch is contracted over them; the sums are the cotangents of the symbols' pre-activations, and what
 * remains is the backward pass over as many tokens as there are symbols.
 *
 * Inputs that do not repeat have symbols, too: pre-activations are affine in x, and x is the combination of the D unit
 * vectors with weights x_d and of zero with weight 1 - sum x_d. These D + 1 symbols are called corners.
 *
 * Layout: rows of H numbers: the product of transitions since the rollout began, the trace of what the first of the
 * sums belongs to, then `columns` rows for every symbol.
 */
#ifndef SPARC_RTRL_COLUMNS_IMPL_H
#define SPARC_RTRL_COLUMNS_IMPL_H

#include "rtrl/grouped_impl.h"

size_t TYPED(column_trace_size)(const sparc_cell *cell, int symbols);
/* as grouped_trace_step */
void TYPED(column_trace_step)(const sparc_cell *cell, const real *prepared, real *tape, int symbols, int symbol,
                              const real *before, real *after);
/* the trace without what was before the rollout; tape is scratch */
void TYPED(column_trace_expand)(const sparc_cell *cell, const TYPED(grouping) * grouping, const real *grouped,
                                real *tape, real *trace);

/* the items of a minibatch that have a past: their traces and the cotangents of their carried states */
typedef struct TYPED(column_batch) {
  const sparc_cell *cell;
  const TYPED(grouping) * grouping;
  size_t n;                  /* items */
  const size_t *item;        /* (n): which of the following */
  const real *const *traces; /* (items) */
  const real *y;             /* (items, H) */
  real *sums;                /* (1 + symbols columns, H) */
  double *mode_sums;         /* (2, sums, H) */
  real *dparams;             /* += */
  real *dinputs;             /* (symbols, D), += or NULL */
} TYPED(column_batch);

void TYPED(open_column_batch)(arena *a, const sparc_cell *cell, int symbols, TYPED(column_batch) * batch);
void TYPED(contract_columns)(TYPED(column_batch) * batch, int threads);

#endif
