/* SPDX-License-Identifier: MIT */
/* paths_impl.h: running the paths in one precision; the body of paths_f32.c and paths_f64.c.
 *
 * All memory that the library calls scratch is filled with NaN first: a path that reads what it has not written
 * then shows.
 */
#ifndef SPARC_CLI_CHECK_PATHS_IMPL_H
#define SPARC_CLI_CHECK_PATHS_IMPL_H

#include "base/error.h"
#include "base/memory.h"
#include "base/real.h"
#include "cells/plan.h"
#include "cli/check/paths.h"
#include "rtrl/rtrl_f64.h"

#include <string.h>

/* the vector and the results in this precision, and what a stream of steps needs */
typedef struct TYPED(workspace) {
  real *array[ARRAYS];
  real *prepared;
  real *state, *trace, *tape;
  void *memory;
} TYPED(workspace);

/* ---- memory ------------------------------------------------------------------------------------- */

static void carve(const vector_file *v, TYPED(workspace) * s, arena *a) {
  const sparc_cell_sizes sizes = sparc_cell_sizes_of(v->cell);
  for (int i = 0; i < ARRAYS; i++) s->array[i] = arena_take(a, v->length[i], sizeof(real));
  s->prepared = arena_take(a, sizes.prepared, sizeof(real));
  s->state = arena_take(a, sizes.state, sizeof(real));
  s->trace = arena_take(a, sizes.trace, sizeof(real));
  s->tape = arena_take(a, sizes.tape, sizeof(real));
}

/* bytes of ones are NaN in both precisions */
static void *allocate_poisoned(size_t bytes) {
  void *memory = sparc_alloc(bytes);
  return memory ? memset(memory, 0xff, bytes) : NULL;
}

static sparc_status set_up(const vector_file *v, TYPED(workspace) * s) {
  arena measure = arena_measure();
  carve(v, s, &measure);
  s->memory = allocate_poisoned(measure.used);
  if (!s->memory) return fail(SPARC_NO_MEMORY, "%.200s: no memory for %zu bytes", v->path, measure.used);
  arena place = arena_over(s->memory, measure.used);
  carve(v, s, &place);
  for (int a = 0; a < FIRST_RESULT; a++)
    for (size_t i = 0; i < v->length[a]; i++) s->array[a][i] = (real)v->array[a][i];
  return PUBLIC(sparc_prepare)(v->cell, s->array[ARRAY_PARAMS], s->prepared);
}

static void hand_over(const vector_file *v, const TYPED(workspace) * s, path_result *result) {
  for (int a = FIRST_RESULT; a < ARRAYS; a++)
    for (size_t i = 0; result->has[a] && i < v->length[a]; i++) result->array[a][i] = (double)s->array[a][i];
}

static void zero(real *values, size_t count) { memset(values, 0, count * sizeof *values); }

/* the state before the first step of batch row b; a vector without state0 starts cold */
static void start_row(const vector_file *v, const TYPED(workspace) * s, size_t b) {
  const size_t S = sparc_cell_sizes_of(v->cell).state;
  if (v->length[ARRAY_STATE0] > 0)
    memcpy(s->state, s->array[ARRAY_STATE0] + b * S, S * sizeof *s->state);
  else
    zero(s->state, S);
}

/* ---- steps -------------------------------------------------------------------------------------- */

static sparc_status run_steps(const vector_file *v, const check_path *path, int threads, TYPED(workspace) * s,
                              path_result *result) {
  (void)path, (void)threads;
  const size_t B = (size_t)v->B, T = (size_t)v->T, D = (size_t)v->cell->D, O = v->cell->sizes.output;
  result->has[ARRAY_OUT] = true;
  for (size_t b = 0; b < B; b++) {
    start_row(v, s, b);
    for (size_t n = b * T; n < (b + 1) * T; n++) {
      sparc_status status = PUBLIC(sparc_step)(v->cell, s->prepared, s->state, s->array[ARRAY_X] + n * D,
                                               s->array[ARRAY_MASK][n], s->array[ARRAY_OUT] + n * O, s->tape);
      if (status != SPARC_OK) return status;
    }
  }
  return SPARC_OK;
}

/* ---- sequences ---------------------------------------------------------------------------------- */

static sparc_status run_plan(const vector_file *v, const sparc_plan *plan, TYPED(workspace) * s, void *saved,
                             void *work) {
  const bool has_state = v->length[ARRAY_STATE0] > 0;
  const PUBLIC(sparc_sequence) sequence = {.x = s->array[ARRAY_X],
                                           .mask = s->array[ARRAY_MASK],
                                           .state0 = has_state ? s->array[ARRAY_STATE0] : NULL,
                                           .y = s->array[ARRAY_OUT]};
  const PUBLIC(sparc_sequence_gradient) gradient = {.dy = s->array[ARRAY_COT],
                                                    .dx = s->array[ARRAY_DX],
                                                    .dstate0 = has_state ? s->array[ARRAY_DSTATE0] : NULL,
                                                    .dparams = s->array[ARRAY_DPARAMS]};
  zero(s->array[ARRAY_DPARAMS], v->length[ARRAY_DPARAMS]);
  sparc_status status = PUBLIC(sparc_forward)(plan, s->prepared, &sequence, saved, work);
  if (status != SPARC_OK) return status;
  return PUBLIC(sparc_backward)(plan, s->prepared, &sequence, saved, &gradient, work);
}

static sparc_status run_sequence(const vector_file *v, const check_path *path, int threads, TYPED(workspace) * s,
                                 path_result *result) {
  for (int a = ARRAY_OUT; a <= ARRAY_DPARAMS; a++) result->has[a] = true;
  sparc_plan *plan;
  sparc_status status =
      sparc_plan_create(v->cell, v->B, v->T, &(sparc_plan_config){.threads = threads, .chunk = path->chunk}, &plan);
  if (status != SPARC_OK) return status;
  void *saved = allocate_poisoned(TYPED(plan_sizes)(plan).saved);
  void *work = allocate_poisoned(TYPED(plan_sizes)(plan).work);
  status = saved && work ? run_plan(v, plan, s, saved, work)
                         : fail(SPARC_NO_MEMORY, "%.200s: no memory for path %s", v->path, path->name);
  sparc_free(work);
  sparc_free(saved);
  sparc_plan_free(plan);
  return status;
}

/* ---- real-time recurrent learning --------------------------------------------------------------- */

static sparc_status read_traces(const vector_file *v, TYPED(workspace) * s) {
  for (size_t i = 0; i < v->slots; i++) {
    const vector_slot *slot = &v->slot[i];
    if (slot->array != ARRAY_TRACE) continue;
    sparc_status status =
        PUBLIC(sparc_trace_read)(v->cell, s->prepared, s->trace, slot->block, s->array[ARRAY_TRACE] + slot->offset);
    if (status != SPARC_OK) return status;
  }
  return SPARC_OK;
}

/* one step and the gradient of its own loss; the gradients of all steps add up to that of the sequence */
static sparc_status learn_step(const vector_file *v, TYPED(workspace) * s, size_t n) {
  const size_t D = (size_t)v->cell->D, O = v->cell->sizes.output;
  sparc_status status = PUBLIC(sparc_step_rtrl)(v->cell, s->prepared, s->state, s->trace, s->array[ARRAY_X] + n * D,
                                                s->array[ARRAY_MASK][n], s->array[ARRAY_OUT] + n * O, s->tape);
  if (status != SPARC_OK) return status;
  return PUBLIC(sparc_rtrl_gradient)(v->cell, s->prepared, s->trace, s->tape, s->array[ARRAY_COT] + n * O,
                                     s->array[ARRAY_DPARAMS], s->array[ARRAY_DX] + n * D);
}

static sparc_status run_rtrl(const vector_file *v, const check_path *path, int threads, TYPED(workspace) * s,
                             path_result *result) {
  (void)path, (void)threads;
  const size_t B = (size_t)v->B, T = (size_t)v->T;
  result->has[ARRAY_OUT] = result->has[ARRAY_DPARAMS] = result->has[ARRAY_TRACE] = true;
  /* the input gradient is local to its step, so it is the whole one only for sequences of one step */
  result->has[ARRAY_DX] = T == 1;
  zero(s->array[ARRAY_DPARAMS], v->length[ARRAY_DPARAMS]);
  for (size_t b = 0; b < B; b++) {
    sparc_status status = SPARC_OK;
    start_row(v, s, b);
    zero(s->trace, sparc_cell_sizes_of(v->cell).trace);
    for (size_t n = b * T; n < (b + 1) * T && status == SPARC_OK; n++) status = learn_step(v, s, n);
    if (status == SPARC_OK && b == 0) status = read_traces(v, s);
    if (status != SPARC_OK) return status;
  }
  return SPARC_OK;
}

/* ---- all ---------------------------------------------------------------------------------------- */

sparc_status TYPED(run_path)(const vector_file *vector, const check_path *path, int threads, path_result *result) {
  static sparc_status (*const runners[])(const vector_file *, const check_path *, int, TYPED(workspace) *,
                                         path_result *) = {
      [PATH_STEP] = run_steps,
      [PATH_SEQUENCE] = run_sequence,
      [PATH_RTRL] = run_rtrl,
  };
  TYPED(workspace) workspace = {.memory = NULL};
  sparc_status status = set_up(vector, &workspace);
  if (status == SPARC_OK) status = runners[path->kind](vector, path, threads, &workspace, result);
  if (status == SPARC_OK) hand_over(vector, &workspace, result);
  sparc_free(workspace.memory);
  return status;
}

#endif
