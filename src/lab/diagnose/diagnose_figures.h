/* SPDX-License-Identifier: MIT */
/* diagnose_figures.h: figures of a trained cell: eigenvalues in the unit disc with and without control, controls over
 * time, energy of every mode, and trajectories of states in the complex plane. */
#ifndef SPARC_LAB_DIAGNOSE_DIAGNOSE_FIGURES_H
#define SPARC_LAB_DIAGNOSE_DIAGNOSE_FIGURES_H

#include "lab/diagnose/diagnosis.h"

#include <stdbool.h>

enum { FIGURE_NAME = 200 };

typedef struct diagnosis_figure {
  char name[FIGURE_NAME]; /* NAME.csv, NAME.gp and, if drawn, NAME.svg and NAME.png */
  const char *caption;
  int run, layer;
  bool drawn; /* false: gnuplot is not installed */
} diagnosis_figure;

typedef struct diagnosis_figures {
  diagnosis_figure *figure;
  int count;
} diagnosis_figures;

/* Writes data and scripts of every run and layer, for its first recording, to an existing folder and draws them. Views
 * that do not apply to a cell are left out. */
sparc_status diagnosis_draw(const diagnosis *runs, int count, const char *folder, diagnosis_figures *out);
void diagnosis_figures_free(diagnosis_figures *figures); /* accepts a zeroed structure */

#endif
