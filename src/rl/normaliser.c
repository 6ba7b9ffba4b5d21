/* SPDX-License-Identifier: MIT */
/* normaliser.c: normalisation of observations and rewards by running standard deviations. */
#include "rl/normaliser.h"

#include <math.h>

static const double FEATURE_LIMIT = 10; /* emitted values of the mode `feature` */

size_t observation_moments(sparc_obsnorm mode, size_t width) {
  return mode == SPARC_OBSNORM_FEATURE ? width : mode == SPARC_OBSNORM_POOLED ? 1 : 0;
}

/* each feature by its moments */
static void normalise_features(const observation_normaliser *n, bool learn, float *observation) {
  for (size_t i = 0; i < n->width; i++) {
    running_moments *m = &n->moments[i];
    if (learn) moments_merge(m, (double)observation[i], 0, 1);
    const double z = ((double)observation[i] - m->mean) / moments_stddev(m);
    observation[i] = (float)fmax(-FEATURE_LIMIT, fmin(z, FEATURE_LIMIT));
  }
}

static double feature_at(const void *values, size_t i) { return (double)((const float *)values)[i]; }

/* all features of an observation are a batch of one mean and variance */
static void normalise_pooled(const observation_normaliser *n, bool learn, float *observation) {
  running_moments *m = n->moments;
  if (learn) {
    const batch_moments batch = batch_moments_of(n->width, feature_at, observation);
    moments_merge(m, batch.mean, batch.variance, (double)n->width);
  }
  for (size_t i = 0; i < n->width; i++)
    observation[i] = (float)(((double)observation[i] - m->mean) / moments_stddev(m));
}

void observation_normalise(const observation_normaliser *n, bool learn, float *observation) {
  if (n->mode == SPARC_OBSNORM_FEATURE) normalise_features(n, learn, observation);
  if (n->mode == SPARC_OBSNORM_POOLED) normalise_pooled(n, learn, observation);
}

float reward_normalise(reward_normaliser *n, size_t stream, float reward, bool done) {
  /* the terminal reward starts the next accumulation, as in the reference */
  double *accumulated = &n->accumulated[stream];
  *accumulated = (done ? 0 : n->discount * *accumulated) + (double)reward;
  moments_merge(&n->moments, *accumulated, 0, 1);
  return (float)((double)reward / moments_stddev(&n->moments));
}
