/* SPDX-License-Identifier: MIT */
/* intervals.h: prediction intervals with adaptive coverage (adaptive conformal inference on the log scale).
 *
 * [p - q s, p + q s] with s the running mean of |error| over 50 targets. After the first 20 entries are capped at 10 s,
 * or at 10^(k+1) s if the k before were capped: outliers are capped; a new scale of the stream is followed. No cap while
 * s is 0, or a stream that starts with constants would keep intervals of width 0.
 * After every target q *= exp(g (miss - alpha)), where miss is 1 if it was outside, alpha = 1 - coverage,
 * g = max(.05, .5 / sqrt(n)), and q stays in [.1, 50].
 */
#ifndef SPARC_ONLINE_INTERVALS_H
#define SPARC_ONLINE_INTERVALS_H

#include <stdbool.h>

enum { INTERVAL_AFTER = 8 }; /* targets before the first interval */

typedef struct interval_state {
  double scale, factor, targets; /* s, q, n */
  double capped;                 /* k */
} interval_state;                /* doubles only: stored as is */

interval_state interval_initial(double coverage);
double interval_width(const interval_state *i); /* half width q s; -1: too few targets */

/* interval_observe takes the error of a prediction and its half width, -1 if it had none */
void interval_observe(interval_state *i, double coverage, double error, double width);
bool interval_valid(const interval_state *i);

#endif
