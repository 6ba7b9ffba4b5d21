/* SPDX-License-Identifier: MIT */
/* output_html.c: the benchmark's records as one page that needs nothing beside it: the machine, what it can do at most, and
 * what of it the kernels reach. A table is opened by its first row and closed by what follows it. */
#include "base/build_info.h"
#include "base/cpu.h"
#include "cli/bench/output.h"

#include <math.h>
#include <string.h>

enum { CELL = 32 };

/* ---- tables ------------------------------------------------------------------------------------- */

static void close_table(bench_printer *printer) {
  if (*printer->page_table) html_table_end(&printer->page);
  *printer->page_table = '\0';
}

/* the table of that name, opened if another one, or none, is open */
static void in_table(bench_printer *printer, const char *name, const char *title, const char *const *heads,
                     int columns) {
  if (strcmp(printer->page_table, name) == 0) return;
  close_table(printer);
  html_section(&printer->page, title);
  html_table_begin(&printer->page, &heads, 1, columns);
  snprintf(printer->page_table, sizeof printer->page_table, "%s", name);
}

static const char *figure(const char *format, double value, char text[CELL]) {
  if (isnan(value))
    snprintf(text, CELL, "-");
  else
    snprintf(text, CELL, format, value);
  return text;
}

/* ---- the machine --------------------------------------------------------------------------------- */

static void put_machine(bench_printer *printer, const char *kernel) {
  static const char *const heads[] = {"machine", ""};
  const cpu_info cpu = cpu_detect();
  char features[256], caches[64], threads[CELL];
  cpu_feature_names(cpu.features, features, sizeof features);
  snprintf(caches, sizeof caches, "%zu, %zu, %zu KiB", cpu.l1d >> 10, cpu.l2 >> 10, cpu.l3 >> 10);
  snprintf(threads, sizeof threads, "%d of %d processors", printer->settings.threads, cpu.logical);
  const char *const rows[][2] = {
      {"processor", cpu.brand}, {"instructions", features},   {"caches for data", caches},    {"threads", threads},
      {"kernels", kernel},      {"version", sparc_version()}, {"compiler", build_compiler()}, {"build", build_type()}};
  in_table(printer, "Machine", "Machine", heads, 2);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) html_table_row(&printer->page, rows[i], 2, false);
}

/* ---- records ------------------------------------------------------------------------------------- */

static void put_stages(bench_printer *printer, const char *title, const bench_result *r) {
  static const char *const heads[] = {"problem", "stage",   "threads", "us",     "noise %",
                                      "GB/s",    "/copy %", "GFLOP/s", "/peak %"};
  enum { COLUMNS = sizeof heads / sizeof *heads };
  in_table(printer, title, title, heads, COLUMNS);
  for (size_t i = 0; i < r->stages; i++) {
    const bench_figures *f = &r->stage[i];
    char threads[CELL], us[CELL], noise[CELL], bytes[CELL], copy[CELL], flops[CELL], peak[CELL];
    snprintf(threads, sizeof threads, "%d", r->threads);
    const char *const cells[COLUMNS] = {r->problem,
                                        f->stage,
                                        threads,
                                        figure("%.3f", 1e6 * f->seconds, us),
                                        figure("%.0f", 100 * f->noise, noise),
                                        figure("%.1f", f->gb_per_s, bytes),
                                        figure("%.0f", 100 * f->of_copy, copy),
                                        figure("%.1f", f->gflop_per_s, flops),
                                        figure("%.0f", 100 * f->of_peak, peak)};
    html_table_row(&printer->page, cells, COLUMNS, false);
  }
}

static void put_problem(void *context, const bench_result *r) { put_stages(context, "Problems", r); }

static void put_limit(void *context, const bench_limit *limit) {
  for (size_t i = 0; i < limit->count; i++) put_stages(context, "Limits", &limit->columns[i]);
}

static void put_goal(void *context, const bench_goal *g) {
  static const char *const formats[] = {[BENCH_RATIO] = "%.2f", [BENCH_PERCENT] = "%.0f %%", [BENCH_E_NORM] = "%.1e"};
  static const char *const heads[] = {"goal", "measured", "", "demanded", "stretch", "verdict", "bound"};
  enum { COLUMNS = sizeof heads / sizeof *heads };
  bench_printer *printer = context;
  char value[CELL], demand[CELL], stretch[CELL];
  in_table(printer, "Goals", "Goals", heads, COLUMNS);
  const char *const cells[COLUMNS] = {g->name,
                                      figure(formats[g->unit], g->value, value),
                                      isnan(g->demand) ? ""
                                      : g->at_most     ? "at most"
                                                       : "at least",
                                      figure(formats[g->unit], g->demand, demand),
                                      figure(formats[g->unit], g->stretch, stretch),
                                      bench_verdict_name(g->verdict),
                                      g->bound ? g->bound : ""};
  html_table_row(&printer->page, cells, COLUMNS, g->verdict == BENCH_MISSED);
}

static void put_tally(void *context, const bench_tally *t) {
  bench_printer *printer = context;
  close_table(printer);
  html_paragraph(&printer->page, "%d of %d demands and %d of %d stretch values reached%s.", t->demands, t->goals,
                 t->stretches, t->set_stretches,
                 printer->settings.quick ? " in a quick run, whose verdicts do not bind" : "");
  if (t->one_processor)
    html_warning(&printer->page, "This machine gives the process one processor: the rows of two threads mean nothing.");
}

static void put_training(void *context, const bench_training *t) {
  bench_printer *printer = context;
  close_table(printer);
  html_section(&printer->page, "Training step");
  html_paragraph(&printer->page,
                 "Width %d, %d layers, batch %d, T %d, %d threads: forward %.1f ms, backward %.1f ms, update %.1f ms; "
                 "%.0f %% of the time is arithmetic at the rates of the same run, at least %.0f %% is demanded.",
                 t->width, t->layers, t->B, t->T, t->threads, 1e3 * t->forward, 1e3 * t->backward, 1e3 * t->update,
                 t->reached, t->demand);
}

static void put_plan_loop(void *context, const bench_plan_loop *r) {
  static const char *const heads[] = {"problem", "stage", "threads", "loop", "tiles", "share", "all us", "share us"};
  enum { COLUMNS = sizeof heads / sizeof *heads };
  bench_printer *printer = context;
  char threads[CELL], loop[CELL], tiles[CELL], share[CELL], all[CELL], longest[CELL];
  in_table(printer, "Tiles", "Tiles", heads, COLUMNS);
  const char *const cells[COLUMNS] = {r->problem,
                                      r->stage,
                                      figure("%.0f", r->threads, threads),
                                      figure("%.0f", r->loop, loop),
                                      figure("%.0f", (double)r->tiles, tiles),
                                      figure("%.0f", (double)r->share, share),
                                      figure("%.1f", 1e6 * r->seconds, all),
                                      figure("%.1f", 1e6 * r->share_seconds, longest)};
  html_table_row(&printer->page, cells, COLUMNS, false);
}

static void put_list(bench_printer *printer, const bench_row *r) {
  char text[BENCH_ENTRY_TEXT];
  for (size_t i = 0; i < r->values; i++) {
    const char *const cells[] = {r->value[i].head, bench_entry_text(&r->value[i], text)};
    html_table_row(&printer->page, cells, 2, false);
  }
}

static void put_row(void *context, const bench_row *r) {
  enum { COLUMNS = 32 };
  static const char *const pair[] = {"", ""};
  bench_printer *printer = context;
  const int columns = r->values < COLUMNS ? (int)r->values : COLUMNS;
  const char *heads[COLUMNS], *cells[COLUMNS];
  char text[COLUMNS][BENCH_ENTRY_TEXT];
  for (int i = 0; i < columns; i++) {
    heads[i] = r->value[i].head;
    cells[i] = bench_entry_text(&r->value[i], text[i]);
  }
  in_table(printer, r->table, r->title, r->list ? pair : heads, r->list ? 2 : columns);
  if (r->list)
    put_list(printer, r);
  else
    html_table_row(&printer->page, cells, columns, false);
}

/* the sums of its rows */
static void put_plan_total(void *context, const bench_plan_total *r) { (void)context, (void)r; }

/* suites with their own tables have no page, see bench_html_has */
static void put_rl(void *context, const bench_rl *r) { (void)context, (void)r; }
static void put_growth(void *context, const bench_growth *r) { (void)context, (void)r; }
static void put_paper_scan(void *context, const bench_paper_scan *r) { (void)context, (void)r; }
static void put_paper_mixer(void *context, const bench_paper_mixer *r) { (void)context, (void)r; }
static void put_paper_naive(void *context, const bench_paper_naive *r) { (void)context, (void)r; }

bool bench_html_has(const char *text) {
  return !bench_is_suite(text) || strcmp(text, "limits") == 0 || strcmp(text, "goals") == 0 ||
         strcmp(text, "train") == 0;
}

sparc_status bench_html_begin(bench_printer *printer, const char *path, const char *kernel) {
  const sparc_status status =
      html_begin(&printer->page, path, "Figures of a machine",
                 "What `sparc bench` measured: the machine, its limits, and what the kernels reach of them.");
  if (status == SPARC_OK) put_machine(printer, kernel);
  return status;
}

sparc_status bench_html_begin_device(bench_printer *printer, const char *path) {
  const sparc_status status = html_begin(
      &printer->page, path, "The paper's efficiency section on a device",
      "What `sparc bench paper --device` measured. Send this page to the authors of the library: they have no "
      "GPU.");
  if (status != SPARC_OK) return status;
  html_paragraph(&printer->page, "sparc %s, commit %s, %s.", sparc_version(), build_commit(), build_compiler());
  return SPARC_OK;
}

sparc_status bench_html_end(bench_printer *printer) {
  close_table(printer);
  return html_end(&printer->page);
}

const bench_output bench_html = {
    .problem = put_problem,
    .limit = put_limit,
    .goal = put_goal,
    .tally = put_tally,
    .training = put_training,
    .rl = put_rl,
    .growth = put_growth,
    .paper_scan = put_paper_scan,
    .paper_mixer = put_paper_mixer,
    .paper_naive = put_paper_naive,
    .plan_loop = put_plan_loop,
    .plan_total = put_plan_total,
    .row = put_row,
    .failed = bench_report_failure,
    .stopped = bench_output_lost,
};
