/* SPDX-License-Identifier: MIT */
/* sweep.h: methods with several values of a setting become several methods. */
#ifndef SPARC_LAB_GRID_SWEEP_H
#define SPARC_LAB_GRID_SWEEP_H

#include "sparc/base.h"

#include <jansson.h>
#include <stdbool.h>

/* sweep_is_in: a grid has a sweep, or one of its methods does */
bool sweep_is_in(const json_t *grid);

/* sweep_expand makes the methods of a grid, a new reference: each one as it is or, where it or the grid has a sweep,
 * once for every combination of values, with a name and a title that say them. *first is the place of the first that
 * came of the method `name`; -1: none did. SPARC_FORMAT: a sweep makes no sense. Names and settings are left to whoever
 * reads the methods. */
sparc_status sweep_expand(const json_t *grid, const char *where, const char *name, json_t **out, int *first);

#endif
