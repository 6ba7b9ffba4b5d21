/* SPDX-License-Identifier: MIT */
/* curves.h: learning curves over seeds [app:metrics_figures]: a moving average over the score window within each run,
 * then mean and sample standard deviation at every position that all runs have reached. */
#ifndef SPARC_LAB_GRID_CURVES_H
#define SPARC_LAB_GRID_CURVES_H

#include "lab/grid/job.h"

typedef struct grid_curve {
  size_t count;          /* 0: a run is too short */
  double *x;             /* (count) environment steps or updates */
  double *mean, *stddev; /* (count) in the unit of the score; NAN: a single run has no stddev, and a rollout that
                               finished no episode no value */
} grid_curve;

/* grid_curve_read reads the logs of a field, given by its places in the selection, whether its runs are finished or
 * not, and thins the curve out to about `max_points` points. */
sparc_status grid_curve_read(const grid_jobs *jobs, int task, int method, size_t max_points, grid_curve *out);
void grid_curve_free(grid_curve *c); /* accepts a zeroed structure */

#endif
