/* SPDX-License-Identifier: MIT */
/* figures.h: the results of a grid as data files, as gnuplot scripts that draw them, and drawn as SVG and PNG. */
#ifndef SPARC_LAB_GRID_GRID_FIGURES_H
#define SPARC_LAB_GRID_GRID_FIGURES_H

#include "lab/grid/results.h"

typedef enum figure_kind {
  FIGURE_SCORES,   /* of all tasks: means, spreads, single runs and the paper's numbers */
  FIGURE_PROFILES, /* fractions of runs above each normalised score (reliable.h) */
  FIGURE_CURVES,   /* the learning curves of one task */
  FIGURE_EXAMPLE,  /* an evaluation sequence of a diagnostic task and what the methods say of it (example.h) */
  FIGURE_KINDS
} figure_kind;

typedef struct grid_figure {
  char name[GRID_NAME + 8]; /* of the files: NAME.gp, NAME.svg, NAME.png */
  figure_kind kind;
  int task; /* of curves and examples, in the selection */
} grid_figure;

enum { GRID_MAX_FIGURES = 2 * GRID_MAX_ENTRIES + 2 };

/* grid_figures lists those that there is something to draw for, and returns their number */
int grid_figures(const grid_results *r, grid_figure figures[GRID_MAX_FIGURES]);

/* the folder of the figures, in that of the grid */
void grid_figures_folder(const grid_jobs *jobs, char path[JOB_PATH]);

typedef struct grid_drawing {
  int figures;                     /* drawn */
  char reason[JOB_TEXT];           /* why some are missing; "": none is */
  char *example[GRID_MAX_ENTRIES]; /* by task of the selection: the SVG of its example; NULL: none */
} grid_drawing;

/* grid_figures_draw writes data and scripts, and draws. A figure that cannot be drawn is no failure: *drawing says why.
 * grid_drawing_free releases what *drawing holds in any case. */
sparc_status grid_figures_draw(const grid_results *r, grid_drawing *drawing);
void grid_drawing_free(grid_drawing *drawing); /* a zeroed one is fine, too */

/* grid_colour is the colour of a method of the grid: its own, or one of a palette that the colour-blind can tell apart
 */
const char *grid_colour(const grid *g, int method);

#endif
