/* SPDX-License-Identifier: MIT */
/* figures.h: the results of an experiment as data files and as gnuplot scripts that draw them. */
#ifndef SPARC_LAB_EXPERIMENT_FIGURES_H
#define SPARC_LAB_EXPERIMENT_FIGURES_H

#include "lab/experiment/experiment.h"

/* Below the folder: data/TASK-example.csv, data/TASK-scores.csv, data/TASK-curve.csv, data/TASK-loss.csv. The folder
 * and data/ must exist. */
sparc_status experiment_write_data(const experiment *e, const char *folder);

/* FIGURE.gp for every figure; each writes FIGURE.svg beside itself */
sparc_status experiment_write_scripts(const experiment *e, const char *folder);

typedef struct experiment_figure {
  char name[32]; /* of the script and of the SVG file */
  int task;      /* whose example it shows; -1: it shows all tasks */
  const char *caption;
} experiment_figure;

/* experiment_figures lists them in the order of the report, at most EXPERIMENT_TASKS + 2, and returns their number */
int experiment_figures(const experiment *e, experiment_figure *figures);

/* scores are shown in per cent where they are fractions of 1 */
double score_scale(const sparc_task *task);
const char *score_label(const sparc_task *task);

#endif
