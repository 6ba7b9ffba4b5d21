/* SPDX-License-Identifier: MIT */
/* paths_device.c: the paths of `sparc check --device`: one plan for every number of chunks that the vector's length
 * allows. All scratch is filled with NaN first, as on the CPU. */
#include "base/error.h"
#include "cli/check/paths.h"
#include "device/plan.h"

#include <stdio.h>
#include <string.h>

size_t list_device_paths(const vector_file *vector, check_path paths[MAX_PATHS]) {
  static const int chunks[] = {1, 2, 3, 5, 16};
  size_t count = 0;
  if (device_cell_check(vector->cell) != SPARC_OK) return 0;
  for (size_t i = 0; i < sizeof chunks / sizeof *chunks; i++) {
    const int cut = device_chunks_of(vector->T, chunks[i]);
    if (count > 0 && paths[count - 1].chunk == cut) continue;
    paths[count] = (check_path){.kind = PATH_DEVICE, .chunk = cut};
    snprintf(paths[count].name, sizeof paths->name, "device:%d", cut);
    count++;
  }
  return count;
}

enum { PREPARED = ARRAYS, SAVED, WORK, BLOCKS };

/* the vector's arrays and the plan's blocks on the device */
typedef struct device_workspace {
  sparc_device_plan *plan;
  sparc_slice block[BLOCKS];
  float *host; /* buffer of the longest array */
} device_workspace;

static sparc_status make_block(sparc_device *device, size_t bytes, sparc_slice *out) {
  if (bytes == 0) return SPARC_OK;
  sparc_status status = sparc_memory_create(device, bytes, &out->memory);
  if (status != SPARC_OK) return status;
  void *ones = sparc_alloc(bytes);
  if (!ones) return fail(SPARC_NO_MEMORY, "no memory for %zu bytes", bytes);
  memset(ones, 0xff, bytes);
  status = sparc_memory_write(*out, ones, bytes);
  sparc_free(ones);
  return status;
}

static sparc_status upload(const vector_file *v, device_workspace *s, int array, bool given) {
  for (size_t i = 0; i < v->length[array]; i++) s->host[i] = given ? (float)v->array[array][i] : 0;
  return sparc_memory_write(s->block[array], s->host, v->length[array] * sizeof(float));
}

static sparc_status set_up(const vector_file *v, const check_path *path, sparc_device *device, device_workspace *s) {
  size_t longest = 1;
  for (int a = 0; a < ARRAYS; a++) longest = v->length[a] > longest ? v->length[a] : longest;
  s->host = sparc_alloc(longest * sizeof(float));
  if (!s->host) return fail(SPARC_NO_MEMORY, "%.200s: no memory for %zu numbers", v->path, longest);
  const sparc_device_plan_config config = {.chunks = path->chunk};
  sparc_status status = sparc_device_plan_create(device, v->cell, v->B, v->T, &config, &s->plan);
  if (status != SPARC_OK) return status;
  size_t bytes[BLOCKS] = {[PREPARED] = sparc_device_plan_sizes_of(s->plan).prepared,
                          [SAVED] = sparc_device_plan_sizes_of(s->plan).saved,
                          [WORK] = sparc_device_plan_sizes_of(s->plan).work};
  for (int a = 0; a < ARRAYS; a++) bytes[a] = a == ARRAY_TRACE ? 0 : v->length[a] * sizeof(float);
  for (int i = 0; i < BLOCKS && status == SPARC_OK; i++) status = make_block(device, bytes[i], &s->block[i]);
  for (int a = 0; a < FIRST_RESULT && status == SPARC_OK; a++)
    if (bytes[a] > 0) status = upload(v, s, a, true);
  if (status == SPARC_OK) status = upload(v, s, ARRAY_DPARAMS, false);
  return status;
}

static sparc_status run_plan(const device_workspace *s) {
  const sparc_slice *block = s->block;
  const sparc_device_sequence sequence = {
      .x = block[ARRAY_X], .mask = block[ARRAY_MASK], .state0 = block[ARRAY_STATE0], .y = block[ARRAY_OUT]};
  const sparc_device_gradient gradient = {
      .dy = block[ARRAY_COT], .dx = block[ARRAY_DX], .dstate0 = block[ARRAY_DSTATE0], .dparams = block[ARRAY_DPARAMS]};
  sparc_status status = sparc_device_prepare(s->plan, block[ARRAY_PARAMS], block[PREPARED]);
  if (status == SPARC_OK) status = sparc_device_forward(s->plan, block[PREPARED], &sequence, block[SAVED], block[WORK]);
  if (status == SPARC_OK)
    status = sparc_device_backward(s->plan, block[PREPARED], &sequence, block[SAVED], &gradient, block[WORK]);
  return status;
}

static sparc_status hand_over(const vector_file *v, const device_workspace *s, path_result *result) {
  for (int a = ARRAY_OUT; a <= ARRAY_DPARAMS; a++) {
    if (v->length[a] == 0) continue;
    const sparc_status status = sparc_memory_read(s->block[a], s->host, v->length[a] * sizeof(float));
    if (status != SPARC_OK) return status;
    for (size_t i = 0; i < v->length[a]; i++) result->array[a][i] = (double)s->host[i];
    result->has[a] = true;
  }
  return SPARC_OK;
}

sparc_status run_device_path(const vector_file *vector, const check_path *path, sparc_device *device,
                             path_result *result) {
  device_workspace workspace = {.plan = NULL};
  memset(result->has, 0, sizeof result->has);
  sparc_status status = set_up(vector, path, device, &workspace);
  if (status == SPARC_OK) status = run_plan(&workspace);
  if (status == SPARC_OK) status = hand_over(vector, &workspace, result);
  for (int i = 0; i < BLOCKS; i++) sparc_memory_free(workspace.block[i].memory);
  sparc_device_plan_free(workspace.plan);
  sparc_free(workspace.host);
  return status;
}
