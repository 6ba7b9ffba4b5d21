/* SPDX-License-Identifier: MIT */
/* growth.c: `sparc bench growth`: time and memory as B, T or H grows alone, from 1e3 to 1e7 mode-steps (B T H).
 *
 * Caches would make a small problem cheaper per mode-step, and bend the line. So every problem is timed cold: all sizes
 * of a table take turns, forward first and backward when all have done so, and the large ones go through the caches
 * before a problem comes round again: 240 MB between forward and backward, twice that between backward and forward. A
 * larger last-level cache may keep a part. Small problems have several copies, so that their time is a mean. A call
 * forward and a call backward are timed whole; cut into pieces they would lie on a line by construction. Whole calls
 * are long enough to be interrupted, so the clock is that of the thread, which stands still meanwhile. One thread: a
 * team has a cost of its own, and shares the work unevenly when there is little.
 *
 * The line is time = a + b n, by least squares of the relative distances: a is what a call costs, b a mode-step.
 */
#include "base/threads.h"
#include "bench/suites/suites.h"

#include <malloc.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SIZES = 9, QUICK_SIZES = 7, COPIES = 32 };

/* B and T grow from one stream of 16 steps and 64 modes, by half a decade each. H grows twice by a decade and a half,
 * with few steps and with many: the reference, which verifies every problem, takes a time that grows with H squared. */
static const int factors[SIZES] = {1, 3, 10, 32, 100, 316, 1000, 3162, 10000};
enum { STEPS = 16, MODES = 64, WIDTHS = 4, MANY_STEPS = 320 * STEPS };
static const char axes[] = "BTH";

/* the time may be so far from the line, and the memory from its formula */
static const double LINE_TOLERANCE = 0.15, MEMORY_TOLERANCE = 0.05;

/* Large blocks come in huge pages. Problems that are not much larger are too small for the system to count. */
static const double HUGE_PAGE = 2 << 20, MEMORY_FROM = 8e6;

typedef struct row {
  int shape[3]; /* B, T, H */
  bench_problem problem;
  bench_case cases[COPIES];
  size_t copies, opened;
  double n, seconds, line;
  double memory, measured; /* bytes of one copy; measured NaN: unknown, or too small to be told */
} row;

typedef struct table {
  const char *kind; /* of the problems */
  char axis;
  size_t rows;
  row row[SIZES];
  double a, b;               /* of the line */
  double deviation, surplus; /* the largest of any row, relative; surplus NaN: memory was not measured */
} table;

/* ---- problems ----------------------------------------------------------------------------------- */

static void describe(const table *t, row *r, size_t size, char text[PROBLEM_TEXT]) {
  r->shape[0] = t->axis == 'B' ? factors[size] : 1;
  r->shape[1] = t->axis == 'T' ? STEPS * factors[size] : t->axis == 'H' && size >= WIDTHS ? MANY_STEPS : STEPS;
  r->shape[2] = t->axis == 'H' ? MODES * factors[size % WIDTHS] : MODES;
  r->n = (double)r->shape[0] * r->shape[1] * r->shape[2];
  const int B = r->shape[0], T = r->shape[1], H = r->shape[2];
  if (strcmp(t->kind, "mixer") == 0)
    snprintf(text, PROBLEM_TEXT, "mixer:B%d:T%d:D%d:H%d:noproj:whole", B, T, 2 * H, H);
  else
    snprintf(text, PROBLEM_TEXT, "%s:B%d:T%d:H%d", t->kind, B, T, H);
  const double copies = 1e5 / r->n;
  r->copies = copies < 1 ? 1 : copies < COPIES ? (size_t)copies : COPIES;
}

static sparc_status open_row(bench_settings *settings, table *t, size_t size) {
  row *r = &t->row[size];
  char text[PROBLEM_TEXT];
  describe(t, r, size, text);
  sparc_status status = bench_parse(text, NULL, &r->problem);
  double measured = 0;
  for (; status == SPARC_OK && r->opened < r->copies; r->opened += status == SPARC_OK) {
    bench_case *c = &r->cases[r->opened];
    status = bench_open(&settings->machine, &r->problem, 1, NULL, c);
    if (status != SPARC_OK) break;
    measured += (double)c->measured;
  }
  if (status != SPARC_OK) return status;
  r->memory = (double)r->cases[0].memory;
  r->measured = measured > 0 && r->memory >= MEMORY_FROM ? measured / (double)r->copies : NAN;
  return SPARC_OK;
}

static void close_rows(table *t) {
  for (size_t i = 0; i < t->rows; i++) bench_suite_close(t->row[i].cases, t->row[i].opened);
}

/* ---- times -------------------------------------------------------------------------------------- */

/* seconds that this thread has worked */
static double worked(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static const bench_stage *stage_of(const bench_case *c, const char *name) {
  const bench_stage *stage = c->stage;
  while (strcmp(stage->name, name) != 0) stage++;
  return stage;
}

/* all of a stage, once, on this thread */
static double time_once(const bench_task *task) {
  if (task->refresh) task->refresh(task->context);
  const uint64_t mode = flush_denormals_begin();
  const double start = worked();
  for (size_t i = 0; i < task->pieces; i++) {
    const size_t piece = task->reverse ? task->pieces - 1 - i : i;
    task->run(task->context, piece, 0, 1);
  }
  const double seconds = worked() - start;
  flush_denormals_end(mode);
  return seconds;
}

/* the shortest time of every copy, by direction; the copies' mean is the time of a row. Time is given as to
 * bench_time. */
static void time_rows(table *t, double seconds, double patience) {
  enum { LEAST_PASSES = 10 };
  static const char *const stages[] = {"forward", "backward"};
  double shortest[2][SIZES][COPIES], settled[SIZES];
  const double start = bench_now();
  double elapsed = 0, fell = 0;
  for (size_t i = 0; i < t->rows; i++) settled[i] = INFINITY;
  for (int pass = 0; pass < LEAST_PASSES || elapsed < fmin(fmax(seconds, 2 * fell), patience * seconds); pass++) {
    for (int s = 0; s < 2; s++)
      for (size_t i = 0; i < t->rows; i++)
        for (size_t k = 0; k < t->row[i].copies; k++) {
          const double once = time_once(&stage_of(&t->row[i].cases[k], stages[s])->task);
          shortest[s][i][k] = pass == 0 ? once : fmin(shortest[s][i][k], once);
        }
    elapsed = bench_now() - start;
    for (size_t i = 0; i < t->rows; i++) {
      row *r = &t->row[i];
      r->seconds = 0;
      for (size_t k = 0; k < r->copies; k++) r->seconds += (shortest[0][i][k] + shortest[1][i][k]) / (double)r->copies;
      if (bench_falls(r->seconds, &settled[i])) fell = elapsed;
    }
  }
}

/* minimises the sum of ((a + b n) / seconds - 1)^2; a call never costs less than nothing */
static void fit_line(table *t) {
  double uu = 0, uv = 0, vv = 0, u1 = 0, v1 = 0;
  for (size_t i = 0; i < t->rows; i++) {
    const double u = 1 / t->row[i].seconds, v = t->row[i].n * u;
    uu += u * u, uv += u * v, vv += v * v, u1 += u, v1 += v;
  }
  t->a = fmax((u1 * vv - v1 * uv) / (uu * vv - uv * uv), 0);
  t->b = (v1 - t->a * uv) / vv;
}

static double deviation_of(const row *r) { return r->seconds / r->line - 1; }

/* what is measured beyond whole pages, in either direction, relative to the formula */
static double surplus_of(const row *r) {
  const double difference = r->measured - r->memory;
  if (isnan(difference)) return NAN;
  return copysign(fmax(fabs(difference) - HUGE_PAGE, 0), difference) / r->memory;
}

static void judge(table *t) {
  fit_line(t);
  t->deviation = 0;
  t->surplus = NAN;
  for (size_t i = 0; i < t->rows; i++) {
    row *r = &t->row[i];
    r->line = t->a + t->b * r->n;
    t->deviation = fmax(t->deviation, fabs(deviation_of(r)));
    /* fmax passes over what was not measured */
    t->surplus = fmax(t->surplus, fabs(surplus_of(r)));
  }
}

static bool is_straight(const table *t) { return t->deviation <= LINE_TOLERANCE; }
static bool is_foreseen(const table *t) { return isnan(t->surplus) || t->surplus <= MEMORY_TOLERANCE; }

/* ---- output ------------------------------------------------------------------------------------- */

static void print_row(const row *r) {
  char seconds[TIME_TEXT], measured[TIME_TEXT] = "-";
  if (isfinite(r->measured)) snprintf(measured, sizeof measured, "%.2f MB", 1e-6 * r->measured);
  printf("  %7d %7d %7d %11.0f %9s %8.3f %+8.1f%% %10.2f MB %12s\n", r->shape[0], r->shape[1], r->shape[2], r->n,
         bench_time_text(r->seconds, seconds), 1e9 * r->seconds / r->n, 100 * deviation_of(r), 1e-6 * r->memory,
         measured);
}

static void print_table(bench_settings *settings, const table *t) {
  const row *last = &t->row[t->rows - 1];
  char call[TIME_TEXT];
  bench_separate(settings);
  printf("%s forward + backward, 1 thread, %s, sizes in turn: %c grows\n",
         strcmp(t->kind, "mixer") == 0 ? "mixer without projection" : "fused scan", last->cases[0].kernel, t->axis);
  printf("  %7s %7s %7s %11s %9s %8s %9s %13s %12s\n", "B", "T", "H", "mode-steps", "time", "ns/mode", "to line",
         "by formula", "measured");
  for (size_t i = 0; i < t->rows; i++) print_row(&t->row[i]);
  printf("  line: %s a call + %.3f ns a mode-step; at most %.1f%% from it, %.0f%% allowed: %s\n",
         bench_time_text(t->a, call), 1e9 * t->b, 100 * t->deviation, 100 * LINE_TOLERANCE,
         is_straight(t) ? "within" : "MISSED");
  printf("  bytes = %s\n", last->cases[0].formula);
  if (isfinite(t->surplus))
    printf("  memory: at most %.1f%% and a huge page from the formula, %.0f%% allowed: %s\n", 100 * t->surplus,
           100 * MEMORY_TOLERANCE, is_foreseen(t) ? "within" : "MISSED");
  else
    printf("  memory: not measured\n");
}

static void json_table(const bench_settings *settings, const table *t) {
  for (size_t i = 0; i < t->rows; i++) {
    const row *r = &t->row[i];
    const char axis[] = {t->axis, '\0'};
    json_t *line = json_pack(
        "{s:s, s:s, s:s, s:i, s:i, s:i, s:f, s:f, s:f, s:f, s:f, s:o, s:f, s:o, s:s, s:b, s:b, s:i, s:s, s:b}",
        "growth", t->kind, "axis", axis, "problem", r->problem.text, "B", r->shape[0], "T", r->shape[1], "H",
        r->shape[2], "mode_steps", r->n, "seconds", r->seconds, "ns_per_mode_step", 1e9 * r->seconds / r->n,
        "line_seconds", r->line, "deviation", deviation_of(r), "memory_deviation", bench_json_number(surplus_of(r)),
        "memory_bytes", r->memory, "memory_measured_bytes", bench_json_number(r->measured), "memory_formula",
        r->cases[0].formula, "line_within", fabs(deviation_of(r)) <= LINE_TOLERANCE, "memory_within",
        !(fabs(surplus_of(r)) > MEMORY_TOLERANCE), "threads", 1, "kernel", r->cases[0].kernel, "quick",
        settings->quick);
    cli_json_line(settings->who, line);
  }
}

/* ---- work --------------------------------------------------------------------------------------- */

static exit_code grow(bench_settings *settings, table *t) {
  /* a pass of all sizes is long; and while a size still falls, up to so many times as long */
  enum { SHARE = 3, PATIENCE = 10 };
  sparc_status status = SPARC_OK;
  for (size_t i = 0; status == SPARC_OK && i < t->rows; i++) status = open_row(settings, t, i);
  if (status != SPARC_OK) {
    close_rows(t);
    return bench_report_failure(settings, status);
  }
  time_rows(t, SHARE * settings->seconds, settings->quick ? 1 : PATIENCE);
  judge(t);
  if (settings->json)
    json_table(settings, t);
  else
    print_table(settings, t);
  close_rows(t);
  return settings->quick || (is_straight(t) && is_foreseen(t)) ? EXIT_DONE : EXIT_FAILED;
}

exit_code bench_suite_growth(bench_settings *settings) {
  static const char *const kinds[] = {"mixer", "fused"};
  exit_code code = EXIT_DONE;
  /* memory that verification gave back must not be found again by the next problem, whose growth is measured */
  (void)mallopt(M_MMAP_THRESHOLD, 1 << 16);
  for (int i = 0; i < 2 * 3 && !cli_output_lost(); i++) {
    table *t = calloc(1, sizeof *t);
    if (!t) {
      cli_message(settings->who, "no memory for a table");
      return EXIT_FAILED;
    }
    t->kind = kinds[i / 3];
    t->axis = axes[i % 3];
    t->rows = settings->quick ? QUICK_SIZES - (t->axis == 'H') : t->axis == 'H' ? 2 * WIDTHS : SIZES;
    const exit_code of_table = grow(settings, t);
    if (of_table > code) code = of_table;
    free(t);
  }
  return code;
}
