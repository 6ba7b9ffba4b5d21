/* SPDX-License-Identifier: MIT */
/* aggregate.c: scores of runs of any kind, and statistics of tables [app:metrics_figures]. */
#include "lab/grid/aggregate.h"

#include "base/error.h"
#include "base/moments.h"
#include "lab/grid/reliable.h"

#include <math.h>
#include <stdlib.h>

static bool is_better(double a, double b, bool higher) { return higher ? a > b : a < b; }

/* ---- a run: [eq:app_final_window_score] ---------------------------------------------------------- */

sparc_status aggregate_score(size_t count, const double *values, const grid_score *rule, double *score) {
  const size_t window = (size_t)rule->window, first = rule->best ? 0 : count - window;
  if (count < window) return fail(SPARC_INVALID, "the log has %zu values of the %zu of the window", count, window);
  for (size_t i = first; i < count; i++)
    if (!isfinite(values[i]))
      return fail(SPARC_NOT_FINITE, "value %zu of %zu is %g; every value of the window must be finite", i + 1, count,
                  values[i]);
  double x = rule->best ? values[0] : mean_of(window, values + first);
  /* a negative scale reverses the order */
  const bool higher = rule->scale < 0 ? !rule->higher : rule->higher;
  for (size_t i = 1; rule->best && i < count; i++)
    if (is_better(values[i], x, higher)) x = values[i];
  *score = rule->offset + rule->scale * x;
  return SPARC_OK;
}

/* ---- seeds: [eq:app_three_seed_statistics] ------------------------------------------------------- */

aggregate_summary aggregate_summarise(int count, const double *values) {
  const sample_summary sample = sample_summarise((size_t)count, values);
  aggregate_summary s = {.count = count, .mean = NAN, .stddev = NAN, .low = NAN, .high = NAN};
  if (sample.count < count) return s; /* a missing value must not be ignored */
  s.mean = sample.mean;
  s.stddev = sample.stddev;
  if (count < 2) return s;
  const double half = student_half_width(count, s.stddev);
  s.low = s.mean - half;
  s.high = s.mean + half;
  return s;
}

aggregate_summary aggregate_paired(int count, const double *values, const double *reference) {
  double *difference = calloc((size_t)count + 1, sizeof *difference);
  if (!difference) return (aggregate_summary){.mean = NAN, .stddev = NAN};
  for (int i = 0; i < count; i++) difference[i] = values[i] - reference[i];
  const aggregate_summary s = aggregate_summarise(count, difference);
  free(difference);
  return s;
}

/* ---- methods ------------------------------------------------------------------------------------- */

int aggregate_rank(double value, int count, const double *others, bool higher) {
  int rank = 1;
  for (int i = 0; i < count; i++) rank += is_better(others[i], value, higher);
  return rank;
}

static double as_printed(double value, int digits) {
  char text[64];
  text_table_number(value, digits, text, sizeof text);
  return strtod(text, NULL);
}

/* the best printed value that is worse than a bound; NAN: there is none */
static double best_below(int count, const double *values, int digits, bool higher, double bound) {
  double best = NAN;
  for (int i = 0; i < count; i++) {
    const double x = as_printed(values[i], digits);
    if (isnan(x) || (!isnan(bound) && !is_better(bound, x, higher))) continue;
    if (isnan(best) || is_better(x, best, higher)) best = x;
  }
  return best;
}

void aggregate_marks(int count, const double *values, int digits, bool higher, table_mark *marks) {
  const double best = best_below(count, values, digits, higher, NAN),
               second = isnan(best) ? NAN : best_below(count, values, digits, higher, best);
  for (int i = 0; i < count; i++) {
    const double x = as_printed(values[i], digits);
    marks[i] = x == best ? MARK_BEST : x == second ? MARK_SECOND : MARK_NONE;
  }
}
