/* SPDX-License-Identifier: MIT */
/* eval_nearest.h: the classic yardstick of time series classification, the label of the nearest training example. */
#ifndef SPARC_CLI_EVAL_NEAREST_H
#define SPARC_CLI_EVAL_NEAREST_H

#include "sparc/data.h"

/* nearest_neighbour gives every example of test the class of the example of train with the least Euclidean distance,
 * the first among equals, and counts how many are right. Distances are computed in double. All examples must have the
 * same length, or it is SPARC_UNSUPPORTED. */
sparc_status nearest_neighbour(const sparc_dataset *train, const sparc_dataset *test, int threads, int *right);

#endif
