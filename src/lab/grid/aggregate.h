/* SPDX-License-Identifier: MIT */
/* aggregate.h: scores of runs, statistics over seeds, ranks and marks [app:metrics_figures]. Pure functions. */
#ifndef SPARC_LAB_GRID_AGGREGATE_H
#define SPARC_LAB_GRID_AGGREGATE_H

#include "lab/grid/grid.h"
#include "lab/text_table.h"

/* Computes the score of a run: the mean of the last `window` values, or the best value. Returns SPARC_INVALID if there
 * are fewer values, SPARC_NOT_FINITE if a value that counts is not finite. */
sparc_status aggregate_score(size_t count, const double *values, const grid_score *rule, double *score);

typedef struct aggregate_summary {
  int count;           /* 0: the other members are undefined */
  double mean, stddev; /* sample standard deviation (n - 1); NAN for a single value */
  double low, high;    /* 95 % confidence interval of the mean (Student's t); NAN for a single value */
} aggregate_summary;

aggregate_summary aggregate_summarise(int count, const double *values);

/* summarises the differences between two methods, paired by seed */
aggregate_summary aggregate_paired(int count, const double *values, const double *reference);

/* Competition rank of a value: 1 plus the number of better ones. NAN values are ignored. */
int aggregate_rank(double value, int count, const double *others, bool higher);

/* Marks the best and second-best values as printed with `digits` decimals (-1: three significant digits): values equal
 * in print get equal marks. NAN is unmarked. */
void aggregate_marks(int count, const double *values, int digits, bool higher, table_mark *marks /* (count) */);

#endif
