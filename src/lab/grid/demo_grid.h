/* SPDX-License-Identifier: MIT */
/* demo.h: the grid of `sparc demo`: the built-in grid figure1 for any cells, a row of figure1-full where it has one. */
#ifndef SPARC_LAB_GRID_DEMO_GRID_H
#define SPARC_LAB_GRID_DEMO_GRID_H

#include "lab/grid/grid.h"

typedef struct demo_request {
  const char *const *cells, *const *tasks; /* names, NULL-terminated */
  const char *variant;                     /* for the cells that have variants; NULL: none was asked for */
  const char *options;                     /* for all cells; NULL: none were asked for */
  uint64_t seed;                           /* the first */
  int seeds;
  long updates; /* 0: as many as the task says */
} demo_request;

/* demo_grid makes the grid. A cell has its rows of the paper's comparison, or one with what was asked for, or one by
 * its own name. Where a cell's output is narrow because a task has few inputs, every cell gets the linear embedding of
 * figure1-full, so that all see the same. *out is to be released with grid_free in any case. */
sparc_status demo_grid(const demo_request *request, grid *out);

#endif
