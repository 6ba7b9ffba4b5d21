/* SPDX-License-Identifier: MIT */
/* periods.h: detection of up to two seasonal periods by running autocorrelations.
 *
 * With u[t] in standard deviations, discount g = PERIOD_DISCOUNT, for every lag m up to MAX_PERIOD:
 *
 *   C_m = g C_m + u[t] u[t-m],  N_m = g N_m + 1,  rho_m = (C_m / N_m) / (C_0 / N_0),  score_m = rho_m - 2 / sqrt(N_m)
 *
 * Slot A looks at changes, slot B at EMA_4 - EMA_64, a slower band. A candidate is a local maximum of rho with a
 * positive score, at least .1 above an earlier dip (slot B: a dip below 0), after 2 m + 4 values. From short to long a
 * longer period must gain .1 (1 + score) (slot B: .02), so multiples of a period do not win. The period of a slot
 * changes for one whose score is .05 higher, or for a divisor of it.
 */
#ifndef SPARC_ONLINE_PERIODS_H
#define SPARC_ONLINE_PERIODS_H

#include <stdbool.h>
#include <stddef.h>

enum { MAX_PERIOD = 400, PERIOD_SLOTS = 2 };

typedef struct period_detector {
  double period[PERIOD_SLOTS];            /* 0: none */
  double values;                          /* since the sequence began */
  double quiet;                           /* values since the last change of a period */
  double u[PERIOD_SLOTS][MAX_PERIOD + 1]; /* latest first */
  double C[PERIOD_SLOTS][MAX_PERIOD + 1];
  double N[MAX_PERIOD + 1];
} period_detector; /* doubles only: stored as is */

void periods_reset_state(period_detector *p); /* a new sequence; detected periods are kept */
void periods_observe(period_detector *p, const double u[PERIOD_SLOTS]);

/* periods_update selects periods; bit k of the result is set if that of slot k has changed */
unsigned periods_update(period_detector *p);
bool periods_valid(const period_detector *p);

#endif
