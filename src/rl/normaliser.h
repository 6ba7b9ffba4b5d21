/* SPDX-License-Identifier: MIT */
/* normaliser.h: running moments of observations and of discounted returns, and what they make of both.
 *
 * An observation first updates the moments and is then emitted as (o - mean) / sqrt(variance + 1e-8); a reward is
 * divided by the deviation of the discounted return that it belongs to. The emitted value is what the agent sees and
 * what a rollout keeps; it is never normalised again. Moments persist over episodes and rollouts, in double.
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

/* how many moments a mode keeps: width, 1 or 0 */
size_t observation_moments(sparc_obsnorm mode, size_t width);
/* one observation in place; learn: it updates the moments first */
void observation_normalise(const observation_normaliser *n, bool learn, float *observation /* (width) */);

typedef struct reward_normaliser {
  double discount;
  running_moments moments;
  double *accumulated; /* (streams): the discounted return of each stream so far */
} reward_normaliser;

/* the emitted reward of one stream's step; done: that step ended an episode */
float reward_normalise(reward_normaliser *n, size_t stream, float reward, bool done);

#endif
