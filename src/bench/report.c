/* SPDX-License-Identifier: MIT */
/* report.c: results as text, as JSON, and beside those of an earlier run. */
#include "bench/report.h"

#include "base/error.h"
#include "bench/limits.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

json_t *bench_json_number(double value) { return isfinite(value) ? json_real(value) : json_null(); }

const char *bench_time_text(double seconds, char text[TIME_TEXT]) {
  static const struct {
    double below, scale;
    const char *unit;
  } units[] = {{1e-6, 1e9, "ns"}, {1e-3, 1e6, "us"}, {1, 1e3, "ms"}, {INFINITY, 1, "s"}};
  size_t u = 0;
  while (seconds >= units[u].below) u++;
  const double value = seconds * units[u].scale;
  snprintf(text, TIME_TEXT, "%.*f %s", value < 10 ? 2 : value < 100 ? 1 : 0, value, units[u].unit);
  return text;
}

void bench_separate(bench_settings *settings) {
  if (settings->printed && !settings->json) putchar('\n');
  settings->printed = true;
}

/* ---- an earlier run ------------------------------------------------------------------------------ */

static sparc_status load_line(const char *path, size_t number, const char *line, json_t *results) {
  json_error_t error;
  json_t *object = json_loads(line, 0, &error);
  if (!object) return fail(SPARC_FORMAT, "%.200s, line %zu: not JSON: %s", path, number, error.text);
  /* lines of the suites have no stage and are passed over */
  if (!json_is_object(object)) {
    json_decref(object);
    return fail(SPARC_FORMAT, "%.200s, line %zu: not a JSON object", path, number);
  }
  return json_array_append_new(results, object) == 0 ? SPARC_OK : fail(SPARC_NO_MEMORY, "no memory for %.200s", path);
}

sparc_status bench_load_old(const char *path, json_t **out) {
  *out = NULL;
  FILE *file = fopen(path, "r");
  if (!file) return fail(SPARC_IO, "cannot open '%.200s': %s", path, strerror(errno));
  json_t *results = json_array();
  char *line = NULL;
  size_t capacity = 0, number = 0;
  sparc_status status = results ? SPARC_OK : fail(SPARC_NO_MEMORY, "no memory for %.200s", path);
  while (status == SPARC_OK && getline(&line, &capacity, file) >= 0) {
    number++;
    if (line[strspn(line, " \t\r\n")]) status = load_line(path, number, line, results);
  }
  if (status == SPARC_OK && ferror(file)) status = fail(SPARC_IO, "cannot read '%.200s': %s", path, strerror(errno));
  free(line);
  fclose(file);
  if (status == SPARC_OK)
    *out = results;
  else
    json_decref(results);
  return status;
}

static bool has_text(const json_t *object, const char *key, const char *text) {
  const char *value = json_string_value(json_object_get(object, key));
  return value && strcmp(value, text) == 0;
}

/* seconds of the same problem, stage, threads and kernel, or NaN */
static double old_seconds(const json_t *old, const bench_case *c, const bench_stage *stage) {
  for (size_t i = 0; i < json_array_size(old); i++) {
    const json_t *line = json_array_get(old, i);
    if (has_text(line, "problem", c->problem->text) && has_text(line, "stage", stage->name) &&
        has_text(line, "kernel", c->kernel) && json_integer_value(json_object_get(line, "threads")) == c->threads)
      return json_number_value(json_object_get(line, "seconds"));
  }
  return NAN;
}

/* ---- lines -------------------------------------------------------------------------------------- */

/* the limits that a case is held against */
typedef struct yardstick {
  const char *level;
  double peak, copy, triad; /* NaN: nothing of this kind to compare */
} yardstick;

/* what a stage achieved; NaN: does not apply */
typedef struct figures {
  double seconds, ns_per_mode, bandwidth, rate; /* GB/s, GFLOP/s */
  double of_copy, of_triad, of_peak;
  double old, ratio;
} figures;

static sparc_status find_yardstick(bench_settings *settings, const bench_case *c, yardstick *out) {
  double flops = 0, bytes = 0;
  *out = (yardstick){"", NAN, NAN, NAN};
  for (size_t i = 0; i < c->stages; i++) {
    flops = fmax(flops, c->stage[i].flops);
    bytes = fmax(bytes, c->stage[i].bytes);
  }
  sparc_status status = SPARC_OK;
  if (bytes > 0) {
    const bench_level level = bench_level_of(c->footprint, c->threads);
    double rate[FLOWS] = {0};
    status = bench_limit_flows(&settings->machine, c->threads, level, rate);
    out->level = bench_level_name(level);
    out->copy = fmax(rate[FLOW_COPY], rate[FLOW_COPY_NT]);
    out->triad = rate[FLOW_TRIAD];
  }
  if (status == SPARC_OK && flops > 0) status = bench_limit_peak(&settings->machine, c->threads, &out->peak);
  return status;
}

static figures figures_of(const bench_settings *settings, const bench_case *c, const bench_stage *stage,
                          const yardstick *yard) {
  figures f = {.seconds = stage->task.seconds / stage->calls};
  f.ns_per_mode = stage->modes > 0 ? 1e9 * f.seconds / stage->modes : NAN;
  f.bandwidth = stage->bytes > 0 ? 1e-9 * stage->bytes / f.seconds : NAN;
  f.rate = stage->flops > 0 ? 1e-9 * stage->flops / f.seconds : NAN;
  f.of_copy = f.bandwidth / yard->copy;
  f.of_triad = f.bandwidth / yard->triad;
  f.of_peak = f.rate / yard->peak;
  f.old = settings->old ? old_seconds(settings->old, c, stage) : NAN;
  f.ratio = f.seconds / f.old;
  return f;
}

/* a number in its column, or a dash */
static void column(int width, int digits, double value, const char *unit) {
  if (isfinite(value))
    printf(" %*.*f%s", width - (int)strlen(unit), digits, value, unit);
  else
    printf(" %*s", width, "-");
}

static void print_head(const bench_settings *settings, const bench_case *c, const yardstick *yard) {
  printf("%s: %d %s, %s\n", c->problem->text, c->threads, c->threads == 1 ? "thread" : "threads", c->kernel);
  printf("  verified: E_norm %.1e in %s, tolerance %.0e\n", c->error.norm, c->error.tensor, c->error.tolerance);
  if (c->memory > 0) printf("  memory: %.2f MB by the sizes", 1e-6 * (double)c->memory);
  if (c->memory > 0 && c->measured > 0) printf(", %.2f MB measured", 1e-6 * (double)c->measured);
  if (c->memory > 0) putchar('\n');
  if (*c->formula) printf("    = %s\n", c->formula);
  const char *separator = "  limits here:";
  if (isfinite(yard->copy)) {
    printf("%s %s copy %.1f GB/s, triad %.1f GB/s", separator, yard->level, yard->copy, yard->triad);
    separator = ",";
  }
  if (isfinite(yard->peak)) printf("%s multiply-add %.1f GFLOP/s", separator, yard->peak);
  if (isfinite(yard->copy) || isfinite(yard->peak)) putchar('\n');
  printf("  %-20s %9s %8s %8s %6s %6s %8s %6s %6s", "stage", "time", "ns/mode", "GB/s", "/copy", "/triad", "GFLOP/s",
         "/peak", "noise");
  if (settings->old) printf(" %9s %6s", "before", "ratio");
  putchar('\n');
}

static void print_stage(const bench_settings *settings, const bench_stage *stage, const figures *f) {
  char text[TIME_TEXT];
  printf("  %-20s %9s", stage->name, bench_time_text(f->seconds, text));
  column(8, 3, f->ns_per_mode, "");
  column(8, 2, f->bandwidth, "");
  column(6, 0, 100 * f->of_copy, "%");
  column(6, 0, 100 * f->of_triad, "%");
  column(8, 1, f->rate, "");
  column(6, 0, 100 * f->of_peak, "%");
  column(6, 0, 100 * stage->task.noise, "%");
  if (settings->old) {
    printf(" %9s", isfinite(f->old) ? bench_time_text(f->old, text) : "-");
    column(6, 3, f->ratio, "");
  }
  putchar('\n');
}

static void json_stage(const bench_settings *settings, const bench_case *c, const bench_stage *stage,
                       const yardstick *yard, const figures *f) {
  json_t *line = json_pack("{s:s, s:s, s:i, s:s, s:f, s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:i, s:f, s:f, s:I, s:I, s:s}",
                           "problem", c->problem->text, "stage", stage->name, "threads", c->threads, "kernel",
                           c->kernel, "seconds", f->seconds, "ns_per_mode", bench_json_number(f->ns_per_mode),
                           "gb_per_s", bench_json_number(f->bandwidth), "gflop_per_s", bench_json_number(f->rate),
                           "of_copy", bench_json_number(f->of_copy), "of_triad", bench_json_number(f->of_triad),
                           "of_peak", bench_json_number(f->of_peak), "level", yard->level, "passes", stage->task.passes,
                           "noise", stage->task.noise, "e_norm", c->error.norm, "memory_bytes", (json_int_t)c->memory,
                           "memory_measured_bytes", (json_int_t)c->measured, "memory_formula", c->formula);
  if (line && settings->old) {
    json_object_set_new(line, "old_seconds", bench_json_number(f->old));
    json_object_set_new(line, "ratio", bench_json_number(f->ratio));
  }
  cli_json_line(settings->who, line);
}

sparc_status bench_report_case(bench_settings *settings, const bench_case *c) {
  yardstick yard;
  sparc_status status = find_yardstick(settings, c, &yard);
  if (status != SPARC_OK) return status;
  bench_separate(settings);
  if (!settings->json) print_head(settings, c, &yard);
  for (size_t i = 0; i < c->stages; i++) {
    const figures f = figures_of(settings, c, &c->stage[i], &yard);
    if (settings->json)
      json_stage(settings, c, &c->stage[i], &yard, &f);
    else
      print_stage(settings, &c->stage[i], &f);
  }
  return SPARC_OK;
}
