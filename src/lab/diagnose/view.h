/* SPDX-License-Identifier: MIT */
/* view.h: one layer of a trained run on its first recording, for figures and charts. */
#ifndef SPARC_LAB_DIAGNOSE_VIEW_H
#define SPARC_LAB_DIAGNOSE_VIEW_H

#include "lab/diagnose/diagnosis.h"

#include <jansson.h>
#include <stdbool.h>

typedef struct view {
  const replay *replay;
  const recording *from;
  sparc_inspection *seen;
  int *order;     /* (H): modes by mean decay, slowest first */
  int *by_energy; /* (H): modes by energy, highest first */
  int T;          /* steps shown; long recordings are truncated */
  int layer;
} view;

sparc_status view_open(const replay *r, int layer, view *out);
void view_close(view *v); /* accepts a zeroed structure */

static inline const sparc_mode *view_mode(const view *v, int t, int j) { return &v->seen->mode[t * v->seen->H + j]; }
double view_energy(const sparc_mode *m); /* |h|^2 */
double view_max_energy(const view *v);

/* which views apply to the cell */
bool view_has_disc(const view *v);     /* eigenvalues in the complex plane */
bool view_has_controls(const view *v); /* r and p */
bool view_has_baseline(const view *v); /* a baseline decay and frequency that control changes */
bool view_is_complex(const view *v);   /* states in the complex plane */

/* Lists up to `max_steps` steps of the recording at which the eigenvalue of mode j differs by more than `distance` from
 * its values at the earlier listed steps; returns their number. */
int view_distinct_steps(const view *v, int j, int max_steps, double distance, int *steps);

/* controls r and p at a step: mean, minimum and maximum over the modes */
typedef struct view_control {
  double mean, min, max;
} view_control;
void view_controls(const view *v, int t, view_control controls[2]);

/* The views as chart data for lab/html/page.js: an array, a new reference; NULL: no memory. */
json_t *view_charts(const view *v);

#endif
