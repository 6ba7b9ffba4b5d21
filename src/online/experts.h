/* SPDX-License-Identifier: MIT */
/* experts.h: the experts of a forecaster and their features.
 *
 * All predict a change y[t+h] - y[t] and are linear in y, so none needs a mean. d[t] = y[t] - y[t-1].
 *
 *   lags      d[t-i], i < 24
 *   levels    (EMA_tau(y) - y) / sqrt(tau / 2), tau = 2, 8, 32, 128
 *   modes     24 fixed rotations driven by d: real and imaginary parts, log-spaced angles
 *   seasonal  of a period m, M = m ceil(h / m): y[t+h-M] - y[t-M]; y[t-m] - y[t]; y[t+h-M-m] - y[t-M-m];
 *             y[t-1-m] - y[t-1]; the first one shifted by +1 (if it is known) and by -1; per-phase EWMA of the
 *             h-step change, gains .3 and .1
 *   analogue  what followed similar stretches of the past, and their level (analogues.h), spans 8, 32, 128
 *   of log y  12 lags, levels, seasonal, while every y was positive
 *
 * Values before the sequence are 0. Features use the last HISTORY values.
 */
#ifndef SPARC_ONLINE_EXPERTS_H
#define SPARC_ONLINE_EXPERTS_H

#include "online/analogues.h"
#include "online/periods.h"

enum { HISTORY = 2048, MAX_HORIZON = HISTORY - 2 * MAX_PERIOD - 2 };
enum { LAGS = 24, LOG_LAGS = 12, LEVELS = 4, MODES = 24, SEASONAL = 8, PHASE_GAINS = 2 };

/* offsets in a row of features */
enum {
  AT_LAGS = 0,
  AT_LEVELS = AT_LAGS + LAGS,
  AT_MODES = AT_LEVELS + LEVELS,
  AT_LOG_LAGS = AT_MODES + 2 * MODES,
  AT_LOG_LEVELS = AT_LOG_LAGS + LOG_LAGS,
  AT_SEASONAL = AT_LOG_LEVELS + LEVELS, /* slot A, slot B */
  AT_LOG_SEASONAL = AT_SEASONAL + PERIOD_SLOTS * SEASONAL,
  AT_ANALOGUES = AT_LOG_SEASONAL + PERIOD_SLOTS * SEASONAL,
  FEATURES = AT_ANALOGUES + ANALOGUES
};

typedef enum expert_kind {
  EXPERT_PERSISTENCE, /* y[t] */
  EXPERT_REGRESSION,  /* y[t] + w.x, direct for the horizon */
  EXPERT_ITERATED,    /* a one-step regression, h times; only for h > 1 */
  EXPERT_NAIVE,       /* y[t+h-M] */
  EXPERT_CHANGE,      /* y[t] + y[t+h-M] - y[t-M] */
  EXPERT_ANALOGUE,    /* y[t] + the change of its span */
  EXPERT_NETWORK      /* the recurrent network of the learner */
} expert_kind;

enum { EXPERT_RUNS = 3, EXPERT_FEATURES = LAGS + LEVELS + 2 * MODES };

typedef struct feature_run {
  int first, count;
  double precision; /* of the ridge; of lags times i, counted from 1, unless flat */
  bool flat;
} feature_run;

typedef struct expert {
  const char *name;
  expert_kind kind;
  double prior, forgetting;
  bool logarithm;
  unsigned slots; /* bit k: uses the period of slot k, and is refitted when it changes */
  int one_step;   /* EXPERT_ITERATED: index of its regression in one_step_experts */
  int span;       /* EXPERT_ANALOGUE: index of its span */
  feature_run run[EXPERT_RUNS];
} expert;

extern const expert experts[];
enum { EXPERTS = 27, SEASONAL_NAIVE_EXPERT = 12 /* index */ };
enum { ONE_STEP_EXPERTS = 3, CLEANING_EXPERT = 2 /* detects outliers */ };
extern const expert one_step_experts[ONE_STEP_EXPERTS];

int expert_features(const expert *e);
void expert_precision(const expert *e, double *precision /* expert_features */);
void expert_gather(const expert *e, const double *row /* FEATURES */, double *x /* expert_features */);

/* ---- features ---- */

typedef struct level_bank {
  double ema[LEVELS];
} level_bank;

void levels_observe(level_bank *b, double y, double t /* values before */);
void levels_features(const level_bank *b, double y, double *x /* LEVELS */);

typedef struct mode_bank {
  double state[2 * MODES];
} mode_bank;

typedef struct mode_gains {
  double re[MODES], im[MODES], gain[MODES];
} mode_gains;

mode_gains mode_gains_of(void);
void modes_observe(mode_bank *b, const mode_gains *g, double d);

/* y[t-k] of a ring of values, as seen at time t; `oldest` is the first time it holds */
typedef struct value_ring {
  const double *value; /* (HISTORY) */
  long t, oldest;
} value_ring;

static inline bool ring_has(const value_ring *r, long k) { return k >= 0 && r->t - k >= r->oldest; }
static inline double ring_back(const value_ring *r, long k) { return r->value[(r->t - k) % HISTORY]; }

/* y[t-a] - y[t-b]; 0 if one of them is not in the history */
static inline double ring_change(const value_ring *r, long a, long b) {
  return ring_has(r, a) && ring_has(r, b) ? ring_back(r, a) - ring_back(r, b) : 0;
}

typedef struct phase_means {
  double start; /* index of the first value */
  double mean[PHASE_GAINS][MAX_PERIOD];
} phase_means; /* doubles only */

void phases_observe(phase_means *p, const value_ring *r, long h, long m);
void seasonal_features(const phase_means *p, const value_ring *r, long h, long m, double *x /* SEASONAL */);

#endif
