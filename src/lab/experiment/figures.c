/* SPDX-License-Identifier: MIT */
/* figures.c: tables of numbers, and scripts that know where things are in them.
 *
 * A script refers to columns by their headings, so that it can be read, changed and run again by hand. Figures are
 * small multiples: one narrow panel for each method under the input they all see, with the events as vertical lines
 * through all panels.
 */
#include "lab/experiment/figures.h"

#include "base/error.h"
#include "io/atomic_file.h"
#include "lab/gnuplot.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- scores -------------------------------------------------------------------------------------- */

double score_scale(const sparc_task *task) { return task->target_kind == SPARC_TARGET_CLASS ? 100 : 1; }

const char *score_label(const sparc_task *task) {
  return task->target_kind == SPARC_TARGET_CLASS ? "error, %" : task->score_name;
}

/* ---- files -------------------------------------------------------------------------------------- */

typedef struct output {
  const experiment *e;
  int task;
  const char *name; /* of the file, without its extension */
} output;

static sparc_status write_file(const char *folder, const char *extension, const output *o,
                               void (*body)(FILE *, const output *)) {
  char path[PATH_MAX];
  if (snprintf(path, sizeof path, "%s/%s%s", folder, o->name, extension) >= (int)sizeof path)
    return fail(SPARC_INVALID, "the name of folder '%.200s' is too long", folder);
  atomic_file file;
  const sparc_status status = atomic_file_begin(&file, path);
  if (status != SPARC_OK) return status;
  body(file.stream, o);
  return atomic_file_commit(&file);
}

/* ---- data --------------------------------------------------------------------------------------- */

/* the heading of an output of the task: a class, or a coordinate */
static void put_output_name(FILE *f, const sparc_task *task, int k) {
  if (task->class_names)
    fputs(task->class_names[k], f);
  else
    fprintf(f, "z%d", k + 1);
}

/* what all methods see and what is asked of them, then what each of them says */
static void write_example(FILE *f, const output *o) {
  const experiment *e = o->e;
  const sparc_task *task = e->task[o->task];
  const sparc_task_part *part = &task->evaluation;
  fprintf(f, "step,event");
  for (int i = 0; i < task->D; i++) fprintf(f, ",x%d", i + 1);
  for (int k = 0; part->target && k < task->O; k++) fprintf(f, ",target z%d", k + 1);
  for (int m = 0; m < e->methods; m++)
    for (int k = 0; experiment_shown(e, o->task, m) && k < task->O; k++) {
      fprintf(f, ",%s ", e->method[m].name);
      put_output_name(f, task, k);
    }
  fputc('\n', f);
  for (int t = 0; t < task->T; t++) {
    fprintf(f, "%d,%s", t + 1, part->event[t] < 0 ? "none" : task->event_names[part->event[t]]);
    for (int i = 0; i < task->D; i++) fprintf(f, ",%.9g", part->x[t * task->D + i]);
    for (int k = 0; part->target && k < task->O; k++) fprintf(f, ",%.9g", part->target[t * task->O + k]);
    for (int m = 0; m < e->methods; m++) {
      const experiment_run *run = experiment_shown(e, o->task, m);
      for (int k = 0; run && k < task->O; k++) fprintf(f, ",%.9g", run->example[t * task->O + k]);
    }
    fputc('\n', f);
  }
}

static void put_number_or_nan(FILE *f, double value) {
  if (isnan(value))
    fputs(",NaN", f);
  else
    fprintf(f, ",%.9g", value);
}

static void write_scores(FILE *f, const output *o) {
  const experiment *e = o->e;
  fprintf(f, "method,seeds,mean,deviation,least,most,paper\n");
  for (int m = 0; m < e->methods; m++) {
    const score_summary s = experiment_summary(e, o->task, m);
    if (s.count == 0) continue;
    fprintf(f, "%s,%d,%.9g,%.9g,%.9g,%.9g", e->method[m].name, s.count, s.mean, s.deviation, s.least, s.most);
    put_number_or_nan(f, method_paper_score(&e->method[m], e->task[o->task]));
    fputc('\n', f);
  }
}

static void write_curve(FILE *f, const output *o) {
  const experiment *e = o->e;
  fprintf(f, "update");
  for (int m = 0; m < e->methods; m++)
    if (experiment_summary(e, o->task, m).count)
      fprintf(f, ",%s mean,%s least,%s most", e->method[m].name, e->method[m].name, e->method[m].name);
  fputc('\n', f);
  for (int p = 0; p < CURVE_POINTS; p++) {
    long update = 0;
    for (int m = 0; m < e->methods; m++) experiment_curve(e, o->task, m, p, &update);
    fprintf(f, "%ld", update);
    for (int m = 0; m < e->methods; m++) {
      const score_summary s = experiment_curve(e, o->task, m, p, NULL);
      if (s.count) fprintf(f, ",%.9g,%.9g,%.9g", s.mean, s.least, s.most);
    }
    fputc('\n', f);
  }
}

static void write_loss(FILE *f, const output *o) {
  const experiment *e = o->e;
  long updates = 0;
  fprintf(f, "update");
  for (int m = 0; m < e->methods; m++) {
    const experiment_run *run = experiment_shown(e, o->task, m);
    if (!run) continue;
    fprintf(f, ",%s", e->method[m].name);
    updates = run->updates;
  }
  fputc('\n', f);
  for (long u = 0; u < updates; u++) {
    fprintf(f, "%ld", u + 1);
    for (int m = 0; m < e->methods; m++) {
      const experiment_run *run = experiment_shown(e, o->task, m);
      if (run) fprintf(f, ",%.9g", run->loss[u]);
    }
    fputc('\n', f);
  }
}

sparc_status experiment_write_data(const experiment *e, const char *folder) {
  static const struct {
    const char *name;
    void (*body)(FILE *, const output *);
  } files[] = {{"example", write_example}, {"scores", write_scores}, {"curve", write_curve}, {"loss", write_loss}};
  sparc_status status = SPARC_OK;
  for (int task = 0; task < e->tasks; task++)
    for (size_t i = 0; i < sizeof files / sizeof *files && status == SPARC_OK; i++) {
      char name[64];
      snprintf(name, sizeof name, "data/%s-%s", e->task[task]->name, files[i].name);
      status = write_file(folder, ".csv", &(output){e, task, name}, files[i].body);
    }
  return status;
}

/* ---- scripts: what they share ------------------------------------------------------------------- */

enum { WIDTH = 960, LEFT = 70, RIGHT = 20 }; /* in pixels */

static void put_preamble(FILE *f, const output *o, int height) {
  const gnuplot_canvas canvas = {.name = o->name, .width = WIDTH, .height = height, .points = 13, .enhanced = true};
  gnuplot_begin(f, "sparc demo", o->name);
  gnuplot_terminal(f, "svg", &canvas);
  fprintf(f, "set multiplot\n");
}

/* the table data/TASK-WHAT.csv */
static gnuplot_string table_of(const sparc_task *task, const char *what) {
  char name[64];
  snprintf(name, sizeof name, "data/%s-%s", task->name, what);
  return gnuplot_file(name, ".csv");
}

/* the heading of a column: a method and one of its numbers */
static gnuplot_string column_of(const method *m, const char *what) {
  char name[2 * METHOD_NAME];
  snprintf(name, sizeof name, "%s %s", m->name, what);
  return gnuplot_text(name);
}

/* a panel's place, in pixels from the upper left corner */
static void put_panel(FILE *f, int height, int left, int right, int top, int bottom) {
  fprintf(f, "\nset lmargin at screen %.5f\nset rmargin at screen %.5f\n", (double)left / WIDTH, (double)right / WIDTH);
  fprintf(f, "set tmargin at screen %.5f\nset bmargin at screen %.5f\n", 1 - (double)top / height,
          1 - (double)bottom / height);
}

/* a heading at the upper left of the panel */
static void put_heading(FILE *f, const char *title, const char *colour, const char *rest) {
  fprintf(f, "set label 1 '{/:Bold %s}%s%s' at graph 0, graph 1 left offset 0,0.7 textcolor rgb '%s'\n",
          gnuplot_enhanced(title).text, *rest ? "   " : "", gnuplot_enhanced(rest).text, colour);
}

static const char *const event_colours[] = {"#B03060", "#2F6F4F", "#3050A0", "#806020"};

static const char *event_colour(int event) {
  return event_colours[(size_t)event % (sizeof event_colours / sizeof *event_colours)];
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

/* ---- scripts: examples -------------------------------------------------------------------------- */

enum { TOP = 42, INPUT_PANEL = 130, METHOD_PANEL = 96, GAP = 36, BOTTOM = 64 };

static int shown_methods(const experiment *e, int task) {
  int count = 0;
  for (int m = 0; m < e->methods; m++) count += experiment_shown(e, task, m) != NULL;
  return count;
}

static int example_height(const output *o) {
  return TOP + INPUT_PANEL + shown_methods(o->e, o->task) * (GAP + METHOD_PANEL) + BOTTOM;
}

static void put_time_axis(FILE *f, const sparc_task *task, bool last) {
  fprintf(f, "set xrange [0.5:%d.5]\n", task->T);
  fprintf(f, last ? "set xtics 4,4 format '%%g'\nset xlabel 'step' offset 0,0.4\n"
                  : "set xtics 4,4 format ''\nunset xlabel\n");
}

/* symbols as dots, one row for each; the events stand out by their letters */
static void put_symbols(FILE *f, const output *o) {
  const sparc_task *task = o->e->task[o->task];
  const gnuplot_string data = table_of(task, "example");
  char question[96];
  snprintf(question, sizeof question, "symbols; the answer is %s", task->class_names[task->evaluation.label[0]]);
  put_heading(f, "Input", "#1d2530", question);
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
            "%s%s using 'step':(column('x%d') > 0 ? %d : NaN) with points pointtype 7 "
            "pointsize %s linecolor rgb '%s' notitle",
            i ? ", \\\n  " : "", data.text, i + 1, i + 1, i < names ? "0.8" : "0.45",
            i < names ? event_colour(i) : "#9aa4b0");
  fprintf(f, "\nunset label\n");
}

/* the class probabilities after each step: the true class in colour, a wrong answer in black */
static void put_classes(FILE *f, const output *o, int row) {
  const sparc_task *task = o->e->task[o->task];
  const experiment_run *run = experiment_shown(o->e, o->task, row);
  const float *last = run->example + (size_t)(task->T - 1) * (size_t)task->O;
  const int label = task->evaluation.label[0];
  int answer = 0;
  for (int k = 1; k < task->O; k++)
    if (last[k] > last[answer]) answer = k;
  const gnuplot_string data = table_of(task, "example");
  char verdict[96];
  snprintf(verdict, sizeof verdict, "answers %s with probability %.2f: %s", task->class_names[answer], last[answer],
           answer == label ? "right" : "wrong");
  put_heading(f, run->method->title, run->method->colour, verdict);
  fprintf(f, "set yrange [-0.03:1.03]\nset ytics 0,0.5,1\nplot ");
  /* the two that matter are drawn last, over the others */
  int order[2] = {answer, label}, drawn = 0;
  for (int k = 0; k < task->O + 2; k++) {
    const int class = k < task->O ? k : order[k - task->O];
    if (k < task->O ? (k == answer || k == label) : (k == task->O && answer == label)) continue;
    const char *colour = k < task->O ? "#b4bcc6" : class == label ? run->method->colour : "#1d2530";
    fprintf(f, "%s%s using 'step':%s with lines linewidth %s linecolor rgb '%s' notitle", drawn++ ? ", \\\n  " : "",
            data.text, column_of(run->method, task->class_names[class]).text, k < task->O ? "1" : "2.5", colour);
  }
  fputc('\n', f);
}

static void put_drives(FILE *f, const output *o) {
  const sparc_task *task = o->e->task[o->task];
  const gnuplot_string data = table_of(task, "example");
  put_heading(f, "Input", "#1d2530", "drive in two coordinates; events as vertical lines");
  fprintf(f, "set yrange [*:*]\nset ytics 1\nset xzeroaxis linecolor rgb '#c4cad2'\n");
  fprintf(f, "set key at graph 1, graph 1.28 right top horizontal samplen 1.5 width -2\nplot ");
  fprintf(f,
          "%s using ($1 - 0.12):'x1' with impulses linewidth 3 linecolor rgb '#1d2530' title 'u_1', \\\n  %s using "
          "($1 + 0.12):'x2' with impulses linewidth 3 linecolor rgb '#a0aab4' title 'u_2'",
          data.text, data.text);
  int names = 0;
  for (const char *const *name = task->event_names; *name; name++, names++)
    fprintf(f, ", \\\n  NaN with lines linewidth 1.5 dashtype 2 linecolor rgb '%s' title '%s'", event_colour(names),
            gnuplot_enhanced(*name).text);
  fprintf(f, "\nunset key\n");
}

/* one range for all panels: whole numbers around the targets and the predictions of the first coordinate */
static void track_range(const output *o, double *low, double *high) {
  const sparc_task *task = o->e->task[o->task];
  *low = *high = 0;
  for (int m = -1; m < o->e->methods; m++) {
    const experiment_run *run = m < 0 ? NULL : experiment_shown(o->e, o->task, m);
    const float *z = m < 0 ? task->evaluation.target : run ? run->example : NULL;
    for (int t = 0; z && t < task->T; t++, z += task->O) {
      *low = fmin(*low, floor((double)*z));
      *high = fmax(*high, ceil((double)*z));
    }
  }
}

static void put_track(FILE *f, const output *o, int row) {
  const sparc_task *task = o->e->task[o->task];
  const experiment_run *run = experiment_shown(o->e, o->task, row);
  const gnuplot_string data = table_of(task, "example");
  char verdict[96];
  double low, high;
  track_range(o, &low, &high);
  snprintf(verdict, sizeof verdict, "first coordinate over the target (grey); NMSE of all sequences %.3f", run->score);
  put_heading(f, run->method->title, run->method->colour, verdict);
  fprintf(f, "set yrange [%g:%g]\nset ytics %g\n", low, high, fmax(1, ceil((high - low) / 4)));
  fprintf(f,
          "plot %s using 'step':'target z1' with lines linewidth 5 linecolor rgb '#c4cad2' notitle, \\\n  %s using "
          "'step':%s with lines linewidth 2 linecolor rgb '%s' notitle\n",
          data.text, data.text, column_of(run->method, "z1").text, run->method->colour);
}

static void script_example(FILE *f, const output *o) {
  const experiment *e = o->e;
  const sparc_task *task = e->task[o->task];
  const bool classes = task->target_kind == SPARC_TARGET_CLASS;
  const int height = example_height(o), methods = shown_methods(e, o->task);
  put_preamble(f, o, height);
  put_event_lines(f, task);
  put_panel(f, height, LEFT, WIDTH - RIGHT, TOP, TOP + INPUT_PANEL);
  put_time_axis(f, task, methods == 0);
  (classes ? put_symbols : put_drives)(f, o);
  int top = TOP + INPUT_PANEL + GAP, left = methods;
  for (int m = 0; m < e->methods; m++) {
    if (!experiment_shown(e, o->task, m)) continue;
    put_panel(f, height, LEFT, WIDTH - RIGHT, top, top + METHOD_PANEL);
    put_time_axis(f, task, --left == 0);
    (classes ? put_classes : put_track)(f, o, m);
    top += METHOD_PANEL + GAP;
  }
  fprintf(f, "unset multiplot\n");
}

/* ---- scripts: scores and learning curves -------------------------------------------------------- */

enum { WIDE_HEIGHT = 390, WIDE_BOTTOM = 84, BETWEEN = 80 };

/* the tasks that have results lie beside each other */
static void put_columns(FILE *f, const experiment *e, void (*panel)(FILE *, const experiment *, int task)) {
  int columns = 0, left = LEFT;
  for (int task = 0; task < e->tasks; task++) columns += shown_methods(e, task) > 0;
  const int width = columns ? (WIDTH - LEFT - RIGHT - (columns - 1) * BETWEEN) / columns : 0;
  for (int task = 0; task < e->tasks; task++) {
    if (shown_methods(e, task) == 0) continue;
    put_panel(f, WIDE_HEIGHT, left, left + width, TOP, WIDE_HEIGHT - WIDE_BOTTOM);
    put_heading(f, e->task[task]->title, "#1d2530", "");
    fprintf(f, "set ylabel '%s' offset 1.5,0\n", gnuplot_enhanced(score_label(e->task[task])).text);
    panel(f, e, task);
    left += width + BETWEEN;
  }
  fprintf(f, "unset multiplot\n");
}

/* in the scripts, data is the file and score(name) the number of a column as it is shown */
static void put_scores_of(FILE *f, const sparc_task *task, const char *file) {
  fprintf(f, "data = %s\nscore(name) = %g * column(name)\n", table_of(task, file).text, score_scale(task));
}

/* our number stands under the bar with the name of the method: above it, it could be taken for that of the paper's mark
 */
static void put_bars(FILE *f, const experiment *e, int task) {
  const char *format = score_scale(e->task[task]) > 1 ? "%.1f" : "%.3f";
  const int methods = shown_methods(e, task);
  int bar = 0;
  put_scores_of(f, e->task[task], "scores");
  fprintf(f, "set xtics %s () scale 0\nset xrange [-0.6:%d.6]\n", methods > 3 ? "rotate by 25 right" : "norotate",
          methods - 1);
  fprintf(f, "set yrange [0:*]\nset offsets 0,0,graph 0.12,0\nplot ");
  for (int m = 0; m < e->methods; m++) {
    if (!experiment_shown(e, task, m)) continue;
    fprintf(f, "data every ::%d::%d using (%d):(score('mean')):xtic(sprintf('%%s%%c%s', %s, 10, score('mean'))) ", bar,
            bar, bar, format, gnuplot_tic(e->method[m].title).text);
    fprintf(f, "with boxes linecolor rgb '%s' notitle, \\\n  ", e->method[m].colour);
    bar++;
  }
  fprintf(f, "data using 0:(score('mean') - score('deviation')):(0):(2 * score('deviation')) with vectors nohead ");
  fprintf(f, "linewidth 2 linecolor rgb '#1d2530' notitle, \\\n  ");
  fprintf(f, "data using ($0 + 0.38):(score('paper')) with points pointtype 12 pointsize 1 linewidth 1.5 linecolor ");
  fprintf(f, "rgb '#1d2530' title 'the paper'\n");
}

static void script_scores(FILE *f, const output *o) {
  put_preamble(f, o, WIDE_HEIGHT);
  fprintf(f, "set style fill solid 0.85 noborder\nset boxwidth 0.55\nset grid y linecolor rgb '#e6eaee'\n");
  fprintf(f, "set key at graph 1, graph 1.13 right top samplen 1\n");
  put_columns(f, o->e, put_bars);
}

static void put_curves(FILE *f, const experiment *e, int task) {
  const char *separator = "";
  put_scores_of(f, e->task[task], "curve");
  fprintf(f, "set xtics autofreq\nset xlabel 'updates' offset 0,0.4\nset yrange [0:*]\nplot ");
  /* the range over the seeds lies under all lines */
  for (int m = 0; m < e->methods && e->seeds > 1; m++) {
    if (!experiment_shown(e, task, m)) continue;
    fprintf(f, "%sdata using 'update':(score(%s)):(score(%s)) with filledcurves ", separator,
            column_of(&e->method[m], "least").text, column_of(&e->method[m], "most").text);
    fprintf(f, "linecolor rgb '%s' fillstyle transparent solid 0.18 notitle", e->method[m].colour);
    separator = ", \\\n  ";
  }
  for (int m = 0; m < e->methods; m++) {
    if (!experiment_shown(e, task, m)) continue;
    fprintf(f, "%sdata using 'update':(score(%s)) with linespoints linewidth 2 pointtype 7 pointsize 0.5 ", separator,
            column_of(&e->method[m], "mean").text);
    fprintf(f, "linecolor rgb '%s' title '%s'", e->method[m].colour, gnuplot_enhanced(e->method[m].title).text);
    separator = ", \\\n  ";
  }
  /* one key serves both panels */
  fprintf(f, "\nunset key\n");
}

static void script_learning(FILE *f, const output *o) {
  put_preamble(f, o, WIDE_HEIGHT);
  fprintf(f,
          "set grid y linecolor rgb '#e6eaee'\nset key at screen 0.5, screen 0.015 center bottom horizontal maxrows "
          "1 samplen 2\n");
  put_columns(f, o->e, put_curves);
}

/* ---- the list ----------------------------------------------------------------------------------- */

int experiment_figures(const experiment *e, experiment_figure *figures) {
  int count = 0;
  figures[count++] =
      (experiment_figure){"scores", -1,
                          "Scores on the 512 evaluation sequences; less is better. Diamonds: the paper's "
                          "figures, for its own generators of the same tasks."};
  for (int task = 0; task < e->tasks; task++) {
    if (shown_methods(e, task) == 0) continue;
    experiment_figure *figure = &figures[count++];
    const bool classes = e->task[task]->target_kind == SPARC_TARGET_CLASS;
    *figure =
        (experiment_figure){.task = task,
                            .caption = classes ? "Evaluation sequence 0: the input, and for each method the "
                                                 "probabilities of the six orders had the sequence ended at that step. "
                                                 "Colour: the true order; black: a wrong answer; grey: the others. "
                                                 "Only the last step was trained."
                                               : "Evaluation sequence 0: the input, and for each method its prediction "
                                                 "of the first coordinate over the target, at every step."};
    snprintf(figure->name, sizeof figure->name, "%s", e->task[task]->name);
  }
  figures[count++] = (experiment_figure){"learning", -1, "The score on the evaluation sequences while training."};
  return count;
}

sparc_status experiment_write_scripts(const experiment *e, const char *folder) {
  experiment_figure figures[EXPERIMENT_TASKS + 2];
  const int count = experiment_figures(e, figures);
  sparc_status status = SPARC_OK;
  for (int i = 0; i < count && status == SPARC_OK; i++) {
    void (*body)(FILE *, const output *) = figures[i].task >= 0 ? script_example
                                           : i == 0             ? script_scores
                                                                : script_learning;
    status = write_file(folder, ".gp", &(output){e, figures[i].task, figures[i].name}, body);
  }
  return status;
}
