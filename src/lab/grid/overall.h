/* SPDX-License-Identifier: MIT */
/* overall.h: aggregate scores of methods over all tasks, with confidence intervals (reliable.h).
 *
 * Scores are normalised to 0 for a random and 1 for an optimal policy ("range" of a task). Included are tasks with a
 * range that every selected method has finished.
 */
#ifndef SPARC_LAB_GRID_OVERALL_H
#define SPARC_LAB_GRID_OVERALL_H

#include "lab/grid/reliable.h"
#include "lab/grid/results.h"

typedef struct overall {
  int tasks;                      /* included; 0: the other members are undefined */
  double *score;                  /* (methods, tasks, seeds), normalised */
  interval iqm[GRID_MAX_ENTRIES]; /* interquartile mean, by method of the selection */
  interval improved
      [GRID_MAX_ENTRIES]; /* probability that a run of the method is better than one of the reference; NAN of the
                                   reference itself, and of all where it is not in the selection */
} overall;

/* number of included tasks */
int overall_tasks(const grid_results *r);

/* Computes the aggregates. Call overall_free in any case. */
sparc_status overall_read(const grid_results *r, overall *out);
void overall_free(overall *o);

/* normalised scores of a selected method */
run_scores overall_scores(const grid_results *r, const overall *o, int method);

#endif
