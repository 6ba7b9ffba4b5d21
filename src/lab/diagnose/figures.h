/* SPDX-License-Identifier: MIT */
/* figures.h: seeing the memory of a trained cell: its eigenvalues in the unit disc and where control moves them, the
 * controls over time, the energy of every mode, and the paths of states in the complex plane. */
#ifndef SPARC_LAB_DIAGNOSE_FIGURES_H
#define SPARC_LAB_DIAGNOSE_FIGURES_H

#include "lab/diagnose/diagnosis.h"

enum { FIGURE_NAME = 200, DIAGNOSIS_FIGURES = 4 };

typedef struct diagnosis_figure {
  char name[FIGURE_NAME]; /* NAME.csv, NAME.gp and, where gnuplot is there, NAME.svg and NAME.png */
  const char *caption;
} diagnosis_figure;

/* diagnosis_draw writes data and scripts of one layer's figures under the first recording into a folder that is there,
 * and has them drawn. Those that need what the cell does not have are left out; *count says how many there are.
 * SPARC_UNSUPPORTED: data and scripts are written, but there is no gnuplot. */
sparc_status diagnosis_draw(const diagnosis *d, const char *folder, const char *name, int layer,
                            diagnosis_figure figures[DIAGNOSIS_FIGURES], int *count);

/* a name for the files of a run's figures: "event-order", "FordA-rtu" */
void diagnosis_file_name(const diagnosis *d, char *name, size_t size);

#endif
