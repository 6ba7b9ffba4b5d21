/* SPDX-License-Identifier: MIT */
/* overall.h: what methods amount to over all tasks, with intervals (reliable.h).
 *
 * A score is normalised to 0 for a random and 1 for an optimal policy, as the grid's tasks give them ("range"). Tasks
 * take part that have a range and are finished by every method of the selection.
 */
#ifndef SPARC_LAB_GRID_OVERALL_H
#define SPARC_LAB_GRID_OVERALL_H

#include "lab/grid/reliable.h"
#include "lab/grid/results.h"

typedef struct overall {
  int tasks;                      /* that take part; 0: the rest means nothing */
  double *score;                  /* (methods, tasks, seeds), normalised */
  interval iqm[GRID_MAX_ENTRIES]; /* interquartile mean, by method of the selection */
  interval improved
      [GRID_MAX_ENTRIES]; /* probability that a run of the method is better than one of the reference; NAN of the
                                   reference itself, and of all where it is not in the selection */
} overall;

/* overall_tasks is their number alone */
int overall_tasks(const grid_results *r);

/* overall_read computes them; overall_free releases what *out holds in any case */
sparc_status overall_read(const grid_results *r, overall *out);
void overall_free(overall *o);

/* the normalised scores of a method of the selection */
run_scores overall_scores(const grid_results *r, const overall *o, int method);

#endif
