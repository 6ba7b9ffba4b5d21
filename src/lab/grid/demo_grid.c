/* SPDX-License-Identifier: MIT */
/* demo_grid.c: composes the grid of `sparc demo` as JSON from the built-in grids, which define titles, colours, budgets
 * and the paper's numbers. */
#include "lab/grid/demo_grid.h"

#include "base/error.h"
#include "lab/grid/derived_grid.h"
#include "run/cell_choice.h"
#include "sparc/tasks.h"

#include <stdio.h>
#include <string.h>

static sparc_status no_memory(void) { return fail(SPARC_NO_MEMORY, "no memory for a grid"); }

static const char *setting_of(const json_t *method, const char *key) {
  return json_string_value(json_object_get(json_object_get(method, "settings"), key));
}

static bool same(const char *a, const char *b) { return a && b ? strcmp(a, b) == 0 : a == b; }

/* ---- methods ------------------------------------------------------------------------------------- */

/* methods of the grid with this cell and variant */
static int find_rows(const json_t *methods, const char *cell, const char *variant, json_t *rows[GRID_MAX_ENTRIES]) {
  int count = 0;
  for (size_t i = 0; i < json_array_size(methods) && count < GRID_MAX_ENTRIES; i++) {
    json_t *m = json_array_get(methods, i);
    if (same(setting_of(m, "cell"), cell) && same(setting_of(m, "variant"), variant)) rows[count++] = m;
  }
  return count;
}

static sparc_status has_variants(const char *kind, bool *has) {
  enum { ANY = 128 };
  char options[CELL_OPTIONS_SIZE], variant[GRID_NAME];
  int modes;
  const sparc_status status = cell_resolve(&(cell_request){.kind = kind, .state_size = ANY}, ANY, &modes, options);
  if (status == SPARC_OK) *has = cell_variant(options, variant, sizeof variant);
  return status;
}

/* a method with its own options; `title` is the cell's */
static json_t *new_row(const cell_request *request, const char *title, const char *nondefault) {
  char name[GRID_NAME], whole[CELL_OPTIONS_SIZE + 128];
  options_file_name(request->kind, nondefault, name, sizeof name);
  snprintf(whole, sizeof whole, "%s%s%s", title, *nondefault ? ", " : "", nondefault);
  json_t *settings = json_pack("{s:s, s:s*, s:s*}", "cell", request->kind, "cell-options", request->options, "variant",
                               request->variant);
  return settings ? json_pack("{s:s, s:s, s:o}", "name", name, "title", whole, "settings", settings) : NULL;
}

static sparc_status append(json_t *rows, json_t *row) {
  return row && json_array_append(rows, row) == 0 ? SPARC_OK : no_memory();
}

/* takes the reference */
static sparc_status append_new(json_t *rows, json_t *row) {
  const sparc_status status = append(rows, row);
  json_decref(row);
  return status;
}

static sparc_status add_cell(const json_t *methods, const char *cell, const demo_request *q, bool variants,
                             json_t *rows) {
  json_t *defaults[GRID_MAX_ENTRIES], *varied[GRID_MAX_ENTRIES];
  const cell_request request = {.kind = cell, .options = q->options, .variant = variants ? q->variant : NULL};
  char nondefault[CELL_OPTIONS_SIZE];
  sparc_status status = cell_nondefault_options(&request, nondefault);
  if (status != SPARC_OK) return status;
  const bool requested = request.options || request.variant;
  const int count = find_rows(methods, cell, NULL, defaults);
  const char *title = count ? json_string_value(json_object_get(defaults[0], "title")) : cell;
  if (*nondefault && !request.options && find_rows(methods, cell, request.variant, varied) == 1)
    return append(rows, varied[0]);
  if (*nondefault || count == 0) return append_new(rows, new_row(&request, title, nondefault));
  /* all rows of the cell; with explicitly requested defaults only the first */
  for (int i = 0; i < (requested ? 1 : count) && status == SPARC_OK; i++) status = append(rows, defaults[i]);
  return status;
}

static sparc_status choose_methods(json_t *file, const demo_request *q) {
  json_t *rows = json_array();
  bool any_variants = false;
  sparc_status status = rows ? SPARC_OK : no_memory();
  for (const char *const *cell = q->cells; *cell && status == SPARC_OK; cell++) {
    bool variants = false;
    status = has_variants(*cell, &variants);
    any_variants |= variants;
    if (status == SPARC_OK) status = add_cell(json_object_get(file, "methods"), *cell, q, variants, rows);
  }
  if (status == SPARC_OK && q->variant && !any_variants)
    status = fail(SPARC_INVALID, "variant is '%.60s', but none of the cells has variants", q->variant);
  if (status == SPARC_OK && json_object_set(file, "methods", rows) != 0) status = no_memory();
  json_decref(rows);
  return status == SPARC_OK ? grid_select(file, NULL, NULL)
                            : status; /* keeps the paper's numbers of the remaining methods */
}

/* ---- the embedding ------------------------------------------------------------------------------- */

/* the width of the cell's output for D inputs */
static sparc_status output_width(const json_t *method, int budget, int D, size_t *width) {
  const cell_request request = {.kind = setting_of(method, "cell"),
                                .options = setting_of(method, "cell-options"),
                                .variant = setting_of(method, "variant"),
                                .state_size = budget};
  char options[CELL_OPTIONS_SIZE];
  int modes;
  sparc_cell *cell = NULL;
  sparc_status status = cell_resolve(&request, D, &modes, options);
  if (status == SPARC_OK)
    status =
        sparc_cell_create(&(sparc_cell_config){.kind = request.kind, .D = D, .H = modes, .options = options}, &cell);
  if (status == SPARC_OK) *width = sparc_cell_sizes_of(cell).output;
  sparc_cell_free(cell);
  return status;
}

/* whether a method's output is wider after an embedding */
static sparc_status needs_width(const json_t *methods, const sparc_task *task, int embedding, bool *needs) {
  sparc_status status = SPARC_OK;
  for (size_t i = 0; i < json_array_size(methods) && status == SPARC_OK && !*needs; i++) {
    const json_t *method = json_array_get(methods, i);
    size_t narrow = 0, wide = 0;
    status = output_width(method, task->training.state_size, task->D, &narrow);
    if (status == SPARC_OK) status = output_width(method, task->training.state_size, embedding, &wide);
    *needs = narrow < wide;
  }
  return status;
}

/* figure1-full has an embedding before every cell; without one, settings are those of figure1 */
static sparc_status choose_embedding(json_t *file, const demo_request *q) {
  static const char *const without[] = {"note", "settings", "protocol"};
  const int width = (int)json_integer_value(json_object_get(json_object_get(file, "settings"), "width"));
  json_t *figure = NULL;
  bool needs = false;
  sparc_status status = grid_base("figure1", &figure);
  for (const char *const *name = q->tasks; *name && status == SPARC_OK; name++) {
    sparc_task *task;
    status = sparc_task_create(*name, &task);
    if (status == SPARC_OK) status = needs_width(json_object_get(file, "methods"), task, width, &needs);
    sparc_task_free(task);
  }
  int failed = json_object_set(file, "name", json_object_get(figure, "name")) |
               json_object_set(file, "title", json_object_get(figure, "title"));
  for (size_t i = 0; i < sizeof without / sizeof *without && !needs; i++)
    failed |= json_object_set(file, without[i], json_object_get(figure, without[i]));
  json_decref(figure);
  return status == SPARC_OK && failed ? no_memory() : status;
}

/* ---- tasks and seeds ----------------------------------------------------------------------------- */

static sparc_status choose_tasks(json_t *file, const demo_request *q) {
  json_t *names = json_array(), *task;
  size_t i;
  sparc_status status = names ? SPARC_OK : no_memory();
  for (const char *const *name = q->tasks; *name && status == SPARC_OK; name++)
    status = append_new(names, json_string(*name));
  if (status == SPARC_OK) status = grid_select(file, names, NULL);
  json_decref(names);
  if (status != SPARC_OK || q->updates == 0) return status;
  json_array_foreach(json_object_get(file, "tasks"), i, task) {
    if (json_object_set_new(json_object_get(task, "settings"), "updates", json_integer(q->updates)) != 0)
      status = no_memory();
  }
  return status;
}

static sparc_status choose_seeds(json_t *file, const demo_request *q) {
  json_t *seeds = json_array();
  sparc_status status = seeds ? SPARC_OK : no_memory();
  if (q->seed > (uint64_t)INT64_MAX - (uint64_t)q->seeds)
    status = fail(SPARC_INVALID, "seed is %llu, expected at most %lld", (unsigned long long)q->seed,
                  (long long)INT64_MAX - q->seeds);
  for (int i = 0; i < q->seeds && status == SPARC_OK; i++)
    status = append_new(seeds, json_integer((json_int_t)(q->seed + (uint64_t)i)));
  if (status == SPARC_OK && json_object_set(file, "seeds", seeds) != 0) status = no_memory();
  json_decref(seeds);
  return status;
}

sparc_status demo_grid(const demo_request *q, grid *out) {
  json_t *file;
  *out = (grid){.file = NULL};
  sparc_status status = grid_base("figure1-full", &file);
  if (status == SPARC_OK) status = choose_tasks(file, q);
  if (status == SPARC_OK) status = choose_methods(file, q);
  if (status == SPARC_OK) status = choose_embedding(file, q);
  if (status == SPARC_OK) status = choose_seeds(file, q);
  if (status != SPARC_OK) {
    json_decref(file);
    return status;
  }
  json_object_del(file, "reference"); /* the first method */
  json_t *rows[GRID_MAX_ENTRIES];
  if (find_rows(json_object_get(file, "methods"), "rglru", NULL, rows) < 2)
    json_object_del(file, "note"); /* the note is about its two rows */
  return grid_from_json(file, "demo", out);
}
