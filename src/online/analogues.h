/* SPDX-License-Identifier: MIT */
/* analogues.h: forecasts by what followed similar stretches of the past.
 *
 * For every lag m up to ANALOGUE_LAGS and the spans S = 8, 32, 128, with d[t] = y[t] - y[t-1]:
 *
 *   D_m = (1 - 1/S) D_m + (d[t] - d[t-m])^2,  N_m = (1 - 1/S) N_m + 1
 *   q_m = (D_m + a 2 s2) / (N_m + a),  a = .1 S, s2 the mean of d^2
 *   w_m = (min(q_m / min q, 1e4))^(-S/2)
 *
 * Two features of each span are means over the lags m >= h with weights w_m, or 0 if there are none: the change that
 * followed, y[t+h-m] - y[t-m], and the level of then, y[t-m] - y[t].
 *
 * w is the likelihood ratio of S normal differences of unknown variance; a counts differences of unrelated stretches, so
 * that a match of a few values does not win. A stretch that repeats is followed from its first values on, without a
 * period; where nothing repeats, all lags weigh about the same and the change is the mean change.
 */
#ifndef SPARC_ONLINE_ANALOGUES_H
#define SPARC_ONLINE_ANALOGUES_H

#include <stdbool.h>

enum { ANALOGUE_LAGS = 512, ANALOGUE_SPANS = 3, ANALOGUES = 2 * ANALOGUE_SPANS };
enum { ANALOGUE_VALUES = ANALOGUE_LAGS + 2, ANALOGUE_COUNTS = 2048 /* from here on N = S */ };

typedef struct analogue_bank {
  double distance[ANALOGUE_SPANS][ANALOGUE_LAGS + 1]; /* D */
} analogue_bank;                                      /* doubles only: stored as is */

/* not stored; a forecaster shares one between its channels */
typedef struct analogue_workspace {
  double count[ANALOGUE_SPANS][ANALOGUE_COUNTS + 1]; /* N after n comparisons */
  double value[ANALOGUE_VALUES];                     /* y[t-k], k = 0, 1, ... */
  double weight[ANALOGUE_SPANS][ANALOGUE_LAGS + 1];  /* w */
} analogue_workspace;

void analogues_prepare(analogue_workspace *w); /* the counts */

/* `values` have been observed, at most ANALOGUE_VALUES of them are in w->value. analogues_observe compares the last
 * change with those before it; analogues_weigh computes the weights. */
void analogues_observe(analogue_bank *a, const analogue_workspace *w, long values);
void analogues_weigh(const analogue_bank *a, analogue_workspace *w, long values, double square /* s2 */);
void analogues_features(const analogue_workspace *w, long values, long h, double *x /* ANALOGUES: changes, levels */);
bool analogues_valid(const analogue_bank *a);

#endif
