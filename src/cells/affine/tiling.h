/* SPDX-License-Identifier: MIT */
/* tiling.h: how the affine engine divides a sequence call into tiles.
 *
 * Sums that cross tiles are formed in tile order, so those tiles follow from the problem alone: that makes results
 * independent of the number of threads. What a tile computes for itself may be cut further where there are more threads
 * than tiles, because its bits do not depend on its neighbours: modes over time, and columns of
 * products by the kernels.
 */
#ifndef SPARC_CELLS_AFFINE_TILING_H
#define SPARC_CELLS_AFFINE_TILING_H

#include "cells/plan.h"
#include "cells/tiles.h"

typedef struct affine_tiling {
  /* by the problem alone */
  int chunks;      /* chunks per stream */
  int groups;      /* runs of neighbouring chunks whose parameter gradients share one partial sum */
  int mode_tile;   /* modes whose control gradients share one partial sum */
  int mode_tiles;  /* their number */
  int token_tile;  /* tokens of any streams that are projected together */
  int token_tiles; /* their number */

  /* by the number of threads, too */
  int time_tile;   /* modes that one thread takes through time, at most mode_tile */
  int pre_columns; /* projected columns of a token tile that one thread computes */
  int dx_columns;  /* columns of dx likewise */
} affine_tiling;

/* panels: prepared weights lie in panels, and products with them can be cut between these */
affine_tiling affine_tiling_of(const sparc_plan *plan, bool panels);

#endif
