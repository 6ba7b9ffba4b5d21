/* SPDX-License-Identifier: MIT */
/* page.c: the table, results.jsonl and index.html. */
#include "lab/experiment/page.h"

#include "base/error.h"
#include "io/atomic_file.h"
#include "io/folder_file.h"
#include "lab/experiment/figures.h"
#include "lab/gnuplot.h"
#include "lab/html/html.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the folder --------------------------------------------------------------------------------- */

static sparc_status join(char path[PATH_MAX], const char *folder, const char *name) {
  if (snprintf(path, PATH_MAX, "%s/%s", folder, name) < PATH_MAX) return SPARC_OK;
  return fail(SPARC_INVALID, "the name of folder '%.200s' is too long", folder);
}

sparc_status experiment_prepare_folder(const char *folder) {
  if (!*folder) return fail(SPARC_INVALID, "the name of the folder is empty");
  static const char *const places[] = {"results.jsonl", "data/probe"};
  char path[PATH_MAX];
  sparc_status status = make_folders(folder);
  if (status == SPARC_OK) status = join(path, folder, "data");
  if (status == SPARC_OK) status = make_folders(path);
  for (size_t i = 0; i < sizeof places / sizeof *places && status == SPARC_OK; i++) {
    atomic_file file;
    status = join(path, folder, places[i]);
    if (status == SPARC_OK) status = atomic_file_begin(&file, path);
    if (status == SPARC_OK) atomic_file_abandon(&file);
  }
  return status;
}

/* ---- the table ---------------------------------------------------------------------------------- */

/* "0.4", "0.4 ± 0.2" over several seeds, "-" without any */
static void score_text(const sparc_task *task, score_summary s, char text[TABLE_TEXT]) {
  const double scale = score_scale(task);
  const int digits = scale > 1 ? 1 : 3;
  if (s.count > 1)
    snprintf(text, TABLE_TEXT, "%.*f ± %.*f", digits, scale * s.mean, digits, scale * s.deviation);
  else if (s.count == 1)
    snprintf(text, TABLE_TEXT, "%.*f", digits, scale * s.mean);
  else
    snprintf(text, TABLE_TEXT, "-");
}

static void paper_text(const sparc_task *task, const method *m, char text[TABLE_TEXT]) {
  const double score = method_paper_score(m, task);
  score_text(task, (score_summary){.count = !isnan(score), .mean = score}, text);
}

int experiment_row(const experiment *e, int row, table_row *out) {
  int column = TABLE_FIXED;
  size_t params = 0;
  for (int task = 0; task < e->tasks; task++) {
    const experiment_run *run = experiment_shown(e, task, row);
    if (run && run->params > params) params = run->params;
    score_text(e->task[task], experiment_summary(e, task, row), out->text[column++]);
    paper_text(e->task[task], &e->method[row], out->text[column++]);
  }
  snprintf(out->text[TABLE_TITLE], TABLE_TEXT, "%s", e->method[row].title);
  snprintf(out->text[TABLE_OPTIONS], TABLE_TEXT, "%s", method_options(&e->method[row]));
  snprintf(out->text[TABLE_PARAMETERS], TABLE_TEXT, params ? "%zu" : "-", params);
  for (int i = 0; i < column; i++) out->field[i] = out->text[i];
  return column;
}

void experiment_remark(const experiment *e, char *text, size_t size) {
  char over[64] = "One seed", embedding[64] = "no embedding";
  if (e->seeds > 1) snprintf(over, sizeof over, "Mean ± standard deviation over %d seeds", e->seeds);
  if (e->embedding)
    snprintf(embedding, sizeof embedding, "a linear embedding to %d in front of every cell", EMBEDDING_WIDTH);
  snprintf(text, size, "%s; %s.", over, embedding);
}

/* ---- results.jsonl ------------------------------------------------------------------------------ */

static json_t *json_or_null(double value) { return isnan(value) ? json_null() : json_real(value); }

json_t *experiment_run_json(const experiment_run *run) {
  char variant[TABLE_TEXT];
  const bool has_variant = cell_variant(run->options, variant, sizeof variant);
  return json_pack("{s:s, s:s, s:o, s:s, s:s, s:I, s:f, s:s, s:o, s:I, s:f, s:I, s:i}", "task", run->task->name, "cell",
                   run->method->cell, "variant", has_variant ? json_string(variant) : json_null(), "options",
                   run->options, "embedding", run->embedding ? "linear" : "none", "seed", (json_int_t)run->seed,
                   "score", run->score, "score_name", run->task->score_name, "paper",
                   json_or_null(method_paper_score(run->method, run->task)), "updates", (json_int_t)run->updates,
                   "seconds", run->seconds, "params", (json_int_t)run->params, "H", run->H);
}

static sparc_status write_results(const experiment *e, const char *folder) {
  char path[PATH_MAX];
  atomic_file file;
  sparc_status status = join(path, folder, "results.jsonl");
  if (status == SPARC_OK) status = atomic_file_begin(&file, path);
  if (status != SPARC_OK) return status;
  for (int i = 0; i < e->runs && status == SPARC_OK; i++) {
    if (!run_is_done(&e->run[i])) continue;
    json_t *object = experiment_run_json(&e->run[i]);
    char *line = object ? json_dumps(object, JSON_COMPACT) : NULL;
    status = line ? atomic_file_write(&file, line, strlen(line)) : fail(SPARC_NO_MEMORY, "no memory for a JSON line");
    if (status == SPARC_OK) status = atomic_file_write(&file, "\n", 1);
    free(line);
    json_decref(object);
  }
  if (status == SPARC_OK) return atomic_file_commit(&file);
  atomic_file_abandon(&file);
  return status;
}

/* ---- index.html --------------------------------------------------------------------------------- */

static void write_scores(html_page *r, const experiment *e) {
  char over[EXPERIMENT_TASKS][96], remark[192];
  const char *first[TABLE_COLUMNS] = {""}, *second[TABLE_COLUMNS] = {"cell"};
  int columns = 1;
  for (int task = 0; task < e->tasks; task++) {
    const sparc_task *t = e->task[task];
    snprintf(over[task], sizeof over[task], "%s: %s", t->title, score_label(t));
    first[columns] = over[task];
    second[columns++] = "here";
    first[columns] = "";
    second[columns++] = "paper";
  }
  /* on a narrow screen the columns on the right are out of sight: these explain, the scores are what is looked for */
  const int explaining = columns;
  first[columns] = first[columns + 1] = " "; /* "" would belong to the task before it */
  second[columns++] = "parameters";
  second[columns++] = "options";
  html_table_begin(r, (const char *const *const[]){first, second}, 2, columns);
  for (int row = 0; row < e->methods; row++) {
    table_row texts;
    experiment_row(e, row, &texts);
    const char *cells[TABLE_COLUMNS] = {texts.field[TABLE_TITLE]};
    for (int i = 1; i < explaining; i++) cells[i] = texts.field[TABLE_FIXED - 1 + i];
    cells[explaining] = texts.field[TABLE_PARAMETERS];
    cells[explaining + 1] = texts.field[TABLE_OPTIONS];
    html_table_row(r, cells, columns, row == 0);
  }
  html_table_end(r);
  experiment_remark(e, remark, sizeof remark);
  html_paragraph(r,
                 "%s Less is better; 1 is the NMSE of predicting zeros, 83.3 %% the error of guessing one of six "
                 "orders. A dash: not reported, or not finished. Options are those that differ from the defaults of "
                 "the cell; `results.jsonl` has them all.",
                 remark);
}

static void write_settings(html_page *r, const experiment *e) {
  html_section(r, "What was done");
  for (int task = 0; task < e->tasks; task++) {
    const sparc_task *t = e->task[task];
    html_paragraph(r,
                   "`%s`: %d training and %d evaluation sequences of %d steps; %ld updates of AdamW with batch %d, "
                   "rate %g, decay %g, gradient norm at most %g. Every cell has %d real state coordinates and a linear "
                   "head on %s.",
                   t->name, t->train.count, t->evaluation.count, t->T, experiment_at(e, task, 0, 0)->updates,
                   t->training.batch, t->training.rate, t->training.decay, t->training.clip, t->training.state,
                   t->training.relu ? "ReLU(state)" : "the state");
  }
  html_paragraph(r,
                 "The data are made from one fixed seed; a run is a function of its own seed alone, whatever the "
                 "number of threads. sparc %s.",
                 sparc_version());
}

static void write_runs(html_page *r, const experiment *e) {
  static const char *const headings[] = {"run", "seed", "score", "updates", "seconds"};
  enum { COLUMNS = sizeof headings / sizeof *headings };
  html_section(r, "Runs");
  html_table_begin(r, (const char *const *const[]){headings}, 1, COLUMNS);
  for (int i = 0; i < e->runs; i++) {
    const experiment_run *run = &e->run[i];
    char name[2 * TABLE_TEXT], seed[24], score[TABLE_TEXT], updates[24], seconds[24];
    snprintf(name, sizeof name, "%s, %s", run->task->name, run->method->title);
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)run->seed);
    snprintf(updates, sizeof updates, "%ld", atomic_load(&run->done));
    snprintf(seconds, sizeof seconds, "%.1f", run->seconds);
    score_text(run->task, (score_summary){.count = run_is_done(run), .mean = run->score}, score);
    html_table_row(r, (const char *const[]){name, seed, score, updates, seconds}, COLUMNS, false);
  }
  html_table_end(r);
  html_paragraph(r,
                 "The numbers behind the figures are in `data/`, one line for each run in `results.jsonl`. "
                 "`gnuplot NAME.gp` in this folder draws a figure again.");
}

/* scores as bars, a chart for each task */
static void write_score_charts(html_page *r, const experiment *e) {
  for (int task = 0; task < e->tasks; task++) {
    const sparc_task *t = e->task[task];
    const double scale = score_scale(t);
    html_chart_begin(r, &(html_chart){.title = t->title, .x = "", .y = score_label(t), .from_zero = true});
    for (int row = 0; row < e->methods; row++) {
      const score_summary score = experiment_summary(e, task, row);
      html_chart_bar(r, &(html_bar){.name = e->method[row].title,
                                    .colour = e->method[row].colour,
                                    .value = score.count ? scale * score.mean : NAN,
                                    .deviation = score.count > 1 ? scale * score.deviation : NAN,
                                    .paper = scale * method_paper_score(&e->method[row], t)});
    }
    html_chart_end(r);
  }
}

/* the scores while training, with the range over the seeds */
static void write_learning_charts(html_page *r, const experiment *e) {
  for (int task = 0; task < e->tasks; task++) {
    const double scale = score_scale(e->task[task]);
    html_chart_begin(r, &(html_chart){e->task[task]->title, "updates", score_label(e->task[task]), true});
    for (int row = 0; row < e->methods; row++) {
      double x[CURVE_POINTS], y[CURVE_POINTS], low[CURVE_POINTS], high[CURVE_POINTS];
      int points = 0;
      for (int p = 0; p < CURVE_POINTS; p++) {
        long update = 0;
        const score_summary score = experiment_curve(e, task, row, p, &update);
        if (score.count == 0) continue;
        x[points] = (double)update;
        y[points] = scale * score.mean;
        low[points] = scale * score.least;
        high[points++] = scale * score.most;
      }
      if (points == 0) continue;
      html_chart_line(r, &(html_line){.name = e->method[row].title,
                                      .colour = e->method[row].colour,
                                      .points = points,
                                      .x = x,
                                      .y = y,
                                      .low = e->seeds > 1 ? low : NULL,
                                      .high = e->seeds > 1 ? high : NULL});
    }
    html_chart_end(r);
  }
}

/* Every figure is drawn into a file of its own. The page shows scores and learning as charts, which need no gnuplot,
 * and the drawings of the examples. */
static void write_figures(html_page *r, const experiment *e, const char *folder, experiment_drawing *drawing) {
  experiment_figure figures[EXPERIMENT_TASKS + 2];
  const int count = experiment_figures(e, figures);
  for (int i = 0; i < count; i++) {
    const experiment_figure *figure = &figures[i];
    const bool example = figure->task >= 0;
    char *svg;
    html_section(r, example ? e->task[figure->task]->title : i == 0 ? "Scores" : "Learning");
    const bool drawn = gnuplot_draw(folder, figure->name, &svg) == SPARC_OK;
    if (drawn)
      drawing->figures++;
    else
      snprintf(drawing->reason, sizeof drawing->reason, "%s", sparc_error());
    if (!example) {
      html_figure_begin(r, figure->name);
      (i == 0 ? write_score_charts : write_learning_charts)(r, e);
      html_figure_end(r, figure->caption);
    } else if (drawn) {
      html_drawing(r, figure->name, svg, figure->caption);
    } else {
      html_remark(r, "No figure here: %s. Its data and its script `%s.gp` are in this folder.", drawing->reason,
                  figure->name);
    }
    sparc_free(svg);
  }
}

static sparc_status write_page(const experiment *e, const char *folder, experiment_drawing *drawing) {
  char path[PATH_MAX];
  html_page r;
  sparc_status status = join(path, folder, "index.html");
  if (status == SPARC_OK)
    status = html_begin(&r, path, "Recurrent cells on diagnostic tasks",
                        "Small tasks tell cells apart: remembering the order of three events among distractors, and "
                        "following a point whose motion is shrunk and turned by announced events.");
  if (status != SPARC_OK) return status;
  if (experiment_finished(e) < e->runs)
    html_remark(&r, "Only %d of %d runs were finished.", experiment_finished(e), e->runs);
  write_scores(&r, e);
  write_figures(&r, e, folder, drawing);
  write_settings(&r, e);
  write_runs(&r, e);
  return html_end(&r);
}

sparc_status experiment_write(const experiment *e, const char *folder, experiment_drawing *drawing) {
  *drawing = (experiment_drawing){0};
  sparc_status status = write_results(e, folder);
  if (status == SPARC_OK) status = experiment_write_data(e, folder);
  if (status == SPARC_OK) status = experiment_write_scripts(e, folder);
  if (status == SPARC_OK) status = write_page(e, folder, drawing);
  return status;
}
