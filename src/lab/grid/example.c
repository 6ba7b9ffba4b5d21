/* SPDX-License-Identifier: MIT */
/* example.c: an evaluation sequence as small multiples: the input and a panel per method, with events as vertical lines
 * through all panels. */
#include "lab/grid/example.h"

#include "base/error.h"
#include "io/folder_file.h"
#include "lab/gnuplot.h"
#include "lab/grid/grid_figures.h"
#include "run/data.h"
#include "sparc/model.h"
#include "sparc/train.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- outputs of the methods ---------------------------------------------------------------------- */

static const char *data_of(const grid_results *r, int task) {
  const grid_task *t = &r->jobs->g->task[r->jobs->chosen.task[task]];
  const char *data = json_string_value(json_object_get(t->settings, "data"));
  return t->kind == GRID_TRAIN && data && is_task(data) ? data : NULL;
}

/* the checkpoint of the first seed; false: unfinished, or imported without a checkpoint */
static bool find_checkpoint(const grid_results *r, int task, int method, char path[JOB_PATH]) {
  const grid_job *job = grid_job_at(r->jobs, task, method, 0);
  bool found = false;
  job_file(job, "last.safetensors", path);
  return !isnan(grid_field(r, task, method)->score[0]) && folder_file_find(path, &found) == SPARC_OK && found;
}

bool example_exists(const grid_results *r, int task) {
  char path[JOB_PATH];
  for (int m = 0; data_of(r, task) && m < r->jobs->chosen.methods; m++)
    if (find_checkpoint(r, task, m, path)) return true;
  return false;
}

/* the sequence, or its beginning of index + 1 steps */
static sparc_sample whole(const void *source, int index) {
  const sparc_task *task = source;
  (void)index;
  return (sparc_sample){.x = task->evaluation.x, .length = task->T, .label = -1};
}

static sparc_sample beginning(const void *source, int index) {
  const sparc_task *task = source;
  return (sparc_sample){.x = task->evaluation.x, .length = index + 1, .label = -1};
}

static sparc_status run_model(sparc_model *model, const sparc_task *task, const char *path, float *outputs) {
  const bool classes = task->target_kind == SPARC_TARGET_CLASS;
  const sparc_head_config head = *sparc_network_config_of(sparc_model_info_of(model).network).head;
  if (sparc_model_info_of(model).inputs != task->D || head.outputs != task->O ||
      (head.input == SPARC_HEAD_STEPS) == classes)
    return fail(SPARC_FORMAT, "'%.300s' is not a model of the task '%s': it has %d inputs and %d outputs%s", path,
                task->name, sparc_model_info_of(model).inputs, head.outputs,
                head.input == SPARC_HEAD_STEPS ? " at every step" : "");
  return sparc_model_predict(model,
                             &(sparc_samples){.count = classes ? task->T : 1,
                                              .channels = task->D,
                                              .longest = task->T,
                                              .source = task,
                                              .at = classes ? beginning : whole},
                             outputs);
}

static sparc_status read_row(const sparc_task *task, const char *path, example_row *row) {
  sparc_model *model = NULL;
  row->outputs = sparc_alloc((size_t)task->T * (size_t)task->O * sizeof *row->outputs);
  if (!row->outputs) return fail(SPARC_NO_MEMORY, "no memory for an example");
  sparc_status status = sparc_model_load(path, 1, &model);
  if (status == SPARC_OK) status = run_model(model, task, path, row->outputs);
  sparc_model_free(model);
  return status;
}

sparc_status example_read(const grid_results *r, int task, example *out) {
  const grid *g = r->jobs->g;
  *out = (example){.unit = g->task[r->jobs->chosen.task[task]].score.unit};
  sparc_status status = sparc_task_create(data_of(r, task), &out->task);
  for (int m = 0; m < r->jobs->chosen.methods && status == SPARC_OK; m++) {
    const int method = r->jobs->chosen.method[m];
    char path[JOB_PATH];
    if (!find_checkpoint(r, task, m, path)) continue;
    example_row *row = &out->row[out->rows++];
    *row = (example_row){.name = g->method[method].name,
                         .title = g->method[method].title,
                         .colour = grid_colour(g, method),
                         .score = grid_field(r, task, m)->score[0]};
    status = read_row(out->task, path, row);
  }
  return status;
}

void example_free(example *e) {
  for (int i = 0; i < e->rows; i++) sparc_free(e->row[i].outputs);
  sparc_task_free(e->task);
  *e = (example){.task = NULL};
}

/* ---- data ---------------------------------------------------------------------------------------- */

/* the heading of an output: a class, or a coordinate */
static void put_output_name(FILE *f, const sparc_task *task, int k) {
  if (task->class_names)
    fputs(task->class_names[k], f);
  else
    fprintf(f, "z%d", k + 1);
}

static void put_headings(FILE *f, const example *e) {
  const sparc_task *task = e->task;
  fprintf(f, "step,event");
  for (int i = 0; i < task->D; i++) fprintf(f, ",x%d", i + 1);
  for (int k = 0; task->evaluation.target && k < task->O; k++) fprintf(f, ",target z%d", k + 1);
  for (int m = 0; m < e->rows; m++)
    for (int k = 0; k < task->O; k++) {
      fprintf(f, ",%s ", e->row[m].name);
      put_output_name(f, task, k);
    }
  fputc('\n', f);
}

/* inputs and targets, then the outputs of each method */
sparc_status example_data(FILE *f, const void *context) {
  const example *e = context;
  const sparc_task *task = e->task;
  const sparc_task_part *part = &task->evaluation;
  put_headings(f, e);
  for (int t = 0; t < task->T; t++) {
    fprintf(f, "%d,%s", t + 1, part->event[t] < 0 ? "none" : task->event_names[part->event[t]]);
    for (int i = 0; i < task->D; i++) fprintf(f, ",%.9g", part->x[t * task->D + i]);
    for (int k = 0; part->target && k < task->O; k++) fprintf(f, ",%.9g", part->target[t * task->O + k]);
    for (int m = 0; m < e->rows; m++)
      for (int k = 0; k < task->O; k++) fprintf(f, ",%.9g", e->row[m].outputs[t * task->O + k]);
    fputc('\n', f);
  }
  return SPARC_OK;
}

/* ---- panels -------------------------------------------------------------------------------------- */

/* in pixels */
enum { LEFT = 70, RIGHT = 20, TOP = 42, INPUT_PANEL = 130, METHOD_PANEL = 96, GAP = 36, BOTTOM = 64 };

int example_height(const example *e) { return TOP + INPUT_PANEL + e->rows * (GAP + METHOD_PANEL) + BOTTOM; }

/* heading of a column: method and output */
static gnuplot_string column_of(const example_row *row, const char *what) {
  char name[2 * GRID_NAME];
  snprintf(name, sizeof name, "%s %s", row->name, what);
  return gnuplot_text(name);
}

/* a panel of this height whose upper edge is `top` below that of the figure */
static void put_panel(FILE *f, const example *e, int top, int height) {
  const double whole = example_height(e), width = EXAMPLE_WIDTH;
  fprintf(f, "\nset lmargin at screen %.5f\nset rmargin at screen %.5f\n", LEFT / width, 1 - RIGHT / width);
  fprintf(f, "set tmargin at screen %.5f\nset bmargin at screen %.5f\n", 1 - top / whole, 1 - (top + height) / whole);
}

/* a heading at the upper left of the panel */
static void put_heading(FILE *f, const char *title, const char *colour, const char *rest) {
  fprintf(f, "set label 1 '{/:Bold %s}%s%s' at graph 0, graph 1 left offset 0,0.7 textcolor rgb '%s'\n",
          gnuplot_enhanced(title).text, *rest ? "   " : "", gnuplot_enhanced(rest).text, colour);
}

static const char *event_colour(int event) {
  static const char *const colours[] = {"#B03060", "#2F6F4F", "#3050A0", "#806020"};
  return colours[(size_t)event % (sizeof colours / sizeof *colours)];
}

/* the events as vertical lines through every panel that follows */
static void put_event_lines(FILE *f, const sparc_task *task) {
  for (int t = 0; t < task->T; t++) {
    const int event = task->evaluation.event[t];
    if (event < 0) continue;
    fprintf(f, "set arrow from %d, graph 0 to %d, graph 1 nohead back linewidth 1.5 dashtype 2 linecolor rgb '%s'\n",
            t + 1, t + 1, event_colour(event));
  }
}

static void put_time_axis(FILE *f, const sparc_task *task, bool last) {
  fprintf(f, "set xrange [0.5:%d.5]\n", task->T);
  fprintf(f, last ? "set xtics 4,4 format '%%g'\nset xlabel 'step' offset 0,0.4\n"
                  : "set xtics 4,4 format ''\nunset xlabel\n");
}

/* ---- classes ------------------------------------------------------------------------------------- */

/* symbols as dots, a row per symbol; events are labelled */
static void put_symbols(FILE *f, const sparc_task *task) {
  char heading[96];
  snprintf(heading, sizeof heading, "symbols; the class is %s", task->class_names[task->evaluation.label[0]]);
  put_heading(f, "Input", "#1d2530", heading);
  fprintf(f, "set yrange [%d.5:0.3]\nset ytics (", task->D);
  int names = 0;
  for (const char *const *name = task->event_names; *name; name++, names++)
    fprintf(f, "%s%s %d", names ? ", " : "", gnuplot_tic(*name).text, names + 1);
  fprintf(f, ", 'others' %g)\n", (names + 1 + task->D) / 2.0);
  for (int t = 0; t < task->T; t++) {
    const int event = task->evaluation.event[t];
    if (event >= 0)
      fprintf(f, "set label '{/:Bold %s}' at %d,%d left offset 0.7,0 textcolor rgb '%s'\n",
              gnuplot_enhanced(task->event_names[event]).text, t + 1, event + 1, event_colour(event));
  }
  fprintf(f, "plot ");
  for (int i = 0; i < task->D; i++)
    fprintf(f,
            "%sdata using 'step':(column('x%d') > 0 ? %d : NaN) with points pointtype 7 "
            "pointsize %s linecolor rgb '%s' notitle",
            i ? ", \\\n  " : "", i + 1, i + 1, i < names ? "0.8" : "0.45", i < names ? event_colour(i) : "#9aa4b0");
  fprintf(f, "\nunset label\n");
}

/* class probabilities after each step: the correct class in colour, a wrong prediction in black */
static void put_classes(FILE *f, const example *e, const example_row *row) {
  const sparc_task *task = e->task;
  const float *last = row->outputs + (size_t)(task->T - 1) * (size_t)task->O;
  const int label = task->evaluation.label[0];
  int predicted = 0;
  for (int k = 1; k < task->O; k++)
    if (last[k] > last[predicted]) predicted = k;
  char heading[96];
  snprintf(heading, sizeof heading, "predicts %s with probability %.2f: %s", task->class_names[predicted],
           (double)last[predicted], predicted == label ? "correct" : "wrong");
  put_heading(f, row->title, row->colour, heading);
  fprintf(f, "set yrange [-0.03:1.03]\nset ytics 0,0.5,1\nplot ");
  /* the predicted and the correct class are drawn last */
  int order[2] = {predicted, label}, drawn = 0;
  for (int k = 0; k < task->O + 2; k++) {
    const int class = k < task->O ? k : order[k - task->O];
    if (k < task->O ? (k == predicted || k == label) : (k == task->O && predicted == label)) continue;
    const char *colour = k < task->O ? "#b4bcc6" : class == label ? row->colour : "#1d2530";
    fprintf(f, "%sdata using 'step':%s with lines linewidth %s linecolor rgb '%s' notitle", drawn++ ? ", \\\n  " : "",
            column_of(row, task->class_names[class]).text, k < task->O ? "1" : "2.5", colour);
  }
  fputc('\n', f);
}

/* ---- coordinates --------------------------------------------------------------------------------- */

static void put_drives(FILE *f, const sparc_task *task) {
  put_heading(f, "Input", "#1d2530", "drive in two coordinates; events as vertical lines");
  fprintf(f, "set yrange [*:*]\nset ytics 1\nset xzeroaxis linecolor rgb '#c4cad2'\n");
  fprintf(f, "set key at graph 1, graph 1.28 right top horizontal samplen 1.5 width -2\nplot ");
  fprintf(f,
          "data using ($1 - 0.12):'x1' with impulses linewidth 3 linecolor rgb '#1d2530' title 'u_1', \\\n  data using "
          "($1 + 0.12):'x2' with impulses linewidth 3 linecolor rgb '#a0aab4' title 'u_2'");
  int names = 0;
  for (const char *const *name = task->event_names; *name; name++, names++)
    fprintf(f, ", \\\n  NaN with lines linewidth 1.5 dashtype 2 linecolor rgb '%s' title '%s'", event_colour(names),
            gnuplot_enhanced(*name).text);
  fprintf(f, "\nunset key\n");
}

static void widen_range(const sparc_task *task, const float *z, double *low, double *high) {
  for (int t = 0; t < task->T; t++, z += task->O) {
    *low = fmin(*low, floor((double)*z));
    *high = fmax(*high, ceil((double)*z));
  }
}

/* the first coordinate; one range for all panels: whole numbers around targets and predictions */
static void put_track(FILE *f, const example *e, const example_row *row) {
  char heading[96];
  double low = 0, high = 0;
  widen_range(e->task, e->task->evaluation.target, &low, &high);
  for (int m = 0; m < e->rows; m++) widen_range(e->task, e->row[m].outputs, &low, &high);
  snprintf(heading, sizeof heading, "first coordinate over the target (grey); %.30s of all sequences %.3f", e->unit,
           row->score);
  put_heading(f, row->title, row->colour, heading);
  fprintf(f, "set yrange [%g:%g]\nset ytics %g\n", low, high, fmax(1, ceil((high - low) / 4)));
  fprintf(f,
          "plot data using 'step':'target z1' with lines linewidth 5 linecolor rgb '#c4cad2' notitle, \\\n  data using "
          "'step':%s with lines linewidth 2 linecolor rgb '%s' notitle\n",
          column_of(row, "z1").text, row->colour);
}

/* ---- the figure ---------------------------------------------------------------------------------- */

void example_script(FILE *f, const void *context) {
  const example *e = context;
  const bool classes = e->task->target_kind == SPARC_TARGET_CLASS;
  fprintf(f, "set multiplot\nunset arrow\n");
  put_event_lines(f, e->task);
  put_panel(f, e, TOP, INPUT_PANEL);
  put_time_axis(f, e->task, e->rows == 0);
  (classes ? put_symbols : put_drives)(f, e->task);
  for (int m = 0; m < e->rows; m++) {
    put_panel(f, e, TOP + INPUT_PANEL + GAP + m * (METHOD_PANEL + GAP), METHOD_PANEL);
    put_time_axis(f, e->task, m + 1 == e->rows);
    (classes ? put_classes : put_track)(f, e, &e->row[m]);
  }
  fprintf(f, "unset multiplot\n");
}
