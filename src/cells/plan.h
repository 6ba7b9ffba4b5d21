/* SPDX-License-Identifier: MIT */
/* plan.h: a plan is the shape of a sequence call, checked once by sparc_plan_create (seq/plan.c). How a cell divides
 * the work follows from it. */
#ifndef SPARC_CELLS_PLAN_H
#define SPARC_CELLS_PLAN_H

#include "cells/cell.h"
#include "sparc/sequence.h"

struct sparc_plan {
  const sparc_cell *cell;
  int B, T;
  int chunk; /* steps per chunk, 1 to T; T for the sequential scan */
  int threads;
};

#endif
