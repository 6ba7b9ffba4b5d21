/* SPDX-License-Identifier: MIT */
/* selection.h: which part of a grid is meant: a row, a column, a field or one run of it. */
#ifndef SPARC_LAB_GRID_SELECTION_H
#define SPARC_LAB_GRID_SELECTION_H

#include "lab/grid/grid.h"

typedef struct selection_request {
  const char *path;            /* "TASK/METHOD/sSEED", any of it "*" or left out behind; NULL or "": everything */
  const char *tasks, *methods; /* "A,B"; NULL: all */
  const char *seeds;           /* "3": the first three, "2-4": from, to; NULL: those of the grid */
} selection_request;

typedef struct selection {
  int task[GRID_MAX_ENTRIES], tasks, method[GRID_MAX_ENTRIES], methods;
  uint64_t seed[GRID_MAX_SEEDS];
  int seeds;
} selection;

/* selection_make finds what is meant; a grid with fewer seeds than are asked for counts on from its last one.
 * SPARC_INVALID: there is no such task, method or seed. */
sparc_status selection_make(const grid *g, const selection_request *request, selection *out);

/* selection_split cuts "NAME/TASK/METHOD/sSEED" or "path/to/grid.json/TASK/..." behind the name of the grid. *name has
 * room for size bytes; *path points into the text, NULL: there is no more. false: the name does not fit. */
bool selection_split(const char *text, char *name, size_t size, const char **path);

#endif
