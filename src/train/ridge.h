/* SPDX-License-Identifier: MIT */
/* ridge.h: a linear classifier in closed form, with its penalty chosen by leave-one-out errors. */
#ifndef SPARC_TRAIN_RIDGE_H
#define SPARC_TRAIN_RIDGE_H

#include "sparc/base.h"

#include <stddef.h>

enum { RIDGE_ROWS_MAX = 4096 }; /* the Gram matrix of all rows is stored */

typedef struct ridge_problem {
  size_t rows, features, classes;
  const float *x;   /* (rows, features) */
  const int *label; /* (rows) */
} ridge_problem;

typedef struct ridge_solution {
  float *weight;         /* (classes, features) */
  float *bias;           /* (classes) */
  double alpha;          /* the penalty */
  double scale;          /* of the scores, so that their softmax is a probability */
  double accuracy, loss; /* leave-one-out */
  double error;          /* leave-one-out: mean squared, of scores before scaling */
} ridge_solution;

/* ridge_solve regresses one target per class, 1 or -1, on standardised features. The penalty is the one of ten, from
 * 0.001 to 1000, with the smallest squared leave-one-out error; the scores are then scaled to minimise the leave-one-out
 * cross-entropy. Serial: results do not depend on the number of threads. */
sparc_status ridge_solve(const ridge_problem *problem, ridge_solution *solution);

#endif
