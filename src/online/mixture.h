/* SPDX-License-Identifier: MIT */
/* mixture.h: a weighted mean of experts, by powers of their losses and by Bernstein online aggregation (BOA).
 *
 * x_k is the prediction of expert k, y its target, pi_k its prior, p the prediction of that aggregate.
 *
 *   relative: L_k = .99 L_k + min((y - x_k)^2 / u, 50); N = .99 N + 1; w_k ~ pi_k (L_k / min L)^(-.4 min(N, 80))
 *   recent:   L_k = .95 L_k + min((y - x_k)^2, 50 s2), s2 a running mean of (y - p)^2 over 100 targets (no cap in the
 *             first 20 and while s2 is 0); N = .95 N + 1; w_k ~ pi_k (L_k / min L)^(-.4 min(N, 20))
 *   BOA:      r_k = 2 (y - p)(x_k - p); V_k = .998 V_k + r_k^2; E_k = max(.98 E_k, |r_k|);
 *             eta_k = min(1 / (2 max(E_k, 1e-3 max E)), sqrt(ln K / max(V_k, 1e-6 max V)));
 *             R_k = .998 R_k + r_k - eta_k r_k^2;  w_k ~ pi_k eta_k exp(eta_k R_k)
 *
 * u is a running mean over 10 targets of the least squared error of the three aggregates. Losses relative to it compare
 * experts equally well whether errors are large or small: an expert whose first errors were large, but is the best once
 * it has learned, is preferred earlier than by absolute losses.
 *
 * The prediction is the mean of the aggregates with weights M^-8, M = .9995 M + min((y - p)^2 / u, 50); equal weights in
 * the first 30 targets. The floors of E and V are needed: an expert equal to p has r = 0, would get an infinite eta and
 * keep all weight.
 */
#ifndef SPARC_ONLINE_MIXTURE_H
#define SPARC_ONLINE_MIXTURE_H

#include <stdbool.h>

enum { MAX_EXPERTS = 32 };
enum { MIXTURE_RELATIVE, MIXTURE_RECENT, MIXTURE_POWERS, MIXTURE_BOA = MIXTURE_POWERS, MIXTURE_AGGREGATES };

typedef struct mixture {
  double targets;                                                      /* observed, at most 100 */
  double unit, error;                                                  /* u, s2 */
  double weight[MIXTURE_POWERS];                                       /* N */
  double aggregate_loss[MIXTURE_AGGREGATES];                           /* M */
  double loss[MIXTURE_POWERS][MAX_EXPERTS];                            /* L */
  double regret[MAX_EXPERTS], square[MAX_EXPERTS], range[MAX_EXPERTS]; /* R, V, E */
} mixture;                                                             /* doubles only: stored as is */

typedef struct mixture_prediction {
  double aggregate[MIXTURE_AGGREGATES];
  double mean; /* the prediction */
} mixture_prediction;

/* prior 0: the expert is disabled */
mixture_prediction mixture_predict(const mixture *m, int experts, const double *prior, const double *x);
void mixture_observe(mixture *m, int experts, const double *prior, const double *x, const mixture_prediction *p,
                     double y);
bool mixture_valid(const mixture *m);

#endif
