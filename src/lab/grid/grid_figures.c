/* SPDX-License-Identifier: MIT */
/* grid_figures.c: scores next to the paper's, performance profiles, learning curves and examples. */
#include "lab/grid/grid_figures.h"

#include "base/error.h"
#include "base/plain_text.h"
#include "io/folder_file.h"
#include "lab/gnuplot.h"
#include "lab/grid/curves.h"
#include "lab/grid/example.h"
#include "lab/grid/overall.h"
#include "lab/plot.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_CURVE_POINTS = 300, PROFILE_POINTS = 101 };

const char *grid_colour(const grid *g, int method) {
  static const char *const palette[] = {"#D55E00", "#0072B2", "#009E73", "#56B4E9", "#CC79A7", "#B8860B",
                                        "#7A6FB0", "#8FB339", "#882255", "#E69F00", "#666666", "#A65628"};
  const char *own = g->method[method].colour;
  return own ? own : palette[(size_t)method % (sizeof palette / sizeof *palette)];
}

bool grid_repeats_colour(const grid_jobs *jobs, int method) {
  const char *colour = grid_colour(jobs->g, method);
  for (int m = 0; m < jobs->chosen.methods && jobs->chosen.method[m] != method; m++)
    if (strcmp(grid_colour(jobs->g, jobs->chosen.method[m]), colour) == 0) return true;
  return false;
}

/* ---- which --------------------------------------------------------------------------------------- */

static const grid *grid_of(const grid_results *r) { return r->jobs->g; }

/* reading a curve is cheap compared to drawing it */
static bool has_curve(const grid_results *r, int task, int method) {
  grid_curve c;
  const bool has = grid_curve_read(r->jobs, task, method, 2, &c) == SPARC_OK && c.count > 1;
  grid_curve_free(&c);
  return has;
}

static bool has_curves(const grid_results *r, int task) {
  for (int m = 0; m < r->jobs->chosen.methods; m++)
    if (has_curve(r, task, m)) return true;
  return false;
}

static bool has_scores(const grid_results *r, int task) {
  for (int m = 0; m < r->jobs->chosen.methods; m++)
    if (grid_field(r, task, m)->ours.count) return true;
  return false;
}

int grid_figures(const grid_results *r, grid_figure figures[GRID_MAX_FIGURES]) {
  int count = 0;
  bool scores = false;
  for (int t = 0; t < r->jobs->chosen.tasks; t++) scores |= has_scores(r, t);
  if (scores) figures[count++] = (grid_figure){.name = "scores", .kind = FIGURE_SCORES};
  if (overall_tasks(r) > 0) figures[count++] = (grid_figure){.name = "profiles", .kind = FIGURE_PROFILES};
  for (int t = 0; t < r->jobs->chosen.tasks; t++) {
    if (!has_curves(r, t)) continue;
    figures[count] = (grid_figure){.kind = FIGURE_CURVES, .task = t};
    snprintf(figures[count++].name, sizeof figures->name, "curve-%s", grid_of(r)->task[r->jobs->chosen.task[t]].name);
  }
  for (int t = 0; t < r->jobs->chosen.tasks; t++) {
    if (!example_exists(r, t)) continue;
    figures[count] = (grid_figure){.kind = FIGURE_EXAMPLE, .task = t};
    snprintf(figures[count++].name, sizeof figures->name, "example-%s", grid_of(r)->task[r->jobs->chosen.task[t]].name);
  }
  return count;
}

void grid_figures_folder(const grid_jobs *jobs, char path[JOB_PATH]) {
  snprintf(path, JOB_PATH, "%s/figures", jobs->folder);
}

/* ---- files --------------------------------------------------------------------------------------- */

typedef struct output {
  const grid_results *r;
  const grid_figure *figure;
} output;

static void put_value(FILE *f, double value) {
  if (isfinite(value))
    fprintf(f, ",%.9g", value);
  else
    fputs(",NaN", f);
}

static const char *method_name(const grid_results *r, int method) {
  return grid_of(r)->method[r->jobs->chosen.method[method]].name;
}

static const char *method_title(const grid_results *r, int method) {
  return grid_of(r)->method[r->jobs->chosen.method[method]].title;
}

static grid_score score_of(const grid_results *r, int task) {
  return grid_score_of(grid_of(r), r->jobs->chosen.task[task], r->jobs->chosen.method[0]);
}

/* method,x,mean,low,high: one method after the other, because their points differ */
static sparc_status write_curves(FILE *f, const void *context) {
  const output *o = context;
  sparc_status status = SPARC_OK;
  fprintf(f, "method,x,mean,low,high\n");
  for (int m = 0; m < o->r->jobs->chosen.methods && status == SPARC_OK; m++) {
    grid_curve c;
    status = grid_curve_read(o->r->jobs, o->figure->task, m, MAX_CURVE_POINTS, &c);
    for (size_t i = 0; status == SPARC_OK && i < c.count; i++) {
      const double spread = isnan(c.stddev[i]) ? 0 : c.stddev[i];
      fprintf(f, "%s,%.9g", method_name(o->r, m), c.x[i]);
      put_value(f, c.mean[i]);
      put_value(f, c.mean[i] - spread);
      put_value(f, c.mean[i] + spread);
      putc('\n', f);
    }
    grid_curve_free(&c);
  }
  return status;
}

static void put_field(FILE *f, const grid_results *r, const field_result *s, int method) {
  fprintf(f, "%s,%s,%d", grid_of(r)->task[s->task].name, method_name(r, method), method);
}

/* a row per field, and one per run */
static void put_score(FILE *f, const grid_results *r, const field_result *s, int method) {
  put_field(f, r, s, method);
  put_value(f, s->ours.count ? s->ours.mean : NAN);
  put_value(f, s->ours.count && isfinite(s->ours.stddev) ? s->ours.stddev : 0);
  put_value(f, s->in_paper ? s->paper : NAN);
  fputs(",NaN\n", f);
  for (int i = 0; i < r->jobs->chosen.seeds && r->jobs->chosen.seeds > 1; i++) {
    if (!isfinite(s->score[i])) continue;
    put_field(f, r, s, method);
    fputs(",NaN,NaN,NaN", f);
    put_value(f, s->score[i]);
    putc('\n', f);
  }
}

static sparc_status write_scores(FILE *f, const void *context) {
  const output *o = context;
  const grid_results *r = o->r;
  fprintf(f, "task,method,row,mean,deviation,paper,run\n");
  for (int t = 0; t < r->jobs->chosen.tasks; t++)
    for (int m = 0; m < r->jobs->chosen.methods; m++) put_score(f, r, grid_field(r, t, m), m);
  return SPARC_OK;
}

/* thresholds from slightly below the lowest to slightly above the highest normalised score */
static void profile_thresholds(const grid_results *r, const overall *all, double threshold[PROFILE_POINTS]) {
  double low = INFINITY, high = -INFINITY;
  const int count = r->jobs->chosen.methods * all->tasks * r->jobs->chosen.seeds;
  for (int i = 0; i < count; i++) {
    low = fmin(low, all->score[i]);
    high = fmax(high, all->score[i]);
  }
  const double edge = 0.02 * fmax(high - low, 0.1);
  for (int i = 0; i < PROFILE_POINTS; i++)
    threshold[i] = low - edge + (high - low + 2 * edge) * i / (PROFILE_POINTS - 1);
}

static sparc_status put_profile(FILE *f, const grid_results *r, const overall *all, const double *threshold,
                                int method) {
  interval above[PROFILE_POINTS];
  const run_scores scores = overall_scores(r, all, method);
  const sparc_status status = interval_of_profile(&scores, PROFILE_POINTS, threshold, above);
  for (int i = 0; status == SPARC_OK && i < PROFILE_POINTS; i++)
    fprintf(f, "%s,%.6g,%.6g,%.6g,%.6g\n", method_name(r, method), threshold[i], above[i].estimate, above[i].low,
            above[i].high);
  return status;
}

static sparc_status write_profiles(FILE *f, const void *context) {
  const output *o = context;
  overall all;
  double threshold[PROFILE_POINTS];
  sparc_status status = overall_read(o->r, &all);
  if (status == SPARC_OK) profile_thresholds(o->r, &all, threshold);
  fprintf(f, "method,x,mean,low,high\n");
  for (int m = 0; m < o->r->jobs->chosen.methods && status == SPARC_OK; m++)
    status = put_profile(f, o->r, &all, threshold, m);
  overall_free(&all);
  return status;
}

/* ---- scripts ------------------------------------------------------------------------------------- */

/* "Repeat first (scale 0.1)" */
static void put_title(FILE *f, const grid_results *r, const char *what) {
  char mark[96], title[320];
  grid_scope_mark(&r->jobs->scope, mark, sizeof mark);
  snprintf(title, sizeof title, "%.200s%s%s%s", what, *mark ? " (" : "", mark, *mark ? ")" : "");
  fprintf(f, "set title %s\n", gnuplot_text(title).text);
}

static void put_lines_style(FILE *f) {
  fprintf(f, "set grid y linecolor rgb '#e6eaee'\nset key outside right top vertical samplen 2\n");
}

/* lines of methods over their bands; rows of other methods are skipped as NaN */
static void put_lines(FILE *f, const output *o, bool (*shown)(const grid_results *r, int task, int method)) {
  const grid_results *r = o->r;
  const char *separator = "plot ";
  for (int pass = r->jobs->chosen.seeds > 1 ? 0 : 1; pass < 2; pass++)
    for (int m = 0; m < r->jobs->chosen.methods; m++) {
      if (!shown(r, o->figure->task, m)) continue;
      const char *colour = grid_colour(grid_of(r), r->jobs->chosen.method[m]);
      fprintf(f, "%sdata using (strcol(1) eq %s ? $2 : NaN):", separator, gnuplot_text(method_name(r, m)).text);
      if (pass == 0)
        fprintf(f, "4:5 with filledcurves linecolor rgb '%s' fillstyle transparent solid 0.18 notitle", colour);
      else
        fprintf(f, "3 with lines linewidth 2%s linecolor rgb '%s' title %s",
                grid_repeats_colour(r->jobs, r->jobs->chosen.method[m]) ? " dashtype 2" : "", colour,
                gnuplot_text(method_title(r, m)).text);
      separator = ", \\\n  ";
    }
  putc('\n', f);
}

static void put_curve_body(FILE *f, const void *context) {
  const output *o = context;
  const grid_results *r = o->r;
  const grid_score score = score_of(r, o->figure->task);
  const grid_task *task = &grid_of(r)->task[r->jobs->chosen.task[o->figure->task]];
  put_lines_style(f);
  put_title(f, r, task->title);
  fprintf(f, "set xlabel '%s'\nset ylabel %s\n", task->kind == GRID_RL ? "environment steps" : "updates",
          gnuplot_text(score.unit).text);
  put_lines(f, o, has_curve);
}

static bool has_profile(const grid_results *r, int task, int method) {
  (void)r, (void)task, (void)method;
  return true;
}

static void put_profile_body(FILE *f, const void *context) {
  const output *o = context;
  put_lines_style(f);
  put_title(f, o->r, grid_of(o->r)->title);
  fprintf(f, "set xlabel 'normalised score (0: random, 1: optimal)'\nset ylabel 'fraction of runs above'\n");
  fprintf(f, "set yrange [0:1.02]\n");
  put_lines(f, o, has_profile);
}

/* panels of scores: a row per method, up to three panels side by side */
enum { PANELS = 3, PANEL_WIDTH = 320, MIN_NAMES = 150, MAX_NAMES = 400, CHARACTER = 7, ROW = 22, PANEL_EDGE = 80 };

typedef struct panels {
  int across, down;         /* counts */
  int names, width, height; /* pixels: of the methods' names, of the whole figure */
} panels;

static int names_width(const grid_results *r) {
  int width = MIN_NAMES;
  for (int m = 0; m < r->jobs->chosen.methods; m++) {
    const int own = CHARACTER * (2 + plain_columns(method_title(r, m)));
    if (own > width) width = own;
  }
  return width < MAX_NAMES ? width : MAX_NAMES;
}

static panels lay_out(const grid_results *r) {
  int count = 0;
  for (int t = 0; t < r->jobs->chosen.tasks; t++) count += has_scores(r, t);
  const int across = count < 1 ? 1 : count < PANELS ? count : PANELS, down = (count + across - 1) / across;
  const int names = names_width(r);
  return (panels){.across = across,
                  .down = down,
                  .names = names,
                  .width = names + across * PANEL_WIDTH,
                  .height = down * (PANEL_EDGE + ROW * r->jobs->chosen.methods)};
}

static void put_panel(FILE *f, const grid_results *r, int task) {
  const grid_score score = score_of(r, task);
  const grid_task *t = &grid_of(r)->task[r->jobs->chosen.task[task]];
  const gnuplot_string name = gnuplot_text(t->name);
  put_title(f, r, t->title);
  fprintf(f, "set xlabel %s offset 0,0.5\nplot ", gnuplot_text(score.unit).text);
  for (int m = 0; m < r->jobs->chosen.methods; m++)
    fprintf(f,
            "data using (strcol(1) eq %s && strcol(2) eq %s ? $4 : NaN):3:5 with xerrorbars "
            "pointtype 7 pointsize 0.9 linewidth 1.5 linecolor rgb '%s' notitle, \\\n  ",
            name.text, gnuplot_text(method_name(r, m)).text, grid_colour(grid_of(r), r->jobs->chosen.method[m]));
  fprintf(f,
          "data using (strcol(1) eq %s ? $7 : NaN):3 with points pointtype 6 pointsize 0.5 linecolor rgb '#6b7580' "
          "notitle, \\\n  ",
          name.text);
  fprintf(f,
          "data using (strcol(1) eq %s ? $6 : NaN):3 with points pointtype 12 pointsize 1.1 linecolor "
          "rgb '#1d2530' notitle\n",
          name.text);
}

static void put_method_names(FILE *f, const grid_results *r, bool shown) {
  fprintf(f, "set ytics (");
  for (int m = 0; m < r->jobs->chosen.methods; m++)
    fprintf(f, "%s%s %d", m ? ", " : "", gnuplot_tic(shown ? method_title(r, m) : "").text, m);
  fprintf(f, ")\n");
}

static void put_scores_body(FILE *f, const void *context) {
  const output *o = context;
  const grid_results *r = o->r;
  const panels p = lay_out(r);
  const double edge = (double)PANEL_EDGE / p.height;
  fprintf(f, "set multiplot layout %d,%d margins screen %.4f, screen 0.98, screen %.4f, screen %.4f ", p.down, p.across,
          (double)p.names / p.width, 0.65 * edge, 1 - 0.35 * edge);
  fprintf(f, "spacing screen 0.03, screen %.4f\n", edge);
  fprintf(f, "set label 1 '◇ the paper  ○ single runs' at screen 0.01, screen %.4f left textcolor rgb '#3c4650'\n",
          0.12 * edge);
  fprintf(f, "set yrange [%d.6:-0.6]\nset grid x y linecolor rgb '#e6eaee'\nunset key\n", r->jobs->chosen.methods - 1);
  fprintf(f, "set offsets graph 0.04, graph 0.04, 0, 0\n");
  for (int t = 0, panel = 0; t < r->jobs->chosen.tasks; t++) {
    if (!has_scores(r, t)) continue;
    put_method_names(f, r, panel++ % p.across == 0);
    put_panel(f, r, t);
  }
  fprintf(f, "unset multiplot\n");
}

/* ---- drawing ------------------------------------------------------------------------------------- */

static sparc_status draw(const plot *p, const grid_results *r, grid_drawing *drawing, char **svg) {
  char folder[JOB_PATH];
  grid_figures_folder(r->jobs, folder);
  const sparc_status status = plot_write(p, folder);
  if (status != SPARC_OK) return status;
  if (gnuplot_draw(folder, p->name, svg) == SPARC_OK)
    drawing->figures++;
  else
    snprintf(drawing->reason, sizeof drawing->reason, "%s", sparc_error());
  return SPARC_OK;
}

static sparc_status draw_example(const grid_results *r, const grid_figure *figure, plot *p, grid_drawing *drawing) {
  example e;
  sparc_status status = example_read(r, figure->task, &e);
  p->width = EXAMPLE_WIDTH;
  p->height = example_height(&e);
  p->panels = p->enhanced = true;
  p->data = example_data;
  p->script = example_script;
  p->context = &e;
  if (status == SPARC_OK) status = draw(p, r, drawing, &drawing->example[figure->task]);
  p->context = NULL;
  example_free(&e);
  return status;
}

static sparc_status draw_results(const grid_results *r, const grid_figure *figure, plot *p, grid_drawing *drawing) {
  static const struct {
    sparc_status (*data)(FILE *f, const void *context);
    void (*script)(FILE *f, const void *context);
  } kinds[] = {
      [FIGURE_SCORES] = {write_scores, put_scores_body},
      [FIGURE_PROFILES] = {write_profiles, put_profile_body},
      [FIGURE_CURVES] = {write_curves, put_curve_body},
  };
  char *svg = NULL;
  const output o = {r, figure};
  const panels size = figure->kind == FIGURE_SCORES ? lay_out(r) : (panels){.width = 760, .height = 440};
  p->width = size.width;
  p->height = size.height;
  p->panels = figure->kind == FIGURE_SCORES;
  p->data = kinds[figure->kind].data;
  p->script = kinds[figure->kind].script;
  p->context = &o;
  const sparc_status status = draw(p, r, drawing, &svg);
  p->context = NULL;
  sparc_free(svg);
  return status;
}

sparc_status grid_figures_draw(const grid_results *r, grid_drawing *drawing) {
  *drawing = (grid_drawing){.figures = 0};
  grid_figure figures[GRID_MAX_FIGURES];
  const int count = grid_figures(r, figures);
  sparc_status status = count > 0 ? folder_make(r->jobs->folder, "figures") : SPARC_OK;
  for (int i = 0; i < count && status == SPARC_OK; i++) {
    plot p = {.command = "sparc lab figure", .name = figures[i].name};
    status = (figures[i].kind == FIGURE_EXAMPLE ? draw_example : draw_results)(r, &figures[i], &p, drawing);
  }
  return status;
}

void grid_drawing_free(grid_drawing *drawing) {
  for (int t = 0; t < GRID_MAX_ENTRIES; t++) sparc_free(drawing->example[t]);
  *drawing = (grid_drawing){.figures = 0};
}
