/* SPDX-License-Identifier: MIT */
/* periods.c: running autocorrelations and selection of periods. */
#include "online/periods.h"

#include <math.h>
#include <string.h>

static const double PERIOD_DISCOUNT = 0.9995;

enum { INITIAL_VALUES = 200, CHECK_EVERY = 8, MIN_DWELL = 100 }; /* values */

void periods_reset_state(period_detector *p) {
  p->values = 0;
  memset(p->u, 0, sizeof p->u);
}

static void correlate(double *restrict C, const double *restrict u, int lags) {
  for (int m = 0; m <= lags; m++) C[m] = PERIOD_DISCOUNT * C[m] + u[0] * u[m];
}

void periods_observe(period_detector *p, const double u[PERIOD_SLOTS]) {
  const int lags = p->values < MAX_PERIOD ? (int)p->values : MAX_PERIOD;
  for (int k = 0; k < PERIOD_SLOTS; k++) {
    memmove(p->u[k] + 1, p->u[k], MAX_PERIOD * sizeof *p->u[k]);
    p->u[k][0] = u[k];
    correlate(p->C[k], p->u[k], lags);
  }
  for (int m = 0; m <= lags; m++) p->N[m] = PERIOD_DISCOUNT * p->N[m] + 1;
  p->values++;
  p->quiet++;
}

/* rho of every observed lag; returns their number, 0 for a constant signal */
static int correlations(const period_detector *p, int slot, double rho[MAX_PERIOD + 1]) {
  const double power = p->N[0] > 0 ? p->C[slot][0] / p->N[0] : 0;
  int m = 0;
  if (!(power > 0)) return 0;
  for (; m <= MAX_PERIOD && p->N[m] > 0; m++) rho[m] = p->C[slot][m] / p->N[m] / power;
  return m;
}

static double score_of(const period_detector *p, const double *rho, int m) { return rho[m] - 2 / sqrt(p->N[m]); }

static bool too_near(double period, int m) { return period > 0 && fabs(m - period) <= 0.1 * period; }

static int best_period(const period_detector *p, int slot, const double *rho, int lags) {
  double dip = rho[1];
  int best = 0;
  for (int m = 2; m < lags && 2 * m + 4 <= p->values; m++) {
    const bool peak = rho[m] >= rho[m - 1] && (m + 1 >= lags || rho[m] >= rho[m + 1]);
    const bool clear = rho[m] >= dip + 0.1 && (slot == 0 || dip < 0);
    dip = fmin(dip, rho[m]);
    if (!peak || !clear || !(score_of(p, rho, m) > 0)) continue;
    if (slot == 1 && too_near(p->period[0], m)) continue;
    const double score = best ? score_of(p, rho, best) : 0;
    if (!best || score_of(p, rho, m) > score + (slot == 0 ? 0.1 * (1 + score) : 0.02)) best = m;
  }
  return best;
}

static bool is_better(const period_detector *p, int slot, const double *rho, int lags, int m) {
  const int now = (int)p->period[slot];
  if (m == 0 || m == now) return false;
  if (now == 0 || now >= lags || (slot == 1 && too_near(p->period[0], now))) return true;
  return now % m == 0 || score_of(p, rho, m) > score_of(p, rho, now) + 0.05;
}

unsigned periods_update(period_detector *p) {
  unsigned changed = 0;
  double rho[MAX_PERIOD + 1];
  const bool initial = p->values <= INITIAL_VALUES;
  if (!initial && (fmod(p->values, CHECK_EVERY) != 0 || p->quiet < fmax(MIN_DWELL, p->values / 10))) return 0;
  for (int slot = 0; slot < PERIOD_SLOTS; slot++) {
    const int lags = correlations(p, slot, rho);
    const int m = lags > 2 ? best_period(p, slot, rho, lags) : 0;
    if (!is_better(p, slot, rho, lags, m)) continue;
    p->period[slot] = m;
    changed |= 1u << slot;
  }
  if (changed) p->quiet = 0;
  return changed;
}

static bool is_count(double x, double maximum) { return x >= 0 && x <= maximum && x == floor(x); }

bool periods_valid(const period_detector *p) {
  for (int k = 0; k < PERIOD_SLOTS; k++) {
    if (!is_count(p->period[k], MAX_PERIOD) || p->period[k] == 1) return false;
    for (int m = 0; m <= MAX_PERIOD; m++)
      if (!(fabs(p->u[k][m]) <= 1e6) || !(fabs(p->C[k][m]) <= 1e16)) return false;
  }
  for (int m = 0; m <= MAX_PERIOD; m++)
    if (!(p->N[m] >= 0 && p->N[m] <= 1e4)) return false;
  return is_count(p->values, 0x1p53) && is_count(p->quiet, 0x1p53);
}
