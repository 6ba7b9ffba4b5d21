/* SPDX-License-Identifier: MIT */
/* report.c: the table, results.jsonl and index.html. */
#include "cli/demo/report.h"

#include "base/error.h"
#include "cli/demo/figures.h"
#include "io/atomic_file.h"
#include "lab/gnuplot.h"
#include "lab/report.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- the folder --------------------------------------------------------------------------------- */

static sparc_status join(char path[PATH_MAX], const char *folder, const char *name) {
  if (snprintf(path, PATH_MAX, "%s/%s", folder, name) < PATH_MAX) return SPARC_OK;
  return fail(SPARC_INVALID, "the name of folder '%.200s' is too long", folder);
}

/* makes every folder on the way to path's last component, and that one too */
static sparc_status make_folders(const char *path) {
  char made[PATH_MAX];
  if (snprintf(made, sizeof made, "%s", path) >= (int)sizeof made)
    return fail(SPARC_INVALID, "the name of folder '%.200s' is too long", path);
  for (char *c = made + 1;; c++) {
    if (*c != '/' && *c != '\0') continue;
    const char end = *c;
    *c = '\0';
    if (mkdir(made, 0777) != 0 && errno != EEXIST)
      return fail(SPARC_IO, "cannot make the folder '%.300s': %s", made, strerror(errno));
    if (end == '\0') return SPARC_OK;
    *c = end;
  }
}

sparc_status demo_prepare_folder(const char *folder) {
  if (!*folder) return fail(SPARC_INVALID, "the name of the folder is empty");
  static const char *const places[] = {"results.jsonl", "data/probe"};
  char path[PATH_MAX];
  sparc_status status = join(path, folder, "data");
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

enum { SCORE_TEXT = 32, TABLE_COLUMNS = 2 + 2 * DEMO_TASKS_MAX };

/* "0.4", "0.4 ± 0.2" over several seeds, "-" without any */
static void score_text(const sparc_task *task, score_summary s, char text[SCORE_TEXT]) {
  const double scale = demo_score_scale(task);
  const int digits = scale > 1 ? 1 : 3;
  if (s.count > 1)
    snprintf(text, SCORE_TEXT, "%.*f ± %.*f", digits, scale * s.mean, digits, scale * s.deviation);
  else if (s.count == 1)
    snprintf(text, SCORE_TEXT, "%.*f", digits, scale * s.mean);
  else
    snprintf(text, SCORE_TEXT, "-");
}

static void paper_text(const sparc_task *task, const char *cell, char text[SCORE_TEXT]) {
  const double score = sparc_task_paper_score(task, cell);
  score_text(task, (score_summary){.count = !isnan(score), .mean = score}, text);
}

typedef struct table_row {
  char text[TABLE_COLUMNS][SCORE_TEXT];
  const char *cell[TABLE_COLUMNS]; /* the same, as html_table_row wants it */
} table_row;

/* name, parameters, and for each task our score and the paper's; returns the number of columns */
static int fill_row(const demo *d, int cell, table_row *row) {
  int column = 0;
  size_t params = 0;
  snprintf(row->text[column++], SCORE_TEXT, "%s", demo_cell_title(d->cell[cell]));
  column++;
  for (int task = 0; task < d->tasks; task++) {
    const demo_run *run = demo_shown(d, task, cell);
    if (run && run->params > params) params = run->params;
    score_text(d->task[task], demo_summary(d, task, cell), row->text[column++]);
    paper_text(d->task[task], d->cell[cell], row->text[column++]);
  }
  snprintf(row->text[1], SCORE_TEXT, params ? "%zu" : "-", params);
  for (int i = 0; i < column; i++) row->cell[i] = row->text[i];
  return column;
}

/* right-aligned; a character of UTF-8 takes one column */
static void print_right(const char *text, int width) {
  for (const char *c = text; *c; c++) width -= (*c & 0xc0) != 0x80;
  printf("%*s%s", width > 0 ? width : 0, "", text);
}

void demo_print_table(const demo *d) {
  const int ours = d->seeds > 1 ? 18 : 12, paper = 10;
  printf("%-10s %8s", "", "");
  for (int task = 0; task < d->tasks; task++) {
    char heading[64];
    snprintf(heading, sizeof heading, "%s: %s", d->task[task]->name, demo_score_label(d->task[task]));
    print_right(heading, ours + paper);
  }
  printf("\n%-10s %8s", "cell", "params");
  for (int task = 0; task < d->tasks; task++) {
    print_right("here", ours);
    print_right("paper", paper);
  }
  putchar('\n');
  for (int cell = 0; cell < d->cells; cell++) {
    table_row row = {.cell = {NULL}};
    const int columns = fill_row(d, cell, &row);
    printf("%-10s %8s", row.text[0], row.text[1]);
    for (int i = 2; i < columns; i++) print_right(row.text[i], i % 2 ? paper : ours);
    putchar('\n');
  }
  if (d->seeds > 1) printf("mean ± standard deviation over %d seeds\n", d->seeds);
}

/* ---- results.jsonl ------------------------------------------------------------------------------ */

json_t *demo_run_json(const demo_run *run) {
  const double paper = sparc_task_paper_score(run->task, run->cell);
  return json_pack("{s:s, s:s, s:I, s:f, s:s, s:o, s:I, s:f, s:I, s:i}", "task", run->task->name, "cell", run->cell,
                   "seed", (json_int_t)run->seed, "score", run->score, "score_name", run->task->score_name, "paper",
                   isnan(paper) ? json_null() : json_real(paper), "updates", (json_int_t)run->updates, "seconds",
                   run->seconds, "params", (json_int_t)run->params, "H", run->H);
}

static sparc_status write_results(const demo *d, const char *folder) {
  char path[PATH_MAX];
  atomic_file file;
  sparc_status status = join(path, folder, "results.jsonl");
  if (status == SPARC_OK) status = atomic_file_begin(&file, path);
  if (status != SPARC_OK) return status;
  for (int i = 0; i < d->runs && status == SPARC_OK; i++) {
    if (!run_is_done(&d->run[i])) continue;
    json_t *object = demo_run_json(&d->run[i]);
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

static void write_scores(html_report *r, const demo *d) {
  char over[DEMO_TASKS_MAX][96];
  const char *first[TABLE_COLUMNS] = {"", ""}, *second[TABLE_COLUMNS] = {"cell", "parameters"};
  int columns = 2;
  for (int task = 0; task < d->tasks; task++) {
    const sparc_task *t = d->task[task];
    snprintf(over[task], sizeof over[task], "%s: %s", t->title, demo_score_label(t));
    first[columns] = over[task];
    second[columns++] = "here";
    first[columns] = "";
    second[columns++] = "paper";
  }
  html_table_begin(r, first, columns);
  html_table_heading(r, second, columns);
  for (int cell = 0; cell < d->cells; cell++) {
    table_row row = {.cell = {NULL}};
    fill_row(d, cell, &row);
    html_table_row(r, row.cell, columns, strcmp(d->cell[cell], "sparc") == 0);
  }
  html_table_end(r);
  html_paragraph(r,
                 "%s Less is better; 1 is the NMSE of predicting zeros, 83.3 %% the error of guessing one of six "
                 "orders. A dash: not reported, or not finished.",
                 d->seeds > 1 ? "Mean ± standard deviation over the seeds." : "One seed.");
}

static void write_settings(html_report *r, const demo *d) {
  html_section(r, "What was done");
  for (int task = 0; task < d->tasks; task++) {
    const sparc_task *t = d->task[task];
    html_paragraph(r,
                   "`%s`: %d training and %d evaluation sequences of %d steps; %ld updates of AdamW with batch %d, "
                   "rate %g, decay %g, gradient norm at most %g. Every cell has %d real state coordinates and a linear "
                   "head on %s.",
                   t->name, t->train.count, t->evaluation.count, t->T, demo_run_at(d, task, 0, 0)->updates,
                   t->training.batch, t->training.rate, t->training.decay, t->training.clip, t->training.state,
                   t->training.relu ? "ReLU(state)" : "the state");
  }
  html_paragraph(r,
                 "The data are made from one fixed seed; a run is a function of its own seed alone, whatever the "
                 "number of threads. sparc %s.",
                 sparc_version());
}

static void write_runs(html_report *r, const demo *d) {
  static const char *const headings[] = {"run", "seed", "score", "updates", "seconds"};
  enum { COLUMNS = sizeof headings / sizeof *headings };
  html_section(r, "Runs");
  html_table_begin(r, headings, COLUMNS);
  for (int i = 0; i < d->runs; i++) {
    const demo_run *run = &d->run[i];
    char name[64], seed[24], score[SCORE_TEXT], updates[24], seconds[24];
    snprintf(name, sizeof name, "%s, %s", run->task->name, demo_cell_title(run->cell));
    snprintf(seed, sizeof seed, "%d", (int)run->seed);
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

static void write_figures(html_report *r, const demo *d, const char *folder, demo_drawing *drawing) {
  demo_figure figures[DEMO_TASKS_MAX + 2];
  const int count = demo_figures(d, figures);
  for (int i = 0; i < count; i++) {
    const demo_figure *figure = &figures[i];
    char *svg;
    html_section(r, figure->task >= 0 ? d->task[figure->task]->title : i == 0 ? "Scores" : "Learning");
    if (gnuplot_draw(folder, figure->name, &svg) == SPARC_OK) {
      html_figure(r, figure->name, svg, figure->caption);
      drawing->figures++;
    } else {
      snprintf(drawing->reason, sizeof drawing->reason, "%s", sparc_error());
      html_remark(r, "No figure here: %s. Its data and its script `%s.gp` are in this folder.", drawing->reason,
                  figure->name);
    }
    sparc_free(svg);
  }
}

static sparc_status write_page(const demo *d, const char *folder, demo_drawing *drawing) {
  char path[PATH_MAX];
  html_report r;
  sparc_status status = join(path, folder, "index.html");
  if (status == SPARC_OK)
    status =
        html_begin(&r, path, "Recurrent cells on two diagnostic tasks",
                   "Two small tasks tell cells apart: remembering the order of three events among distractors, and "
                   "following a point whose motion is shrunk and turned by announced events.");
  if (status != SPARC_OK) return status;
  if (demo_finished(d) < d->runs) html_remark(&r, "Only %d of %d runs were finished.", demo_finished(d), d->runs);
  write_scores(&r, d);
  write_figures(&r, d, folder, drawing);
  write_settings(&r, d);
  write_runs(&r, d);
  return html_end(&r);
}

sparc_status demo_write(const demo *d, const char *folder, demo_drawing *drawing) {
  *drawing = (demo_drawing){0};
  sparc_status status = write_results(d, folder);
  if (status == SPARC_OK) status = demo_write_data(d, folder);
  if (status == SPARC_OK) status = demo_write_scripts(d, folder);
  if (status == SPARC_OK) status = write_page(d, folder, drawing);
  return status;
}
