/* SPDX-License-Identifier: MIT */
/* tiling.h: how the affine engine divides a sequence call into tiles. */
#ifndef SPARC_CELLS_AFFINE_TILING_H
#define SPARC_CELLS_AFFINE_TILING_H

#include "cells/plan.h"
#include "cells/tiles.h"

typedef struct affine_tiling {
  int chunks;      /* chunks per stream */
  int groups;      /* runs of neighbouring chunks whose parameter gradients share one partial sum */
  int mode_tile;   /* modes that one thread takes through time */
  int mode_tiles;  /* their number */
  int token_tile;  /* tokens of any streams that are projected together */
  int token_tiles; /* their number */
} affine_tiling;

affine_tiling affine_tiling_of(const sparc_plan *plan);

#endif
