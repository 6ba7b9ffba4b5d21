/* SPDX-License-Identifier: MIT */
/* sweep.c: expands one setting after the other; the last varies fastest. */
#include "lab/grid/sweep.h"

#include "base/error.h"
#include "base/plain_text.h"
#include "lab/grid/grid.h"

#include <stdio.h>
#include <string.h>

enum { SWEPT_TITLE = 512, SWEPT_PART = 128, MAX_VALUES = 64 };

/* keys with a short form in names, and their setting */
static const struct {
  const char *key, *setting, *letters;
} known[] = {{"learning_rate", "rate", "lr"}, {"learning-rate", "rate", "lr"}, {"rate", "rate", "lr"}};

static void name_setting(const char *key, const char **setting, const char **letters) {
  *setting = *letters = key;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    if (strcmp(known[i].key, key) != 0) continue;
    *setting = known[i].setting;
    *letters = known[i].letters;
  }
}

/* "0.001", "free", "true"; false: a list or an object is no value */
static bool print_value(const json_t *value, char *text, size_t size) {
  if (json_is_number(value))
    snprintf(text, size, "%g", json_number_value(value));
  else if (json_is_string(value))
    snprintf(text, size, "%s", json_string_value(value));
  else if (json_is_boolean(value))
    snprintf(text, size, "%s", json_is_true(value) ? "true" : "false");
  else
    return false;
  return true;
}

/* removes an incomplete character at the end */
static void end_at_character(char *text) {
  for (const char *at = text; *at;) {
    const size_t length = utf8_length(at, strlen(at));
    if (!length) text[at - text] = '\0';
    at += length;
  }
}

/* appends to a text of the method */
static int extend(json_t *method, const char *key, const char *otherwise, const char *more) {
  const char *old = json_string_value(json_object_get(method, key));
  char start[SWEPT_TITLE - SWEPT_PART], text[SWEPT_TITLE];
  snprintf(start, sizeof start, "%s", old ? old : otherwise);
  end_at_character(start);
  snprintf(text, sizeof text, "%s%s", start, more);
  return json_object_set_new(method, key, json_string(text));
}

/* a copy of the method with one value; NULL: no memory */
static json_t *with_value(const json_t *method, const char *key, json_t *value, const char *text) {
  const char *setting, *letters, *name = json_string_value(json_object_get(method, "name"));
  char name_suffix[SWEPT_PART], title_suffix[SWEPT_PART];
  name_setting(key, &setting, &letters);
  snprintf(name_suffix, sizeof name_suffix, "-%.40s%.60s", letters, text);
  snprintf(title_suffix, sizeof title_suffix, ", %.40s %.60s", letters, text);
  end_at_character(name_suffix);
  end_at_character(title_suffix);
  json_t *copy = json_deep_copy(method);
  if (copy && !json_object_get(copy, "settings")) json_object_set_new(copy, "settings", json_object());
  if (copy && json_object_set(json_object_get(copy, "settings"), setting, value) == 0 &&
      extend(copy, "title", name ? name : "", title_suffix) == 0 && extend(copy, "name", "", name_suffix) == 0)
    return copy;
  json_decref(copy);
  return NULL;
}

/* every method of the list with every value */
static sparc_status vary(json_t **list, const char *key, const json_t *values, const char *where) {
  const size_t count = json_array_size(values);
  if (count < 1 || count > MAX_VALUES)
    return fail(SPARC_FORMAT, "%.200s: sweep: %.60s is not a list of 1 to %d values", where, key, MAX_VALUES);
  if (json_array_size(*list) * count > GRID_MAX_ENTRIES)
    return fail(SPARC_FORMAT, "%.200s: sweep: with %.60s there are %zu methods, expected at most %d", where, key,
                json_array_size(*list) * count, GRID_MAX_ENTRIES);
  json_t *varied = json_array();
  sparc_status status = SPARC_OK;
  for (size_t m = 0; m < json_array_size(*list); m++)
    for (size_t i = 0; status == SPARC_OK && i < count; i++) {
      char text[64];
      json_t *value = json_array_get(values, i);
      if (!print_value(value, text, sizeof text))
        status = fail(SPARC_FORMAT, "%.200s: sweep: %.60s[%zu] is neither a number nor a text", where, key, i);
      else if (json_array_append_new(varied, with_value(json_array_get(*list, m), key, value, text)) != 0)
        status = fail(SPARC_NO_MEMORY, "no memory for a sweep");
    }
  json_decref(*list);
  *list = varied;
  return status;
}

/* appends the expansion of a method to `to` */
static sparc_status expand_method(const json_t *method, const json_t *sweep, const char *where, json_t *to) {
  const char *key;
  json_t *values, *copy = json_deep_copy(method), *list = json_array();
  if (json_object_get(method, "sweep")) sweep = json_object_get(method, "sweep");
  json_object_del(copy, "sweep");
  sparc_status status =
      json_array_append_new(list, copy) == 0 ? SPARC_OK : fail(SPARC_NO_MEMORY, "no memory for a sweep");
  if (status == SPARC_OK && sweep && !json_is_object(sweep))
    status = fail(SPARC_FORMAT, "%.200s: sweep is not an object", where);
  const json_t *settings = json_object_get(method, "settings");
  if (status == SPARC_OK && settings && !json_is_object(settings))
    status = fail(SPARC_FORMAT, "%.200s: settings of a method is not an object", where);
  json_object_foreach((json_t *)sweep, key, values) {
    if (status == SPARC_OK) status = vary(&list, key, values, where);
  }
  if (status == SPARC_OK && json_array_extend(to, list) != 0) status = fail(SPARC_NO_MEMORY, "no memory for a sweep");
  json_decref(list);
  return status;
}

bool sweep_is_in(const json_t *file) {
  const json_t *methods = json_object_get(file, "methods");
  bool any = json_object_get(file, "sweep") != NULL;
  for (size_t i = 0; !any && i < json_array_size(methods); i++)
    any = json_object_get(json_array_get(methods, i), "sweep") != NULL;
  return any;
}

sparc_status sweep_expand(const json_t *file, const char *where, const char *name, json_t **out, int *first) {
  const json_t *methods = json_object_get(file, "methods"), *sweep = json_object_get(file, "sweep");
  sparc_status status = SPARC_OK;
  *out = json_array();
  *first = -1;
  for (size_t i = 0; status == SPARC_OK && i < json_array_size(methods); i++) {
    const json_t *method = json_array_get(methods, i);
    const char *own = json_string_value(json_object_get(method, "name"));
    if (name && own && strcmp(own, name) == 0) *first = (int)json_array_size(*out);
    status = json_is_object(method) ? expand_method(method, sweep, where, *out)
                                    : fail(SPARC_FORMAT, "%.200s: methods[%zu]: expected an object", where, i);
  }
  return status;
}
