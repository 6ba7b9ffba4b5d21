/* SPDX-License-Identifier: MIT */
/* match.h: cells of different kinds made equally large. */
#ifndef SPARC_LAB_GRID_MATCH_H
#define SPARC_LAB_GRID_MATCH_H

#include "lab/grid/grid.h"

/* match_params finds the state budget (real coordinates) with which the method's cell has as many parameters as the
 * reference's has with its own, or as near as it can. Parameters are those of the cell itself: what is around it is the
 * same for all methods but for the width of the cell's output. */
sparc_status match_params(const grid *g, int task, int method, int *state_size);

#endif
