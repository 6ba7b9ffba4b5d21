/* SPDX-License-Identifier: MIT */
/* mixture.h: a weighted mean of experts, by the power of their losses and by Bernstein online aggregation (BOA).
 *
 * x_k is the prediction of expert k, y its target, pi_k its prior, p the prediction of that half.
 *
 *   power: L_k = .99 L_k + min((y - x_k)^2, 50 s2), s2 a running mean of (y - p)^2 over 100 targets (no cap in the
 *          first 20); N = .99 N + 1; w_k ~ pi_k (L_k / min L)^(-8 min(1, N / 20))
 *   BOA:   r_k = 2 (y - p)(x_k - p); V_k = .998 V_k + r_k^2; E_k = max(.98 E_k, |r_k|);
 *          eta_k = min(1 / (2 max(E_k, 1e-3 max E)), sqrt(ln K / max(V_k, 1e-6 max V)));
 *          R_k = .998 R_k + r_k - eta_k r_k^2;  w_k ~ pi_k eta_k exp(eta_k R_k)
 *
 * The prediction is the mean of both halves with weights s2^-4, each with its own s2: equal where they are equally
 * good. Where early errors were large and late ones are tiny BOA separates the experts slowly; power does not.
 * The floors of E and V are needed: an expert equal to p has r = 0, would get an infinite eta and keep all weight.
 */
#ifndef SPARC_ONLINE_MIXTURE_H
#define SPARC_ONLINE_MIXTURE_H

#include <stdbool.h>

enum { MAX_EXPERTS = 32 };

typedef struct mixture {
  double error[2], targets, weight; /* s2 of both halves and how many targets it is of; N */
  double loss[MAX_EXPERTS];         /* L */
  double regret[MAX_EXPERTS], square[MAX_EXPERTS], range[MAX_EXPERTS]; /* R, V, E */
} mixture;                                                             /* doubles only: stored as is */

typedef struct mixture_prediction {
  double power, boa; /* the halves */
  double mean;       /* of both: the prediction */
} mixture_prediction;

/* prior 0: the expert is disabled */
mixture_prediction mixture_predict(const mixture *m, int experts, const double *prior, const double *x);
void mixture_observe(mixture *m, int experts, const double *prior, const double *x, mixture_prediction p, double y);
bool mixture_valid(const mixture *m);

#endif
