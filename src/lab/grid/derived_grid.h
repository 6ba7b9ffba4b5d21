/* SPDX-License-Identifier: MIT */
/* derived_grid.h: grids derived from a built-in one.
 *
 *   {"of": "figure1-full", "name": "figure1", "tasks": ["event-order", "tracking"], "methods": ["sparc", "rtu"]}
 *
 * selects the named tasks and methods, in this order, with the paper's numbers. A missing list selects all; other keys
 * replace those of the built-in grid. */
#ifndef SPARC_LAB_GRID_DERIVED_GRID_H
#define SPARC_LAB_GRID_DERIVED_GRID_H

#include "sparc/base.h"

#include <jansson.h>

/* Loads the JSON of a built-in grid, a new reference. Returns SPARC_INVALID for an unknown name. */
sparc_status grid_base(const char *name, json_t **out);

/* Reduces a grid to the named tasks and methods (NULL: all). Returns SPARC_INVALID for an unknown name. */
sparc_status grid_select(json_t *file, const json_t *tasks, const json_t *methods);

/* If *file has "of", replaces it by the derived grid and takes the reference. Returns SPARC_FORMAT if it is invalid. */
sparc_status grid_derive(json_t **file);

#endif
