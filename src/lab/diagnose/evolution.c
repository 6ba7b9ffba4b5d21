/* SPDX-License-Identifier: MIT */
/* evolution.c: reads metrics and averages their first and last tenth. */
#include "lab/diagnose/evolution.h"

#include "base/error.h"
#include "run/metrics.h"

#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const logged_metric logged_metrics[LOGGED_METRICS] = {
    {"saturation", "saturation (%)", 100, 3},
    {"gate_deviation", "gate SD", 1, 3},
    {"state_rms", "state RMS", 1, 3},
    {"return", "return", 1, 3},
    {"loss", "loss", 1, 4},
    {"validation_accuracy", "validation accuracy (%)", 100, 2},
    {"validation_nmse", "validation NMSE", 1, 4},
    {"validation_r2", "validation R2", 1, 4},
};

/* ---- reading ------------------------------------------------------------------------------------- */

/* the capacity doubles when the count is a power of two */
static bool append(series *s, long place, double value) {
  if ((s->count & (s->count - 1)) == 0) {
    const size_t capacity = s->count ? 2 * s->count : 1;
    long *places = realloc(s->place, capacity * sizeof *places);
    if (places) s->place = places;
    double *values = realloc(s->value, capacity * sizeof *values);
    if (values) s->value = values;
    if (!places || !values) return false;
  }
  s->place[s->count] = place;
  s->value[s->count++] = value;
  return true;
}

/* environment steps if logged, else updates */
static bool place_of(const json_t *object, long *place) {
  const json_t *steps = json_object_get(object, "steps"), *update = json_object_get(object, "update");
  *place = (long)json_integer_value(json_is_integer(steps) ? steps : update);
  return json_is_integer(steps) || json_is_integer(update);
}

static sparc_status read_line(void *user, json_t *object) {
  training_log *log = user;
  long place;
  if (!place_of(object, &place)) return SPARC_OK;
  for (int i = 0; i < LOGGED_METRICS; i++) {
    const json_t *value = json_object_get(object, logged_metrics[i].key);
    series *to = &log->metric[i];
    if (!json_is_number(value) || !isfinite(json_number_value(value))) continue;
    if (to->count && to->place[to->count - 1] >= place) continue; /* the end of a run is logged twice */
    if (!append(to, place, json_number_value(value))) return fail(SPARC_NO_MEMORY, "no memory for metrics");
  }
  return SPARC_OK;
}

sparc_status training_log_read(const char *folder, training_log *out) {
  char path[METRICS_PATH];
  *out = (training_log){.metric = {{.count = 0}}};
  if (snprintf(path, sizeof path, "%s/metrics.jsonl", folder) >= (int)sizeof path) return SPARC_OK;
  const sparc_status status = metrics_read(path, read_line, out);
  if (status != SPARC_OK) training_log_free(out);
  return status;
}

void training_log_free(training_log *log) {
  for (int i = 0; i < LOGGED_METRICS; i++) {
    free(log->metric[i].place);
    free(log->metric[i].value);
  }
  *log = (training_log){.metric = {{.count = 0}}};
}

/* ---- comparing ----------------------------------------------------------------------------------- */

/* advances `at` (runs) to the next position common to all runs; false: none */
static bool find_common(const training_log *const *logs, int runs, int metric, size_t *at) {
  for (bool moved = true; moved;) {
    long farthest = LONG_MIN;
    moved = false;
    for (int i = 0; i < runs; i++) {
      const series *s = &logs[i]->metric[metric];
      if (at[i] == s->count) return false;
      if (s->place[at[i]] > farthest) farthest = s->place[at[i]];
    }
    for (int i = 0; i < runs; i++)
      for (const series *s = &logs[i]->metric[metric]; at[i] < s->count && s->place[at[i]] < farthest; at[i]++)
        moved = true;
  }
  return true;
}

/* sums the values at common positions [first, first + n); returns the number of common positions */
static size_t walk(const training_log *const *logs, int runs, int metric, size_t *at, size_t first, size_t n,
                   double *sums) {
  size_t found = 0;
  memset(at, 0, (size_t)runs * sizeof *at);
  memset(sums, 0, (size_t)runs * sizeof *sums);
  for (; find_common(logs, runs, metric, at); found++)
    for (int i = 0; i < runs; i++) {
      const double value = logs[i]->metric[metric].value[at[i]++];
      if (found >= first && found - first < n) sums[i] += value;
    }
  return found;
}

size_t evolution_of(const training_log *const *logs, int runs, int metric, evolution *out) {
  size_t *at = sparc_alloc((size_t)runs * sizeof *at);
  double *sums = sparc_alloc((size_t)runs * sizeof *sums);
  const size_t common = at && sums ? walk(logs, runs, metric, at, 0, 0, sums) : 0;
  if (common) {
    const size_t tenth = (common + 9) / 10;
    walk(logs, runs, metric, at, 0, tenth, sums);
    for (int i = 0; i < runs; i++) out[i].first = sums[i] / (double)tenth;
    walk(logs, runs, metric, at, common - tenth, tenth, sums);
    for (int i = 0; i < runs; i++) out[i].last = sums[i] / (double)tenth;
  }
  sparc_free(at);
  sparc_free(sums);
  return common;
}
