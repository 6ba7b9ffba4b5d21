/* SPDX-License-Identifier: MIT */
/* moments.h: mean and variance, in double: of numbers that arrive one by one, of a batch, of a sample. */
#ifndef SPARC_BASE_MOMENTS_H
#define SPARC_BASE_MOMENTS_H

#include <stdbool.h>
#include <stddef.h>

/* ---- running, kept in files ---- */

typedef struct running_moments {
  double mean, variance, count;
} running_moments;

enum { MOMENT_NUMBERS = sizeof(running_moments) / sizeof(double) };

#define MOMENTS_RANGE 1e140 /* moments are taken of numbers below this magnitude: sums of squares are finite */

running_moments moments_initial(void);
bool moments_valid(const running_moments *m); /* whether such numbers can have them: for those that come from files */
/* merges a batch of `count` numbers with this mean and population variance */
void moments_merge(running_moments *m, double mean, double variance, double count);
double moments_stddev(const running_moments *m); /* above 0 */

/* ---- of a batch ---- */

typedef struct batch_moments {
  double mean, variance; /* of the population */
} batch_moments;

/* batch_moments_of visits `at(values, i)` for i below n twice; inline, so that the call vanishes */
static inline batch_moments batch_moments_of(size_t n, double (*at)(const void *values, size_t i), const void *values) {
  batch_moments m = {0, 0};
  for (size_t i = 0; i < n; i++) m.mean += at(values, i) / (double)n;
  for (size_t i = 0; i < n; i++) {
    const double off = at(values, i) - m.mean;
    m.variance += off * off / (double)n;
  }
  return m;
}

/* ---- of a sample ---- */

double mean_of(size_t n, const double *values);

typedef struct sample_summary {
  int count;           /* values that are not NAN */
  double mean, stddev; /* divisor count - 1; NAN where the count is too small */
} sample_summary;

sample_summary sample_summarise(size_t n, const double *values);

/* the same of values that are not kept: start with zeros */
typedef struct sample_sums {
  double count, first, sum, squares; /* sums of differences from the first value: those of values would cancel */
} sample_sums;

void sample_add(sample_sums *s, double value);
double sample_mean(const sample_sums *s);
double sample_variance(const sample_sums *s, double divisor);

#endif
