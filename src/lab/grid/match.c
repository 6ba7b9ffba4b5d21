/* SPDX-License-Identifier: MIT */
/* match.c: cells of equal numbers of parameters, by trying every budget: a description of a cell costs microseconds. */
#include "lab/grid/match.h"

#include "base/error.h"
#include "run/cell_choice.h"
#include "run/data.h"
#include "sparc/rl.h"
#include "sparc/tasks.h"

enum { BUDGET_MOST = 1 << 14, USUAL_WIDTH = 64, USUAL_BUDGET = 128 };

static int whole(const json_t *settings, const char *key, int usual) {
  const json_t *value = json_object_get(settings, key);
  return json_is_integer(value) ? (int)json_integer_value(value) : usual;
}

/* what goes into the cell, and the real coordinates of its state where nobody says how many */
static sparc_status shape_of(grid_kind kind, const json_t *settings, int *inputs, int *budget) {
  *inputs = whole(settings, "width", USUAL_WIDTH);
  *budget = USUAL_BUDGET;
  sparc_status status = SPARC_OK;
  if (kind == GRID_RL) {
    sparc_ppo_config ppo;
    status = sparc_ppo_defaults(json_string_value(json_object_get(settings, "task")), &ppo);
    if (status == SPARC_OK) *budget = ppo.budget;
  }
  const char *data = kind == GRID_TRAIN ? json_string_value(json_object_get(settings, "data")) : NULL;
  if (data && is_task(data)) {
    sparc_task *task;
    status = sparc_task_create(data, &task);
    if (status != SPARC_OK) return status;
    *budget = task->training.state;
    const bool bare = whole(settings, "layers", 0) == 0 && !json_object_get(settings, "embedding");
    if (bare) *inputs = task->D;
    sparc_task_free(task);
  }
  *budget = whole(settings, "budget", *budget);
  return status;
}

static sparc_status cell_params(const json_t *settings, int inputs, int budget, size_t *params) {
  const char *kind = json_string_value(json_object_get(settings, "cell"));
  const cell_wish wish = {.kind = kind ? kind : "sparc",
                          .options = json_string_value(json_object_get(settings, "cell-options")),
                          .variant = json_string_value(json_object_get(settings, "variant")),
                          .budget = budget};
  char options[CELL_OPTIONS_SIZE];
  int modes;
  sparc_cell *cell = NULL;
  sparc_status status = cell_settle(&wish, inputs, &modes, options);
  if (status == SPARC_OK)
    status =
        sparc_cell_create(&(sparc_cell_config){.kind = wish.kind, .D = inputs, .H = modes, .options = options}, &cell);
  if (status == SPARC_OK) *params = sparc_cell_sizes_of(cell).params;
  sparc_cell_free(cell);
  return status;
}

/* budgets that a kind cannot have are passed over */
static sparc_status nearest(const json_t *settings, int inputs, size_t wanted, int *budget) {
  size_t best = 0, params = 0;
  for (int b = 1; b <= BUDGET_MOST && params < 2 * wanted; b++) {
    if (cell_params(settings, inputs, b, &params) != SPARC_OK) continue;
    const size_t off = params > wanted ? params - wanted : wanted - params;
    const size_t least = best > wanted ? best - wanted : wanted - best;
    if (best != 0 && off >= least) continue;
    best = params;
    *budget = b;
  }
  return best ? SPARC_OK : fail(SPARC_INVALID, "no state size gives a cell of about %zu parameters", wanted);
}

sparc_status match_params(const grid *g, int task, int method, int *budget) {
  json_t *own = grid_settings(g, task, method), *other = grid_settings(g, task, g->reference);
  int inputs = 0, usual = 0;
  size_t wanted = 0;
  sparc_status status = own && other ? SPARC_OK : fail(SPARC_NO_MEMORY, "no memory for settings");
  if (status == SPARC_OK) status = shape_of(g->task[task].kind, other, &inputs, &usual);
  if (status == SPARC_OK) status = cell_params(other, inputs, usual, &wanted);
  if (status == SPARC_OK) status = nearest(own, inputs, wanted, budget);
  json_decref(own);
  json_decref(other);
  return status;
}
