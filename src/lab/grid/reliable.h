/* SPDX-License-Identifier: MIT */
/* reliable.h: confidence intervals for few runs.
 *
 * The aggregates over tasks are those of Agarwal et al., "Deep Reinforcement Learning at the Edge of the Statistical
 * Precipice" (2021): interquartile mean, probability of improvement and performance profile, with percentile intervals
 * of a stratified bootstrap (runs are resampled with replacement within each task). For the mean of a few paired
 * differences a bootstrap is too narrow (three runs have ten different resamples), so those use Student's t
 * (aggregate_summary). The functions are pure: the bootstrap uses a fixed random stream.
 */
#ifndef SPARC_LAB_GRID_RELIABLE_H
#define SPARC_LAB_GRID_RELIABLE_H

#include "sparc/base.h"

#include <stddef.h>

enum { BOOTSTRAP_RESAMPLES = 10000 };

/* an estimate and its 95 % confidence interval; NAN: none */
typedef struct interval {
  double estimate, low, high;
} interval;

/* normalised scores of one method; all tasks have the same number of runs */
typedef struct run_scores {
  int tasks, runs;
  const double *score; /* (tasks, runs) */
} run_scores;

/* Mean without the lowest and highest quarter of the values, each rounded down to a whole number. Sorts the values. */
double interquartile_mean(size_t count, double *values);

/* Interquartile mean over all runs of all tasks. This and the functions below fail only with SPARC_NO_MEMORY. */
sparc_status interval_of_iqm(const run_scores *scores, interval *out);

/* Probability that a run of x is better than a run of y on a uniformly drawn task; ties count half. Both must have the
 * same tasks. */
sparc_status interval_of_improvement(const run_scores *x, const run_scores *y, interval *out);

/* performance profile: fraction of runs with a score above each threshold */
sparc_status interval_of_profile(const run_scores *scores, int thresholds, const double *threshold, interval *out);

/* half the width of the 95 % confidence interval of the mean of count >= 2 values with this sample standard deviation */
double student_half_width(int count, double stddev);

#endif
