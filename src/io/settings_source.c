/* SPDX-License-Identifier: MIT */
/* settings_source.c: settings from the command line and from configuration files, and the configuration of a run. Every
 * source is a list of texts, so that all sources share the parser and the error messages. */
#include "base/c_locale.h"
#include "base/error.h"
#include "io/json.h"
#include "io/settings.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool is_allowed_in_file(const setting *s) { return s->role != STORED && s->role != COMMAND_LINE; }

/* ---- files --------------------------------------------------------------------------------------- */

static sparc_status refused(const settings_source *source) { return source->stored ? SPARC_FORMAT : SPARC_INVALID; }

static sparc_status refuse_key(const settings_binding *binding, const settings_source *source, const char *key) {
  const char *path = source->where;
  const char *names[MAX_SETTINGS + 1];
  const setting *s;
  int count = 0;
  for (int i = 0; (s = settings_row(binding, i, NULL)); i++)
    if (is_allowed_in_file(s)) names[count++] = s->name;
  names[count] = NULL;
  const char *guess = closest(key, names);
  return guess ? fail(refused(source), "%.200s: unknown key '%.60s'; did you mean '%s'?", path, key, guess)
               : fail(refused(source), "%.200s: unknown key '%.60s', expected the name of a setting", path, key);
}

/* a JSON value as on the command line; NULL for arrays, objects and null */
static const char *json_as_text(const json_t *value, char number[SETTING_TEXT_SIZE]) {
  switch (json_typeof(value)) {
    case JSON_STRING:
      return json_string_value(value);
    case JSON_INTEGER:
      snprintf(number, SETTING_TEXT_SIZE, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
      return number;
    case JSON_REAL:
      snprintf(number, SETTING_TEXT_SIZE, "%.17g", json_real_value(value));
      return number;
    case JSON_TRUE:
      return "true";
    case JSON_FALSE:
      return "false";
    default:
      return NULL;
  }
}

static sparc_status read_key(const settings_binding *binding, const char *key, const json_t *value,
                             settings_source *to) {
  const int i = settings_find(binding, key);
  const setting *s = i >= 0 ? settings_row(binding, i, NULL) : NULL;
  if (!s || !is_allowed_in_file(s)) return refuse_key(binding, to, key);
  if (s->role == SUBJECT && !json_is_string(value))
    return fail(refused(to), "%.200s: %s is not a string", to->where, key);
  if (to->text[i]) return fail(refused(to), "%.200s: %s and %s are the same setting", to->where, s->old_name, s->name);
  to->text[i] = json_as_text(value, to->number[i]);
  if (to->text[i]) return SPARC_OK;
  return fail(SPARC_INVALID, "%.200s: %s is neither a string nor a number nor true or false", to->where, key);
}

static sparc_status read_keys(const settings_binding *binding, settings_source *source) {
  const char *key;
  json_t *value;
  json_object_foreach(source->file, key, value) {
    const sparc_status status = read_key(binding, key, value, source);
    if (status != SPARC_OK) return status;
  }
  return SPARC_OK;
}

sparc_status settings_read_json(const settings_binding *binding, const char *where, json_t *object,
                                settings_source *source) {
  source->where = where;
  source->file = object;
  if (!json_is_object(object)) return fail(SPARC_FORMAT, "%.200s: expected one JSON object", where);
  const locale_guard guard = enter_c_locale();
  const sparc_status status = read_keys(binding, source);
  leave_c_locale(guard);
  return status;
}

sparc_status settings_read_file(const settings_binding *binding, const char *path, settings_source *source) {
  json_error_t error;
  json_t *object = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
  if (!object && error.line < 0) return fail(SPARC_IO, "cannot read '%.200s': %s", path, strerror(errno));
  if (!object) return fail(SPARC_FORMAT, "%.200s:%d: %s", path, error.line, error.text);
  return settings_read_json(binding, path, object, source);
}

void settings_source_free(settings_source *source) {
  json_decref(source->file);
  *source = (settings_source){.where = NULL};
}

json_t *settings_canonical_json(const settings_binding *binding, const json_t *object) {
  json_t *copy = json_object(), *value;
  const char *key;
  json_object_foreach((json_t *)object, key, value) {
    const int i = settings_find(binding, key);
    const char *name = i >= 0 ? setting_canonical_name(settings_row(binding, i, NULL)) : key;
    if (copy && json_object_set(copy, name, value) == 0) continue;
    json_decref(copy);
    return NULL;
  }
  return copy;
}

/* ---- sources ------------------------------------------------------------------------------------- */

/* a flag that is not set excludes and overrides nothing; configurations of runs hold such flags */
static bool is_off(const setting *s, const char *text) { return s->type == SETTING_FLAG && strcmp(text, "false") == 0; }

static sparc_status check_exclusions(const settings_binding *binding, const settings_source *source) {
  const char *prefix = source->prefix ? source->prefix : "";
  const setting *a, *b;
  for (int i = 0; (a = settings_row(binding, i, NULL)); i++)
    for (int k = i + 1; source->text[i] && (b = settings_row(binding, k, NULL)); k++)
      if (source->text[k] && !is_off(a, source->text[i]) && !is_off(b, source->text[k]) &&
          settings_list_contains(a->overrides, b->name) && settings_list_contains(b->overrides, a->name))
        return fail(refused(source), "%s%s and %s%s exclude each other", prefix, a->name, prefix, b->name);
  return SPARC_OK;
}

static void clear_named(const settings_binding *binding, const char *names) {
  const setting *s;
  for (int i = 0; (s = settings_row(binding, i, NULL)); i++)
    if (settings_list_contains(names, s->name)) settings_unset(binding, i);
}

/* A later source overrides an earlier one for the same setting, unless the value is the same. */
static void clear_overridden(const settings_binding *binding, const settings_source *source) {
  const setting *s;
  void *at;
  for (int i = 0; (s = settings_row(binding, i, &at)); i++) {
    if (!source->text[i] || !s->overrides || is_off(s, source->text[i])) continue;
    const char *below = s->type != SETTING_TEXT ? NULL : *(char **)at ? *(const char **)at : s->defaults[DEFAULT_DATA];
    if (!below || strcmp(below, source->text[i]) != 0) clear_named(binding, s->overrides);
  }
}

static sparc_status refuse_value(const settings_binding *binding, int i, const settings_source *source) {
  const setting *s = settings_row(binding, i, NULL);
  const char *text = source->text[i];
  char expected[96], path[SETTING_MEMBER_SIZE];
  const char *valid = setting_expected(s, true, expected, sizeof expected);
  if (source->where)
    return fail(refused(source), "%.200s: %s is '%.100s', expected %s", source->where, s->name, text, valid);
  if (source->prefix) return fail(SPARC_INVALID, "%s%s is '%.100s', expected %s", source->prefix, s->name, text, valid);
  return fail(SPARC_INVALID, "%s is '%.100s', expected %s", settings_member(binding, i, path), text, valid);
}

sparc_status settings_apply(const settings_binding *binding, const settings_source *source) {
  const setting *s;
  void *at;
  clear_overridden(binding, source);
  const locale_guard guard = enter_c_locale();
  sparc_status status = SPARC_OK;
  for (int i = 0; status == SPARC_OK && (s = settings_row(binding, i, &at)); i++) {
    if (!source->text[i]) continue;
    if (setting_parse(s, source->text[i], true, at))
      settings_mark(binding, i);
    else
      status = refuse_value(binding, i, source);
  }
  leave_c_locale(guard);
  return status == SPARC_OK ? check_exclusions(binding, source) : status;
}

static bool is_valid(const setting *s, const char *text) {
  union {
    const char *text;
    int whole;
    long large;
    uint64_t seed;
    double real;
  } value;
  const locale_guard guard = enter_c_locale();
  const bool valid = setting_parse(s, text, true, &value);
  leave_c_locale(guard);
  return valid;
}

/* a value that is refused must not clear what it would override */
sparc_status settings_set(const settings_binding *binding, const char *name, const char *text) {
  settings_source source = {.where = NULL};
  if (!name || !text) return fail(SPARC_INVALID, "%s is NULL", name ? "value" : "name");
  const int option = settings_find(binding, name), i = option < 0 ? settings_find_path(binding, name) : option;
  if (i < 0) return refuse_key(binding, &(settings_source){.where = "settings"}, name);
  source.text[i] = text;
  if (!is_valid(settings_row(binding, i, NULL), text)) return refuse_value(binding, i, &source);
  return settings_apply(binding, &source);
}

/* ---- the configuration of a run ------------------------------------------------------------------ */

static json_t *json_value(const setting *s, const void *at) {
  char text[SETTING_TEXT_SIZE];
  switch (s->type) {
    case SETTING_TEXT:
      return json_text(*(const char *const *)at);
    case SETTING_REAL:
      return json_real(*(const double *)at);
    case SETTING_FLAG:
      return json_boolean(*(const int *)at);
    case SETTING_CHOICE:
      return json_string(s->choices[*(const int *)at]);
    case SETTING_INT:
      return json_integer(*(const int *)at);
    case SETTING_LONG:
      return json_integer(*(const long *)at);
    case SETTING_SEED: /* text where JSON integers overflow */
      if (*(const uint64_t *)at <= INT64_MAX) return json_integer((json_int_t) * (const uint64_t *)at);
      return json_string(setting_print(s, at, text));
  }
  return NULL;
}

static bool is_written(const settings_binding *binding, int i) {
  const setting_role role = settings_row(binding, i, NULL)->role;
  return (role == SUBJECT || role == DEFINES || role == FREE) && settings_is_given(binding, i);
}

json_t *settings_json(const settings_binding *binding) {
  json_t *object = json_object();
  for (int subject = 1; subject >= 0; subject--) {
    const setting *s;
    void *at;
    for (int i = 0; object && (s = settings_row(binding, i, &at)); i++) {
      if ((s->role == SUBJECT) != subject || !is_written(binding, i)) continue;
      if (json_object_set_new(object, setting_canonical_name(s), json_value(s, at)) == 0) continue;
      json_decref(object);
      object = NULL;
    }
  }
  return object;
}

static sparc_status compare_value(const char *name, const json_t *now, const json_t *then, const char *then_name) {
  if ((!now && !then) || json_equal(now, then)) return SPARC_OK;
  const size_t style = JSON_ENCODE_ANY | JSON_REAL_PRECISION(15);
  char *mine = now ? json_dumps(now, style) : NULL, *other = then ? json_dumps(then, style) : NULL;
  const sparc_status status =
      fail(SPARC_INVALID, "%s is %.120s, but %.120s in %.120s; a resumed run keeps its settings", name,
           mine ? mine : "not set", other ? other : "not set", then_name);
  free(mine);
  free(other);
  return status;
}

/* the value of a setting in an object, a new reference; NULL: absent */
static json_t *value_in(const json_t *object, const setting *s) {
  static const uint64_t zero; /* as large as any value */
  json_t *value = json_object_get(object, setting_canonical_name(s));
  if (!value) value = json_object_get(object, s->name);
  if (!value && s->choice_if_absent) return json_value(s, &s->choice_if_absent);
  return value || !s->zero_if_absent ? json_incref(value) : json_value(s, &zero);
}

sparc_status settings_compare(const settings_binding *binding, const json_t *now, const json_t *then,
                              const char *then_name) {
  const setting *s;
  sparc_status status = SPARC_OK;
  for (int i = 0; status == SPARC_OK && (s = settings_row(binding, i, NULL)); i++) {
    if (s->role != DEFINES && s->role != SUBJECT) continue;
    json_t *mine = value_in(now, s), *other = value_in(then, s);
    status = compare_value(s->name, mine, other, then_name);
    json_decref(mine);
    json_decref(other);
  }
  return status;
}
