/* SPDX-License-Identifier: MIT */
/* score.h: what a learning curve of m_k, the mean return of the episodes that rollout k finished, amounts to. */
#ifndef SPARC_RL_SCORE_H
#define SPARC_RL_SCORE_H

#include "sparc/base.h"

enum { SCORE_WINDOW = 100 };

/* J = mean(m_{K-99} ... m_K), or of all when there are fewer. A rollout among them without a finite mean is refused:
 * one that finished no episode has none. */
sparc_status score_of(size_t K, const double *means /* (K) */, double *score);
/* smoothed[k] = mean of the `window` means that end with number k, counted from 0; NAN while there are fewer */
void score_curve(size_t K, const double *means, size_t window, double *smoothed /* (K) */);

#endif
