/* SPDX-License-Identifier: MIT */
/* interventions.h: how far predictions move when a part of the trained cell is taken away, on the same recorded inputs
 * and with the same parameters. */
#ifndef SPARC_LAB_DIAGNOSE_INTERVENTIONS_H
#define SPARC_LAB_DIAGNOSE_INTERVENTIONS_H

#include "lab/diagnose/replay.h"

enum { MAX_INTERVENTIONS = 32 };

/* The variants of the cell that compute something else from parameters of the same layout; returns how many. 0: the
 * cell has no variants. */
int intervention_names(const replay *r, const char *names[MAX_INTERVENTIONS]);

/* what a variant changes over the rows, steps or examples, of recordings; `change / scale` of their sums is the mean of
 * the divergence of the predicted distributions, KL(original || variant), of a head of numbers the NMSE of the
 * variant's as predictions of the original's */
typedef struct intervention_sums {
  double change, scale;
} intervention_sums;

/* intervene runs a variant over a recording of which the outputs are known */
sparc_status intervene(const replay *r, const char *variant, const recording *from, const replay_outputs *original,
                       intervention_sums *sums);

/* sum over classes of p (log p - log q), p and q the softmax of logits */
double divergence_of_classes(size_t classes, const float *original, const float *changed);
/* of normal distributions with independent components */
double divergence_of_normals(size_t n, const float *mean, const float *log_stddev, const float *changed_mean,
                             const float *changed_log_stddev);

#endif
