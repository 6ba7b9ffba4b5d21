/* SPDX-License-Identifier: MIT */
/* sweep.h: expansion of sweeps: a method per combination of values. */
#ifndef SPARC_LAB_GRID_SWEEP_H
#define SPARC_LAB_GRID_SWEEP_H

#include "sparc/base.h"

#include <jansson.h>
#include <stdbool.h>

/* whether a grid or one of its methods has a sweep */
bool sweep_is_in(const json_t *file);

/* Expands the methods of a grid into a list, a new reference: a method with a sweep, or every method if the grid has
 * one, is repeated for each combination of values, which its name and title contain. *first is the index of the first
 * method expanded from `name`; -1: none. Returns SPARC_FORMAT for an invalid sweep. Names and settings are not checked.
 */
sparc_status sweep_expand(const json_t *file, const char *where, const char *name, json_t **out, int *first);

#endif
