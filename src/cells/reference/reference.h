/* SPDX-License-Identifier: MIT */
/* reference.h: every cell once more in double precision, the oracle of all other code paths.
 *
 * One call runs B streams of T steps and, when dy is given, backpropagates through all of them. It is slow on
 * purpose: one token after the other, every value recomputed where it is used, formulas in the shape and order
 * of the paper's. Nothing here is shared with the product's cells beyond the description (sizes, options, names
 * of parameter blocks), so that agreement between the two means something.
 */
#ifndef SPARC_CELLS_REFERENCE_REFERENCE_H
#define SPARC_CELLS_REFERENCE_REFERENCE_H

#include "sparc/inspect.h"

#include <stdbool.h>

typedef struct reference_run {
  int B, T;
  const double *params;      /* (P) */
  const double *x;           /* (B, T, D) */
  const double *mask;        /* (B, T), 1: continue, 0: a new segment starts here; NULL: all ones */
  const double *state0;      /* (B, S); NULL: zeros */
  const double *dy;          /* (B, T, O); NULL: forward only */
  const double *dstate_last; /* (B, S); NULL: zeros */
  double *y;                 /* (B, T, O) */
  double *state_last;        /* (B, S); may be NULL */
  double *dparams;           /* (P), added to; may be NULL */
  double *dx;                /* (B, T, D), overwritten; may be NULL */
  double *dstate0;           /* (B, S), overwritten; may be NULL */
} reference_run;

/* reference_has returns whether there is one for a cell with its options. */
bool reference_has(const sparc_cell *cell);

/* reference_evaluate runs the cell forward and, with dy, backward. It allocates its own scratch. */
sparc_status reference_evaluate(const sparc_cell *cell, const reference_run *run);

/* reference_inspect runs the cell forward and fills in every mode of every step. */
sparc_status reference_inspect(const sparc_cell *cell, const reference_run *run, sparc_mode *modes /* (B, T, modes) */);
/* how many modes that is per step */
size_t reference_modes(const sparc_cell *cell);

#endif
