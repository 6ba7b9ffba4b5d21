/* SPDX-License-Identifier: MIT */
/* aggregate.h: from logs to scores and from scores to tables, as the paper does it [app:metrics_figures]. Functions of
 * numbers alone. */
#ifndef SPARC_LAB_GRID_AGGREGATE_H
#define SPARC_LAB_GRID_AGGREGATE_H

#include "lab/grid/grid.h"
#include "lab/text_table.h"

/* aggregate_score is the score of a run with these values: the mean of the last `window` ones, or the best of all.
 * SPARC_INVALID: there are fewer; SPARC_NOT_FINITE: one of those that count is not finite. */
sparc_status aggregate_score(size_t count, const double *values, const grid_score *rule, double *score);

typedef struct aggregate_summary {
  int count;           /* 0: the rest means nothing */
  double mean, stddev; /* of the sample, divisor n - 1; NAN for a single value */
  double low, high;    /* the 95 % interval of the mean by Student's distribution; NAN for a single value */
} aggregate_summary;

aggregate_summary aggregate_summarise(int count, const double *values);

/* aggregate_paired summarises the differences between two methods under the same seeds */
aggregate_summary aggregate_paired(int count, const double *values, const double *reference);

/* aggregate_rank is the competition rank of a value among others: 1 and how many of them are better. Others that are
 * NAN do not take part. */
int aggregate_rank(double value, int count, const double *others, bool higher);

/* aggregate_marks finds the best and the second best among values as a table prints them, with so many digits behind
 * the point (-1: three significant ones): equal in print is equal in rank. NAN is unmarked. */
void aggregate_marks(int count, const double *values, int digits, bool higher, table_mark *marks /* (count) */);

#endif
