/* SPDX-License-Identifier: MIT */
/* demo_grid.h: the grid of `sparc demo`: figure1 for any cells, with rows of figure1-full if it has them. */
#ifndef SPARC_LAB_GRID_DEMO_GRID_H
#define SPARC_LAB_GRID_DEMO_GRID_H

#include "lab/grid/grid.h"

typedef struct demo_request {
  const char *const *cells, *const *tasks; /* names, NULL-terminated */
  const char *variant;                     /* of the cells that have variants; NULL: not requested */
  const char *options;                     /* of all cells; NULL: not requested */
  uint64_t seed;                           /* the first */
  int seeds;
  long updates; /* 0: the task's default */
} demo_request;

/* Creates the grid. A cell gets its rows of the paper's comparison, or one row with the requested options, or one row
 * with its name. If a cell's output is narrow because a task has few inputs, all cells get the linear embedding of
 * figure1-full. Call grid_free on *out in any case. */
sparc_status demo_grid(const demo_request *q, grid *out);

#endif
