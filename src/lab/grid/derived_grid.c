/* SPDX-License-Identifier: MIT */
/* derived_grid.c: selects tasks and methods on the JSON level, so that the result is parsed, checked and written to
 * results folders like any other grid. */
#include "lab/grid/derived_grid.h"

#include "base/error.h"
#include "lab/grid/grid.h"

#include <stdio.h>
#include <string.h>

static sparc_status no_memory(void) { return fail(SPARC_NO_MEMORY, "no memory for a grid"); }

sparc_status grid_base(const char *name, json_t **out) {
  size_t size;
  const char *text = grid_text(name, &size);
  *out = text ? json_loadb(text, size, 0, NULL) : NULL;
  if (!text) return unknown_name("grid", name, grid_names());
  return *out ? SPARC_OK : no_memory();
}

/* ---- choosing ------------------------------------------------------------------------------------ */

static const char *name_of(const json_t *entry) {
  const char *name = json_string_value(json_object_get(entry, "name"));
  return name ? name : "";
}

static json_t *find_entry(const json_t *list, const char *name) {
  size_t i;
  json_t *entry;
  json_array_foreach((json_t *)list, i, entry) {
    if (strcmp(name_of(entry), name) == 0) return entry;
  }
  return NULL;
}

static sparc_status unknown_entry(const char *what, const char *name, const json_t *list) {
  const char *names[GRID_MAX_ENTRIES + 1] = {NULL};
  for (size_t i = 0; i < json_array_size(list) && i < GRID_MAX_ENTRIES; i++)
    names[i] = name_of(json_array_get(list, i));
  return unknown_name(what, name, names);
}

/* reduces the list `key` to the named entries */
static sparc_status keep_entries(json_t *file, const char *key, const char *what, const json_t *names) {
  const json_t *list = json_object_get(file, key);
  json_t *kept = json_array(), *name;
  size_t i;
  sparc_status status = kept ? SPARC_OK : no_memory();
  json_array_foreach((json_t *)names, i, name) {
    const char *text = json_is_string(name) ? json_string_value(name) : "";
    json_t *entry = find_entry(list, text);
    if (status == SPARC_OK && !entry) status = unknown_entry(what, text, list);
    if (status == SPARC_OK && json_array_append(kept, entry) != 0) status = no_memory();
  }
  if (status == SPARC_OK && json_object_set(file, key, kept) != 0) status = no_memory();
  json_decref(kept);
  return status;
}

/* removes the numbers of removed entries */
static void drop_numbers(json_t *numbers, const json_t *list) {
  const char *name;
  json_t *value;
  void *next;
  json_object_foreach_safe(numbers, next, name, value) {
    if (!find_entry(list, name)) json_object_del(numbers, name);
  }
}

static void drop_table(json_t *table, const json_t *file) {
  const char *task;
  json_t *row;
  drop_numbers(table, json_object_get(file, "tasks"));
  json_object_foreach(table, task, row) { drop_numbers(row, json_object_get(file, "methods")); }
}

sparc_status grid_select(json_t *file, const json_t *tasks, const json_t *methods) {
  sparc_status status = SPARC_OK;
  if (tasks) status = keep_entries(file, "tasks", "task", tasks);
  if (methods && status == SPARC_OK) status = keep_entries(file, "methods", "method", methods);
  if (status != SPARC_OK) return status;
  drop_table(json_object_get(file, "paper"), file);
  drop_table(json_object_get(file, "differences"), file);
  drop_numbers(json_object_get(file, "ranks"), json_object_get(file, "methods"));
  return SPARC_OK;
}

/* ---- "of" ---------------------------------------------------------------------------------------- */

sparc_status grid_derive(json_t **file) {
  json_t *of = json_object_get(*file, "of"), *base = NULL;
  if (!of) return SPARC_OK;
  if (!json_is_string(of)) return fail(SPARC_FORMAT, "of is not a string, expected the name of a built-in grid");
  sparc_status status = grid_base(json_string_value(of), &base);
  if (status == SPARC_OK && json_object_get(base, "of"))
    status = fail(SPARC_FORMAT, "of is '%s', which is a part of another grid itself", json_string_value(of));
  const json_t *tasks = json_object_get(*file, "tasks"), *methods = json_object_get(*file, "methods");
  if (status == SPARC_OK && ((tasks && !json_is_array(tasks)) || (methods && !json_is_array(methods))))
    status = fail(SPARC_FORMAT, "tasks or methods is not a list of names");
  if (status == SPARC_OK) status = grid_select(base, tasks, methods);
  static const char *const used[] = {"of", "tasks", "methods"};
  for (size_t i = 0; i < sizeof used / sizeof *used && status == SPARC_OK; i++) json_object_del(*file, used[i]);
  if (status == SPARC_OK && json_object_update(base, *file) != 0) status = no_memory();
  if (status != SPARC_OK) {
    json_decref(base);
    return status == SPARC_INVALID ? SPARC_FORMAT : status;
  }
  json_decref(*file);
  *file = base;
  return SPARC_OK;
}
