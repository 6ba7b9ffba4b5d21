/* SPDX-License-Identifier: MIT */
/* score.h: score and smoothing of a learning curve m_k, the mean return of episodes finished in rollout k. */
#ifndef SPARC_RL_SCORE_H
#define SPARC_RL_SCORE_H

#include "sparc/base.h"

enum { SCORE_WINDOW = 100 };

/* J = mean(m_{K-99} ... m_K), or of all if there are fewer. SPARC_NOT_FINITE: one of them finished no episode. */
sparc_status score_of(size_t K, const double *means /* (K) */, double *score);
/* smoothed[k] = mean of the `window` means up to index k; NAN if there are fewer. */
void score_curve(size_t K, const double *means, size_t window, double *smoothed /* (K) */);

#endif
