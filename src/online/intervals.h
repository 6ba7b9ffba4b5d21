/* SPDX-License-Identifier: MIT */
/* intervals.h: prediction intervals whose coverage is steered to what was asked for.
 *
 * [p - q s, p + q s] with s the running mean of |error| over 50 targets. After the first 20 entries are capped at 10 s,
 * or at 10^(k+1) s if the k before were capped: an outlier is, a stream that has changed its scale is not for long.
 * After every target q *= exp(g (miss - alpha)), where miss is 1 if it was outside, alpha = 1 - coverage,
 * g = max(.05, .5 / sqrt(n)), and q stays in [.1, 50] (adaptive conformal inference on the log scale).
 */
#ifndef SPARC_ONLINE_INTERVALS_H
#define SPARC_ONLINE_INTERVALS_H

#include <stdbool.h>

enum { INTERVAL_AFTER = 8 }; /* targets before the first interval */

typedef struct interval_state {
  double scale, factor, targets; /* s, q, n */
  double capped;                 /* k */
} interval_state;                /* doubles only: it is stored as it is */

interval_state interval_initial(double coverage);
double interval_width(const interval_state *i); /* half of it, q s; -1: too few targets yet */

/* interval_observe takes an error and the half width that was given, -1 if none was */
void interval_observe(interval_state *i, double coverage, double error, double width);
bool interval_valid(const interval_state *i);

#endif
