/* SPDX-License-Identifier: MIT */
/* charts.c: the four views as chart data for page.js, which draws them at the width and colours of the page. Numbers are
 * rounded to what a picture can show: three decimals, and 64 levels of energy. */
#include "lab/diagnose/view.h"

#include <math.h>
#include <stdlib.h>

enum { DISC_POINTS = 1600, MAX_DISC_STEPS = 60, ENERGY_ROWS = 96, ENERGY_SHADES = 64, PORTRAITS = 6 };
static const double ENERGY_DECADES = 4;

static json_t *rounded(double value) { return isfinite(value) ? json_real(round(1000 * value) / 1000) : json_null(); }

/* takes the references; a NULL (no memory) is detected when the chart is dumped */
static json_t *pair(double a, double b) { return json_pack("[o, o]", rounded(a), rounded(b)); }

/* ---- eigenvalues --------------------------------------------------------------------------------- */

/* of every mode the baseline and the eigenvalues at steps: [[re, im], [re, im, r], ...] */
static json_t *disc_of_mode(const view *v, int j) {
  int steps[MAX_DISC_STEPS];
  const int share = DISC_POINTS / v->seen->H, max_steps = share < 4                ? 4
                                                          : share < MAX_DISC_STEPS ? share
                                                                                   : MAX_DISC_STEPS;
  const int count = view_distinct_steps(v, j, max_steps, 0.01, steps);
  const sparc_mode *first = view_mode(v, 0, j);
  json_t *list = json_array();
  json_array_append_new(list, view_has_baseline(v)
                                  ? pair(exp(-first->nu) * cos(first->theta), exp(-first->nu) * sin(first->theta))
                                  : json_null());
  for (int i = 0; i < count; i++) {
    const sparc_mode *m = view_mode(v, steps[i], j);
    json_array_append_new(list, json_pack("[o, o, o]", rounded(m->rho * cos(m->angle)), rounded(m->rho * sin(m->angle)),
                                          rounded(isnan(m->r) ? 0 : m->r)));
  }
  return list;
}

static json_t *disc(const view *v) {
  json_t *modes = json_array();
  for (int j = 0; j < v->seen->H; j++) json_array_append_new(modes, disc_of_mode(v, j));
  return json_pack("{s:s, s:s, s:b, s:o}", "kind", "disc", "title",
                   view_has_controls(v) ? "Eigenvalues under control" : "Eigenvalues", "controlled",
                   view_has_controls(v), "modes", modes);
}

/* ---- over time ----------------------------------------------------------------------------------- */

/* [step, index into names] */
static json_t *events(const view *v) {
  json_t *list = json_array();
  for (int t = 0; v->from->event && t < v->T; t++)
    if (v->from->event[t] >= 0) json_array_append_new(list, json_pack("[i, i]", t + 1, v->from->event[t]));
  return list;
}

static json_t *event_names(const view *v) {
  json_t *list = json_array();
  for (const char *const *name = v->replay->event_names; name && *name; name++)
    json_array_append_new(list, json_string(*name));
  return list;
}

/* [step, value], or [step, mean, min, max] if modes have different controls */
static json_t *control_point(int t, const view_control *c) {
  json_t *point = json_pack("[i, o]", t + 1, rounded(c->mean));
  if (c->max - c->min > 1e-9) {
    json_array_append_new(point, rounded(c->min));
    json_array_append_new(point, rounded(c->max));
  }
  return point;
}

static json_t *controls(const view *v) {
  static const char *const names[] = {"r, retention", "p, phase"}, *const colours[] = {"#3b6fd4", "#c4762a"};
  json_t *points[2] = {json_array(), json_array()}, *lines = json_array();
  for (int t = 0; t < v->T; t++) {
    view_control c[2];
    view_controls(v, t, c);
    for (int i = 0; i < 2; i++) json_array_append_new(points[i], control_point(t, &c[i]));
  }
  for (int i = 0; i < 2; i++)
    json_array_append_new(lines,
                          json_pack("{s:s, s:s, s:o}", "name", names[i], "colour", colours[i], "points", points[i]));
  return json_pack("{s:s, s:s, s:s, s:s, s:[i, i], s:o, s:o, s:o}", "kind", "lines", "title", "Controls over time", "x",
                   "step", "y", "", "range", -1, 1, "events", events(v), "names", event_names(v), "lines", lines);
}

/* with more modes than rows, adjacent modes share a row, which shows their maximum */
static char *shades(const view *v, int rows, double max_log_energy) {
  /* URL-safe base64 digits need no escaping in JSON or HTML */
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  char *text = calloc((size_t)rows * (size_t)v->T + 1, 1);
  for (int row = 0; text && row < rows; row++)
    for (int t = 0; t < v->T; t++) {
      double e = 0;
      for (int k = row * v->seen->H / rows; k < (row + 1) * v->seen->H / rows; k++)
        e = fmax(e, view_energy(view_mode(v, t, v->order[k])));
      const double above = e > 0 ? (log10(e) - max_log_energy) / ENERGY_DECADES + 1 : 0;
      const int shade = (int)(fmin(fmax(above, 0), 1) * (ENERGY_SHADES - 1) + 0.5);
      text[row * v->T + t] = digits[shade];
    }
  return text;
}

static json_t *energies(const view *v) {
  const int rows = v->seen->H < ENERGY_ROWS ? v->seen->H : ENERGY_ROWS;
  const double max_log_energy = log10(view_max_energy(v));
  char *text = shades(v, rows, max_log_energy);
  json_t *chart =
      json_pack("{s:s, s:s, s:i, s:i, s:i, s:b, s:[o, o], s:o, s:o, s:s}", "kind", "energy", "title",
                "Energy of the modes", "rows", rows, "steps", v->T, "modes", v->seen->H, "ordered",
                !isnan(view_mode(v, 0, 0)->e), "range", rounded(max_log_energy - ENERGY_DECADES),
                rounded(max_log_energy), "events", events(v), "names", event_names(v), "cells", text ? text : "");
  free(text);
  return chart;
}

/* ---- trajectories --------------------------------------------------------------------------------------- */

/* normalised to the maximum magnitude of the mode */
static json_t *path_of_mode(const view *v, int j) {
  double farthest = 0;
  json_t *path = json_array();
  for (int t = 0; t < v->T; t++) farthest = fmax(farthest, sqrt(view_energy(view_mode(v, t, j))));
  for (int t = 0; t < v->T; t++) {
    const sparc_mode *m = view_mode(v, t, j);
    json_array_append_new(path, pair(m->h_re / (farthest > 0 ? farthest : 1), m->h_im / (farthest > 0 ? farthest : 1)));
  }
  const double nu = view_mode(v, 0, j)->nu;
  return json_pack("{s:i, s:o, s:o}", "mode", j + 1, "memory", rounded(1 / nu), "path", path);
}

static json_t *portraits(const view *v) {
  json_t *modes = json_array();
  for (int k = 0; k < PORTRAITS && k < v->seen->H; k++) json_array_append_new(modes, path_of_mode(v, v->by_energy[k]));
  return json_pack("{s:s, s:s, s:o, s:o, s:o}", "kind", "portrait", "title",
                   "States of the modes with the highest energy", "events", events(v), "names", event_names(v), "modes",
                   modes);
}

json_t *view_charts(const view *v) {
  json_t *list = json_array();
  if (view_has_disc(v)) json_array_append_new(list, disc(v));
  if (view_has_controls(v)) json_array_append_new(list, controls(v));
  json_array_append_new(list, energies(v));
  if (view_is_complex(v)) json_array_append_new(list, portraits(v));
  return list;
}
