/* SPDX-License-Identifier: MIT */
/* normaliser.h: normalisation by running moments of observations and of discounted returns.
 *
 * An observation first updates the moments and then becomes (o - mean) / sqrt(variance + 1e-8); a reward is divided by
 * the standard deviation of discounted returns. Rollouts store normalised values. Moments persist over episodes and
 * rollouts, in double.
 */
#ifndef SPARC_RL_NORMALISER_H
#define SPARC_RL_NORMALISER_H

#include "base/moments.h"
#include "sparc/rl.h"

#include <stdbool.h>

typedef struct observation_normaliser {
  sparc_obsnorm mode;
  size_t width;             /* numbers of an observation */
  running_moments *moments; /* (observation_moments): one per feature, or one for all */
} observation_normaliser;

/* Number of moments of a mode: width, 1 or 0. */
size_t observation_moments(sparc_obsnorm mode, size_t width);
/* Normalise one observation in place; learn: update the moments first. */
void observation_normalise(const observation_normaliser *n, bool learn, float *observation /* (width) */);

typedef struct reward_normaliser {
  double discount;
  running_moments moments;
  double *accumulated; /* (streams): discounted return of each stream so far */
} reward_normaliser;

/* The normalised reward of one stream's step; done: the step ended an episode. */
float reward_normalise(reward_normaliser *n, size_t stream, float reward, bool done);

#endif
