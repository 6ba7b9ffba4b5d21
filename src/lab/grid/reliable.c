/* SPDX-License-Identifier: MIT */
/* reliable.c: one bootstrap for all statistics of normalised scores, and Student's interval. */
#include "lab/grid/reliable.h"

#include "base/error.h"
#include "sparc/random.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const double CONFIDENCE = 0.95;

static int ascending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* ---- statistics ---------------------------------------------------------------------------------- */

double interquartile_mean(size_t count, double *values) {
  const size_t cut = count / 4;
  double sum = 0;
  qsort(values, count, sizeof *values, ascending);
  for (size_t i = cut; i < count - cut; i++) sum += values[i];
  return sum / (double)(count - 2 * cut);
}

/* the fraction of pairs in which a run of x is better, averaged over tasks: Mann and Whitney's U over its maximum */
static double improvement(int tasks, int x_runs, const double *x, int y_runs, const double *y) {
  double wins = 0;
  for (int t = 0; t < tasks; t++)
    for (int i = 0; i < x_runs; i++)
      for (int j = 0; j < y_runs; j++) {
        const double a = x[t * x_runs + i], b = y[t * y_runs + j];
        wins += a > b ? 1 : a == b ? 0.5 : 0;
      }
  return wins / ((double)tasks * x_runs * y_runs);
}

static double fraction_above(size_t count, const double *values, double threshold) {
  size_t above = 0;
  for (size_t i = 0; i < count; i++) above += values[i] > threshold;
  return (double)above / (double)count;
}

/* ---- bootstrap ----------------------------------------------------------------------------------- */

/* one problem: the samples of one or two methods, and `outputs` statistics of them. A statistic may reorder its copy.
 */
typedef struct bootstrap {
  const run_scores *x, *y; /* y may be NULL */
  int outputs;
  void (*statistic)(const struct bootstrap *b, double *x, double *y, double *out);
  const double *threshold; /* of profiles */
} bootstrap;

static size_t count_of(const run_scores *s) { return s ? (size_t)s->tasks * (size_t)s->runs : 0; }

static void resample(const run_scores *from, sparc_random *stream, double *to) {
  for (int t = 0; from && t < from->tasks; t++)
    for (int i = 0; i < from->runs; i++)
      to[t * from->runs + i] = from->score[t * from->runs + (int)sparc_random_below(stream, (uint32_t)from->runs)];
}

/* quantile q of sorted values, between neighbours by their distance */
static double quantile(size_t count, const double *sorted, double q) {
  const double at = q * (double)(count - 1);
  const size_t below = (size_t)at, above = below + 1 < count ? below + 1 : below;
  return sorted[below] + (at - (double)below) * (sorted[above] - sorted[below]);
}

static void put_bounds(double *draws, interval *out) {
  qsort(draws, BOOTSTRAP_RESAMPLES, sizeof *draws, ascending);
  out->low = quantile(BOOTSTRAP_RESAMPLES, draws, (1 - CONFIDENCE) / 2);
  out->high = quantile(BOOTSTRAP_RESAMPLES, draws, (1 + CONFIDENCE) / 2);
}

static sparc_status run_bootstrap(const bootstrap *b, interval *out) {
  const size_t outputs = (size_t)b->outputs, xs = count_of(b->x), ys = count_of(b->y);
  double *x = calloc(xs + ys + outputs + outputs * BOOTSTRAP_RESAMPLES, sizeof *x);
  if (!x) return fail(SPARC_NO_MEMORY, "no memory for a bootstrap of %zu runs", xs + ys);
  double *y = x + xs, *value = y + ys, *draws = value + outputs; /* draws (outputs, resamples) */
  memcpy(x, b->x->score, xs * sizeof *x);
  if (b->y) memcpy(y, b->y->score, ys * sizeof *y);
  b->statistic(b, x, y, value);
  for (size_t k = 0; k < outputs; k++) out[k].estimate = value[k];

  sparc_random stream;
  sparc_random_init(&stream, 0, "bootstrap", NULL);
  for (size_t i = 0; i < BOOTSTRAP_RESAMPLES; i++) {
    resample(b->x, &stream, x);
    resample(b->y, &stream, y);
    b->statistic(b, x, y, value);
    for (size_t k = 0; k < outputs; k++) draws[k * BOOTSTRAP_RESAMPLES + i] = value[k];
  }
  for (size_t k = 0; k < outputs; k++) put_bounds(draws + k * BOOTSTRAP_RESAMPLES, &out[k]);
  free(x);
  return SPARC_OK;
}

static void iqm_statistic(const bootstrap *b, double *x, double *y, double *out) {
  (void)y;
  *out = interquartile_mean(count_of(b->x), x);
}

sparc_status interval_of_iqm(const run_scores *scores, interval *out) {
  return run_bootstrap(&(bootstrap){.x = scores, .outputs = 1, .statistic = iqm_statistic}, out);
}

static void improvement_statistic(const bootstrap *b, double *x, double *y, double *out) {
  *out = improvement(b->x->tasks, b->x->runs, x, b->y->runs, y);
}

sparc_status interval_of_improvement(const run_scores *x, const run_scores *y, interval *out) {
  return run_bootstrap(&(bootstrap){.x = x, .y = y, .outputs = 1, .statistic = improvement_statistic}, out);
}

static void profile_statistic(const bootstrap *b, double *x, double *y, double *out) {
  (void)y;
  for (int k = 0; k < b->outputs; k++) out[k] = fraction_above(count_of(b->x), x, b->threshold[k]);
}

sparc_status interval_of_profile(const run_scores *scores, int thresholds, const double *threshold, interval *out) {
  return run_bootstrap(
      &(bootstrap){.x = scores, .outputs = thresholds, .statistic = profile_statistic, .threshold = threshold}, out);
}

/* ---- Student's interval -------------------------------------------------------------------------- */

/* the probability that |t| is below sqrt(degrees) tan(angle), by the finite series for whole degrees of freedom
 * (Abramowitz and Stegun 26.7.3 and 26.7.4) */
static double student_inside(int degrees, double angle) {
  const double pi = 3.14159265358979323846, c = cos(angle), s = sin(angle);
  double term = degrees % 2 ? c : 1, sum = degrees == 1 ? 0 : term;
  for (int k = degrees % 2 ? 3 : 2; k <= degrees - 2; k += 2) {
    term *= c * c * (k - 1) / k;
    sum += term;
  }
  return degrees % 2 ? 2 / pi * (angle + s * sum) : s * sum;
}

static double student_quantile(int degrees) {
  double low = 0, high = 1.5707963267948966;
  for (int i = 0; i < 100; i++) {
    const double middle = (low + high) / 2;
    *(student_inside(degrees, middle) < CONFIDENCE ? &low : &high) = middle;
  }
  return sqrt(degrees) * tan(low);
}

double student_half_width(int count, double stddev) { return student_quantile(count - 1) * stddev / sqrt(count); }
