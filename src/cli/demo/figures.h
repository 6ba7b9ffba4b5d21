/* SPDX-License-Identifier: MIT */
/* figures.h: the results of `sparc demo` as data files and as gnuplot scripts that draw them. */
#ifndef SPARC_CLI_DEMO_FIGURES_H
#define SPARC_CLI_DEMO_FIGURES_H

#include "cli/demo/run.h"

/* Below the folder: data/TASK-example.csv, data/TASK-scores.csv, data/TASK-curve.csv, data/TASK-loss.csv. The folder
 * and data/ must exist. */
sparc_status demo_write_data(const demo *d, const char *folder);

/* FIGURE.gp for every figure; each writes FIGURE.svg beside itself */
sparc_status demo_write_scripts(const demo *d, const char *folder);

typedef struct demo_figure {
  char name[32]; /* of the script and of the SVG file */
  int task;      /* whose example it shows; -1: it shows all tasks */
  const char *caption;
} demo_figure;

/* demo_figures lists them in the order of the report, at most DEMO_TASKS_MAX + 2, and returns their number */
int demo_figures(const demo *d, demo_figure *figures);

/* how a cell is called in print ("RG-LRU"), and the colour of its lines */
const char *demo_cell_title(const char *cell);
const char *demo_cell_colour(const char *cell);

/* scores are shown in per cent where they are fractions of 1 */
double demo_score_scale(const sparc_task *task);
const char *demo_score_label(const sparc_task *task);

#endif
