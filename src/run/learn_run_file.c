/* SPDX-License-Identifier: MIT */
/* learn_run_file.c: the file of a run over a stream: the learner, and its columns as metadata. */
#include "base/error.h"
#include "data/column_names.h"
#include "data/text.h"
#include "online/learner.h"
#include "run/learn_run_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY_COLUMNS "stream.columns"
#define KEY_CLASSES "stream.classes"
#define KEY_OUTPUTS "stream.outputs"
#define KEY_DECIMAL "stream.decimal"
#define KEY_ID      "stream.id"
#define KEY_TIME    "stream.time"
#define KEY_NAMES   "stream.names"

/* ---- loading ------------------------------------------------------------------------------------- */

static sparc_status missing_key(const char *path, const char *key) {
  return fail(SPARC_FORMAT, "'%.200s': metadata '%s' is missing or invalid: was the file written by sparc learn?", path,
              key);
}

/* output names, a JSON array of strings */
static sparc_status read_outputs(sparc_learn_run *run, const char *path, const char *text) {
  run->names = text ? json_loads(text, 0, NULL) : NULL;
  const size_t count = (size_t)sparc_learner_info_of(run->learner).config->outputs;
  if (!json_is_array(run->names) || json_array_size(run->names) != count) return missing_key(path, KEY_OUTPUTS);
  for (size_t i = 0; i < count; i++)
    if (!json_is_string(json_array_get(run->names, i))) return missing_key(path, KEY_OUTPUTS);
  return SPARC_OK;
}

/* whether the number of columns of each role matches the learner */
static bool roles_fit(const char *roles, const sparc_learner_config *c) {
  size_t inputs = 0, targets = 0, labels = 0;
  for (const char *role = roles; *role; role++) {
    inputs += *role == 'i';
    targets += *role == 't';
    labels += *role == 'l';
  }
  return strspn(roles, STREAM_ROLES) == strlen(roles) && inputs == (size_t)c->network.inputs &&
         targets == (size_t)(c->objective == SPARC_LEARN_REGRESS ? c->outputs : 0) &&
         (labels > 0) == (c->objective == SPARC_LEARN_CLASSIFY);
}

/* whether the classes of the stream are the outputs of the learner */
static bool classes_fit(const sparc_learn_run *run) {
  const stream_columns *c = &run->columns;
  if (sparc_learner_info_of(run->learner).config->objective != SPARC_LEARN_CLASSIFY) return c->classes == 0;
  if (json_array_size(run->names) != c->classes) return false;
  for (size_t k = 0; k < c->classes; k++)
    if (strcmp(json_string_value(json_array_get(run->names, k)), c->class_name[k]) != 0) return false;
  return true;
}

/* ---- column names ---- */

/* whether columns can be matched by name; ignored columns may have any name, or none */
static bool names_fit(const char *roles, const char *const *name) {
  const char **used = malloc((strlen(roles) + 1) * sizeof *used);
  sparc_columns all = {.channel = used};
  for (size_t i = 0; used && roles[i]; i++)
    if (roles[i] != '-') used[all.channels++] = name[i];
  const bool fit = used && column_names_check(&all, 0) == SPARC_OK;
  free(used);
  return fit;
}

/* stores roles and, if columns can be matched by name, their names */
sparc_status learn_run_keep_columns(sparc_learn_run *run, const char *roles, const char *const *name) {
  const size_t count = strlen(roles);
  run->roles = strdup(roles);
  if (!run->roles) return fail(SPARC_NO_MEMORY, "no memory for %zu columns", count);
  if (!name || !names_fit(roles, name)) return SPARC_OK;
  run->column = malloc((count + 1) * sizeof *run->column);
  if (!run->column) return fail(SPARC_NO_MEMORY, "no memory for the names of %zu columns", count);
  memcpy(run->column, name, count * sizeof *name);
  return SPARC_OK;
}

/* column names of the file, a JSON array of strings; older files have none */
static sparc_status read_names(sparc_learn_run *run, const sparc_tensors *file, const char *roles) {
  const char *path = run->config.model, *text = sparc_tensors_metadata_find(file, KEY_NAMES);
  const size_t count = strlen(roles);
  if (!text) return learn_run_keep_columns(run, roles, NULL);
  run->column_names = json_loads(text, 0, NULL);
  if (!json_is_array(run->column_names) || json_array_size(run->column_names) != count)
    return missing_key(path, KEY_NAMES);
  const char **name = malloc((count + 1) * sizeof *name);
  if (!name) return fail(SPARC_NO_MEMORY, "no memory for the names of %zu columns", count);
  bool good = true;
  for (size_t i = 0; i < count; i++) {
    name[i] = json_string_value(json_array_get(run->column_names, i));
    good = good && name[i];
  }
  const sparc_status status = good ? learn_run_keep_columns(run, roles, name) : SPARC_OK;
  free(name);
  if (status != SPARC_OK) return status;
  return run->column ? SPARC_OK : missing_key(path, KEY_NAMES);
}

static void warn_of_positions(sparc_learn_run *run, const char *input) {
  const stream_columns *c = &run->columns;
  if (c->by_name || (!run->column && !c->named)) return;
  snprintf(run->warning, sizeof run->warning,
           run->column ? "%s has no header: columns are matched by position"
                       : "the learner has no column names: the columns of %s are matched by position",
           quote(input).text);
}

/* id and time of the last step in the file; older files have no time */
static sparc_status load_texts(sparc_learn_run *run, const sparc_tensors *file) {
  const char *id = sparc_tensors_metadata_find(file, KEY_ID), *time = sparc_tensors_metadata_find(file, KEY_TIME);
  const size_t ids = id ? strlen(id) + 1 : 1, times = time ? strlen(time) + 1 : 1;
  const sparc_status status = learn_run_reserve_texts(run, ids > times ? ids : times);
  if (status == SPARC_OK && id) memcpy(run->previous.id, id, ids);
  if (status == SPARC_OK && time) memcpy(run->previous.time, time, times);
  return status;
}

static sparc_status read_stream(sparc_learn_run *run, const sparc_tensors *file, const char *line, size_t size,
                                const char *name) {
  const char *path = run->config.model;
  const char *roles = sparc_tensors_metadata_find(file, KEY_COLUMNS);
  const char *decimal = sparc_tensors_metadata_find(file, KEY_DECIMAL);
  const sparc_learner_config c = *sparc_learner_info_of(run->learner).config;
  if (!roles || !roles_fit(roles, &c)) return missing_key(path, KEY_COLUMNS);
  if (!decimal || !*decimal || learn_run_check_decimal(decimal) != SPARC_OK) return missing_key(path, KEY_DECIMAL);
  sparc_status status = read_outputs(run, path, sparc_tensors_metadata_find(file, KEY_OUTPUTS));
  if (status != SPARC_OK) return status;
  status = read_names(run, file, roles);
  if (status != SPARC_OK) return status;
  const stream_options options = {.decimal = *decimal, .classes = sparc_tensors_metadata_find(file, KEY_CLASSES)};
  const stream_known known = {roles, run->config.by_position ? NULL : run->column, run->config.frozen};
  status = stream_open(&options, &known, line, size, name, &run->columns);
  if (status == SPARC_INVALID || (status == SPARC_OK && !classes_fit(run))) return missing_key(path, KEY_CLASSES);
  if (status != SPARC_OK) return status;
  if (!run->config.by_position) warn_of_positions(run, name);
  return load_texts(run, file);
}

sparc_status learn_run_load(void *kind, long *done) {
  sparc_learn_run *run = kind;
  sparc_status status = sparc_learner_load(run->config.model, &run->learner);
  if (status != SPARC_OK) return status;
  sparc_tensors *file;
  status = sparc_tensors_load(run->config.model, &file);
  if (status == SPARC_OK) status = read_stream(run, file, run->line, run->line_size, run->line_name);
  if (status == SPARC_OK) status = learn_run_match(run, sparc_tensors_metadata_find(file, KEY_CLASSES));
  sparc_tensors_free(file);
  *done = sparc_learner_report_of(run->learner).steps;
  return status;
}

/* ---- saving -------------------------------------------------------------------------------------- */

static char *print_names(const char *const *name, size_t count) {
  json_t *names = json_array();
  for (size_t k = 0; names && k < count; k++) json_array_append_new(names, json_text(name[k]));
  char *text = names ? json_dumps(names, JSON_COMPACT) : NULL;
  json_decref(names);
  return text;
}

/* columns of the model in the file; buffer: (2, columns) */
static sparc_columns columns_of(const sparc_learn_run *run, const char **buffer) {
  const size_t count = strlen(run->roles);
  const char **ignore = buffer + count;
  sparc_columns c = {.channel = buffer, .ignore = ignore, .steps = 1};
  for (size_t i = 0; i < count; i++) {
    const char role = run->roles[i], *name = run->column[i];
    if (role == 'i') buffer[c.channels++] = name;
    if (role == 'l') c.label = name;
    if (role == '#') c.id = name;
    if (role == '@') c.time = name;
    if ((role == '-' || role == 't') && column_name_valid(name)) ignore[c.ignored++] = name;
  }
  return c;
}

/* comma-separated classes; "" if there are none */
static char *print_classes(const stream_columns *c) {
  size_t size = 1;
  for (size_t k = 0; k < c->classes; k++) size += strlen(c->class_name[k]) + 1;
  char *text = sparc_alloc(size), *end = text;
  for (size_t k = 0; text && k < c->classes; k++) end += sprintf(end, "%s%s", k ? "," : "", c->class_name[k]);
  return text;
}

sparc_status learn_run_write(void *kind, const char *path) {
  const sparc_learn_run *run = kind;
  const stream_columns *c = &run->columns;
  const size_t columns = strlen(run->roles);
  char *outputs = print_names(run->outputs, (size_t)sparc_learner_info_of(run->learner).config->outputs);
  char *classes = print_classes(c), *names = run->column ? print_names(run->column, columns) : NULL;
  const char **buffer = malloc((2 * columns + 1) * sizeof *buffer);
  sparc_status status = SPARC_OK;
  if (!outputs || !classes || !buffer || (run->column && !names))
    status = fail(SPARC_NO_MEMORY, "no memory for the names of outputs");
  if (status == SPARC_OK) {
    const char decimal[2] = {c->decimal, '\0'};
    sparc_metadata all[7] = {{KEY_COLUMNS, run->roles},
                             {KEY_OUTPUTS, outputs},
                             {KEY_DECIMAL, decimal},
                             {KEY_ID, run->previous.id ? run->previous.id : ""}};
    size_t entries = 4;
    if (run->previous.time && *run->previous.time) all[entries++] = (sparc_metadata){KEY_TIME, run->previous.time};
    if (c->classes) all[entries++] = (sparc_metadata){KEY_CLASSES, classes};
    if (names) all[entries++] = (sparc_metadata){KEY_NAMES, names};
    const sparc_columns known = names ? columns_of(run, buffer) : (sparc_columns){.steps = 1};
    status = learner_save(run->learner, c->classes ? (const char *const *)c->class_name : NULL, names ? &known : NULL,
                          all, entries, path);
  }
  free(outputs);
  free(names);
  free(buffer);
  sparc_free(classes);
  return status;
}
