/* SPDX-License-Identifier: MIT */
/* reliable.h: statistics for few runs: intervals instead of single numbers.
 *
 * The aggregates over tasks are those of Agarwal et al., "Deep Reinforcement Learning at the Edge of the Statistical
 * Precipice" (2021): interquartile mean, probability of improvement and performance profile, with percentile intervals
 * of a stratified bootstrap (runs are drawn with replacement within each task). For the mean of a handful of paired
 * differences a bootstrap is too narrow: three runs have ten different resamples. There the interval is Student's
 * (aggregate_summary).
 * Functions of numbers alone; the draws come from a fixed random stream, so that a table is the same each time.
 */
#ifndef SPARC_LAB_GRID_RELIABLE_H
#define SPARC_LAB_GRID_RELIABLE_H

#include "sparc/base.h"

#include <stddef.h>

enum { BOOTSTRAP_RESAMPLES = 10000 };

/* an estimate and its 95 % confidence interval; NAN where there is none */
typedef struct interval {
  double estimate, low, high;
} interval;

/* the normalised scores of one method: every task has as many runs */
typedef struct run_scores {
  int tasks, runs;
  const double *score; /* (tasks, runs) */
} run_scores;

/* interquartile_mean is the mean of the values without the lowest and the highest quarter, each rounded down to whole
 * values. It sorts them. */
double interquartile_mean(size_t count, double *values);

/* interval_of_iqm is the interquartile mean over all runs of all tasks. SPARC_NO_MEMORY is the only failure here and
 * below. */
sparc_status interval_of_iqm(const run_scores *scores, interval *out);

/* interval_of_improvement is the probability that a run of x is better than a run of y on a task that is drawn with
 * equal probability, ties counted half. Both have the same tasks. */
sparc_status interval_of_improvement(const run_scores *x, const run_scores *y, interval *out);

/* interval_of_profile is the fraction of runs with a score above each threshold */
sparc_status interval_of_profile(const run_scores *scores, int thresholds, const double *threshold, interval *out);

/* student_half_width is half of the 95 % interval of the mean of `count` values, at least two, with this sample
 * deviation */
double student_half_width(int count, double stddev);

#endif
