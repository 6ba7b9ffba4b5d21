/* SPDX-License-Identifier: MIT */
/* view.c: order of modes, and selection of steps. */
#include "lab/diagnose/view.h"

#include "base/error.h"

#include <math.h>
#include <stdlib.h>

enum { SHOWN_STEPS = 200 };

double view_energy(const sparc_mode *m) { return m->h_re * m->h_re + (isnan(m->h_im) ? 0 : m->h_im * m->h_im); }

double view_max_energy(const view *v) {
  double max = 0;
  for (int i = 0; i < v->T * v->seen->H; i++) max = fmax(max, view_energy(&v->seen->mode[i]));
  return max > 0 ? max : 1;
}

/* ---- order --------------------------------------------------------------------------------------- */

typedef struct ranked {
  double key;
  int mode;
} ranked;

static int ascending(const void *a, const void *b) {
  const ranked *x = a, *y = b;
  return x->key != y->key ? (x->key > y->key) - (x->key < y->key) : x->mode - y->mode;
}

static double negative_energy(const sparc_mode *m) { return -view_energy(m); }
static double decay(const sparc_mode *m) { return isnan(m->e) ? 0 : m->e; }

/* modes by the sum over the shown steps */
static sparc_status rank_modes(const view *v, double (*of)(const sparc_mode *), int *order) {
  const int H = v->seen->H;
  ranked *list = sparc_alloc((size_t)H * sizeof *list);
  if (!list) return fail(SPARC_NO_MEMORY, "no memory for %d modes", H);
  for (int j = 0; j < H; j++) {
    list[j] = (ranked){.mode = j};
    for (int t = 0; t < v->T; t++) list[j].key += of(view_mode(v, t, j));
  }
  qsort(list, (size_t)H, sizeof *list, ascending);
  for (int j = 0; j < H; j++) order[j] = list[j].mode;
  sparc_free(list);
  return SPARC_OK;
}

sparc_status view_open(const replay *r, int layer, view *out) {
  *out = (view){.replay = r, .from = &r->recording[0], .layer = layer};
  sparc_status status = diagnosis_inspect(r, layer, out->from, &out->seen);
  if (status != SPARC_OK) return status;
  const size_t H = (size_t)out->seen->H;
  out->T = out->seen->T < SHOWN_STEPS ? out->seen->T : SHOWN_STEPS;
  out->order = sparc_alloc(H * sizeof *out->order);
  out->by_energy = sparc_alloc(H * sizeof *out->by_energy);
  if (!out->order || !out->by_energy) status = fail(SPARC_NO_MEMORY, "no memory for %zu modes", H);
  if (status == SPARC_OK) status = rank_modes(out, decay, out->order);
  if (status == SPARC_OK) status = rank_modes(out, negative_energy, out->by_energy);
  if (status != SPARC_OK) view_close(out);
  return status;
}

void view_close(view *v) {
  sparc_inspection_free(v->seen);
  sparc_free(v->order);
  sparc_free(v->by_energy);
  *v = (view){.T = 0};
}

/* ---- which views apply --------------------------------------------------------------------------- */

bool view_has_disc(const view *v) { return !isnan(view_mode(v, 0, 0)->angle) && !isnan(view_mode(v, 0, 0)->h_im); }
bool view_has_controls(const view *v) { return !isnan(view_mode(v, 0, 0)->r); }
bool view_has_baseline(const view *v) { return !isnan(view_mode(v, 0, 0)->nu) && view_has_controls(v); }
bool view_is_complex(const view *v) { return !isnan(view_mode(v, 0, 0)->h_im); }

static bool is_near_earlier(const view *v, int j, const int *steps, int count, const sparc_mode *m, double distance) {
  const double re = m->rho * cos(m->angle), im = m->rho * sin(m->angle);
  for (int i = 0; i < count; i++) {
    const sparc_mode *other = view_mode(v, steps[i], j);
    if (hypot(other->rho * cos(other->angle) - re, other->rho * sin(other->angle) - im) < distance) return true;
  }
  return false;
}

int view_distinct_steps(const view *v, int j, int max_steps, double distance, int *steps) {
  const int T = v->seen->T, looked = T < max_steps ? T : max_steps;
  int count = 0;
  for (int i = 0; i < looked; i++) {
    const int t = (int)((long)i * T / looked);
    if (!is_near_earlier(v, j, steps, count, view_mode(v, t, j), distance)) steps[count++] = t;
  }
  return count;
}

/* the modes share one pair of controls, or have one each */
void view_controls(const view *v, int t, view_control controls[2]) {
  for (int i = 0; i < 2; i++) controls[i] = (view_control){.mean = 0, .min = 1, .max = -1};
  for (int j = 0; j < v->seen->H; j++) {
    const double seen[2] = {view_mode(v, t, j)->r, view_mode(v, t, j)->p};
    for (int i = 0; i < 2; i++) {
      controls[i].mean += seen[i] / v->seen->H;
      controls[i].min = fmin(controls[i].min, seen[i]);
      controls[i].max = fmax(controls[i].max, seen[i]);
    }
  }
}
