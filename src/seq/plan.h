/* SPDX-License-Identifier: MIT */
/* plan.h: a plan is the shape of a sequence call and its division into tiles. How many tiles there are follows from
 * the problem alone, never from the number of threads: that is what makes results independent of it. */
#ifndef SPARC_SEQ_PLAN_H
#define SPARC_SEQ_PLAN_H

#include "cells/cell.h"
#include "cells/tiles.h"
#include "sparc/sequence.h"

enum { MAX_CHUNK_GROUPS = 16 };

struct sparc_plan {
  const sparc_cell *cell;
  int B, T, threads;

  /* diagonal affine cells */
  int chunk;       /* steps per chunk, 1 to T; T for the sequential scan */
  int chunks;      /* chunks per stream */
  int groups;      /* runs of neighbouring chunks whose parameter gradients share one partial sum */
  int mode_tile;   /* modes that one thread takes through time */
  int mode_tiles;  /* their number */
  int token_tile;  /* tokens of any streams that are projected together */
  int token_tiles; /* their number */
};

#endif
