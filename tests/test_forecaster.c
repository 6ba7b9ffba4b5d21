/* SPDX-License-Identifier: MIT */
/* test_forecaster.c: regressions are ridge regressions, periods are found, mixtures follow their formulas, intervals
 * cover, and no stream or state of a file leads to a number that is not finite. */
#include "base/random.h"
#include "online/experts.h"
#include "online/forecaster.h"
#include "online/intervals.h"
#include "online/mixture.h"
#include "online/rls.h"
#include "sparc/random.h"
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- regressions ------------------------------------------------------------------------------------- */

enum { N = 5, ROWS = 40 };

/* A w = b by elimination with pivots */
static void solve(double A[N][N], double *b) {
  for (int i = 0; i < N; i++) {
    int pivot = i;
    for (int k = i + 1; k < N; k++)
      if (fabs(A[k][i]) > fabs(A[pivot][i])) pivot = k;
    for (int j = 0; j < N; j++) {
      const double kept = A[i][j];
      A[i][j] = A[pivot][j], A[pivot][j] = kept;
    }
    const double kept = b[i];
    b[i] = b[pivot], b[pivot] = kept;
    for (int k = 0; k < N; k++) {
      const double factor = k == i ? 0 : A[k][i] / A[i][i];
      for (int j = 0; j < N; j++) A[k][j] -= factor * A[i][j];
      b[k] -= factor * b[i];
    }
  }
  for (int i = 0; i < N; i++) b[i] /= A[i][i];
}

/* the normal equations of all rows so far, ridge rows included */
static void exact_weights(float x[][N], const float *target, int rows, double lam, const double *prec, double *w) {
  double A[N][N] = {{0}};
  memset(w, 0, N * sizeof *w);
  for (int i = 0; i < N; i++) A[i][i] = prec[i];
  for (int t = 0; t < rows; t++) {
    for (int i = 0; i < N; i++) {
      w[i] = lam * w[i] + (double)x[t][i] * (double)target[t];
      for (int j = 0; j < N; j++) A[i][j] = lam * A[i][j] + (double)x[t][i] * (double)x[t][j];
    }
    const int ridge = (t + 1) / RIDGE_EVERY % N;
    if ((t + 1) % RIDGE_EVERY == 0) A[ridge][ridge] += RIDGE_EVERY * N * (1 - lam) * prec[ridge];
  }
  solve(A, w);
}

static void regressions_are_exact(void **state) {
  (void)state;
  static const double forgetting[] = {1, 0.97, 0.5}, prec[N] = {1, 0.3, 2, 0.001, 5};
  sparc_random random;
  sparc_random_init(&random, 1, "test", "rls");
  float x[ROWS][N], target[ROWS];
  random_fill_normal(&random, x[0], ROWS * N, 1);
  random_fill_normal(&random, target, ROWS, 1);
  for (size_t f = 0; f < COUNT(forgetting); f++) {
    double state_numbers[N * N + 2 * N + 1], expected[N];
    assert_int_equal(rls_numbers(N), COUNT(state_numbers));
    const rls r = rls_over(state_numbers, N, forgetting[f], prec);
    rls_reset(&r);
    for (int t = 0; t < ROWS; t++) {
      double row[N], sum = 0;
      for (int i = 0; i < N; i++) row[i] = (double)x[t][i];
      rls_update(&r, row, (double)target[t]);
      exact_weights(x, target, t + 1, forgetting[f], prec, expected);
      for (int i = 0; i < N; i++) {
        if (!(fabs(r.w[i] - expected[i]) <= 1e-9 * fmax(1, fabs(expected[i]))))
          fail_msg("forgetting %g, row %d: w[%d] is %.15g, expected %.15g", forgetting[f], t, i, r.w[i], expected[i]);
        sum += expected[i] * row[i];
      }
      assert_true(fabs(rls_predict(&r, row) - sum) <= 1e-8 * fmax(1, fabs(sum)));
    }
  }
}

/* without excitation the ridge keeps R away from 0, and the weights shrink */
static void ridges_last(void **state) {
  (void)state;
  static const double prec[3] = {1, 2, 3};
  double state_numbers[3 * 3 + 2 * 3 + 1];
  const rls r = rls_over(state_numbers, 3, 0.97, prec);
  rls_reset(&r);
  rls_update(&r, (const double[]){1, 1, 1}, 3);
  assert_true(r.w[0] > 0.1);
  for (int t = 0; t < 20000; t++) rls_update(&r, (const double[]){0, 0, 0}, 0);
  assert_true(rls_valid(&r));
  for (int i = 0; i < 3; i++) {
    assert_true(r.R[4 * i] * r.R[4 * i] > 0.3 * prec[i] && r.R[4 * i] * r.R[4 * i] < 3 * prec[i]);
    assert_true(fabs(r.w[i]) < 1e-6);
  }
}

/* ---- periods ------------------------------------------------------------------------------------------- */

static void periods_are_found(void **state) {
  (void)state;
  static const int periods[] = {2, 7, 12, 24, 168};
  sparc_random random;
  sparc_random_init(&random, 2, "test", "periods");
  for (size_t k = 0; k < COUNT(periods); k++) {
    period_detector *p = calloc(1, sizeof *p);
    float shape[200], noise;
    random_fill_normal(&random, shape, (size_t)periods[k], 1);
    shape[1] = shape[0] + 2; /* not constant */
    for (int t = 0; t < 6 * periods[k] + 100; t++) {
      random_fill_normal(&random, &noise, 1, 0.2f);
      const double u = (double)(shape[t % periods[k]] - shape[(t + periods[k] - 1) % periods[k]] + noise);
      periods_observe(p, (const double[]){u, 0});
      periods_update(p);
    }
    if (p->period[0] != periods[k]) fail_msg("the period is %g, expected %d", p->period[0], periods[k]);
    assert_true(p->period[1] == 0);
    assert_true(periods_valid(p));
    free(p);
  }
}

/* ---- analogues ----------------------------------------------------------------------------------------- */

static double squared(double x) { return x * x; }

/* features of a span from their definition; y has n values */
static void exact_analogue(const double *y, long n, long h, double span, double square, double *change, double *level) {
  const double keep = 1 - 1 / span, a = 0.1 * span;
  double *q = calloc((size_t)n, sizeof *q), least = INFINITY, sum = 0;
  const long lags = n - 2 < ANALOGUE_LAGS ? n - 2 : ANALOGUE_LAGS;
  for (long m = 1; m <= lags; m++) {
    double D = 0, count = 0;
    for (long t = m + 1; t < n; t++) {
      D = keep * D + squared((y[t] - y[t - 1]) - (y[t - m] - y[t - m - 1]));
      count = keep * count + 1;
    }
    q[m] = (D + a * 2 * square) / (count + a);
    least = fmin(least, q[m]);
  }
  *change = *level = 0;
  for (long m = h; m <= lags; m++) {
    const double w = pow(q[m] / least, -span / 2);
    sum += w;
    *change += w * (y[n - 1 + h - m] - y[n - 1 - m]);
    *level += w * (y[n - 1 - m] - y[n - 1]);
  }
  *change /= sum;
  *level /= sum;
  free(q);
}

static void analogues_follow_their_formulas(void **state) {
  (void)state;
  static const double spans[ANALOGUE_SPANS] = {8, 32, 128};
  enum { VALUES = ANALOGUE_COUNTS + ANALOGUE_LAGS + 300 };
  analogue_bank *a = calloc(1, sizeof *a);
  analogue_workspace *w = calloc(1, sizeof *w);
  double *y = calloc(VALUES, sizeof *y);
  sparc_random random;
  sparc_random_init(&random, 7, "test", "analogues");
  analogues_prepare(w);
  for (long n = 1; n <= VALUES; n++) {
    float noise;
    random_fill_normal(&random, &noise, 1, 0.2f);
    y[n - 1] = sin(0.1 * (double)n) + (double)noise;
    for (long k = 0; k < n && k < ANALOGUE_VALUES; k++) w->value[k] = y[n - 1 - k];
    analogues_observe(a, w, n);
    if (n != 50 && n != ANALOGUE_LAGS + 200 && n != VALUES) continue;
    analogues_weigh(a, w, n, 0.1);
    for (long h = 1; h <= 6; h += 5) {
      double x[ANALOGUES], change, level;
      analogues_features(w, n, h, x);
      for (int k = 0; k < ANALOGUE_SPANS; k++) {
        exact_analogue(y, n, h, spans[k], 0.1, &change, &level);
        if (!(fabs(x[k] - change) < 1e-3 && fabs(x[ANALOGUE_SPANS + k] - level) < 1e-3))
          fail_msg("%ld values, horizon %ld, span %g: %.12g, %.12g, expected %.12g, %.12g", n, h, spans[k], x[k],
                   x[ANALOGUE_SPANS + k], change, level);
      }
    }
  }
  assert_true(analogues_valid(a));
  free(a);
  free(w);
  free(y);
}

/* ---- the mixture ----------------------------------------------------------------------------------------- */

/* weights of two experts by their losses L */
static double by_power(const double *prior, const double *L, const double *x, double power) {
  const double least = fmin(L[0], L[1]);
  double w[2];
  for (int k = 0; k < 2; k++) w[k] = prior[k] * (least > 0 ? pow(L[k] / least, -power) : 1);
  return (w[0] * x[0] + w[1] * x[1]) / (w[0] + w[1]);
}

/* the formulas of mixture.h for two experts, written out */
static void mixtures_follow_their_formulas(void **state) {
  (void)state;
  static const double prior[3] = {2, 1, 0}, x[][3] = {{1, 2, 9}, {2, 2.5, 9}, {0, 1, 9}, {4, 3, 9}},
                      y[] = {1.8, 2.1, 0.5, 3};
  mixture m = {.targets = 0};
  double u = 0, M[3] = {0}, relative[2] = {0}, recent[2] = {0}, n[2] = {0};
  double V[2] = {0}, E[2] = {0}, R[2] = {0}, eta[2] = {0};
  for (int t = 0; t < 120; t++) {
    const double *z = x[t % 4], target = y[t % 4];
    double b[2], p[3], r[2], sum = 0, mean = 0, least = INFINITY;
    for (int k = 0; k < 2; k++) b[k] = prior[k] * (t > 0 ? eta[k] * exp(eta[k] * R[k]) : 1);
    p[0] = by_power(prior, relative, z, 0.4 * fmin(n[0], 80));
    p[1] = by_power(prior, recent, z, 0.4 * fmin(n[1], 20));
    p[2] = (b[0] * z[0] + b[1] * z[1]) / (b[0] + b[1]);
    for (int q = 0; q < 3; q++) {
      const double w = t >= 30 ? pow(M[q], -8) : 1;
      sum += w;
      mean += w * p[q];
    }
    const mixture_prediction got = mixture_predict(&m, 3, prior, z);
    for (int q = 0; q < 3; q++)
      if (!(fabs(got.aggregate[q] - p[q]) < 1e-9))
        fail_msg("step %d, aggregate %d: %.12g, expected %.12g", t, q, got.aggregate[q], p[q]);
    assert_true(fabs(got.mean - mean / sum) < 1e-9);
    mixture_observe(&m, 3, prior, z, &got, target);
    const double unit = u > 0 ? u : 1;
    for (int q = 0; q < 3; q++) {
      M[q] = 0.9995 * M[q] + fmin(squared(target - p[q]) / unit, 50);
      least = fmin(least, squared(target - p[q]));
    }
    for (int k = 0; k < 2; k++) {
      relative[k] = 0.99 * relative[k] + fmin(squared(target - z[k]) / unit, 50);
      recent[k] = 0.95 * recent[k] + squared(target - z[k]);
      r[k] = 2 * (target - p[2]) * (z[k] - p[2]);
      V[k] = 0.998 * V[k] + r[k] * r[k];
      E[k] = fmax(0.98 * E[k], fabs(r[k]));
    }
    n[0] = 0.99 * n[0] + 1;
    n[1] = 0.95 * n[1] + 1;
    u += (u > 0 ? fmin(least, 50 * u) - u : least) / fmin(t + 1, 10);
    for (int k = 0; k < 2; k++) {
      eta[k] = fmin(1 / (2 * fmax(E[k], 1e-3 * fmax(E[0], E[1]))), sqrt(log(2) / fmax(V[k], 1e-6 * fmax(V[0], V[1]))));
      R[k] = 0.998 * R[k] + r[k] - eta[k] * r[k] * r[k];
    }
  }
  assert_true(mixture_valid(&m));
}

/* an expert that is worse at first and then a thousand times better than the others determines the prediction */
static void mixtures_follow_late_experts(void **state) {
  (void)state;
  static const double prior[3] = {1, 1, 1};
  mixture m = {.targets = 0};
  double square = 0;
  for (int t = 0; t < 150; t++) {
    const double y = sin(0.3 * t), late = t < 10 ? 3 : 1e-3,
                 x[3] = {y + 0.9 * cos(t), y - sin(1.7 * t), y + late * cos(2.1 * t)};
    const mixture_prediction p = mixture_predict(&m, 3, prior, x);
    mixture_observe(&m, 3, prior, x, &p, y);
    if (t >= 90) square += squared(p.mean - y) / 60;
  }
  assert_true(mixture_valid(&m));
  if (!(sqrt(square) < 2e-3)) fail_msg("root mean squared error %g, expected below 0.002", sqrt(square));
}

/* ---- forecasts --------------------------------------------------------------------------------------------- */

static const int one_and_six[] = {1, 6};

static forecaster *create(size_t channels, const int *horizon, int horizons) {
  forecaster *f;
  if (forecaster_create(channels, horizon, horizons, 0.9, &f) != SPARC_OK) fail_msg("%s", sparc_error());
  assert_int_equal(forecaster_allocate(f), SPARC_OK);
  return f;
}

/* mean squared errors and coverage over the steps from `from` on */
typedef struct result {
  double loss, persistence, covered;
} result;

typedef double value_fn(int t, sparc_random *random);

static double normal(sparc_random *random) {
  float x;
  random_fill_normal(random, &x, 1, 1);
  return (double)x;
}

static void run(value_fn *value, int steps, int from, result *out /* horizons 1 and 6 */) {
  forecaster *f = create(1, one_and_six, 2);
  sparc_random random;
  sparc_random_init(&random, 3, "test", "forecaster");
  double n[2] = {0}, intervals[2] = {0};
  memset(out, 0, 2 * sizeof *out);
  for (int t = 0; t < steps; t++) {
    const float x = (float)value(t, &random), network = NAN;
    float clean, y[2];
    forecaster_observe(f, &x, false, &clean);
    forecaster_predict(f, &network, y);
    if (!isfinite(y[0]) || !isfinite(y[1])) fail_msg("step %d: %g, %g", t, (double)y[0], (double)y[1]);
    for (int j = 0; t >= from && j < 2; j++) {
      const sparc_forecast_score s = forecaster_score(f, j);
      if (s.channels == 0) continue;
      n[j]++;
      out[j].loss += s.loss;
      out[j].persistence += s.persistence;
      intervals[j] += s.intervals;
      out[j].covered += s.covered;
    }
  }
  for (int j = 0; j < 2; j++) {
    out[j].loss /= n[j];
    out[j].persistence /= n[j];
    out[j].covered /= intervals[j];
  }
  assert_true(forecaster_valid(f));
  forecaster_free(f);
}

static double seasonal(int t, sparc_random *random) {
  static const double day[] = {1, 2, 4, 7, 9, 6, 5, 5, 8, 3, 2, 1};
  return 100 + 0.02 * t + 3 * day[t % 12] + 0.5 * normal(random);
}
static double walk(int t, sparc_random *random) {
  static double y;
  return y = (t == 0 ? 0 : y) + normal(random);
}
static double wave(int t, sparc_random *random) { return sin(0.3 * t) + 0.5 * sin(0.47 * t) + 0.01 * normal(random); }

static void streams_are_forecast(void **state) {
  (void)state;
  result r[2];
  run(seasonal, 1500, 200, r);
  /* the noise has the variance 0.25, so a seasonal naive forecast has the error 0.5 */
  for (int j = 0; j < 2; j++) {
    if (!(r[j].loss < 0.42)) fail_msg("seasonal, horizon %d: %g", one_and_six[j], r[j].loss);
    if (!(r[j].covered > 0.88 && r[j].covered < 0.92)) fail_msg("covered %g", r[j].covered);
  }
  run(walk, 1500, 200, r);
  for (int j = 0; j < 2; j++)
    if (!(r[j].loss < 1.03 * r[j].persistence)) fail_msg("walk: %g, persistence %g", r[j].loss, r[j].persistence);
  run(wave, 1500, 200, r);
  for (int j = 0; j < 2; j++)
    if (!(r[j].loss < 0.01 * r[j].persistence)) fail_msg("wave: %g, persistence %g", r[j].loss, r[j].persistence);
}

/* a stretch of a random walk that returns after pauses of different lengths, on another level each time */
static double repeats(int t, sparc_random *random) {
  static double shape[200], y;
  static int at;
  if (t == 0)
    for (size_t i = at = 0; i < COUNT(shape); i++) shape[i] = normal(random);
  if (t == 0 || at == (int)COUNT(shape)) at = -20 - (int)(15 * fabs(normal(random)));
  y = (t == 0 ? 0 : y) + (at >= 0 ? shape[at] + 0.05 * normal(random) : normal(random));
  at++;
  return y;
}

/* no period and no lag predicts it, the stretch itself does */
static void repeats_are_forecast(void **state) {
  (void)state;
  result r[2];
  run(repeats, 2000, 400, r);
  for (int j = 0; j < 2; j++)
    if (!(r[j].loss < 0.5 * r[j].persistence)) fail_msg("repeats: %g, persistence %g", r[j].loss, r[j].persistence);
}

static double zeros_first(int t, sparc_random *random) { return t < 60 ? 0 : normal(random); }

/* the scale of errors of 0 does not cap those that follow */
static void intervals_widen_after_constants(void **state) {
  (void)state;
  result r[2];
  run(zeros_first, 1500, 200, r);
  for (int j = 0; j < 2; j++)
    if (!(r[j].covered > 0.88 && r[j].covered < 0.92)) fail_msg("horizon %d: covered %g", one_and_six[j], r[j].covered);
}

static double gaps(int t, sparc_random *random) {
  const double y = wave(t, random);
  return t % 10 == 3 || (t > 700 && t < 1000) ? NAN : y;
}
static double outliers(int t, sparc_random *random) { return t % 97 == 50 ? 1e6 : wave(t, random); }
static double constants(int t, sparc_random *random) { return t / 1000 % 2 ? 5 : 5 + wave(t, random); }
static double scales(int t, sparc_random *random) { return pow(10, 6 * (t / 800 % 3 - 1)) * wave(t, random); }
static double extremes(int t, sparc_random *random) {
  return (t % 2 ? 3e38 : -3e38) * (t % 5 == 0 ? 0 : 1) + normal(random);
}

static void hard_streams_stay_finite(void **state) {
  (void)state;
  result r[2];
  run(gaps, 2500, 1500, r);
  if (!(r[0].loss < 0.02 * r[0].persistence)) fail_msg("gaps: %g, persistence %g", r[0].loss, r[0].persistence);
  run(constants, 5000, 4200, r);
  run(scales, 5000, 4000, r);
  run(extremes, 1000, 500, r);
}

/* an outlier is not learned from: errors between them are as without */
static void outliers_are_ignored(void **state) {
  (void)state;
  forecaster *f = create(1, one_and_six, 1);
  sparc_random random;
  sparc_random_init(&random, 4, "test", "outliers");
  double loss = 0, n = 0;
  for (int t = 0; t < 2000; t++) {
    const float x = (float)outliers(t, &random), network = NAN;
    float clean, y, anomaly;
    forecaster_observe(f, &x, false, &clean);
    forecaster_predict(f, &network, &y);
    forecaster_anomaly(f, &anomaly);
    if (t < 500) continue;
    if (t % 97 == 51) continue; /* the outlier could have been a new level */
    if (x > 1e5f) {
      if (!(anomaly > 10 && clean < 10)) fail_msg("step %d: anomaly %g, seen as %g", t, (double)anomaly, (double)clean);
    } else {
      loss += forecaster_score(f, 0).loss;
      n++;
    }
  }
  if (!(loss / n < 0.01)) fail_msg("mean squared error %g between outliers", loss / n);
  forecaster_free(f);
}

/* a level that stays is believed after five values */
static void level_shifts_are_followed(void **state) {
  (void)state;
  forecaster *f = create(1, one_and_six, 1);
  sparc_random random;
  sparc_random_init(&random, 5, "test", "levels");
  float clean = 0, y = 0;
  for (int t = 0; t < 310; t++) {
    const float x = (float)((t < 300 ? 0 : 1000) + normal(&random)), network = NAN;
    forecaster_observe(f, &x, false, &clean);
    forecaster_predict(f, &network, &y);
    if (t >= 300 && t < 305) assert_true(clean < 500);
    if (t == 300) assert_true(y > 600 && y < 800); /* seven tenths of the way */
    if (t > 300) assert_true(y > 900);             /* two agree */
    if (t >= 305) assert_true(clean > 900);
  }
  forecaster_free(f);
}

/* channels do not touch each other, a missing one neither */
static void channels_are_independent(void **state) {
  (void)state;
  forecaster *both = create(2, one_and_six, 2), *one = create(1, one_and_six, 2);
  sparc_random random;
  sparc_random_init(&random, 6, "test", "channels");
  for (int t = 0; t < 300; t++) {
    const float x[2] = {(float)seasonal(t, &random), t % 3 ? (float)walk(t, &random) : NAN}, network[2] = {NAN, NAN};
    float clean[2], y[4], z[2];
    forecaster_observe(both, x, false, clean);
    forecaster_predict(both, network, y);
    forecaster_observe(one, x, false, clean);
    forecaster_predict(one, network, z);
    assert_true(y[0] == z[0] && y[2] == z[1]);
  }
  forecaster_free(both);
  forecaster_free(one);
}

static void requests_are_checked(void **state) {
  (void)state;
  forecaster *f;
  assert_int_equal(forecaster_create(1, (const int[]){0}, 1, 0.9, &f), SPARC_INVALID);
  assert_int_equal(forecaster_create(1, (const int[]){MAX_HORIZON + 1}, 1, 0.9, &f), SPARC_INVALID);
  assert_int_equal(forecaster_create(1, (const int[]){2, 2}, 2, 0.9, &f), SPARC_INVALID);
  assert_non_null(strstr(sparc_error(), "horizon 2 is given twice"));
  assert_int_equal(forecaster_create(1, (const int[]){2}, 1, 1, &f), SPARC_INVALID);
  assert_null(f);
}

/* a state with any number changed is refused, or can be stepped and is then refused or finite */
static void changed_states_are_refused_or_finite(void **state) {
  (void)state;
  static const double values[] = {-1, 0.5, 1e9, 1e19, 1e150, 1e308, NAN};
  forecaster *f = create(1, one_and_six, 2);
  const size_t count = forecaster_numbers(f);
  double *kept = malloc(count * sizeof *kept);
  for (int t = 0; t < 60; t++) {
    const float x = (float)(t % 12), network = NAN;
    float clean, y[2];
    forecaster_observe(f, &x, false, &clean);
    forecaster_predict(f, &network, y);
  }
  memcpy(kept, forecaster_state(f), count * sizeof *kept);
  long refused = 0, stepped = 0;
  for (size_t i = 0; i < count; i += i < 160 ? 1 : 211)
    for (size_t v = 0; v < COUNT(values); v++) {
      memcpy(forecaster_state(f), kept, count * sizeof *kept);
      forecaster_state(f)[i] = values[v];
      if (!forecaster_valid(f)) {
        refused++;
        continue;
      }
      stepped++;
      for (int t = 0; t < 4; t++) {
        const float x = (float)t, network = NAN;
        float clean, y[2];
        forecaster_observe(f, &x, false, &clean);
        forecaster_predict(f, &network, y);
      }
    }
  assert_true(refused > 400 && stepped > 400);
  free(kept);
  forecaster_free(f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(regressions_are_exact),
      cmocka_unit_test(ridges_last),
      cmocka_unit_test(periods_are_found),
      cmocka_unit_test(analogues_follow_their_formulas),
      cmocka_unit_test(mixtures_follow_their_formulas),
      cmocka_unit_test(mixtures_follow_late_experts),
      cmocka_unit_test(streams_are_forecast),
      cmocka_unit_test(repeats_are_forecast),
      cmocka_unit_test(intervals_widen_after_constants),
      cmocka_unit_test(hard_streams_stay_finite),
      cmocka_unit_test(outliers_are_ignored),
      cmocka_unit_test(level_shifts_are_followed),
      cmocka_unit_test(channels_are_independent),
      cmocka_unit_test(requests_are_checked),
      cmocka_unit_test(changed_states_are_refused_or_finite),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
