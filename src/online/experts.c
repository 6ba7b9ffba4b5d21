/* SPDX-License-Identifier: MIT */
/* experts.c: the table of experts, and features of values. */
#include "online/experts.h"

#include <math.h>
#include <string.h>

/* ---- the table ------------------------------------------------------------------------------------- */

#define LAG_RUN(count, precision) \
  { AT_LAGS, count, precision, false }
#define LEVEL_RUN(precision) \
  { AT_LEVELS, LEVELS, precision, true }
#define MIDDLE_LEVELS(precision) \
  { AT_LEVELS + 1, 2, precision, true } /* tau 8 and 32 */
#define LOG_LAG_RUN(count, precision) \
  { AT_LOG_LAGS, count, precision, false }
#define LOG_LEVEL_RUN(precision) \
  { AT_LOG_LEVELS, LEVELS, precision, true }
#define LOG_MIDDLE_LEVELS(precision) \
  { AT_LOG_LEVELS + 1, 2, precision, true }
#define SLOTS(at, first, slots) \
  { (at) + (first)*SEASONAL, (slots)*SEASONAL, 1, true }

enum { A = 1, B = 2 };

const expert experts[EXPERTS] = {
    {"persistence", EXPERT_PERSISTENCE, .prior = 8},
    {"levels", EXPERT_REGRESSION, 4, 0.999, .run = {LEVEL_RUN(3)}},
    {"ar4", EXPERT_REGRESSION, 4, 0.995, .run = {LAG_RUN(4, 1)}},
    {"ar4-fast", EXPERT_REGRESSION, 1, 0.97, .run = {LAG_RUN(4, 1), LEVEL_RUN(1)}},
    {"ar12", EXPERT_REGRESSION, 1, 0.998, .run = {LAG_RUN(12, 0.3), LEVEL_RUN(1)}},
    {"ar12-fast", EXPERT_REGRESSION, 1, 0.98, .run = {LAG_RUN(12, 0.3), LEVEL_RUN(1)}},
    {"ar24", EXPERT_REGRESSION, 0.5, 0.9995, .run = {LAG_RUN(24, 0.1), LEVEL_RUN(0.3)}},
    {"ar24-free", EXPERT_REGRESSION, 1, 0.999, .run = {{AT_LAGS, LAGS, 0.001, true}}},
    {"modes", EXPERT_REGRESSION, 0.3, 0.9995,
     .run = {LAG_RUN(24, 0.1), LEVEL_RUN(0.3), {AT_MODES, 2 * MODES, 1, true}}},
    {"ar4-iterated", EXPERT_ITERATED, 4, .one_step = 0},
    {"ar12-iterated", EXPERT_ITERATED, 1, .one_step = 1},
    {"ar24-iterated", EXPERT_ITERATED, 1, .one_step = 2},
    {"seasonal-naive", EXPERT_NAIVE, .prior = 2, .slots = A},
    {"seasonal-change", EXPERT_CHANGE, .prior = 1, .slots = A},
    {"season-a", EXPERT_REGRESSION, 1, 0.9995, .slots = A,
     .run = {LAG_RUN(12, 0.5), MIDDLE_LEVELS(2), SLOTS(AT_SEASONAL, 0, 1)}},
    {"season-b", EXPERT_REGRESSION, 1, 0.9995, .slots = B,
     .run = {LAG_RUN(12, 0.5), MIDDLE_LEVELS(2), SLOTS(AT_SEASONAL, 1, 1)}},
    {"seasons", EXPERT_REGRESSION, 1, 0.9995, .slots = A | B,
     .run = {LAG_RUN(12, 0.5), MIDDLE_LEVELS(2), SLOTS(AT_SEASONAL, 0, 2)}},
    {"log-ar4", EXPERT_REGRESSION, 2, 0.998, .logarithm = true, .run = {LOG_LAG_RUN(4, 1), LOG_LEVEL_RUN(1)}},
    {"log-seasonal-change", EXPERT_CHANGE, .prior = 1, .logarithm = true, .slots = A},
    {"log-season-a", EXPERT_REGRESSION, 1, 0.9995, .logarithm = true, .slots = A,
     .run = {LOG_LAG_RUN(12, 0.5), LOG_MIDDLE_LEVELS(2), SLOTS(AT_LOG_SEASONAL, 0, 1)}},
    {"log-season-b", EXPERT_REGRESSION, 1, 0.9995, .logarithm = true, .slots = B,
     .run = {LOG_LAG_RUN(12, 0.5), LOG_MIDDLE_LEVELS(2), SLOTS(AT_LOG_SEASONAL, 1, 1)}},
    {"log-seasons", EXPERT_REGRESSION, 1, 0.9995, .logarithm = true, .slots = A | B,
     .run = {LOG_LAG_RUN(12, 0.5), LOG_MIDDLE_LEVELS(2), SLOTS(AT_LOG_SEASONAL, 0, 2)}},
    {"analogue-8", EXPERT_ANALOGUE, .prior = 0.2, .span = 0},
    {"analogue-32", EXPERT_ANALOGUE, .prior = 0.2, .span = 1},
    {"analogue-128", EXPERT_ANALOGUE, .prior = 0.2, .span = 2},
    {"analogues", EXPERT_REGRESSION, 0.3, 0.9995,
     .run = {LAG_RUN(12, 0.5), MIDDLE_LEVELS(2), {AT_ANALOGUES, ANALOGUES, 1, true}}},
    {"network", EXPERT_NETWORK, .prior = 0.5},
};

const expert one_step_experts[ONE_STEP_EXPERTS] = {
    {"ar4", EXPERT_REGRESSION, .forgetting = 0.995, .run = {LAG_RUN(4, 1)}},
    {"ar12", EXPERT_REGRESSION, .forgetting = 0.998, .run = {LAG_RUN(12, 0.3), LEVEL_RUN(1)}},
    {"ar24", EXPERT_REGRESSION, .forgetting = 0.9995, .run = {LAG_RUN(24, 0.1), LEVEL_RUN(0.3)}},
};

int expert_features(const expert *e) {
  int n = 0;
  for (int k = 0; k < EXPERT_RUNS; k++) n += e->run[k].count;
  return n;
}

void expert_precision(const expert *e, double *precision) {
  for (int k = 0; k < EXPERT_RUNS; k++)
    for (int i = 0; i < e->run[k].count; i++) *precision++ = e->run[k].precision * (e->run[k].flat ? 1 : i + 1);
}

void expert_gather(const expert *e, const double *row, double *x) {
  for (int k = 0; k < EXPERT_RUNS; k++) {
    memcpy(x, row + e->run[k].first, (size_t)e->run[k].count * sizeof *x);
    x += e->run[k].count;
  }
}

/* ---- levels and modes -------------------------------------------------------------------------------- */

static const double spans[LEVELS] = {2, 8, 32, 128}; /* tau */

void levels_observe(level_bank *b, double y, double t) {
  for (int k = 0; k < LEVELS; k++) b->ema[k] += (y - b->ema[k]) * fmax(-expm1(-1 / spans[k]), 1 / (t + 1));
}

void levels_features(const level_bank *b, double y, double *x) {
  for (int k = 0; k < LEVELS; k++) x[k] = (b->ema[k] - y) / sqrt(spans[k] / 2);
}

mode_gains mode_gains_of(void) {
  mode_gains g;
  const double pi = acos(-1), low = 2 * pi / 256, high = 0.98 * pi;
  for (int k = 0; k < MODES; k++) {
    const double angle = low * pow(high / low, (double)k / (MODES - 1));
    const double rho = exp(-fmax(1.0 / 256, fmin(angle / (2 * pi), 0.5)));
    g.re[k] = rho * cos(angle);
    g.im[k] = rho * sin(angle);
    g.gain[k] = sqrt(1 - rho * rho);
  }
  return g;
}

void modes_observe(mode_bank *b, const mode_gains *g, double d) {
  double *re = b->state, *im = b->state + MODES;
  for (int k = 0; k < MODES; k++) {
    const double x = re[k], y = im[k];
    re[k] = g->re[k] * x - g->im[k] * y + g->gain[k] * d;
    im[k] = g->im[k] * x + g->re[k] * y;
  }
}

/* ---- seasons ------------------------------------------------------------------------------------------- */

static const double phase_gains[PHASE_GAINS] = {0.3, 0.1};

void phases_observe(phase_means *p, const value_ring *r, long h, long m) {
  if (m == 0 || !ring_has(r, h)) return;
  const double visits = floor(((double)(r->t - h) - p->start) / (double)m) + 1, change = ring_change(r, 0, h);
  for (int k = 0; k < PHASE_GAINS; k++) {
    double *mean = &p->mean[k][r->t % m];
    *mean += (change - *mean) * fmax(phase_gains[k], 1 / visits);
  }
}

void seasonal_features(const phase_means *p, const value_ring *r, long h, long m, double *x) {
  memset(x, 0, SEASONAL * sizeof *x);
  if (m == 0) return;
  const long M = m * ((h + m - 1) / m);
  x[0] = ring_change(r, M - h, M);
  x[1] = ring_change(r, m, 0);
  x[2] = ring_change(r, M + m - h, M + m);
  x[3] = ring_change(r, m + 1, 1);
  x[4] = M > h ? ring_change(r, M - h - 1, M - 1) : 0;
  x[5] = ring_change(r, M - h + 1, M + 1);
  for (int k = 0; k < PHASE_GAINS; k++) x[6 + k] = p->mean[k][(r->t + h) % m];
}
