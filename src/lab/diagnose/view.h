/* SPDX-License-Identifier: MIT */
/* view.h: one layer of a trained run under its first recording, for figures: what is shown of it and in which order,
 * and the same as data of charts for a page. */
#ifndef SPARC_LAB_DIAGNOSE_VIEW_H
#define SPARC_LAB_DIAGNOSE_VIEW_H

#include "lab/diagnose/diagnosis.h"

#include <jansson.h>
#include <stdbool.h>

typedef struct view {
  const replay *replay;
  const recording *from;
  sparc_inspection *seen;
  int *order;     /* (H): modes, those with the least mean decay first */
  int *by_energy; /* (H): modes, those with the most energy first */
  int T;          /* steps that are shown: long recordings are cut to what an eye can follow */
  int layer;
} view;

sparc_status view_open(const replay *r, int layer, view *out);
void view_close(view *v); /* a zeroed one is fine, too */

static inline const sparc_mode *view_mode(const view *v, int t, int j) { return &v->seen->mode[t * v->seen->H + j]; }
double view_energy(const sparc_mode *m); /* |h|^2 */
double view_max_energy(const view *v);

/* what the cell has to show */
bool view_has_disc(const view *v);     /* eigenvalues in the complex plane */
bool view_has_controls(const view *v); /* r and p */
bool view_has_baseline(const view *v); /* a decay and frequency that control moves */
bool view_is_complex(const view *v);   /* states in the complex plane */

/* view_distinct_steps lists steps, at most `max_steps` over the whole recording, at which the eigenvalue of mode j is somewhere
 * else than at those before, by more than `distance`; returns how many */
int view_distinct_steps(const view *v, int j, int max_steps, double distance, int *steps);

/* controls at a step: mean, least and most over the modes, first r, then p */
typedef struct view_control {
  double mean, min, max;
} view_control;
void view_controls(const view *v, int t, view_control controls[2]);

/* view_charts describes the four views as lab/html/page.js draws them: an array of objects, a new reference; NULL: no
 * memory */
json_t *view_charts(const view *v);

#endif
