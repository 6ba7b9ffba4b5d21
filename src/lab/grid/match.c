/* SPDX-License-Identifier: MIT */
/* match.c: tries every state size; creating a cell's description takes microseconds. */
#include "lab/grid/match.h"

#include "base/error.h"
#include "run/cell_choice.h"
#include "run/data.h"
#include "sparc/rl.h"
#include "sparc/tasks.h"

enum { MAX_STATE_SIZE = 1 << 14, DEFAULT_WIDTH = 64, DEFAULT_STATE_SIZE = 128 };

static int whole(const json_t *settings, const char *key, int default_value) {
  const json_t *value = json_object_get(settings, key);
  return json_is_integer(value) ? (int)json_integer_value(value) : default_value;
}

/* number of inputs and state size of the cell, with the defaults of the task */
static sparc_status shape_of(grid_kind kind, const json_t *settings, int *inputs, int *state_size) {
  *inputs = whole(settings, "width", DEFAULT_WIDTH);
  *state_size = DEFAULT_STATE_SIZE;
  sparc_status status = SPARC_OK;
  if (kind == GRID_RL) {
    sparc_ppo_config ppo;
    status = sparc_ppo_defaults(json_string_value(json_object_get(settings, "task")), &ppo);
    if (status == SPARC_OK) *state_size = ppo.state_size;
  }
  const char *data = kind == GRID_TRAIN ? json_string_value(json_object_get(settings, "data")) : NULL;
  if (data && is_task(data)) {
    sparc_task *task;
    status = sparc_task_create(data, &task);
    if (status != SPARC_OK) return status;
    *state_size = task->training.state_size;
    const bool bare = whole(settings, "layers", 0) == 0 && !json_object_get(settings, "embedding");
    if (bare) *inputs = task->D;
    sparc_task_free(task);
  }
  *state_size = whole(settings, "budget", *state_size);
  return status;
}

static sparc_status cell_params(const json_t *settings, int inputs, int state_size, size_t *params) {
  const char *kind = json_string_value(json_object_get(settings, "cell"));
  const cell_request request = {.kind = kind ? kind : "sparc",
                                .options = json_string_value(json_object_get(settings, "cell-options")),
                                .variant = json_string_value(json_object_get(settings, "variant")),
                                .state_size = state_size};
  char options[CELL_OPTIONS_SIZE];
  int modes;
  sparc_cell *cell = NULL;
  sparc_status status = cell_resolve(&request, inputs, &modes, options);
  if (status == SPARC_OK)
    status = sparc_cell_create(&(sparc_cell_config){.kind = request.kind, .D = inputs, .H = modes, .options = options},
                               &cell);
  if (status == SPARC_OK) *params = sparc_cell_sizes_of(cell).params;
  sparc_cell_free(cell);
  return status;
}

/* skips state sizes that the cell cannot have */
static sparc_status nearest(const json_t *settings, int inputs, size_t target, int *state_size) {
  size_t best = 0, params = 0;
  for (int b = 1; b <= MAX_STATE_SIZE && params < 2 * target; b++) {
    if (cell_params(settings, inputs, b, &params) != SPARC_OK) continue;
    const size_t off = params > target ? params - target : target - params;
    const size_t closest = best > target ? best - target : target - best;
    if (best != 0 && off >= closest) continue;
    best = params;
    *state_size = b;
  }
  return best ? SPARC_OK : fail(SPARC_INVALID, "no state size gives a cell of about %zu parameters", target);
}

sparc_status match_params(const grid *g, int task, int method, int *state_size) {
  json_t *own = grid_settings(g, task, method), *other = grid_settings(g, task, g->reference);
  int inputs = 0, reference_state = 0;
  size_t target = 0;
  sparc_status status = own && other ? SPARC_OK : fail(SPARC_NO_MEMORY, "no memory for settings");
  if (status == SPARC_OK) status = shape_of(g->task[task].kind, other, &inputs, &reference_state);
  if (status == SPARC_OK) status = cell_params(other, inputs, reference_state, &target);
  if (status == SPARC_OK) status = nearest(own, inputs, target, state_size);
  json_decref(own);
  json_decref(other);
  return status;
}
