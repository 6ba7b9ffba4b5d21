/* SPDX-License-Identifier: MIT */
/* moments.h: running mean and variance, in double. */
#ifndef SPARC_BASE_MOMENTS_H
#define SPARC_BASE_MOMENTS_H

#include <stdbool.h>

typedef struct running_moments {
  double mean, variance, count;
} running_moments;

enum { MOMENT_NUMBERS = sizeof(running_moments) / sizeof(double) };

#define MOMENTS_RANGE 1e140 /* moments are taken of numbers below this magnitude: sums of squares are finite */

running_moments moments_initial(void);
bool moments_valid(const running_moments *m); /* whether such numbers can have them: for those that come from files */
/* merges a batch of `count` numbers with this mean and population variance */
void moments_merge(running_moments *m, double mean, double variance, double count);
double moments_deviation(const running_moments *m); /* above 0 */

#endif
