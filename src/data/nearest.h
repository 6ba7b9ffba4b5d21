/* SPDX-License-Identifier: MIT */
/* nearest.h: the classic yardstick of time series classification, the label of the nearest training example. */
#ifndef SPARC_DATA_NEAREST_H
#define SPARC_DATA_NEAREST_H

#include "sparc/data.h"

#include <stdbool.h>

typedef struct nearest_config {
  bool warping;  /* dynamic time warping, else the Euclidean distance */
  double window; /* of warping: greatest shift in time as a fraction of the longer of two series */
  int threads;
  void (*tell)(void *user, int done); /* how many examples are classified; may be NULL */
  void *user;
} nearest_config;

/* nearest_can_do_without_warping says whether all examples have one length, which the Euclidean distance needs */
bool nearest_can_do_without_warping(const sparc_dataset *train, const sparc_dataset *test);

/* nearest_neighbour gives every example of test the class of the example of train with the least distance, the first
 * among equals, and counts how many are right. Distances are computed in double. */
sparc_status nearest_neighbour(const sparc_dataset *train, const sparc_dataset *test, const nearest_config *config,
                               int *right);

#endif
