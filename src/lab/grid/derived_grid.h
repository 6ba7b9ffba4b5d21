/* SPDX-License-Identifier: MIT */
/* part.h: grids that are made of a built-in one.
 *
 *   {"of": "figure1-full", "name": "figure1", "tasks": ["event-order", "tracking"], "methods": ["sparc", "rtu"]}
 *
 * takes the tasks and methods named, in this order, with the paper's numbers for them. A list that is left out means
 * all; every other key replaces that of the built-in grid. */
#ifndef SPARC_LAB_GRID_DERIVED_GRID_H
#define SPARC_LAB_GRID_DERIVED_GRID_H

#include "sparc/base.h"

#include <jansson.h>

/* grid_base is the JSON of a built-in grid, a new reference; SPARC_INVALID: there is none of this name */
sparc_status grid_base(const char *name, json_t **out);

/* grid_select reduces a grid to the tasks and methods named, NULL: to all. SPARC_INVALID: it has no such. */
sparc_status grid_select(json_t *file, const json_t *tasks, const json_t *methods);

/* grid_derive replaces *file by what it stands for if it has "of"; the reference goes over. SPARC_FORMAT: it cannot be
 * made, as sparc_error() says. */
sparc_status grid_derive(json_t **file);

#endif
