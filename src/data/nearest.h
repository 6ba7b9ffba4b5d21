/* SPDX-License-Identifier: MIT */
/* nearest.h: the 1-nearest-neighbour baseline of time series classification. */
#ifndef SPARC_DATA_NEAREST_H
#define SPARC_DATA_NEAREST_H

#include "sparc/data.h"

#include <stdbool.h>

typedef struct nearest_config {
  bool warping;  /* dynamic time warping, else the Euclidean distance */
  double window; /* warping: greatest shift in time as a fraction of the longer of two series */
  int threads;
  void (*on_progress)(void *user, int done); /* examples classified so far; may be NULL */
  void *user;
} nearest_config;

/* nearest_equal_lengths returns whether all examples have one length, which the Euclidean distance requires */
bool nearest_equal_lengths(const sparc_dataset *train, const sparc_dataset *test);

/* nearest_neighbour predicts the class of every example of test as that of the nearest example of train, the first among
 * equals, and counts the correct predictions. Distances are computed in double. */
sparc_status nearest_neighbour(const sparc_dataset *train, const sparc_dataset *test, const nearest_config *config,
                               int *correct);

#endif
