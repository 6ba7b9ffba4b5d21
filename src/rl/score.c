/* SPDX-License-Identifier: MIT */
/* score.c: each window is summed separately, because a running sum would accumulate rounding errors. */
#include "rl/score.h"

#include "base/error.h"
#include "base/moments.h"

#include <math.h>

sparc_status score_of(size_t K, const double *means, double *score) {
  if (K == 0) return fail(SPARC_INVALID, "there are no rollouts to score");
  const size_t first = K > SCORE_WINDOW ? K - SCORE_WINDOW : 0;
  for (size_t k = first; k < K; k++)
    if (!isfinite(means[k]))
      return fail(SPARC_NOT_FINITE, "rollout %zu has the mean return %g: every scored rollout must finish an episode",
                  k + 1, means[k]);
  *score = mean_of(K - first, means + first);
  return SPARC_OK;
}

void score_curve(size_t K, const double *means, size_t window, double *smoothed) {
  for (size_t k = 0; k < K; k++) smoothed[k] = k + 1 < window ? NAN : mean_of(window, means + k + 1 - window);
}
