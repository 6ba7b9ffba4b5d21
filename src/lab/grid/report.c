/* SPDX-License-Identifier: MIT */
/* report.c: a section for each experiment: tables, charts, examples, diagnostics, settings, runs. */
#include "lab/grid/report.h"

#include "base/build_info.h"
#include "base/error.h"
#include "lab/grid/curves.h"
#include "lab/grid/report_parts.h"
#include "lab/grid/table.h"
#include "run/data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CURVE_POINTS = 200, SHORT_TEXT = 64 };

/* ---- tables -------------------------------------------------------------------------------------- */

static html_mark mark_of(const text_table_cell *cell) {
  static const html_mark marks[] = {[MARK_NONE] = HTML_PLAIN, [MARK_BEST] = HTML_BEST, [MARK_SECOND] = HTML_SECOND};
  return cell->unfinished ? HTML_UNFINISHED : marks[cell->mark];
}

/* empty columns, such as the paper's for a task that it does not have, are left out */
static bool is_shown(const text_table *t, int group, int column) {
  for (int row = 0; row < t->rows; row++)
    if (*text_table_at(t, row, group, column)->text) return true;
  return column == 0;
}

/* Writes two rows of headings: group titles, which span their columns, and column titles. Returns the number of columns. */
static int make_headings(const text_table *t, const char **over, const char **under) {
  int columns = 1;
  over[0] = t->columns > 1 ? "" : t->corner;
  under[0] = t->corner;
  for (int group = 0; group < t->groups; group++)
    for (int c = 0; c < t->columns; c++) {
      if (!is_shown(t, group, c)) continue;
      over[columns] = c == 0 ? t->group[group] : "";
      under[columns++] = t->column[c];
    }
  return columns;
}

static void put_row(html_page *page, const text_table *t, int row) {
  html_table_row_begin(page, false);
  html_table_cell(page, t->row[row], HTML_PLAIN);
  for (int group = 0; group < t->groups; group++)
    for (int c = 0; c < t->columns; c++) {
      const text_table_cell *cell = text_table_at(t, row, group, c);
      if (is_shown(t, group, c)) html_table_cell(page, cell->text, mark_of(cell));
    }
  html_table_row_end(page);
}

sparc_status report_put_text_table(html_page *page, const text_table *t) {
  const size_t capacity = 1 + (size_t)t->groups * (size_t)t->columns;
  const char **over = calloc(2 * capacity, sizeof *over);
  if (!over) return fail(SPARC_NO_MEMORY, "no memory for the headings of a table");
  const int columns = make_headings(t, over, over + capacity);
  html_table_begin(page, (const char *const *const[]){over, over + capacity}, t->columns > 1 ? 2 : 1, columns);
  for (int row = 0; row < t->rows; row++) put_row(page, t, row);
  html_table_end(page);
  free(over);
  return SPARC_OK;
}

/* measured minus paper; "" if either is missing */
static void print_difference(const field_result *f, int digits, char text[TEXT_TABLE_CELL]) {
  char number[SHORT_TEXT] = "";
  if (f->ours.count && f->in_paper) text_table_number(f->ours.mean - f->paper, digits, number, sizeof number);
  snprintf(text, TEXT_TABLE_CELL, "%s%s", *number && *number != '-' ? "+" : "", number);
}

/* the scores with a third column in each group: the difference to the paper */
static bool add_differences(const grid_results *r, const text_table *from, text_table *out) {
  const bool turned = table_has_tasks_in_rows(r);
  if (!text_table_create(from->rows, from->groups, 3, out)) return false;
  for (int row = 0; row < from->rows; row++) memcpy(out->row[row], from->row[row], TEXT_TABLE_TITLE);
  for (int group = 0; group < from->groups; group++) memcpy(out->group[group], from->group[group], TEXT_TABLE_TITLE);
  for (int row = 0; row < from->rows; row++)
    for (int group = 0; group < from->groups; group++) {
      const field_result *f = turned ? grid_field(r, row, group) : grid_field(r, group, row);
      for (int c = 0; c < 2; c++) *text_table_at(out, row, group, c) = *text_table_at(from, row, group, c);
      print_difference(f, grid_score_of(r->jobs->g, f->task, f->method).digits,
                       text_table_at(out, row, group, 2)->text);
    }
  for (int c = 0; c < 2; c++) out->column[c] = from->column[c];
  out->column[2] = "difference";
  return true;
}

static sparc_status put_table(html_page *page, const grid_results *r, table_kind kind, const text_table *t) {
  if (kind != TABLE_SCORES) html_subsection(page, t->title);
  if (kind != TABLE_SCORES || t->columns < 2) return report_put_text_table(page, t);
  text_table wide;
  const sparc_status status = add_differences(r, t, &wide) ? report_put_text_table(page, &wide)
                                                           : fail(SPARC_NO_MEMORY, "no memory for a table");
  text_table_free(&wide);
  return status;
}

static sparc_status put_tables(html_page *page, const grid_results *r) {
  sparc_status status = SPARC_OK;
  for (int kind = 0; kind < TABLE_KINDS && status == SPARC_OK; kind++) {
    text_table t;
    if (table_make(r, (table_kind)kind, &t)) status = put_table(page, r, (table_kind)kind, &t);
    if (status == SPARC_OK && t.rows && *t.note) html_paragraph(page, "%s", t.note);
    text_table_free(&t);
  }
  html_paragraph(page, "Bold: best; underlined: second best.");
  return status;
}

/* ---- charts -------------------------------------------------------------------------------------- */

static void put_scores(html_page *page, const grid_results *r) {
  const grid_jobs *jobs = r->jobs;
  char name[GRID_NAME + 16];
  snprintf(name, sizeof name, "%s-scores", jobs->g->name);
  html_figure_begin(page, name);
  for (int task = 0; task < jobs->chosen.tasks; task++) {
    const grid_task *t = &jobs->g->task[jobs->chosen.task[task]];
    html_chart_begin(page, &(html_chart){.title = t->title, .x = "", .y = t->score.unit, .from_zero = true});
    for (int m = 0; m < jobs->chosen.methods; m++) {
      const field_result *f = grid_field(r, task, m);
      const aggregate_summary *s = f->ours.count ? &f->ours : &f->partial;
      if (!s->count && !f->in_paper) continue;
      html_chart_bar(page, &(html_bar){.name = jobs->g->method[f->method].title,
                                       .colour = grid_colour(jobs->g, f->method),
                                       .value = s->count ? s->mean : NAN,
                                       .stddev = s->count > 1 ? s->stddev : NAN,
                                       .paper = f->in_paper ? f->paper : NAN,
                                       .partial = f->ours.count == 0});
    }
    html_chart_end(page);
  }
  html_figure_end(page,
                  "Bars: mean over seeds, pale: over those that are finished; lines: one standard deviation; an "
                  "ellipsis: no seed is finished. Diamonds: the paper's mean.");
}

/* the mean as a line with a band of one standard deviation */
static void put_curve(html_page *page, const grid_jobs *jobs, int method, grid_curve *curve) {
  const grid *g = jobs->g;
  double *low = malloc(2 * curve->count * sizeof *low);
  for (size_t i = 0; low && i < curve->count; i++) {
    low[i] = curve->mean[i] - curve->stddev[i];
    low[curve->count + i] = curve->mean[i] + curve->stddev[i];
  }
  const bool spread = low && jobs->chosen.seeds > 1;
  html_chart_line(page, &(html_line){.name = g->method[method].title,
                                     .colour = grid_colour(g, method),
                                     .dashed = grid_repeats_colour(jobs, method),
                                     .points = (int)curve->count,
                                     .x = curve->x,
                                     .y = curve->mean,
                                     .low = spread ? low : NULL,
                                     .high = spread ? low + curve->count : NULL});
  free(low);
}

static bool has_curves(const grid_jobs *jobs, int task) {
  size_t points = 0;
  for (int m = 0; m < jobs->chosen.methods && points == 0; m++) {
    grid_curve curve;
    if (grid_curve_read(jobs, task, m, 2, &curve) == SPARC_OK) points = curve.count;
    grid_curve_free(&curve);
  }
  return points > 0;
}

static sparc_status put_curves(html_page *page, const grid_jobs *jobs) {
  sparc_status status = SPARC_OK;
  char name[GRID_NAME + 16];
  bool any = false;
  for (int task = 0; task < jobs->chosen.tasks; task++) any |= has_curves(jobs, task);
  if (!any) return SPARC_OK;
  snprintf(name, sizeof name, "%s-curves", jobs->g->name);
  html_figure_begin(page, name);
  for (int task = 0; task < jobs->chosen.tasks && status == SPARC_OK; task++) {
    const grid_task *t = &jobs->g->task[jobs->chosen.task[task]];
    if (!has_curves(jobs, task)) continue;
    const char *axis = t->kind == GRID_RL ? "steps" : "updates";
    html_chart_begin(page, &(html_chart){.title = t->title, .x = axis, .y = t->score.unit});
    for (int m = 0; m < jobs->chosen.methods && status == SPARC_OK; m++) {
      grid_curve curve = {.count = 0};
      status = grid_curve_read(jobs, task, m, CURVE_POINTS, &curve);
      if (status == SPARC_OK && curve.count) put_curve(page, jobs, jobs->chosen.method[m], &curve);
      grid_curve_free(&curve);
    }
    html_chart_end(page);
  }
  html_figure_end(page,
                  "Learning curves: moving average over the score window, mean over seeds; bands: one standard "
                  "deviation.");
  return status;
}

static void put_examples(html_page *page, const grid_jobs *jobs, const grid_drawing *drawn) {
  for (int task = 0; task < jobs->chosen.tasks; task++) {
    const grid_task *t = &jobs->g->task[jobs->chosen.task[task]];
    char name[GRID_NAME + 16];
    if (!drawn->example[task]) continue;
    snprintf(name, sizeof name, "example-%s", t->name);
    html_subsection(page, t->title);
    html_drawing(page, name, drawn->example[task],
                 "First evaluation sequence: the input, and each method's prediction after every step. Classification: "
                 "class probabilities after each prefix; coloured: the correct class, black: a wrong prediction.");
  }
  if (*drawn->reason) html_warning(page, "Figures are missing: %s.", drawn->reason);
}

/* ---- settings and runs --------------------------------------------------------------------------- */

static void put_settings_of(html_page *page, const char *title, const json_t *settings) {
  char *text = settings ? json_dumps(settings, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
  if (text) html_paragraph(page, "%s: `%.1500s`", title, text);
  free(text);
}

static void put_settings(html_page *page, const grid_jobs *jobs) {
  const grid *g = jobs->g;
  html_details_begin(page, "Settings");
  put_settings_of(page, "All runs", g->settings);
  for (int i = 0; i < jobs->chosen.tasks; i++) {
    const grid_task *t = &g->task[jobs->chosen.task[i]];
    put_settings_of(page, t->title, t->settings);
  }
  for (int i = 0; i < jobs->chosen.methods; i++) {
    const grid_method *m = &g->method[jobs->chosen.method[i]];
    put_settings_of(page, m->title, m->settings);
  }
  html_details_end(page);
}

static void print_number(char text[SHORT_TEXT], bool there, const char *format, double value) {
  if (there && isfinite(value))
    snprintf(text, SHORT_TEXT, format, value);
  else
    snprintf(text, SHORT_TEXT, "-");
}

static const char *or_dash(const char *text) { return *text ? text : "-"; }

/* state of a finished run: "done", or the reason why it has no score */
static void print_done(const grid_jobs *jobs, const grid_job *job, const job_report *report, double score, char *state,
                       size_t size) {
  if (isfinite(score))
    snprintf(state, size, "%s%s", job_state_name(JOB_DONE), report->imported ? ", imported" : "");
  else
    snprintf(state, size, "%s", job_score_of(jobs, job).reason);
}

static void put_run(html_page *page, const grid_results *r, int run) {
  const grid_job *job = &r->jobs->job[run];
  job_report report;
  const bool known = job_inspect(job, &report) == SPARC_OK;
  const job_result *result = &report.result;
  const bool done = report.state == JOB_DONE;
  char state[JOB_TEXT + SHORT_TEXT], score[SHORT_TEXT], parameters[SHORT_TEXT], seconds[SHORT_TEXT], memory[SHORT_TEXT];
  if (!known)
    snprintf(state, sizeof state, "%.256s", sparc_error());
  else if (done)
    print_done(r->jobs, job, &report, r->score[run], state, sizeof state);
  else if (report.state == JOB_FAILED)
    snprintf(state, sizeof state, "failed: %s", report.message);
  else
    snprintf(state, sizeof state, "%s, %.0f %%", job_state_name(report.state), 100 * report.done);
  print_number(score, done, "%.4g", r->score[run]);
  print_number(parameters, done && result->parameters > 0, "%.0f", (double)result->parameters);
  print_number(seconds, done, "%.0f", result->made.seconds);
  print_number(memory, done && result->memory_mb > 0, "%.0f", result->memory_mb);
  const provenance *made = &result->made;
  const char *const cells[] = {job->name,
                               score,
                               parameters,
                               seconds,
                               memory,
                               state,
                               or_dash(made->machine),
                               or_dash(made->kernels),
                               or_dash(made->commit),
                               or_dash(made->data)};
  html_table_row(page, cells, sizeof cells / sizeof *cells, false);
}

static void put_runs(html_page *page, const grid_results *r) {
  static const char *const titles[] = {"run",   "score",   "parameters", "seconds", "MB",
                                       "state", "machine", "kernels",    "commit",  "data"};
  const grid_jobs *jobs = r->jobs;
  const char *const *const rows[] = {titles};
  char title[SHORT_TEXT];
  snprintf(title, sizeof title, "All %d runs", jobs->count);
  html_details_begin(page, title);
  html_table_begin(page, rows, 1, sizeof titles / sizeof *titles);
  for (int i = 0; i < jobs->count; i++) put_run(page, r, i);
  html_table_end(page);
  html_details_end(page);
}

static void put_progress(html_page *page, const grid_results *r) {
  int done = 0, failed = 0;
  for (int i = 0; i < r->jobs->chosen.tasks * r->jobs->chosen.methods; i++) {
    done += r->field[i].count[JOB_DONE];
    failed += r->field[i].count[JOB_FAILED];
  }
  if (done == r->jobs->count) return;
  html_warning(page, "Unfinished: %d of %d runs are done%s. Grey entries are of the finished seeds.", done,
               r->jobs->count, failed ? " and some have failed" : "");
}

/* ---- budgets ------------------------------------------------------------------------------------- */

static bool is_diagnostic(const grid *g) {
  for (int t = 0; t < g->tasks; t++) {
    const char *data = json_string_value(json_object_get(g->task[t].settings, "data"));
    if (g->task[t].kind != GRID_TRAIN || !data || !is_task(data)) return false;
  }
  return true;
}

/* whether a task trains for fewer steps or updates than the paper */
static bool is_shortened(const grid *g, int task) {
  const grid_task *t = &g->task[task];
  const char *key = t->kind == GRID_RL ? "steps" : "updates";
  const json_t *own = json_object_get(t->settings, key), *steps = own ? own : json_object_get(g->settings, key);
  return json_is_integer(steps) && json_integer_value(steps) < t->protocol.budget;
}

static bool is_reduced(const grid *g, const grid_scope *scope) {
  bool reduced = scope->scale < 1;
  for (int t = 0; t < g->tasks; t++) reduced |= is_shortened(g, t);
  return reduced;
}

int lab_report_position(const grid *g, const grid_scope *scope) {
  enum { LARGEST_PART = 1000 };
  const int part = is_reduced(g, scope) ? 2 : is_diagnostic(g) ? 0 : 1;
  int index = 0;
  while (grid_names()[index] && strcmp(grid_names()[index], g->name) != 0) index++;
  return part * LARGEST_PART + index;
}

static void put_budget(html_page *page, const grid_jobs *jobs) {
  if (jobs->scope.scale != 1)
    html_warning(page, "%s budget: steps and updates are multiplied by %g. Scores are not comparable to the paper's.",
                 jobs->scope.scale < 1 ? "Reduced" : "Extended", jobs->scope.scale);
  else if (is_reduced(jobs->g, &jobs->scope))
    html_warning(page,
                 "Reduced budget: fewer steps or updates than in the paper. Scores are not comparable to the "
                 "paper's.");
}

/* ---- the page ------------------------------------------------------------------------------------ */

sparc_status lab_report_begin(html_page *page, const char *path) {
  return html_begin(page, path, "Experiment results",
                    "Adaptive spectral recurrence: runs of this machine or folder next to the paper's numbers. "
                    "Diagnostic tasks come first, experiments with a reduced budget last. Click a heading to sort a "
                    "table; hover over a chart to read its values.");
}

sparc_status lab_report_add(html_page *page, const grid_results *r, const grid_drawing *drawn) {
  const grid_jobs *jobs = r->jobs;
  char mark[96];
  grid_scope_mark(&jobs->scope, mark, sizeof mark);
  char title[TEXT_TABLE_TITLE];
  snprintf(title, sizeof title, "%.150s%s%s%s", jobs->g->title, *mark ? " (" : "", mark, *mark ? ")" : "");
  html_section(page, title);
  put_budget(page, jobs);
  put_progress(page, r);
  sparc_status status = put_tables(page, r);
  if (status == SPARC_OK) put_scores(page, r);
  if (status == SPARC_OK) status = put_curves(page, jobs);
  if (drawn) put_examples(page, jobs, drawn);
  if (status == SPARC_OK) status = report_put_diagnostics(page, jobs);
  if (status != SPARC_OK) return status;
  put_settings(page, jobs);
  put_runs(page, r);
  return SPARC_OK;
}

sparc_status lab_report_end(html_page *page) {
  html_section(page, "Software");
  html_paragraph(page, "sparc %s, commit %s, %s build by %s.", sparc_version(), build_commit(), build_type(),
                 build_compiler());
  return html_end(page);
}
