/* SPDX-License-Identifier: MIT */
/* paths.c: which paths a cell has. What a cell lacks is read off its description, never off a failure, so
 * that a path which breaks is reported and not skipped. */
#include "cli/check/paths.h"

#include "base/error.h"
#include "cells/reference/reference.h"

#include <stdio.h>
#include <string.h>

/* ---- listing ------------------------------------------------------------------------------------ */

static void add_path(check_path *paths, size_t *count, path_kind kind, const char *name) {
  check_path *path = &paths[(*count)++];
  *path = (check_path){.kind = kind};
  snprintf(path->name, sizeof path->name, "%s", name);
}

/* chunk lengths may coincide, for example when T is 7 */
static void add_chunked(check_path *paths, size_t *count, int chunk) {
  for (size_t i = 0; i < *count; i++)
    if (paths[i].kind == PATH_SEQUENCE && paths[i].chunk == chunk) return;
  check_path *path = &paths[(*count)++];
  *path = (check_path){.kind = PATH_SEQUENCE, .chunk = chunk};
  snprintf(path->name, sizeof path->name, "chunked:%d", chunk);
}

size_t list_paths(const vector_file *vector, bool in_double, check_path paths[MAX_PATHS]) {
  const int chunks[] = {1, 7, 32, vector->T, vector->T + 1};
  const bool is_affine = vector->cell->parts > 0;
  size_t count = 0;
  if (in_double && reference_has(vector->cell)) add_path(paths, &count, PATH_REFERENCE, "reference");
  add_path(paths, &count, PATH_STEP, "step");
  add_path(paths, &count, PATH_SEQUENCE, "sequential");
  for (size_t i = 0; is_affine && i < sizeof chunks / sizeof *chunks; i++) add_chunked(paths, &count, chunks[i]);
  if (sparc_cell_sizes_of(vector->cell).trace > 0) add_path(paths, &count, PATH_RTRL, "rtrl");
  return count;
}

/* ---- running ------------------------------------------------------------------------------------ */

sparc_status result_create(const vector_file *vector, path_result *result) {
  *result = (path_result){.has = {false}};
  size_t total = 0;
  for (int a = FIRST_RESULT; a < ARRAYS; a++) total += vector->length[a];
  double *memory = sparc_alloc(total * sizeof *memory);
  if (!memory) return fail(SPARC_NO_MEMORY, "%.200s: no memory for %zu results", vector->path, total);
  for (int a = FIRST_RESULT; a < ARRAYS; a++) {
    result->array[a] = memory;
    memory += vector->length[a];
  }
  return SPARC_OK;
}

void result_free(path_result *result) {
  sparc_free(result->array[FIRST_RESULT]);
  *result = (path_result){.has = {false}};
}

static sparc_status run_reference(const vector_file *v, path_result *result) {
  const bool has_state = v->length[ARRAY_STATE0] > 0;
  for (int a = ARRAY_OUT; a <= ARRAY_DPARAMS; a++) {
    result->has[a] = true;
    memset(result->array[a], 0xff, v->length[a] * sizeof *result->array[a]);
  }
  memset(result->array[ARRAY_DPARAMS], 0, v->length[ARRAY_DPARAMS] * sizeof *result->array[ARRAY_DPARAMS]);
  const reference_run run = {.B = v->B,
                             .T = v->T,
                             .params = v->array[ARRAY_PARAMS],
                             .x = v->array[ARRAY_X],
                             .mask = v->array[ARRAY_MASK],
                             .state0 = has_state ? v->array[ARRAY_STATE0] : NULL,
                             .dy = v->array[ARRAY_COT],
                             .y = result->array[ARRAY_OUT],
                             .dparams = result->array[ARRAY_DPARAMS],
                             .dx = result->array[ARRAY_DX],
                             .dstate0 = has_state ? result->array[ARRAY_DSTATE0] : NULL};
  return reference_evaluate(v->cell, &run);
}

sparc_status run_path(const vector_file *vector, const check_path *path, bool in_double, int threads,
                      path_result *result) {
  memset(result->has, 0, sizeof result->has);
  if (path->kind == PATH_REFERENCE) return run_reference(vector, result);
  return in_double ? run_path_f64(vector, path, threads, result) : run_path_f32(vector, path, threads, result);
}
