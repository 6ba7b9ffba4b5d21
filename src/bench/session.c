/* SPDX-License-Identifier: MIT */
/* session.c: sessions, the choice between problems and suites, and records of problems beside the machine's limits. */
#include "bench/session.h"

#include "base/error.h"
#include "base/ranks.h"
#include "bench/limits.h"
#include "bench/suites/suites.h"

#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- sessions ----------------------------------------------------------------------------------- */

sparc_status bench_session_create(const bench_settings *settings, const bench_output *output, void *context,
                                  bench_session **out) {
  bench_session *session = *out = calloc(1, sizeof *session);
  if (!session) return fail(SPARC_NO_MEMORY, "no memory for a session of the benchmark");
  session->settings = *settings;
  session->output = output;
  session->context = context;
  session->machine.seconds = settings->seconds;
  session->machine.kernel = settings->kernel;
  return SPARC_OK;
}

void bench_session_free(bench_session *session) {
  if (!session) return;
  bench_machine_free(&session->machine);
  free(session);
}

bool bench_failed(const bench_session *session, sparc_status status) {
  session->output->failed(session->context, status);
  return false;
}

void bench_return_memory(void) { (void)mallopt(M_MMAP_THRESHOLD, 1 << 16); }

/* ---- problems ----------------------------------------------------------------------------------- */

bool bench_open_all(bench_session *session, const char *const *texts, const int *threads, size_t count,
                    bench_problem *problems, bench_case *cases) {
  for (size_t i = 0; i < count; i++) {
    const int requested = threads && threads[i] > 0 ? threads[i] : session->settings.threads;
    sparc_status status = bench_parse(texts[i], NULL, &problems[i]);
    if (status == SPARC_OK)
      status = bench_open(&session->machine, &problems[i], requested, session->settings.kernel, &cases[i]);
    if (status == SPARC_OK) continue;
    bench_close_all(cases, i);
    return bench_failed(session, status);
  }
  return true;
}

void bench_close_all(bench_case *cases, size_t count) {
  for (size_t i = 0; i < count; i++) bench_close(&cases[i]);
}

/* the limits that a case is held against */
static sparc_status find_limits(bench_session *session, const bench_case *c, bench_result *out) {
  double flops = 0, bytes = 0;
  for (size_t i = 0; i < c->stages; i++) {
    flops = fmax(flops, c->stage[i].flops);
    bytes = fmax(bytes, c->stage[i].bytes);
  }
  sparc_status status = SPARC_OK;
  if (bytes > 0) {
    const bench_level level = bench_level_of(c->footprint, c->threads);
    double rate[FLOWS] = {0};
    status = bench_limit_flows(&session->machine, c->threads, level, rate);
    out->level = bench_level_name(level);
    out->copy = fmax(rate[FLOW_COPY], rate[FLOW_COPY_NT]);
    out->triad = rate[FLOW_TRIAD];
  }
  if (status == SPARC_OK && flops > 0) status = bench_limit_peak(&session->machine, c->threads, &out->peak);
  return status;
}

static bench_figures figures_of(const bench_stage *stage, const bench_result *limits) {
  bench_figures f = {.stage = stage->name,
                     .seconds = stage->task.seconds / stage->calls,
                     .noise = stage->task.noise,
                     .passes = stage->task.passes};
  f.ns_per_mode = stage->modes > 0 ? 1e9 * f.seconds / stage->modes : NAN;
  f.gb_per_s = stage->bytes > 0 ? 1e-9 * stage->bytes / f.seconds : NAN;
  f.gflop_per_s = stage->flops > 0 ? 1e-9 * stage->flops / f.seconds : NAN;
  f.of_copy = f.gb_per_s / limits->copy;
  f.of_triad = f.gb_per_s / limits->triad;
  f.of_peak = f.gflop_per_s / limits->peak;
  return f;
}

sparc_status bench_describe(bench_session *session, const bench_case *c, bench_result *out) {
  *out = (bench_result){.problem = c->problem->text,
                        .kernel = c->kernel,
                        .threads = c->threads,
                        .H = c->H,
                        .e_norm = c->error.norm,
                        .tolerance = c->error.tolerance,
                        .tensor = c->error.tensor,
                        .memory_bytes = c->memory,
                        .measured_bytes = c->measured,
                        .memory_formula = c->formula,
                        .level = "",
                        .copy = NAN,
                        .triad = NAN,
                        .peak = NAN,
                        .stages = c->stages};
  sparc_status status = find_limits(session, c, out);
  for (size_t i = 0; i < c->stages; i++) out->stage[i] = figures_of(&c->stage[i], out);
  return status;
}

static bool measure_problem(bench_session *session, const char *text) {
  bench_problem problem;
  bench_case c;
  bench_result result;
  if (!bench_open_all(session, &text, NULL, 1, &problem, &c)) return false;
  sparc_status status = bench_run(&c, 1, session->settings.seconds, 1);
  if (status == SPARC_OK) status = bench_describe(session, &c, &result);
  if (status == SPARC_OK) session->output->problem(session->context, &result);
  bench_close(&c);
  return status == SPARC_OK || bench_failed(session, status);
}

/* ---- suites ------------------------------------------------------------------------------------- */

static const struct suite {
  const char *name, *summary;
  bool (*run)(bench_session *session);
} suites[] = {
    {"limits", "multiply-adds, copy, triad, in-place sweeps and matrix products, on 1 and N threads", suite_limits},
    {"goals", "the goals set for the kernels: measured, demanded, stretch, verdict", suite_goals},
    {"train", "the training step of a classifier, against the cost of its arithmetic", suite_train},
    {"rl", "an iteration of PPO in the paper's settings, against its bounds and against JAX, on 1 and 2 threads",
     suite_rl},
    {"scale",
     "the training step of a classifier on the ranks of an MPI job (mpirun -n 2 sparc bench scale), and a model of "
     "64 and 1,024 ranks",
     suite_scale},
    {"growth", "time and memory as B, T and H grow, against a line and a formula, on 1 thread", suite_growth},
    {"paper", "the paper's efficiency figure and naive-versus-accelerated tables, on this machine", suite_paper},
};
enum { SUITES = sizeof suites / sizeof *suites };

static const struct suite *find_suite(const char *text) {
  for (size_t i = 0; i < SUITES; i++)
    if (strcmp(suites[i].name, text) == 0) return &suites[i];
  return NULL;
}

bool bench_is_suite(const char *text) { return find_suite(text) != NULL; }

bool bench_measure(bench_session *session, const char *text) {
  const struct suite *suite = find_suite(text);
  return suite ? suite->run(session) : measure_problem(session, text);
}

static sparc_status check_ranks(const ranks *group, const char *text) {
  const bool scale = strcmp(text, "scale") == 0;
  if (scale && !group)
    return fail(SPARC_INVALID, "scale measures the ranks of an MPI job: mpirun -n 2 sparc bench scale");
  if (group && !scale)
    return fail(SPARC_INVALID, "%d ranks measure the suite scale, not %s; start it without mpirun", ranks_count(group),
                text);
  return SPARC_OK;
}

sparc_status bench_check(const bench_settings *settings, const char *text) {
  const char *names[SUITES + 1] = {NULL};
  bench_problem problem;
  for (size_t i = 0; i < SUITES; i++) names[i] = suites[i].name;
  const sparc_status status = bench_is_suite(text) ? SPARC_OK : bench_parse(text, names, &problem);
  return status == SPARC_OK ? check_ranks(settings->group, text) : status;
}

void bench_usage(char *text, size_t capacity) {
  size_t used = bench_list_kinds(text, capacity);
  for (size_t i = 0; i < SUITES && used < capacity; i++)
    used += (size_t)snprintf(text + used, capacity - used, "%s  %s\n      %s\n", i == 0 ? "Suites:\n" : "",
                             suites[i].name, suites[i].summary);
}
