/* SPDX-License-Identifier: MIT */
/* forecaster.c: features, training and predictions of the experts. */
#include "online/forecaster.h"

#include "base/error.h"
#include "base/memory.h"
#include "online/experts.h"
#include "online/intervals.h"
#include "online/mixture.h"
#include "online/rls.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { REPLAY = 512 };                                        /* values */
enum { CLEAN_AFTER = 24, SHIFT_AFTER = 5, ERROR_SPAN = 200 }; /* values */

static const double DOUBT = 0.7; /* share of a single outlier added to predictions; two that agree are added in full */

/* ---- state ----------------------------------------------------------------------------- */

/* These hold doubles only and are stored as is. */

typedef struct scale_state {
  double square, slow, count; /* running mean squares over 1000 and over 1e5 changes */
} scale_state;

typedef struct channel_state {
  double t;                                /* values of this sequence */
  double y, raw;                           /* last value: as seen by the experts, and raw */
  double positive;                         /* 1: all y were above 0 */
  double gap;                              /* consecutive missing values */
  double error_square, error_peak, errors; /* of the one-step forecast that detects outliers */
  double outliers;                         /* consecutive */
  double doubt;                            /* added to predictions while the last value is a suspected outlier */
  double fast, slow;                       /* EMA_4 and EMA_64 */
  scale_state scale;                       /* of d */
  level_bank levels, log_levels;
  mode_bank modes;
  double lag[LAGS], log_lag[LOG_LAGS];
  double history[HISTORY], log_history[HISTORY];
  period_detector periods;
  analogue_bank analogues;
} channel_state;

typedef struct horizon_state {
  scale_state scale, log_scale;
  interval_state interval;
  mixture mixture;
  phase_means phases[PERIOD_SLOTS], log_phases[PERIOD_SLOTS];
} horizon_state;

/* a prediction that waits for its target */
typedef struct waiting {
  double row[FEATURES], x[EXPERTS];
  mixture_prediction mixture;
  double doubt;      /* the prediction is mixture.mean + doubt */
  double width;      /* half the interval; -1: none */
  double raw, known; /* current value; 1: not missing */
} waiting;

enum {
  CHANNEL_NUMBERS = sizeof(channel_state) / sizeof(double),
  HORIZON_NUMBERS = sizeof(horizon_state) / sizeof(double),
  WAITING_NUMBERS = sizeof(waiting) / sizeof(double)
};

typedef struct horizon_place {
  long h;
  size_t state, waiting, rls[EXPERTS]; /* offsets in the block of a channel */
} horizon_place;

struct forecaster {
  size_t channels, numbers;
  int horizons;
  long longest;
  double coverage;
  mode_gains modes;
  int n[EXPERTS], one_step_n[ONE_STEP_EXPERTS];
  double precision[EXPERTS][EXPERT_FEATURES], one_step_precision[ONE_STEP_EXPERTS][EXPERT_FEATURES];
  size_t one_step[ONE_STEP_EXPERTS];
  horizon_place *place;        /* (horizons) */
  sparc_forecast_score *score; /* (horizons) */
  double *state;               /* (channels, numbers) */
  double *iterated;            /* (ONE_STEP_EXPERTS, horizons) of the current channel */
  float *anomaly;              /* (channels) */
  analogue_workspace *analogues;
};

/* one channel of a forecaster */
typedef struct channel {
  const forecaster *f;
  channel_state *s;
  double *block;
} channel;

static channel channel_of(const forecaster *f, size_t i) {
  double *block = f->state + i * f->numbers;
  return (channel){.f = f, .s = (channel_state *)block, .block = block};
}

static horizon_state *horizon_of(const channel *c, int j) { return (horizon_state *)(c->block + c->f->place[j].state); }

static waiting *waiting_of(const channel *c, int j, long t) {
  const horizon_place *p = &c->f->place[j];
  return (waiting *)(c->block + p->waiting) + t % p->h;
}

static rls regression_of(const channel *c, int j, int k) {
  return rls_over(c->block + c->f->place[j].rls[k], c->f->n[k], experts[k].forgetting, c->f->precision[k]);
}

static rls one_step_of(const channel *c, int k) {
  return rls_over(c->block + c->f->one_step[k], c->f->one_step_n[k], one_step_experts[k].forgetting,
                  c->f->one_step_precision[k]);
}

static bool is_regression(int k) { return experts[k].kind == EXPERT_REGRESSION; }

/* ---- life cycle --------------------------------------------------------------------------------------- */

static void measure(forecaster *f, const int *horizon) {
  size_t used = CHANNEL_NUMBERS;
  for (int k = 0; k < ONE_STEP_EXPERTS; k++) {
    f->one_step_n[k] = expert_features(&one_step_experts[k]);
    expert_precision(&one_step_experts[k], f->one_step_precision[k]);
    f->one_step[k] = used;
    used += rls_numbers(f->one_step_n[k]);
  }
  for (int k = 0; k < EXPERTS; k++) {
    f->n[k] = expert_features(&experts[k]);
    expert_precision(&experts[k], f->precision[k]);
  }
  for (int j = 0; j < f->horizons; j++) {
    horizon_place *p = &f->place[j];
    p->h = horizon[j];
    p->state = used;
    used += HORIZON_NUMBERS;
    for (int k = 0; k < EXPERTS; k++) {
      p->rls[k] = used;
      used += is_regression(k) ? rls_numbers(f->n[k]) : 0;
    }
    p->waiting = used;
    used += (size_t)p->h * WAITING_NUMBERS;
    if (p->h > f->longest) f->longest = p->h;
  }
  f->numbers = used;
}

static void initialise(const forecaster *f, size_t i) {
  const channel c = channel_of(f, i);
  c.s->positive = 1;
  for (int k = 0; k < ONE_STEP_EXPERTS; k++) {
    const rls r = one_step_of(&c, k);
    rls_reset(&r);
  }
  for (int j = 0; j < f->horizons; j++) {
    horizon_of(&c, j)->interval = interval_initial(f->coverage);
    for (int k = 0; k < EXPERTS; k++) {
      const rls r = regression_of(&c, j, k);
      if (is_regression(k)) rls_reset(&r);
    }
  }
}

static sparc_status check_request(const int *horizon, int horizons, double coverage) {
  if (!(coverage > 0 && coverage < 1))
    return fail(SPARC_INVALID, "coverage is %g, expected a number above 0 and below 1", coverage);
  for (int j = 0; j < horizons; j++) {
    if (horizon[j] < 1 || horizon[j] > MAX_HORIZON)
      return fail(SPARC_INVALID, "horizon is %d, expected 1 to %d for a mixture of experts", horizon[j], MAX_HORIZON);
    for (int i = 0; i < j; i++)
      if (horizon[i] == horizon[j]) return fail(SPARC_INVALID, "horizon %d is given twice", horizon[j]);
  }
  return SPARC_OK;
}

sparc_status forecaster_create(size_t channels, const int *horizon, int horizons, double coverage, forecaster **out) {
  *out = NULL;
  sparc_status status = check_request(horizon, horizons, coverage);
  if (status != SPARC_OK) return status;
  forecaster *f = sparc_alloc(sizeof *f);
  if (!f) return fail(SPARC_NO_MEMORY, "no memory for a forecaster");
  *f = (forecaster){.channels = channels, .horizons = horizons, .coverage = coverage, .modes = mode_gains_of()};
  const size_t count = (size_t)horizons;
  f->place = sparc_alloc(count * sizeof *f->place);
  f->score = sparc_alloc(count * sizeof *f->score);
  f->iterated = sparc_alloc(ONE_STEP_EXPERTS * count * sizeof *f->iterated);
  f->anomaly = sparc_alloc(channels * sizeof *f->anomaly);
  f->analogues = sparc_alloc(sizeof *f->analogues);
  if (!f->place || !f->score || !f->iterated || !f->anomaly || !f->analogues) {
    forecaster_free(f);
    return fail(SPARC_NO_MEMORY, "no memory for forecasts of %zu channels with %d horizons", channels, horizons);
  }
  analogues_prepare(f->analogues);
  measure(f, horizon);
  *out = f;
  return SPARC_OK;
}

sparc_status forecaster_allocate(forecaster *f) {
  int overflow = 0;
  const size_t bytes = size_product(size_product(f->channels, f->numbers, &overflow), sizeof(double), &overflow);
  f->state = overflow ? NULL : sparc_alloc(bytes);
  if (!f->state)
    return fail(SPARC_NO_MEMORY, "no memory for forecasts of %zu channels with %d horizons", f->channels, f->horizons);
  for (size_t i = 0; i < f->channels; i++) {
    initialise(f, i);
    f->anomaly[i] = NAN;
  }
  return SPARC_OK;
}

void forecaster_free(forecaster *f) {
  if (!f) return;
  void *memory[] = {f->place, f->score, f->iterated, f->anomaly, f->analogues, f->state};
  for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) sparc_free(memory[i]);
  sparc_free(f);
}

void forecaster_reset_state(forecaster *f) {
  for (size_t i = 0; i < f->channels; i++) {
    const channel c = channel_of(f, i);
    c.s->t = c.s->gap = c.s->outliers = c.s->doubt = 0;
    memset(c.s->lag, 0, sizeof c.s->lag);
    memset(c.s->log_lag, 0, sizeof c.s->log_lag);
    memset(&c.s->modes, 0, sizeof c.s->modes);
    periods_reset_state(&c.s->periods);
    memset(&c.s->analogues, 0, sizeof c.s->analogues);
    for (int j = 0; j < f->horizons; j++) {
      memset(horizon_of(&c, j)->phases, 0, sizeof horizon_of(&c, j)->phases);
      memset(horizon_of(&c, j)->log_phases, 0, sizeof horizon_of(&c, j)->log_phases);
    }
  }
}

double *forecaster_state(forecaster *f) { return f->state; }
size_t forecaster_numbers(const forecaster *f) { return f->numbers; }

/* ---- scales ------------------------------------------------------------------------------------------- */

static void scale_observe(scale_state *s, double change) {
  s->count++;
  s->square += (change * change - s->square) / fmin(s->count, 1000);
  s->slow += (change * change - s->slow) / fmin(s->count, 1e5);
}

/* sigma; 0: too small to learn from */
static double usable_scale(const scale_state *s, double y) {
  const double sigma = sqrt(s->square);
  return sigma > 1e-100 && sigma >= 1e-9 * fabs(y) && sigma >= 1e-5 * sqrt(s->slow) ? sigma : 0;
}

static double limit(double x, double bound) { return fmax(-bound, fmin(x, bound)); }

static void update_regression(const rls *r, const expert *e, const double *row, double change, double sigma) {
  double x[EXPERT_FEATURES];
  expert_gather(e, row, x);
  for (int i = 0; i < r->n; i++) x[i] /= sigma;
  rls_update(r, x, change / sigma);
}

/* ---- features ----------------------------------------------------------------------------------------- */

static value_ring ring_of(const channel_state *s, bool logarithm, long t) {
  const long last = (long)s->t - 1;
  return (value_ring){logarithm ? s->log_history : s->history, t, last < HISTORY ? 0 : last - HISTORY + 1};
}

/* copies the last values for the analogues, latest first */
static void gather_values(const channel *c) {
  const long t = (long)c->s->t, count = t < ANALOGUE_VALUES ? t : ANALOGUE_VALUES, at = (t - 1) % HISTORY;
  const double *history = c->s->history;
  double *value = c->f->analogues->value;
  for (long k = 0; k < count && k <= at; k++) value[k] = history[at - k];
  for (long k = at + 1; k < count; k++) value[k] = history[HISTORY + at - k];
}

/* current features that do not depend on a horizon */
static void current_features(const channel_state *s, double *row) {
  memcpy(row + AT_LAGS, s->lag, sizeof s->lag);
  levels_features(&s->levels, s->y, row + AT_LEVELS);
  memcpy(row + AT_MODES, s->modes.state, sizeof s->modes.state);
  if (!s->positive) {
    memset(row + AT_LOG_LAGS, 0, (LOG_LAGS + LEVELS) * sizeof *row);
    return;
  }
  memcpy(row + AT_LOG_LAGS, s->log_lag, sizeof s->log_lag);
  levels_features(&s->log_levels, log(s->y), row + AT_LOG_LEVELS);
}

static void add_seasonal(const channel_state *s, const horizon_state *q, long h, long t, int slot, double *row) {
  const long m = (long)s->periods.period[slot];
  const value_ring r = ring_of(s, false, t), log_r = ring_of(s, true, t);
  seasonal_features(&q->phases[slot], &r, h, m, row + AT_SEASONAL + (size_t)slot * SEASONAL);
  seasonal_features(&q->log_phases[slot], &log_r, h, s->positive ? m : 0,
                    row + AT_LOG_SEASONAL + (size_t)slot * SEASONAL);
}

static void observe_phases(const channel_state *s, horizon_state *q, long h, long t, int slot) {
  const long m = (long)s->periods.period[slot];
  const value_ring r = ring_of(s, false, t), log_r = ring_of(s, true, t);
  phases_observe(&q->phases[slot], &r, h, m);
  if (s->positive) phases_observe(&q->log_phases[slot], &log_r, h, m);
}

/* ---- a change of period ------------------------------------------------------------------------------- */

/* lags and levels of an earlier time */
static void past_features(const channel_state *s, const level_bank *levels, const level_bank *log_levels, long t,
                          double *row) {
  const value_ring r = ring_of(s, false, t), log_r = ring_of(s, true, t);
  for (int i = 0; i < LOG_LAGS; i++) {
    row[AT_LAGS + i] = ring_change(&r, i, i + 1);
    row[AT_LOG_LAGS + i] = s->positive ? ring_change(&log_r, i, i + 1) : 0;
  }
  levels_features(levels, ring_back(&r, 0), row + AT_LEVELS);
  if (s->positive) levels_features(log_levels, ring_back(&log_r, 0), row + AT_LOG_LEVELS);
}

static bool sees(int k, unsigned changed) { return is_regression(k) && (experts[k].slots & changed); }

/* fits the regressions that see a changed slot to a past row */
static void replay_row(const channel *c, int j, unsigned changed, const double *row, long t) {
  const long h = c->f->place[j].h;
  const horizon_state *q = horizon_of(c, j);
  const double sigma = usable_scale(&q->scale, c->s->y);
  const value_ring r = ring_of(c->s, false, t + h), log_r = ring_of(c->s, true, t + h);
  const double log_sigma = c->s->positive ? usable_scale(&q->log_scale, ring_back(&log_r, 0)) : 0;
  for (int k = 0; k < EXPERTS; k++) {
    const double s = experts[k].logarithm ? log_sigma : sigma;
    if (!sees(k, changed) || !(s > 0)) continue;
    const rls regression = regression_of(c, j, k);
    update_regression(&regression, &experts[k], row, ring_change(experts[k].logarithm ? &log_r : &r, 0, h), s);
  }
}

/* refits regressions, phases and waiting rows of a horizon to the past with the current periods */
static void replay(const channel *c, int j, unsigned changed) {
  channel_state *s = c->s;
  horizon_state *q = horizon_of(c, j);
  const long h = c->f->place[j].h, now = (long)s->t - 1, oldest = ring_of(s, false, now).oldest;
  level_bank levels = {{0}}, log_levels = {{0}};
  for (int slot = 0; slot < PERIOD_SLOTS; slot++) {
    if (!(changed & 1u << slot)) continue;
    memset(&q->phases[slot], 0, sizeof q->phases[slot]);
    memset(&q->log_phases[slot], 0, sizeof q->log_phases[slot]);
    q->phases[slot].start = q->log_phases[slot].start = (double)oldest;
  }
  for (int k = 0; k < EXPERTS; k++) {
    const rls r = regression_of(c, j, k);
    if (sees(k, changed)) rls_reset(&r);
  }
  for (long t = oldest; t <= now; t++) {
    double row[FEATURES] = {0}, *to = t > now - h && t < now ? waiting_of(c, j, t)->row : row;
    levels_observe(&levels, s->history[t % HISTORY], (double)(t - oldest));
    if (s->positive) levels_observe(&log_levels, s->log_history[t % HISTORY], (double)(t - oldest));
    for (int slot = 0; slot < PERIOD_SLOTS; slot++)
      if (changed & 1u << slot) observe_phases(s, q, h, t, slot);
    if (t < now - h - REPLAY) continue;
    for (int slot = 0; slot < PERIOD_SLOTS; slot++)
      if (to == row || (changed & 1u << slot)) add_seasonal(s, q, h, t, slot, to);
    if (t > now - h) continue;
    past_features(s, &levels, &log_levels, t, row);
    replay_row(c, j, changed, row, t);
  }
}

/* ---- a value ------------------------------------------------------------------------------------------ */

/* the change to the next value by a one-step regression */
static double one_step_change(const channel *c, int k) {
  double row[FEATURES], x[EXPERT_FEATURES];
  current_features(c->s, row);
  expert_gather(&one_step_experts[k], row, x);
  const rls r = one_step_of(c, k);
  return limit(rls_predict(&r, x), 10 * sqrt(c->s->scale.square));
}

/* what the experts see of a value that is there; change is the one-step forecast */
static double clean_value(channel_state *s, double x, double change, bool frozen) {
  s->doubt = 0;
  if (s->gap > 0) s->outliers = 0;
  if (s->t == 0 || s->gap > 0) return x;
  const double error = x - (s->y + change);
  const double width = fmax(12 * sqrt(s->error_square), s->error_peak);
  const bool outlier = s->errors >= CLEAN_AFTER && width > 0 && fabs(error) > width && s->outliers < SHIFT_AFTER;
  const bool after_outlier = s->outliers > 0 && s->outliers < SHIFT_AFTER; /* its forecast is off, too */
  s->outliers = outlier ? s->outliers + 1 : 0;
  if (!frozen && !outlier && !after_outlier) {
    s->errors++;
    s->error_square += (error * error - s->error_square) / fmin(s->errors, ERROR_SPAN);
    s->error_peak = fmax(0.9995 * s->error_peak, fabs(error));
  }
  const double seen = outlier ? s->y + change + limit(error, width) : x;
  s->doubt = !outlier ? 0 : s->outliers > 1 && fabs(x - s->raw) <= width ? x - seen : DOUBT * (x - seen);
  return seen;
}

/* recomputes logarithms of a shifted history; log experts are disabled if it is no longer positive */
static void renew_logarithms(channel_state *s, long values) {
  for (long i = 0; s->positive && i < values; i++) {
    if (s->history[i] > 0)
      s->log_history[i] = log(s->history[i]);
    else
      s->positive = 0;
  }
  for (int k = 0; s->positive && k < LEVELS; k++)
    s->log_levels.ema[k] = log(s->levels.ema[k] > 0 ? s->levels.ema[k] : s->y);
}

/* Persistent outliers are a new level: the history is shifted to it, so that the jump is neither learned nor predicted.
 * Waiting predictions keep their values. */
static void shift_level(const channel *c) {
  channel_state *s = c->s;
  const double shift = s->raw - s->y;
  const long values = s->t < HISTORY ? (long)s->t : HISTORY;
  for (long i = 0; i < values; i++) s->history[i] += shift;
  for (int k = 0; k < LEVELS; k++) s->levels.ema[k] += shift;
  for (int i = 0; i < SHIFT_AFTER; i++) s->lag[i] = s->log_lag[i] = 0;
  s->fast += shift;
  s->slow += shift;
  s->y += shift;
  renew_logarithms(s, values);
  for (int j = 0; j < c->f->horizons; j++)
    for (long t = 0; t < c->f->place[j].h; t++) {
      waiting *w = waiting_of(c, j, t);
      for (int k = 0; k < EXPERTS; k++) w->x[k] += shift;
      for (int q = 0; q < MIXTURE_AGGREGATES; q++) w->mixture.aggregate[q] += shift;
      w->mixture.mean += shift;
      w->doubt -= shift;
    }
}

static void prior_of(const channel *c, int j, double prior[EXPERTS]) {
  for (int k = 0; k < EXPERTS; k++) {
    const bool out = (experts[k].logarithm && !c->s->positive) ||
                     (experts[k].kind == EXPERT_ITERATED && c->f->place[j].h == 1) ||
                     (experts[k].kind == EXPERT_NETWORK && j > 0);
    prior[k] = out ? 0 : experts[k].prior;
  }
}

static double prediction_of(const waiting *w) { return w->mixture.mean + w->doubt; }

static void score_prediction(const channel *c, int j, const waiting *w, double x) {
  sparc_forecast_score *score = &c->f->score[j];
  const double p = prediction_of(w);
  score->channels++;
  score->loss += (x - p) * (x - p);
  score->persistence += (x - w->raw) * (x - w->raw);
  score->seasonal_naive += (x - w->x[SEASONAL_NAIVE_EXPERT]) * (x - w->x[SEASONAL_NAIVE_EXPERT]);
  if (!(w->width >= 0)) return;
  score->intervals++;
  score->covered += fabs(x - p) <= w->width;
  const size_t i = (size_t)(c->block - c->f->state) / c->f->numbers;
  const double error = fabs(x - p);
  if (j == 0) c->f->anomaly[i] = (float)(error == 0 ? 0 : fmin(error / w->width, 1e9));
}

/* updates the regressions of a horizon with target y */
static void learn_regressions(const channel *c, int j, const waiting *w, double base, double y) {
  horizon_state *q = horizon_of(c, j);
  const bool logs = c->s->positive && y > 0;
  const double change = y - base, log_change = logs ? log(y) - log(base) : 0;
  scale_observe(&q->scale, change);
  if (logs) scale_observe(&q->log_scale, log_change);
  const double sigma = usable_scale(&q->scale, y), log_sigma = logs ? usable_scale(&q->log_scale, log(y)) : 0;
  for (int k = 0; k < EXPERTS; k++) {
    const double s = experts[k].logarithm ? log_sigma : sigma;
    if (!is_regression(k) || !(s > 0)) continue;
    const rls r = regression_of(c, j, k);
    update_regression(&r, &experts[k], w->row, experts[k].logarithm ? log_change : change, s);
  }
}

/* a value is the target of one prediction of every horizon */
static void learn_value(const channel *c, double x, double y, bool frozen) {
  const long t = (long)c->s->t;
  const value_ring r = ring_of(c->s, false, t - 1);
  for (int j = 0; j < c->f->horizons; j++) {
    const long h = c->f->place[j].h;
    if (t < h) continue;
    const waiting *w = waiting_of(c, j, t - h);
    horizon_state *q = horizon_of(c, j);
    double prior[EXPERTS];
    score_prediction(c, j, w, x);
    if (frozen) continue;
    prior_of(c, j, prior);
    interval_observe(&q->interval, c->f->coverage, x - prediction_of(w), w->width);
    mixture_observe(&q->mixture, EXPERTS, prior, w->x, &w->mixture, y);
    if (w->known > 0) learn_regressions(c, j, w, ring_back(&r, h - 1), y);
  }
}

static void learn_one_step(const channel *c, double y) {
  double row[FEATURES];
  scale_observe(&c->s->scale, y - c->s->y);
  const double sigma = usable_scale(&c->s->scale, y);
  if (!(sigma > 0)) return;
  current_features(c->s, row);
  for (int k = 0; k < ONE_STEP_EXPERTS; k++) {
    if (k != CLEANING_EXPERT && c->f->longest == 1) continue;
    const rls r = one_step_of(c, k);
    update_regression(&r, &one_step_experts[k], row, y - c->s->y, sigma);
  }
}

/* appends y to the history */
static void push_value(const channel *c, double y, bool frozen) {
  channel_state *s = c->s;
  const bool first = s->t == 0;
  const double d = first ? 0 : y - s->y;
  if (s->positive && !(y > 0)) s->positive = 0;
  memmove(s->lag + 1, s->lag, sizeof s->lag - sizeof *s->lag);
  s->lag[0] = d;
  if (s->positive) {
    memmove(s->log_lag + 1, s->log_lag, sizeof s->log_lag - sizeof *s->log_lag);
    s->log_lag[0] = first ? 0 : log(y) - log(s->y);
    s->log_history[(long)s->t % HISTORY] = log(y);
    levels_observe(&s->log_levels, log(y), s->t);
  }
  s->history[(long)s->t % HISTORY] = y;
  levels_observe(&s->levels, y, s->t);
  modes_observe(&s->modes, &c->f->modes, d);
  s->fast += (y - s->fast) * fmax(-expm1(-1.0 / 4), 1 / (s->t + 1));
  s->slow += (y - s->slow) * fmax(-expm1(-1.0 / 64), 1 / (s->t + 1));
  s->y = y;
  s->t++;
  const double sigma = usable_scale(&s->scale, y);
  const double u[PERIOD_SLOTS] = {sigma > 0 ? limit(d / sigma, 4) : 0,
                                  sigma > 0 ? limit((s->fast - s->slow) / sigma, 1e3) : 0};
  if (!frozen) periods_observe(&s->periods, u);
  gather_values(c);
  analogues_observe(&s->analogues, c->f->analogues, (long)s->t);
}

static void observe_channel(const channel *c, double x, bool frozen) {
  channel_state *s = c->s;
  const bool missing = isnan(x);
  if (missing && s->t == 0) return; /* a sequence starts with its first value */
  const bool persists = s->outliers >= SHIFT_AFTER && s->gap == 0 && fabs(x - s->raw) < fabs(x - s->y);
  if (!missing && persists) shift_level(c);
  const double change = s->t > 0 ? one_step_change(c, CLEANING_EXPERT) : 0;
  const double y = missing ? s->y + change * pow(0.9, s->gap) : clean_value(s, x, change, frozen);
  if (!missing) {
    learn_value(c, x, y, frozen);
    if (!frozen && s->t > 0 && s->gap == 0) learn_one_step(c, y);
    s->raw = x;
  }
  if (missing) s->doubt = 0;
  s->gap = missing ? s->gap + 1 : 0;
  push_value(c, y, frozen);
  for (int j = 0; j < c->f->horizons; j++)
    for (int slot = 0; slot < PERIOD_SLOTS; slot++)
      observe_phases(s, horizon_of(c, j), c->f->place[j].h, (long)s->t - 1, slot);
  const unsigned changed = frozen ? 0 : periods_update(&s->periods);
  for (int j = 0; changed && j < c->f->horizons; j++) replay(c, j, changed);
}

void forecaster_observe(forecaster *f, const float *x, bool frozen, float *clean) {
  for (int j = 0; j < f->horizons; j++) f->score[j] = (sparc_forecast_score){.channels = 0};
  for (size_t i = 0; i < f->channels; i++) {
    const channel c = channel_of(f, i);
    f->anomaly[i] = NAN;
    observe_channel(&c, (double)x[i], frozen);
    clean[i] = (float)c.s->y;
  }
}

/* ---- predictions -------------------------------------------------------------------------------------- */

/* iterates a one-step regression on its own predictions; stores those of every horizon */
static void iterate(const channel *c, int k) {
  const channel_state *s = c->s;
  const rls r = one_step_of(c, k);
  double row[FEATURES] = {0}, x[EXPERT_FEATURES], y = s->y;
  level_bank levels = s->levels;
  const double bound = 10 * sqrt(s->scale.square);
  memcpy(row + AT_LAGS, s->lag, sizeof s->lag);
  for (long step = 1; step <= c->f->longest; step++) {
    levels_features(&levels, y, row + AT_LEVELS);
    expert_gather(&one_step_experts[k], row, x);
    const double change = limit(rls_predict(&r, x), bound);
    y += change;
    memmove(row + AT_LAGS + 1, row + AT_LAGS, (LAGS - 1) * sizeof *row);
    row[AT_LAGS] = change;
    levels_observe(&levels, y, s->t + (double)step - 1);
    for (int j = 0; j < c->f->horizons; j++)
      if (c->f->place[j].h == step) c->f->iterated[k * c->f->horizons + j] = y;
  }
}

static double predict_change(const channel *c, int j, int k, const double *row) {
  double x[EXPERT_FEATURES];
  const rls r = regression_of(c, j, k);
  expert_gather(&experts[k], row, x);
  return rls_predict(&r, x);
}

/* y[t+h-M] - y[t-M] */
static double seasonal_change(const channel *c, int j, bool logarithm) {
  const long m = (long)c->s->periods.period[0], h = c->f->place[j].h;
  if (m == 0) return 0;
  const long M = m * ((h + m - 1) / m);
  const value_ring r = ring_of(c->s, logarithm, (long)c->s->t - 1);
  return ring_change(&r, M - h, M);
}

static double seasonal_naive(const channel *c, int j) {
  const long m = (long)c->s->periods.period[0], h = c->f->place[j].h;
  if (m == 0) return c->s->y;
  const value_ring r = ring_of(c->s, false, (long)c->s->t - 1);
  const long back = m * ((h + m - 1) / m) - h;
  return ring_has(&r, back) ? ring_back(&r, back) : c->s->y;
}

static double expert_prediction(const channel *c, int j, int k, const double *row, double network) {
  const channel_state *s = c->s;
  const horizon_state *q = horizon_of(c, j);
  const expert *e = &experts[k];
  if (e->logarithm && !s->positive) return s->y;
  double change = 0;
  switch (e->kind) {
    case EXPERT_PERSISTENCE:
      return s->y;
    case EXPERT_NETWORK:
      return isfinite(network) ? network : s->y;
    case EXPERT_ITERATED:
      return c->f->place[j].h > 1 ? c->f->iterated[e->one_step * c->f->horizons + j] : s->y;
    case EXPERT_NAIVE:
      return seasonal_naive(c, j);
    case EXPERT_CHANGE:
      change = seasonal_change(c, j, e->logarithm);
      break;
    case EXPERT_ANALOGUE:
      return s->y + row[AT_ANALOGUES + e->span];
    case EXPERT_REGRESSION:
      change = predict_change(c, j, k, row);
      break;
  }
  if (e->logarithm) return s->y * exp(limit(change, fmin(10 * sqrt(q->log_scale.square), 50)));
  return s->y + (e->kind == EXPERT_CHANGE ? change : limit(change, 30 * sqrt(q->scale.square)));
}

static double predict_channel(const channel *c, int j, const double *row, double network) {
  const channel_state *s = c->s;
  const long t = (long)s->t - 1;
  horizon_state *q = horizon_of(c, j);
  waiting *w = waiting_of(c, j, t);
  double prior[EXPERTS];
  memcpy(w->row, row, AT_SEASONAL * sizeof *row);
  for (int slot = 0; slot < PERIOD_SLOTS; slot++) add_seasonal(s, q, c->f->place[j].h, t, slot, w->row);
  analogues_features(c->f->analogues, (long)s->t, c->f->place[j].h, w->row + AT_ANALOGUES);
  for (int k = 0; k < EXPERTS; k++) w->x[k] = expert_prediction(c, j, k, w->row, network);
  prior_of(c, j, prior);
  w->mixture = mixture_predict(&q->mixture, EXPERTS, prior, w->x);
  w->doubt = s->doubt;
  w->width = interval_width(&q->interval);
  w->raw = s->raw;
  w->known = s->gap == 0;
  return prediction_of(w);
}

/* what the experts of all horizons share */
static void prepare_prediction(const channel *c, double *row) {
  current_features(c->s, row);
  gather_values(c);
  analogues_weigh(&c->s->analogues, c->f->analogues, (long)c->s->t, c->s->scale.square);
  for (int k = 0; c->f->longest > 1 && k < ONE_STEP_EXPERTS; k++) iterate(c, k);
}

static float to_float(double x) { return (float)limit(x, 3e38); }

void forecaster_predict(forecaster *f, const float *network, float *y) {
  for (size_t i = 0; i < f->channels; i++) {
    const channel c = channel_of(f, i);
    double row[FEATURES];
    if (c.s->t > 0) prepare_prediction(&c, row);
    for (int j = 0; j < f->horizons; j++) {
      float *to = y + (size_t)j * f->channels + i;
      *to = to_float(c.s->t > 0 ? predict_channel(&c, j, row, (double)network[i]) : c.s->y);
    }
  }
}

void forecaster_interval(const forecaster *f, float *low, float *high) {
  for (size_t i = 0; i < f->channels; i++)
    for (int j = 0; j < f->horizons; j++) {
      const channel c = channel_of(f, i);
      const size_t at = (size_t)j * f->channels + i;
      const waiting *w = c.s->t > 0 ? waiting_of(&c, j, (long)c.s->t - 1) : NULL;
      const bool known = w && w->width >= 0;
      if (low) low[at] = known ? to_float(prediction_of(w) - w->width) : NAN;
      if (high) high[at] = known ? to_float(prediction_of(w) + w->width) : NAN;
    }
}

void forecaster_anomaly(const forecaster *f, float *score) { memcpy(score, f->anomaly, f->channels * sizeof *score); }

sparc_forecast_score forecaster_score(const forecaster *f, int horizon) {
  sparc_forecast_score s = f->score[horizon];
  if (s.channels == 0) return s;
  s.loss /= s.channels;
  s.persistence /= s.channels;
  s.seasonal_naive /= s.channels;
  return s;
}

void forecaster_periods(const forecaster *f, size_t channel_index, int period[2]) {
  const channel c = channel_of(f, channel_index);
  for (int k = 0; k < PERIOD_SLOTS; k++) period[k] = (int)c.s->periods.period[k];
}

/* ---- validation of stored states ---------------------------------------------------------------------------------- */

static bool is_count(double x) { return x >= 0 && x <= 0x1p53 && x == floor(x); }
static bool is_flag(double x) { return x == 0 || x == 1; }

static bool scale_valid(const scale_state *s) {
  return s->square >= 0 && s->square <= 1e120 && s->slow >= 0 && s->slow <= 1e120 && is_count(s->count);
}

static bool channel_valid(const channel_state *s) {
  if (!is_count(s->t) || !is_flag(s->positive) || !is_count(s->gap) || !is_count(s->errors) || !is_count(s->outliers))
    return false;
  if (s->t > 0 && s->positive && !(s->y > 0)) return false;
  return s->error_square >= 0 && s->error_peak >= 0 && scale_valid(&s->scale) && periods_valid(&s->periods) &&
         analogues_valid(&s->analogues);
}

static bool waiting_valid(const waiting *w) { return w->width >= -1 && is_flag(w->known); }

static bool horizon_valid(const channel *c, int j) {
  const horizon_state *q = horizon_of(c, j);
  bool valid = scale_valid(&q->scale) && scale_valid(&q->log_scale) && interval_valid(&q->interval) &&
               mixture_valid(&q->mixture);
  for (int slot = 0; slot < PERIOD_SLOTS; slot++)
    valid = valid && is_count(q->phases[slot].start) && is_count(q->log_phases[slot].start);
  for (long t = 0; t < c->f->place[j].h; t++) valid = valid && waiting_valid(waiting_of(c, j, t));
  for (int k = 0; k < EXPERTS; k++) {
    const rls r = regression_of(c, j, k);
    valid = valid && (!is_regression(k) || rls_valid(&r));
  }
  return valid;
}

bool forecaster_valid(const forecaster *f) {
  bool valid = true;
  for (size_t i = 0; i < f->channels * f->numbers; i++) valid = valid && fabs(f->state[i]) <= 1e200;
  for (size_t i = 0; valid && i < f->channels; i++) {
    const channel c = channel_of(f, i);
    valid = channel_valid(c.s);
    for (int k = 0; k < ONE_STEP_EXPERTS; k++) {
      const rls r = one_step_of(&c, k);
      valid = valid && rls_valid(&r);
    }
    for (int j = 0; j < f->horizons; j++) valid = valid && horizon_valid(&c, j);
  }
  return valid;
}
