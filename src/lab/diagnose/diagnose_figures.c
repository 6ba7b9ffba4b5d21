/* SPDX-License-Identifier: MIT */
/* diagnose_figures.c: four views of one layer on one recording, as data and gnuplot scripts. */
#include "lab/diagnose/diagnose_figures.h"

#include "base/error.h"
#include "lab/diagnose/view.h"
#include "lab/gnuplot.h"
#include "lab/plot.h"

#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* context of the scripts */
typedef struct scene {
  view view;
  const char *title;
  int run;
} scene;

enum { DISC_STEPS = 60, PORTRAITS = 6, PORTRAIT_COLUMNS = 3 };

/* ---- events -------------------------------------------------------------------------------------- */

static bool has_event(const view *v, int event) {
  for (int t = 0; v->from->event && t < v->T; t++)
    if (v->from->event[t] == event) return true;
  return false;
}

/* width of a name in steps, for 11 points and a plot of about 800 pixels */
static int name_steps(const view *v, const char *name) { return 1 + (8 + 7 * (int)strlen(name)) * v->T / 800; }

/* a line at every event, with its name above if it fits; colour NULL: the event's colour */
static void put_event_lines(FILE *f, const view *v, const char *layer, const char *colour) {
  int free_from = INT_MIN;
  for (int t = 0; v->from->event && t < v->T; t++) {
    const int event = v->from->event[t];
    if (event < 0) continue;
    const char *name = v->replay->event_names[event];
    fprintf(f, "set arrow from %d, graph 0 to %d, graph 1 nohead %s linewidth 1.5 dashtype 2 linecolor rgb '%s'\n",
            t + 1, t + 1, layer, colour ? colour : plot_colour(event));
    if (t < free_from) continue;
    free_from = t + name_steps(v, name);
    fprintf(f, "set label %s at %d, graph 1 center offset 0,0.6 font ',11' textcolor rgb '%s'\n",
            gnuplot_text(name).text, t + 1, plot_colour(event));
  }
}

/* a legend of the events above the plot, at the right */
static void put_event_names(FILE *f, const view *v) {
  int label = 10;
  double at = 1;
  for (int i = 0; v->replay->event_names && v->replay->event_names[i]; i++) {
    if (!has_event(v, i)) continue;
    fprintf(f, "set label %d %s at graph %.3f, graph 1 right offset 0,1.6 textcolor rgb '%s'\n", label++,
            gnuplot_text(v->replay->event_names[i]).text, at, plot_colour(i));
    at -= 0.03 + 0.012 * (double)strlen(v->replay->event_names[i]);
  }
}

static void put_heading(FILE *f, const scene *s, const char *what) {
  char heading[REPLAY_TITLE + 120];
  snprintf(heading, sizeof heading, "%s: %s", s->title, what);
  fprintf(f, "set label 1 %s font 'Helvetica:Bold,14' at graph 0, graph 1 left offset 0,1.6\n",
          gnuplot_text(heading).text);
}

/* ---- eigenvalues --------------------------------------------------------------------------------- */

static bool has_states(const view *v) { return v->seen->H > 0; }

/* every mode at distinct steps, to the width of a point; the baseline is NaN for cells without one */
static sparc_status disc_data(FILE *f, const void *context) {
  const view *v = &((const scene *)context)->view;
  fprintf(f, "mode,step,re,im,r,base re,base im\n");
  for (int j = 0; j < v->seen->H; j++) {
    int steps[DISC_STEPS];
    const int count = view_distinct_steps(v, j, DISC_STEPS, 0.002, steps);
    for (int i = 0; i < count; i++) {
      const sparc_mode *m = view_mode(v, steps[i], j);
      fprintf(f, "%d,%d,%.6g,%.6g,%.6g,%.6g,%.6g\n", j + 1, steps[i] + 1, m->rho * cos(m->angle),
              m->rho * sin(m->angle), isnan(m->r) ? 0 : m->r, exp(-m->nu) * cos(m->theta), exp(-m->nu) * sin(m->theta));
    }
  }
  return SPARC_OK;
}

static void disc_script(FILE *f, const void *context) {
  const scene *s = context;
  const view *v = &s->view;
  const bool control = view_has_controls(v), moved = view_has_baseline(v);
  fprintf(f,
          "unset border\nset size square\nset tmargin 3\nset xrange [-1.12:1.12]\nset yrange [-1.12:1.12]\nset samples "
          "400\n");
  fprintf(f, "unset xtics\nunset ytics\n");
  fprintf(f, "set zeroaxis linecolor rgb '#c8ced6' linewidth 1\nset key bottom right samplen 1 opaque\n");
  fprintf(f, "set object 1 circle at 0,0 size 1 fillstyle empty border linecolor rgb '#8a94a0' linewidth 1.5\n");
  fprintf(f, "set object 2 circle at 0,0 size 0.5 fillstyle empty border linecolor rgb '#dfe3e8' linewidth 1\n");
  fprintf(f, "set palette defined (-1 '#2166AC', 0 '#D9D9D9', 1 '#B2182B')\nset cbrange [-1:1]\n");
  fprintf(f, "set cblabel 'r: retains longer (-1) ... forgets (1)'\nset cbtics (-1, 0, 1)\n");
  fprintf(f, "%s", control ? "" : "unset colorbox\n");
  put_heading(f, s, control ? "eigenvalues under control" : "eigenvalues");
  fprintf(f, "set label '1' at 1.04,0 left\nset label '-1' at -1.04,0 right\n");
  fprintf(f, "set label 'i' at 0,1.07 center\nset label '-i' at 0,-1.07 center\n");
  fprintf(f, "plot ");
  if (moved)
    fprintf(f,
            "data using 'base re':'base im':(column('re') - column('base re')):(column('im') - "
            "column('base im')) with vectors nohead linewidth 0.5 linecolor rgb '#e4e8ec' notitle, \\\n     ");
  fprintf(f, "data using 're':'im':'r' with points pointtype 7 pointsize 0.4 linecolor %s",
          control ? "palette title 'at a step'" : "rgb '#3050A0' notitle");
  if (moved)
    fprintf(f,
            ", \\\n     data using (column('step') == 1 ? column('base re') : NaN):'base im' with points "
            "pointtype 6 pointsize 0.6 linewidth 1.2 linecolor rgb '#1c242c' title 'baseline'");
  fprintf(f, "\n");
}

/* ---- controls ------------------------------------------------------------------------------------ */

static sparc_status controls_data(FILE *f, const void *context) {
  const view *v = &((const scene *)context)->view;
  fprintf(f, "step,r,r least,r most,p,p least,p most\n");
  for (int t = 0; t < v->T; t++) {
    view_control c[2];
    view_controls(v, t, c);
    fprintf(f, "%d,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g\n", t + 1, c[0].mean, c[0].min, c[0].max, c[1].mean, c[1].min,
            c[1].max);
  }
  return SPARC_OK;
}

static void controls_script(FILE *f, const void *context) {
  static const char *const names[] = {"r", "p"}, *const titles[] = {"r, retention", "p, phase"};
  const scene *s = context;
  const view *v = &s->view;
  fprintf(f, "set tmargin 4\nset xrange [1:%d]\nset yrange [-1.05:1.05]\nset ytics -1,0.5,1\nset xlabel 'step'\n",
          v->T > 1 ? v->T : 2);
  fprintf(f, "set xzeroaxis linecolor rgb '#c8ced6' linewidth 1\nset key bottom right opaque horizontal\n");
  put_heading(f, s, "controls");
  put_event_lines(f, v, "back", NULL);
  fprintf(f, "plot ");
  for (int i = 0; i < 2; i++)
    fprintf(f,
            "%sdata using 'step':'%s least':'%s most' with filledcurves fillstyle transparent solid 0.15 "
            "linecolor rgb '%s' notitle, \\\n     data using 'step':'%s' with linespoints pointtype 7 pointsize "
            "0.3 linewidth 2 linecolor rgb '%s' title '%s'",
            i ? ", \\\n     " : "", names[i], names[i], plot_colour(i ? 3 : 1), names[i], plot_colour(i ? 3 : 1),
            titles[i]);
  fprintf(f, "\n");
}

/* ---- energies ------------------------------------------------------------------------------------ */

static sparc_status energy_data(FILE *f, const void *context) {
  const view *v = &((const scene *)context)->view;
  fprintf(f, "step,rank,mode,energy\n");
  for (int rank = 0; rank < v->seen->H; rank++)
    for (int t = 0; t < v->T; t++)
      fprintf(f, "%d,%d,%d,%.6g\n", t + 1, rank + 1, v->order[rank] + 1, view_energy(view_mode(v, t, v->order[rank])));
  return SPARC_OK;
}

/* shows four decades below the maximum energy */
static void energy_script(FILE *f, const void *context) {
  const scene *s = context;
  const view *v = &s->view;
  const double max_log_energy = log10(view_max_energy(v));
  fprintf(f, "set tmargin 4\nset xrange [0.5:%d.5]\nset yrange [%d.5:0.5]\nset xlabel 'step'\n", v->T, v->seen->H);
  fprintf(f, "set ylabel 'mode, %s'\n", isnan(view_mode(v, 0, 0)->e) ? "as stored" : "slowest to fastest");
  fprintf(f, "set palette defined (0 '#0d0887', 1 '#7e03a8', 2 '#cc4778', 3 '#f89540', 4 '#f0f921')\n");
  fprintf(f, "set cbrange [%.3f:%.3f]\nset cblabel 'log₁₀ |h|²'\n", max_log_energy - 4, max_log_energy);
  put_heading(f, s, "energy of the modes");
  put_event_lines(f, v, "front", "#ffffff");
  fprintf(f, "decades(e) = e > 0 ? log10(e) : %.3f\n", max_log_energy - 4);
  fprintf(f, "plot data using 'step':'rank':(decades(column('energy'))) with image notitle\n");
}

/* ---- trajectories --------------------------------------------------------------------------------------- */

static int portraits_of(const view *v) { return v->seen->H < PORTRAITS ? v->seen->H : PORTRAITS; }

/* the centre of a mode's unit circle */
static double portrait_x(int k) { return 2.4 * (k % PORTRAIT_COLUMNS); }
static double portrait_y(int k) {
  const int row = k / PORTRAIT_COLUMNS;
  return -2.6 * row;
}

/* normalised to the maximum magnitude of the mode */
static sparc_status portrait_data(FILE *f, const void *context) {
  const view *v = &((const scene *)context)->view;
  fprintf(f, "mode,step,event,re,im,x,y\n");
  for (int k = 0; k < portraits_of(v); k++) {
    double farthest = 0;
    for (int t = 0; t < v->T; t++) farthest = fmax(farthest, sqrt(view_energy(view_mode(v, t, v->by_energy[k]))));
    const double scale = farthest > 0 ? 1 / farthest : 1, x = portrait_x(k), y = portrait_y(k);
    if (k) fprintf(f, "\n"); /* a gap between lines */
    for (int t = 0; t < v->T; t++) {
      const sparc_mode *m = view_mode(v, t, v->by_energy[k]);
      fprintf(f, "%d,%d,%d,%.6g,%.6g,%.6g,%.6g\n", v->by_energy[k] + 1, t + 1, v->from->event ? v->from->event[t] : -1,
              m->h_re, m->h_im, x + scale * m->h_re, y + scale * m->h_im);
    }
  }
  return SPARC_OK;
}

static void portrait_script(FILE *f, const void *context) {
  const scene *s = context;
  const view *v = &s->view;
  const int n = portraits_of(v), columns = n < PORTRAIT_COLUMNS ? n : PORTRAIT_COLUMNS;
  const int rows = (n + PORTRAIT_COLUMNS - 1) / PORTRAIT_COLUMNS;
  fprintf(f, "unset border\nunset tics\nset size ratio -1\nset tmargin 4\nset key bottom right opaque\n");
  fprintf(f, "set xrange [-1.2:%.2f]\nset yrange [%.2f:1.4]\n", 2.4 * columns - 1.2, -2.6 * (rows - 1) - 1.2);
  fprintf(f, "set palette defined (0 '#c6dbef', 1 '#2171b5', 2 '#08306b')\nset cbrange [1:%d]\n", v->T > 1 ? v->T : 2);
  fprintf(f, "set cblabel 'step'\nset cbtics out\n");
  put_heading(f, s, "states of the modes with the highest energy");
  put_event_names(f, v);
  for (int k = 0; k < n; k++) {
    const sparc_mode *m = view_mode(v, 0, v->by_energy[k]);
    const double x = portrait_x(k), y = portrait_y(k);
    fprintf(f, "set object %d circle at %.2f,%.2f size 1 fillstyle empty border linecolor rgb '#dfe3e8'\n", k + 1, x,
            y);
    fprintf(f, "set arrow from %.2f,%.2f to %.2f,%.2f nohead back linecolor rgb '#dfe3e8'\n", x - 1, y, x + 1, y);
    fprintf(f, "set arrow from %.2f,%.2f to %.2f,%.2f nohead back linecolor rgb '#dfe3e8'\n", x, y - 1, x, y + 1);
    fprintf(f, "set label 'mode %d", v->by_energy[k] + 1);
    if (!isnan(m->nu)) fprintf(f, ", time constant %.3g steps", 1 / m->nu);
    fprintf(f, "' at %.2f,%.2f center font ',11' textcolor rgb '#3c4650'\n", x, y + 1.12);
  }
  fprintf(f, "plot data using 'x':'y':'step' with lines linewidth 1.5 linecolor palette notitle");
  for (int i = 0; v->replay->event_names && v->replay->event_names[i]; i++)
    if (has_event(v, i))
      fprintf(f,
              ", \\\n     data using (column('event') == %d ? column('x') : NaN):'y' with points pointtype 7 "
              "pointsize 0.6 linecolor rgb '%s' notitle",
              i, plot_colour(i));
  fprintf(f, "\n");
}

/* ---- drawing ------------------------------------------------------------------------------------- */

static const struct figure_kind {
  const char *name, *caption;
  int width, height;
  bool (*possible)(const view *v);
  sparc_status (*data)(FILE *f, const void *context);
  void (*script)(FILE *f, const void *context);
} kinds[] = {
    {"disc", "Eigenvalues of the modes in the unit disc: baseline, and under control at recorded steps.", 680, 600,
     view_has_disc, disc_data, disc_script},
    {"controls", "The two controls over time; vertical lines are events.", 900, 320, view_has_controls, controls_data,
     controls_script},
    {"energy", "Energy of every mode over time, slowest modes at the top.", 900, 480, has_states, energy_data,
     energy_script},
    {"portrait", "Trajectories of the modes with the highest energy, each normalised to its maximum magnitude.", 900,
     600, view_is_complex, portrait_data, portrait_script},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* maximum length of task and cell, and with the numbers of run and layer */
enum { BASE_NAME = FIGURE_NAME - 60, LAYER_NAME = FIGURE_NAME - 16 };

static sparc_status draw_scene(const scene *s, const char *folder, const char *name, diagnosis_figures *out) {
  for (int i = 0; i < KINDS; i++) {
    diagnosis_figure *made = &out->figure[out->count];
    if (!kinds[i].possible(&s->view)) continue;
    *made = (diagnosis_figure){.caption = kinds[i].caption, .run = s->run, .layer = s->view.layer};
    snprintf(made->name, sizeof made->name, "%s-%s", name, kinds[i].name);
    const plot p = {.command = "sparc diagnose",
                    .name = made->name,
                    .width = kinds[i].width,
                    .height = kinds[i].height,
                    .data = kinds[i].data,
                    .script = kinds[i].script,
                    .context = s};
    const sparc_status status = plot_draw(&p, folder, &made->drawn);
    if (status != SPARC_OK) return status;
    out->count++;
  }
  return SPARC_OK;
}

static void title_of(const diagnosis *d, int layer, char title[REPLAY_TITLE + 40]) {
  snprintf(title, REPLAY_TITLE + 40, d->layers > 1 ? "%s, layer %d" : "%s", d->replay.title, layer + 1);
}

static sparc_status draw_layer(const diagnosis *d, int run, int layer, const char *folder, const char *name,
                               diagnosis_figures *out) {
  char title[REPLAY_TITLE + 40];
  scene s = {.title = title, .run = run};
  title_of(d, layer, title);
  sparc_status status = view_open(&d->replay, layer, &s.view);
  if (status == SPARC_OK) status = draw_scene(&s, folder, name, out);
  view_close(&s.view);
  return status;
}

/* "event-order-sparc" */
static void base_name(const diagnosis *d, char name[BASE_NAME]) {
  const replay *r = &d->replay;
  enum { HALF = BASE_NAME / 2 - 1 }; /* long names are truncated */
  snprintf(name, BASE_NAME, "%.*s-%.*s", HALF, r->task, HALF, r->cell);
  for (char *at = name; *at; at++)
    if (!isalnum((unsigned char)*at) && !strchr("-._", *at)) *at = '-';
}

/* runs with the same base name are numbered from the second on */
static void layer_name(const diagnosis *runs, int run, int layer, char name[LAYER_NAME]) {
  char base[BASE_NAME], other[BASE_NAME], number[16] = "", depth[24] = "";
  int same = 1;
  base_name(&runs[run], base);
  for (int i = 0; i < run; i++) {
    base_name(&runs[i], other);
    same += strcmp(base, other) == 0;
  }
  if (same > 1) snprintf(number, sizeof number, "-%d", same);
  if (runs[run].layers > 1) snprintf(depth, sizeof depth, "-layer%d", layer + 1);
  snprintf(name, LAYER_NAME, "%s%s%s", base, number, depth);
}

sparc_status diagnosis_draw(const diagnosis *runs, int count, const char *folder, diagnosis_figures *out) {
  size_t max_figures = 0;
  for (int i = 0; i < count; i++) max_figures += (size_t)runs[i].layers * KINDS;
  *out = (diagnosis_figures){.figure = sparc_alloc(max_figures * sizeof *out->figure)};
  if (!out->figure) return fail(SPARC_NO_MEMORY, "no memory for %zu figures", max_figures);
  sparc_status status = SPARC_OK;
  for (int i = 0; i < count; i++)
    for (int layer = 0; layer < runs[i].layers && status == SPARC_OK; layer++) {
      char name[LAYER_NAME];
      layer_name(runs, i, layer, name);
      status = draw_layer(&runs[i], i, layer, folder, name, out);
    }
  if (status != SPARC_OK) diagnosis_figures_free(out);
  return status;
}

void diagnosis_figures_free(diagnosis_figures *figures) {
  sparc_free(figures->figure);
  *figures = (diagnosis_figures){.count = 0};
}
