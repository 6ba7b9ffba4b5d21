/* SPDX-License-Identifier: MIT */
/* optimiser_step.h: one update of a network's parameters along a gradient, in one precision.
 *
 * The gradient is computed elsewhere: by a trainer from a batch, by PPO from a minibatch, by a learner from steps. A
 * caller that sums the gradients of several shards does so before the step.
 */
#ifndef SPARC_NN_OPTIMISER_STEP_H
#define SPARC_NN_OPTIMISER_STEP_H

#include "base/real.h"
#include "sparc/network.h"
#include "sparc/optimiser.h"

typedef struct TYPED(optimiser_step) {
  const sparc_network *network;
  sparc_adam_config adam;
  double learning_rate;
  double max_norm;   /* of the gradient; <= 0: it is not clipped */
  long update;       /* 1, 2, ... */
  const char *event; /* "update", "rollout", "step": what messages count, and the number of this one */
  long number;
  int threads;

  real *gradient;          /* (params): clipped in place */
  real *moments;           /* (2, params) */
  real *params, *prepared; /* (params), (prepared) */

  /* moving average of the parameters; average NULL: none. The decay is at most n / (n + 9) at update n, so that the
   * average soon forgets the initial values. */
  double average_decay;
  real *average, *prepared_average; /* (params), (prepared) */

  real *before; /* (3, params), (4, params) with an average: to undo a failed step; NULL: it is not undone */
} TYPED(optimiser_step);

/* optimiser_take_step measures the gradient's norm, clips the gradient, and moves moments, parameters and average;
 * *norm is the norm before clipping. SPARC_NOT_FINITE: the gradient is not finite or too large to be squared, and
 * nothing has changed; or the step gives invalid parameters, and is undone if there is a `before`. */
sparc_status TYPED(optimiser_take_step)(const TYPED(optimiser_step) * s, double *norm);

/* greatest_parameter is the trained parameter with the greatest entry of values (params), or the first whose entry is
 * not finite; parameter_block is the name of the block that holds a parameter */
size_t TYPED(greatest_parameter)(const sparc_network *network, const real *values);
const char *TYPED(parameter_block)(const sparc_network *network, size_t parameter);

#define optimiser_step      TYPED(optimiser_step)
#define optimiser_take_step TYPED(optimiser_take_step)
#define greatest_parameter  TYPED(greatest_parameter)
#define parameter_block     TYPED(parameter_block)

#endif
