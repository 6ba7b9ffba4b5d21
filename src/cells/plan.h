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

/* sparc_plan_sizes_of for one precision */
sparc_plan_sizes plan_sizes_f32(const sparc_plan *plan);
sparc_plan_sizes plan_sizes_f64(const sparc_plan *plan);
sparc_plan_sizes plan_sizes_bf16(const sparc_plan *plan);

/* the widest row that any array of a cell's call has per token, in elements */
size_t plan_row(const sparc_cell *cell);

/* plan_check returns whether B sequences of T steps fit with rows of `row` elements per token and gradients of `params`
 * numbers; *useful becomes the number of threads; an automatic choice gives each enough work */
sparc_status plan_check(int B, int T, int threads, size_t row, size_t params, int *useful);

#endif
