/* SPDX-License-Identifier: MIT */
/* figures.h: seeing the memory of a trained cell: its eigenvalues in the unit disc and where control moves them, the
 * controls over time, the energy of every mode, and the paths of states in the complex plane. */
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

/* diagnosis_draw writes data and scripts of every run and layer, under its first recording, into a folder that is
 * there, and has them drawn. Views that need what a cell does not have are left out. */
sparc_status diagnosis_draw(const diagnosis *runs, int count, const char *folder, diagnosis_figures *out);
void diagnosis_figures_free(diagnosis_figures *figures); /* a zeroed one is fine, too */

#endif
