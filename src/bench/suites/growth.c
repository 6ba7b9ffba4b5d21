/* SPDX-License-Identifier: MIT */
/* growth.c: `sparc bench growth`: time and memory as B, T or H grows alone, from 1e3 to 1e7 mode-steps (B T H).
 *
 * Caches would make a small problem cheaper per mode-step, and bend the line. So every problem is timed cold: all sizes
 * of a table take turns, forward first and backward when all have done so, and the large ones go through the caches
 * before a problem comes round again: 240 MB between forward and backward, twice that between backward and forward. A
 * larger last-level cache may keep a part. Small problems have several copies, so that their time is a mean. A call
 * forward and a call backward are timed whole; cut into pieces they would lie on a line by construction. Whole calls
 * are long enough to be interrupted, so the clock is that of the thread, which stops meanwhile. One thread: a
 * team has a cost of its own, and shares the work unevenly when there is little.
 *
 * The line is time = a + b n, by least squares of the relative distances: a is what a call costs, b a mode-step.
 */
#include "base/clock.h"
#include "base/error.h"
#include "base/threads.h"
#include "bench/suites/suites.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZES = BENCH_GROWTH_ROWS, QUICK_SIZES = 7, COPIES = 32 };

/* B and T grow from one stream of 16 steps and 64 modes, by half a decade each. H grows twice by a decade and a half,
 * with few steps and with many: the reference, which verifies every problem, takes a time that grows with H squared. */
static const int factors[SIZES] = {1, 3, 10, 32, 100, 316, 1000, 3162, 10000};
enum { STEPS = 16, MODES = 64, WIDTHS = 4, MANY_STEPS = 320 * STEPS };
static const char axes[] = "BTH";

/* the time may be so far from the line, and the memory from its formula */
static const double LINE_TOLERANCE = 0.15, MEMORY_TOLERANCE = 0.05;

/* Large blocks come in huge pages. Problems that are not much larger are too small for the system to count. */
static const double HUGE_PAGE = 2 << 20, MEMORY_FROM = 8e6;

/* the problem of a row of the result */
typedef struct growing {
  bench_problem problem;
  bench_case cases[COPIES];
  size_t copies, opened;
} growing;

typedef struct table {
  bench_growth result;
  growing size[SIZES];
} table;

/* ---- problems ----------------------------------------------------------------------------------- */

static void describe(const bench_growth *g, size_t size, bench_growth_row *r, char text[PROBLEM_TEXT]) {
  const int steps = g->axis == 'H' && size >= WIDTHS ? MANY_STEPS : STEPS;
  r->B = g->axis == 'B' ? factors[size] : 1;
  r->T = g->axis == 'T' ? STEPS * factors[size] : steps;
  r->H = g->axis == 'H' ? MODES * factors[size % WIDTHS] : MODES;
  r->mode_steps = (double)r->B * r->T * r->H;
  if (strcmp(g->kind, "mixer") == 0)
    snprintf(text, PROBLEM_TEXT, "mixer:B%d:T%d:D%d:H%d:noproj:whole", r->B, r->T, 2 * r->H, r->H);
  else
    snprintf(text, PROBLEM_TEXT, "%s:B%d:T%d:H%d", g->kind, r->B, r->T, r->H);
}

static sparc_status open_size(bench_session *session, table *t, size_t size) {
  growing *g = &t->size[size];
  bench_growth_row *r = &t->result.row[size];
  char text[PROBLEM_TEXT];
  describe(&t->result, size, r, text);
  const double copies = 1e5 / r->mode_steps;
  g->copies = copies < 1 ? 1 : copies < COPIES ? (size_t)copies : COPIES;
  sparc_status status = bench_parse(text, NULL, &g->problem);
  double measured = 0;
  while (status == SPARC_OK && g->opened < g->copies) {
    bench_case *c = &g->cases[g->opened];
    status = bench_open(&session->machine, &g->problem, 1, session->settings.kernel, c);
    if (status != SPARC_OK) break;
    measured += (double)c->measured;
    g->opened++;
  }
  if (status != SPARC_OK) return status;
  const bench_case *first = &g->cases[0];
  r->problem = g->problem.text;
  r->kernel = first->kernel;
  r->memory_formula = first->formula;
  r->memory_bytes = (double)first->memory;
  r->measured_bytes = measured > 0 && r->memory_bytes >= MEMORY_FROM ? measured / (double)g->copies : NAN;
  return SPARC_OK;
}

static void close_sizes(table *t) {
  for (size_t i = 0; i < t->result.rows; i++) bench_close_all(t->size[i].cases, t->size[i].opened);
}

/* ---- times -------------------------------------------------------------------------------------- */

/* seconds that this thread has worked */
static double worked(void) { return clock_seconds(CLOCK_THREAD_CPUTIME_ID); }

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
  const size_t rows = t->result.rows;
  double shortest[2][SIZES][COPIES], best[SIZES];
  const double start = bench_now();
  double elapsed = 0, improved = 0;
  for (size_t i = 0; i < rows; i++) best[i] = INFINITY;
  for (int pass = 0; pass < LEAST_PASSES || elapsed < fmin(fmax(seconds, 2 * improved), patience * seconds); pass++) {
    for (int s = 0; s < 2; s++)
      for (size_t i = 0; i < rows; i++)
        for (size_t k = 0; k < t->size[i].copies; k++) {
          const double once = time_once(&stage_of(&t->size[i].cases[k], stages[s])->task);
          shortest[s][i][k] = pass == 0 ? once : fmin(shortest[s][i][k], once);
        }
    elapsed = bench_now() - start;
    for (size_t i = 0; i < rows; i++) {
      const size_t copies = t->size[i].copies;
      double sum = 0;
      for (size_t k = 0; k < copies; k++) sum += shortest[0][i][k] + shortest[1][i][k];
      t->result.row[i].seconds = sum / (double)copies;
      if (bench_improves(t->result.row[i].seconds, &best[i])) improved = elapsed;
    }
  }
}

/* ---- judgement ---------------------------------------------------------------------------------- */

/* minimises the sum of ((a + b n) / seconds - 1)^2; a call never costs less than nothing */
static void fit_line(bench_growth *g) {
  double uu = 0, uv = 0, vv = 0, u1 = 0, v1 = 0;
  for (size_t i = 0; i < g->rows; i++) {
    const double u = 1 / g->row[i].seconds, v = g->row[i].mode_steps * u;
    uu += u * u, uv += u * v, vv += v * v, u1 += u, v1 += v;
  }
  g->a = fmax((u1 * vv - v1 * uv) / (uu * vv - uv * uv), 0);
  g->b = (v1 - g->a * uv) / vv;
}

/* what is measured beyond whole pages, in either direction, relative to the formula */
static double surplus_of(const bench_growth_row *r) {
  const double difference = r->measured_bytes - r->memory_bytes;
  if (isnan(difference)) return NAN;
  return copysign(fmax(fabs(difference) - HUGE_PAGE, 0), difference) / r->memory_bytes;
}

/* true: time is a line, and memory follows its formula */
static bool judge(bench_growth *g) {
  fit_line(g);
  g->deviation = 0;
  g->memory_deviation = NAN;
  for (size_t i = 0; i < g->rows; i++) {
    bench_growth_row *r = &g->row[i];
    r->line_seconds = g->a + g->b * r->mode_steps;
    r->deviation = r->seconds / r->line_seconds - 1;
    r->memory_deviation = surplus_of(r);
    g->deviation = fmax(g->deviation, fabs(r->deviation));
    /* fmax passes over what was not measured */
    g->memory_deviation = fmax(g->memory_deviation, fabs(r->memory_deviation));
  }
  return g->deviation <= g->deviation_allowed && !(g->memory_deviation > g->memory_allowed);
}

/* ---- work --------------------------------------------------------------------------------------- */

static bool grow(bench_session *session, table *t) {
  /* a pass of all sizes is long; and while a size still falls, up to so many times as long */
  enum { SHARE = 3, PATIENCE = 10 };
  const bool quick = session->settings.quick;
  bool within = false;
  sparc_status status = SPARC_OK;
  for (size_t i = 0; status == SPARC_OK && i < t->result.rows; i++) status = open_size(session, t, i);
  if (status == SPARC_OK) {
    time_rows(t, SHARE * session->settings.seconds, quick ? 1 : PATIENCE);
    within = judge(&t->result);
    session->output->growth(session->context, &t->result);
  }
  close_sizes(t);
  return status == SPARC_OK ? within || quick : bench_failed(session, status);
}

bool suite_growth(bench_session *session) {
  static const char *const kinds[][2] = {{"mixer", "mixer without projection"}, {"fused", "fused scan"}};
  const bool quick = session->settings.quick;
  bool within = true;
  bench_return_memory();
  for (int i = 0; i < 2 * 3 && !session->output->stopped(session->context); i++) {
    table *t = calloc(1, sizeof *t);
    if (!t) return bench_failed(session, fail(SPARC_NO_MEMORY, "no memory for a table"));
    const char axis = axes[i % 3];
    t->result = (bench_growth){.kind = kinds[i / 3][0],
                               .what = kinds[i / 3][1],
                               .axis = axis,
                               .rows = quick         ? QUICK_SIZES - (axis == 'H')
                                       : axis == 'H' ? 2 * WIDTHS
                                                     : SIZES,
                               .deviation_allowed = LINE_TOLERANCE,
                               .memory_allowed = MEMORY_TOLERANCE};
    within = grow(session, t) && within;
    free(t);
  }
  return within;
}
