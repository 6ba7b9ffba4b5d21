/* SPDX-License-Identifier: MIT */
/* match.h: state sizes for equal numbers of parameters. */
#ifndef SPARC_LAB_GRID_MATCH_H
#define SPARC_LAB_GRID_MATCH_H

#include "lab/grid/grid.h"

/* Finds the state size (real coordinates) for which the method's cell has a number of parameters closest to that of the
 * reference's cell. Only the cell's parameters count: the rest of the network is the same for all methods except for the
 * width of the cell's output. */
sparc_status match_params(const grid *g, int task, int method, int *state_size);

#endif
