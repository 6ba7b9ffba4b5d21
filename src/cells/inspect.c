/* SPDX-License-Identifier: MIT */
/* inspect.c: the reference of a cell, run for its intermediate values (sparc/inspect.h). */
#include "sparc/inspect.h"

#include "base/error.h"
#include "base/memory.h"
#include "cells/cell.h"
#include "cells/reference/reference.h"

/* the caller's sequence in double */
typedef struct inspected_run {
  double *params, *x, *mask, *state0, *y;
} inspected_run;

static inspected_run carve_run(arena *a, sparc_cell_sizes n, size_t D, size_t B, size_t T) {
  return (inspected_run){.params = arena_take(a, n.params, sizeof(double)),
                         .x = arena_take(a, B * T * D, sizeof(double)),
                         .mask = arena_take(a, B * T, sizeof(double)),
                         .state0 = arena_take(a, B * n.state, sizeof(double)),
                         .y = arena_take(a, B * T * n.output, sizeof(double))};
}

static void widen(size_t n, const float *from, double *to) {
  for (size_t i = 0; from && i < n; i++) to[i] = (double)from[i];
}

/* the object and, after it, its modes */
typedef struct owned_inspection {
  sparc_inspection view;
  sparc_mode mode[];
} owned_inspection;

static sparc_status inspect(const sparc_cell *cell, const float *params, const sparc_sequence *sequence,
                            owned_inspection *to) {
  const size_t B = (size_t)to->view.B, T = (size_t)to->view.T, D = (size_t)cell->D;
  const sparc_cell_sizes n = sparc_cell_sizes_of(cell);
  arena measured = arena_measure();
  carve_run(&measured, n, D, B, T);
  void *memory = sparc_alloc(measured.used);
  if (!memory) return fail(SPARC_NO_MEMORY, "no memory to inspect %zu steps", B * T);
  arena placed = arena_over(memory, measured.used);
  const inspected_run in = carve_run(&placed, n, D, B, T);
  widen(n.params, params, in.params);
  widen(B * T * D, sequence->x, in.x);
  widen(B * T, sequence->mask, in.mask);
  widen(B * n.state, sequence->state0, in.state0);
  const reference_run run = {.B = to->view.B,
                             .T = to->view.T,
                             .params = in.params,
                             .x = in.x,
                             .mask = sequence->mask ? in.mask : NULL,
                             .state0 = sequence->state0 ? in.state0 : NULL,
                             .y = in.y};
  const sparc_status status = reference_inspect(cell, &run, to->mode);
  sparc_free(memory);
  return status;
}

sparc_status sparc_cell_inspect(const sparc_cell *cell, const float *params, int B, int T,
                                const sparc_sequence *sequence, sparc_inspection **out) {
  if (!out) return fail(SPARC_INVALID, "out is NULL, expected where to put the inspection");
  *out = NULL;
  if (!cell || !params || !sequence)
    return fail(SPARC_INVALID, "%s is NULL", !cell ? "cell" : !params ? "params" : "sequence");
  if (!sequence->x) return fail(SPARC_INVALID, "sequence.x is NULL, expected inputs of shape [B][T][D]");
  if (B < 1 || T < 1) return fail(SPARC_INVALID, "%s is %d, expected at least 1", B < 1 ? "B" : "T", B < 1 ? B : T);
  const size_t H = reference_modes(cell), count = (size_t)B * (size_t)T * H;
  owned_inspection *owned = sparc_alloc(sizeof *owned + count * sizeof *owned->mode);
  if (!owned) return fail(SPARC_NO_MEMORY, "no memory for an inspection of %zu modes", count);
  owned->view = (sparc_inspection){.B = B, .T = T, .H = (int)H, .mode = owned->mode};
  const sparc_status status = inspect(cell, params, sequence, owned);
  if (status == SPARC_OK)
    *out = &owned->view;
  else
    sparc_free(owned);
  return status;
}

void sparc_inspection_free(sparc_inspection *inspection) { sparc_free(inspection); }
