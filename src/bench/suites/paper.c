/* SPDX-License-Identifier: MIT */
/* paper.c: `sparc bench paper`: the shapes of the paper's efficiency figure [fig:gpu_efficiency] and of its two
 * tables against a naive implementation [tab:naive_fixed_tokens, tab:naive_batch], on this CPU, beside the paper's
 * figures from its GPU [app:efficiency_protocol].
 *
 * Not the same experiment: float32 here, BF16 inputs and outputs there; a CPU here, a GPU there. As in the paper, the
 * scan of panel (a) is given its coefficients: RG-LRU a transition for every token and coordinate, SPARC two controls
 * for every token, from which the scan itself makes the transitions [sec:gpu_implementation]; both are given what they
 * write. The paper leaves the projections around a mixer out of its times; panels (b) to (d) have both, because here
 * the projection decides.
 *
 * Costs are linear in the number of steps, so what would take too long runs with fewer steps and is scaled up; the
 * record says from how many. A quick run has the first row of each table.
 */
#include "bench/suites/paper_shapes.h"
#include "bench/suites/suites.h"
#include "sparc/sequence.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* the most tokens that are really run, so that all of it takes minutes, not hours */
static int scan_tokens(const bench_session *session) { return session->settings.quick ? 4096 : 65536; }
static int mixer_tokens(const bench_session *session) { return session->settings.quick ? 256 : 2048; }
static int naive_tokens(const bench_session *session) { return session->settings.quick ? 64 : 256; }

/* as many steps of B streams as the limit on tokens allows */
static int steps_within(int B, int T, int tokens) {
  const int steps = tokens / B > 0 ? tokens / B : 1;
  return steps < T ? steps : T;
}

/* opens the problems, times them side by side, and hands over the cases; they are closed here when this fails */
static bool measure(bench_session *session, const char *const *texts, const int *threads, size_t count,
                    bench_problem *problems, bench_case *cases) {
  if (!bench_open_all(session, texts, threads, count, problems, cases)) return false;
  const sparc_status status = bench_run(cases, count, session->settings.seconds, 1);
  if (status == SPARC_OK) return true;
  bench_close_all(cases, count);
  return bench_failed(session, status);
}

/* ---- panel (a): scans with given coefficients ---------------------------------------------------- */

static bool scan_row(bench_session *session, int T) {
  bench_paper_scan row = {.B = PAPER_SCAN_B,
                          .T = T,
                          .width = PAPER_SCAN_WIDTH,
                          .threads = session->settings.threads,
                          .paper_speedup = {3.1, 4.7}};
  char sparc[PROBLEM_TEXT], rglru[PROBLEM_TEXT];
  const char *texts[] = {sparc, rglru};
  bench_problem problems[2];
  bench_case cases[2];
  row.measured_T = steps_within(row.B, T, scan_tokens(session));
  snprintf(sparc, sizeof sparc, "scan:B%d:T%d:H%d", row.B, row.measured_T, row.width / 2);
  snprintf(rglru, sizeof rglru, "scan:B%d:T%d:H%d:cell=rglru", row.B, row.measured_T, row.width / 2);
  if (!measure(session, texts, NULL, 2, problems, cases)) return false;
  const double up = (double)T / row.measured_T, seconds = bench_seconds(&cases[0], "forward");
  row.sparc = up * seconds;
  row.rglru = up * bench_seconds(&cases[1], "forward");
  row.ns_per_mode = 1e9 * seconds / cases[0].stage[0].modes;
  bench_close_all(cases, 2);
  session->output->paper_scan(session->context, &row);
  return true;
}

static bool panel_scans(bench_session *session) {
  const size_t count = session->settings.quick ? 1 : PAPER_SCANS;
  for (size_t i = 0; i < count; i++)
    if (!scan_row(session, paper_scan_lengths[i])) return false;
  return true;
}

/* ---- panels (b), (c), (d): mixers ---------------------------------------------------------------- */

static const struct mixer_cell {
  const char *kind, *fields;              /* of a problem */
  const char *options[BENCH_PROJECTIONS]; /* of the cell */
  int coordinates;                        /* of a mode */
} mixer_cells[BENCH_CELLS] = {
    {"sparc", "", {"projection=none", ""}, 2},
    {"rglru",
     ":cell=rglru:block=" BENCH_PAPER_BLOCK,
     {"block=" BENCH_PAPER_BLOCK ",projection=none", "block=" BENCH_PAPER_BLOCK},
     1},
};

static void mixer_text(const bench_paper_mixer *row, int T, int projection, int cell, const char *cut,
                       char text[PROBLEM_TEXT]) {
  snprintf(text, PROBLEM_TEXT, "mixer:B%d:T%d:D%d%s:%s%s", row->B, T, row->width,
           projection == BENCH_NO_PROJECTION ? ":noproj" : "", cut, mixer_cells[cell].fields);
}

static bool time_mixers(bench_session *session, bench_paper_mixer *row) {
  enum { COUNT = BENCH_PROJECTIONS * BENCH_CELLS };
  char text[COUNT][PROBLEM_TEXT];
  const char *texts[COUNT];
  bench_problem problems[COUNT];
  bench_case cases[COUNT];
  for (int i = 0; i < COUNT; i++) {
    mixer_text(row, row->measured_T, i / BENCH_CELLS, i % BENCH_CELLS, "pieces", text[i]);
    texts[i] = text[i];
  }
  if (!measure(session, texts, NULL, COUNT, problems, cases)) return false;
  const double up = (double)row->T / row->measured_T;
  for (int i = 0; i < COUNT; i++)
    row->cost[i / BENCH_CELLS][i % BENCH_CELLS].seconds = up * bench_seconds(&cases[i], "forward+backward");
  bench_close_all(cases, COUNT);
  return true;
}

/* bytes of one call forward and one backward at the full shape, by the sizes that the library states */
static double stated_bytes(const bench_paper_mixer *row, int projection, const struct mixer_cell *mixer) {
  const sparc_cell_config config = {.kind = mixer->kind,
                                    .D = row->width,
                                    .H = row->width / mixer->coordinates,
                                    .options = mixer->options[projection]};
  sparc_cell *cell;
  sparc_plan *plan;
  double bytes = NAN;
  if (sparc_cell_create(&config, &cell) != SPARC_OK) return NAN;
  if (sparc_plan_create(cell, row->B, row->T, &(sparc_plan_config){.threads = row->threads}, &plan) == SPARC_OK) {
    const sparc_cell_sizes sizes = sparc_cell_sizes_of(cell);
    const double streams = row->B, tokens = streams * row->T;
    bytes = 4 * (2 * tokens * ((double)row->width + (double)sizes.output) + 4 * streams * (double)sizes.state +
                 2 * (double)sizes.params + (double)sizes.prepared) +
            (double)sparc_plan_sizes_of(plan, SPARC_FLOAT32).saved +
            (double)sparc_plan_sizes_of(plan, SPARC_FLOAT32).work;
    sparc_plan_free(plan);
  }
  sparc_cell_free(cell);
  return bytes;
}

/* by how much the process grows while it runs the full shape forward and backward in one call each */
static sparc_status measure_bytes(bench_session *session, const bench_paper_mixer *row, int cell, double *bytes) {
  char text[PROBLEM_TEXT];
  bench_problem problem;
  bench_case c;
  mixer_text(row, row->T, BENCH_NO_PROJECTION, cell, "whole", text);
  sparc_status status = bench_parse(text, NULL, &problem);
  if (status == SPARC_OK) status = bench_open(&session->machine, &problem, row->threads, session->settings.kernel, &c);
  if (status != SPARC_OK) return status;
  if (c.measured > 0) *bytes = (double)c.measured;
  bench_close(&c);
  return SPARC_OK;
}

/* With the projection the full shape takes seconds, and most of its bytes are the same: memory is not measured there.
 * Nor is it in a quick run, or where the machine has not enough memory. */
static bool weigh_mixers(bench_session *session, bench_paper_mixer *row) {
  for (int projection = 0; projection < BENCH_PROJECTIONS; projection++)
    for (int cell = 0; cell < BENCH_CELLS; cell++) {
      bench_paper_cost *cost = &row->cost[projection][cell];
      cost->bytes = stated_bytes(row, projection, &mixer_cells[cell]);
      cost->measured_bytes = NAN;
      if (projection != BENCH_NO_PROJECTION || session->settings.quick) continue;
      const sparc_status status = measure_bytes(session, row, cell, &cost->measured_bytes);
      if (status != SPARC_OK && status != SPARC_NO_MEMORY) return bench_failed(session, status);
    }
  return true;
}

static bool mixer_row(bench_session *session, const paper_mixer *shape) {
  bench_paper_mixer row = {.panel = shape->panel,
                           .B = shape->B,
                           .T = shape->T,
                           .width = shape->width,
                           .threads = session->settings.threads,
                           .measured_T = steps_within(shape->B, shape->T, mixer_tokens(session)),
                           .paper_ratio = shape->paper};
  if (!time_mixers(session, &row) || !weigh_mixers(session, &row)) return false;
  session->output->paper_mixer(session->context, &row);
  return true;
}

static bool panel_mixers(bench_session *session) {
  bench_return_memory();
  for (size_t i = 0; i < PAPER_MIXERS; i++) {
    if (session->settings.quick && i > 0 && paper_mixers[i].panel == paper_mixers[i - 1].panel) continue;
    if (!mixer_row(session, &paper_mixers[i])) return false;
  }
  return true;
}

/* ---- the naive implementation -------------------------------------------------------------------- */

/* from pre-activations: naive and fused, each on one thread */
static bool measure_bare(bench_session *session, bench_paper_naive *row) {
  char naive[PROBLEM_TEXT], fused[PROBLEM_TEXT];
  const char *texts[] = {naive, fused};
  bench_problem problems[2];
  bench_case cases[2];
  row->naive_T = steps_within(row->B, row->T, naive_tokens(session));
  row->fused_T = session->settings.quick ? steps_within(row->B, row->T, mixer_tokens(session)) : row->T;
  snprintf(naive, sizeof naive, "naive:B%d:T%d:H%d", row->B, row->naive_T, row->width / 2);
  snprintf(fused, sizeof fused, "fused:B%d:T%d:H%d", row->B, row->fused_T, row->width / 2);
  if (!measure(session, texts, (int[]){1, 1}, 2, problems, cases)) return false;
  const double up = (double)row->T / row->naive_T, fused_up = (double)row->T / row->fused_T;
  row->naive_backward = up * bench_seconds(&cases[0], "backward");
  row->naive_both = up * bench_seconds(&cases[0], "forward+backward");
  row->fused_backward = fused_up * bench_seconds(&cases[1], "backward");
  row->fused_both = row->fused_backward + fused_up * bench_seconds(&cases[1], "forward");
  bench_close_all(cases, 2);
  return true;
}

/* with the content projection on both sides, each on one thread */
static bool measure_projected(bench_session *session, bench_paper_naive *row) {
  char naive[PROBLEM_TEXT], mixer[PROBLEM_TEXT];
  const char *texts[] = {naive, mixer};
  bench_problem problems[2];
  bench_case cases[2];
  row->projected_T = steps_within(row->B, row->T, naive_tokens(session));
  snprintf(naive, sizeof naive, "naive:B%d:T%d:H%d:D%d", row->B, row->projected_T, row->width / 2, row->width);
  snprintf(mixer, sizeof mixer, "mixer:B%d:T%d:D%d:pieces", row->B, row->projected_T, row->width);
  if (!measure(session, texts, (int[]){1, 1}, 2, problems, cases)) return false;
  const double up = (double)row->T / row->projected_T;
  row->projected_naive = up * bench_seconds(&cases[0], "forward+backward");
  row->projected_ours = up * bench_seconds(&cases[1], "forward+backward");
  bench_close_all(cases, 2);
  return true;
}

static bool naive_row(bench_session *session, const paper_naive *shape) {
  bench_paper_naive row = {.table = shape->table,
                           .B = shape->B,
                           .T = shape->T,
                           .width = shape->width,
                           .paper_backward = {shape->backward[0], shape->backward[1]},
                           .paper_both = {shape->both[0], shape->both[1]}};
  if (!measure_bare(session, &row) || !measure_projected(session, &row)) return false;
  session->output->paper_naive(session->context, &row);
  return true;
}

static bool tables_naive(bench_session *session) {
  for (size_t i = 0; i < PAPER_NAIVES; i++) {
    if (session->settings.quick && i > 0 && strcmp(paper_naives[i].table, paper_naives[i - 1].table) == 0) continue;
    if (!naive_row(session, &paper_naives[i])) return false;
  }
  return true;
}

/* ---- all ---------------------------------------------------------------------------------------- */

bool suite_paper(bench_session *session) {
  if (session->settings.device) return suite_paper_device(session);
  return panel_scans(session) && panel_mixers(session) && tables_naive(session);
}
