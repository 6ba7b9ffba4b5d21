/* SPDX-License-Identifier: MIT */
/* grid_figures.h: figures of a grid's results: data files, gnuplot scripts, SVG and PNG. */
#ifndef SPARC_LAB_GRID_GRID_FIGURES_H
#define SPARC_LAB_GRID_GRID_FIGURES_H

#include "lab/grid/results.h"

typedef enum figure_kind {
  FIGURE_SCORES,   /* all tasks: means, standard deviations, single runs and the paper's means */
  FIGURE_PROFILES, /* performance profiles: fraction of runs above each normalised score (reliable.h) */
  FIGURE_CURVES,   /* learning curves of one task */
  FIGURE_EXAMPLE,  /* an evaluation sequence of a diagnostic task and the methods' outputs (example.h) */
  FIGURE_KINDS
} figure_kind;

typedef struct grid_figure {
  char name[GRID_NAME + 8]; /* of the files: NAME.gp, NAME.svg, NAME.png */
  figure_kind kind;
  int task; /* of curves and examples, in the selection */
} grid_figure;

enum { GRID_MAX_FIGURES = 2 * GRID_MAX_ENTRIES + 2 };

/* lists the figures that have data; returns their number */
int grid_figures(const grid_results *r, grid_figure figures[GRID_MAX_FIGURES]);

/* the figures folder of the grid */
void grid_figures_folder(const grid_jobs *jobs, char path[JOB_PATH]);

typedef struct grid_drawing {
  int figures;                     /* drawn */
  char reason[JOB_TEXT];           /* why figures are missing; "": none is missing */
  char *example[GRID_MAX_ENTRIES]; /* by task of the selection: the SVG of its example; NULL: none */
} grid_drawing;

/* Writes data and scripts, and draws. A figure that cannot be drawn is not an error; *drawing has the reason. Call
 * grid_drawing_free in any case. */
sparc_status grid_figures_draw(const grid_results *r, grid_drawing *drawing);
void grid_drawing_free(grid_drawing *drawing); /* accepts a zeroed structure */

/* colour of a method: its own, or one of a colour-blind safe palette */
const char *grid_colour(const grid *g, int method);

/* whether an earlier method of the selection has the colour of a method, whose lines are dashed then */
bool grid_repeats_colour(const grid_jobs *jobs, int method);

#endif
