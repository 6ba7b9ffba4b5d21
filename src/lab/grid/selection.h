/* SPDX-License-Identifier: MIT */
/* selection.h: a subset of a grid: tasks, methods and seeds. */
#ifndef SPARC_LAB_GRID_SELECTION_H
#define SPARC_LAB_GRID_SELECTION_H

#include "lab/grid/grid.h"

typedef struct selection_request {
  const char *path;            /* "TASK/METHOD/sSEED", "*" for any, trailing parts optional; NULL or "": all */
  const char *tasks, *methods; /* "A,B"; NULL: all */
  const char *seeds;           /* "3": the first three, "2-4": from, to; NULL: those of the grid */
} selection_request;

typedef struct selection {
  int task[GRID_MAX_ENTRIES], tasks, method[GRID_MAX_ENTRIES], methods;
  uint64_t seed[GRID_MAX_SEEDS];
  int seeds;
} selection;

/* Resolves a request. If it has more seeds than the grid, seeds continue from the last one. Returns SPARC_INVALID for an
 * unknown task, method or seed. */
sparc_status selection_make(const grid *g, const selection_request *request, selection *out);

/* Splits "NAME/TASK/METHOD/sSEED" or "path/to/grid.json/TASK/..." after the name of the grid. `name` holds size bytes;
 * *path points into the text, NULL: no selection. Returns false if the name does not fit. */
bool selection_split(const char *text, char *name, size_t size, const char **path);

#endif
