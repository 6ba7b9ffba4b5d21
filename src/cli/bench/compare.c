/* SPDX-License-Identifier: MIT */
/* compare.c: the results of an earlier run, for --compare. */
#include "base/error.h"
#include "cli/bench/output.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static sparc_status load_line(const char *path, size_t number, const char *line, json_t *results) {
  json_error_t error;
  json_t *object = json_loads(line, 0, &error);
  if (!object) return fail(SPARC_FORMAT, "%.200s, line %zu: not JSON: %s", path, number, error.text);
  /* lines of the suites have no stage and are passed over */
  if (!json_is_object(object)) {
    json_decref(object);
    return fail(SPARC_FORMAT, "%.200s, line %zu: not a JSON object", path, number);
  }
  return json_array_append_new(results, object) == 0 ? SPARC_OK : fail(SPARC_NO_MEMORY, "no memory for %.200s", path);
}

sparc_status bench_load_old(const char *path, json_t **out) {
  *out = NULL;
  FILE *file = fopen(path, "r");
  if (!file) return fail(SPARC_IO, "cannot open '%.200s': %s", path, strerror(errno));
  json_t *results = json_array();
  char *line = NULL;
  size_t capacity = 0, number = 0;
  sparc_status status = results ? SPARC_OK : fail(SPARC_NO_MEMORY, "no memory for %.200s", path);
  while (status == SPARC_OK && getline(&line, &capacity, file) >= 0) {
    number++;
    if (line[strspn(line, " \t\r\n")]) status = load_line(path, number, line, results);
  }
  if (status == SPARC_OK && ferror(file)) status = fail(SPARC_IO, "cannot read '%.200s': %s", path, strerror(errno));
  free(line);
  fclose(file);
  if (status == SPARC_OK)
    *out = results;
  else
    json_decref(results);
  return status;
}

static bool has_text(const json_t *object, const char *key, const char *text) {
  const char *value = json_string_value(json_object_get(object, key));
  return value && strcmp(value, text) == 0;
}

double bench_old_seconds(const bench_printer *printer, const bench_result *result, const bench_figures *figures) {
  for (size_t i = 0; i < json_array_size(printer->old); i++) {
    const json_t *line = json_array_get(printer->old, i);
    if (has_text(line, "problem", result->problem) && has_text(line, "stage", figures->stage) &&
        has_text(line, "kernel", result->kernel) &&
        json_integer_value(json_object_get(line, "threads")) == result->threads)
      return json_number_value(json_object_get(line, "seconds"));
  }
  return NAN;
}
