/* SPDX-License-Identifier: MIT */
/* interventions.h: change of predictions when a component of the trained cell is removed, with the same recorded inputs
 * and parameters. */
#ifndef SPARC_LAB_DIAGNOSE_INTERVENTIONS_H
#define SPARC_LAB_DIAGNOSE_INTERVENTIONS_H

#include "lab/diagnose/replay.h"

enum { MAX_INTERVENTIONS = 32 };

/* Lists the variants of the cell with the same parameter layout that compute something else; returns their number. */
int intervention_names(const replay *r, const char *names[MAX_INTERVENTIONS]);

/* Sums over the rows (steps or examples) of recordings. change / scale is the mean divergence KL(original || variant) of
 * the predicted distributions; for regression heads, the NMSE of the variant's outputs to the original's. */
typedef struct intervention_sums {
  double change, scale;
} intervention_sums;

/* runs a variant on a recording whose original outputs are given */
sparc_status intervene(const replay *r, const char *variant, const recording *from, const replay_outputs *original,
                       intervention_sums *sums);

/* sum over classes of p (log p - log q), p and q the softmax of logits */
double divergence_of_classes(size_t classes, const float *original, const float *changed);
/* of normal distributions with independent components */
double divergence_of_normals(size_t n, const float *mean, const float *log_stddev, const float *changed_mean,
                             const float *changed_log_stddev);

#endif
