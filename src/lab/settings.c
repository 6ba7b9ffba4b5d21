/* SPDX-License-Identifier: MIT */
/* settings.c: values from texts and back, for any structure that a table describes. Every source of settings is a list
 * of texts, so the command line, configuration files and checkpoints share one parser and one set of sentences. */
#include "lab/settings.h"

#include "base/c_locale.h"
#include "base/error.h"
#include "io/json.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- rows ---------------------------------------------------------------------------------------- */

static bool is_seen(const settings_form *form, const setting *s) {
  return !form->command || !s->commands || (s->commands & form->command);
}

const setting *settings_row(const settings_form *form, int i, void **at) {
  for (int p = 0; p < SETTINGS_PARTS && form->part[p].table; p++) {
    const settings_part *part = &form->part[p];
    for (int r = 0; r < part->table->rows; r++) {
      const setting *s = &part->table->row[r];
      if (!is_seen(form, s) || i-- > 0) continue;
      if (at) *at = (char *)part->at + s->offset;
      return s;
    }
  }
  return NULL;
}

static bool has_option(const setting *s) { return s->role != STORED; }
static bool may_stand_in_file(const setting *s) { return has_option(s) && s->role != COMMAND_LINE; }

int settings_find(const settings_form *form, const char *name) {
  const setting *s;
  for (int i = 0; (s = settings_row(form, i, NULL)); i++)
    if (has_option(s) && strcmp(s->name, name) == 0) return i;
  return -1;
}

/* ---- one value ----------------------------------------------------------------------------------- */

static bool has_range(const setting *s) {
  return s->type == SETTING_INT || s->type == SETTING_LONG || s->type == SETTING_REAL || s->type == SETTING_CHOICE;
}

static double number_at(const setting *s, const void *at) {
  switch (s->type) {
    case SETTING_INT:
    case SETTING_CHOICE:
      return *(const int *)at;
    case SETTING_LONG:
      return (double)*(const long *)at;
    case SETTING_REAL:
      return *(const double *)at;
    default:
      return 0;
  }
}

bool setting_is_set(const setting *s, const void *at) {
  if (s->type == SETTING_TEXT) return *(const char *const *)at != NULL;
  return !has_range(s) || number_at(s, at) != s->low - 1;
}

void setting_unset(const setting *s, void *at) {
  switch (s->type) {
    case SETTING_TEXT:
      *(const char **)at = NULL;
      break;
    case SETTING_INT:
    case SETTING_CHOICE:
      *(int *)at = (int)s->low - 1;
      break;
    case SETTING_LONG:
      *(long *)at = (long)s->low - 1;
      break;
    case SETTING_REAL:
      *(double *)at = s->low - 1;
      break;
    case SETTING_SEED:
      *(uint64_t *)at = 0;
      break;
    case SETTING_FLAG:
      *(int *)at = 0;
      break;
  }
}

static bool parse_whole(const char *text, long low, long high, long *value) {
  char *end;
  errno = 0;
  *value = strtol(text, &end, 10);
  return end != text && !*end && !errno && *value >= low && *value <= high;
}

static bool parse_int(const char *text, int *value) {
  long whole;
  if (!parse_whole(text, INT_MIN, INT_MAX, &whole)) return false;
  *value = (int)whole;
  return true;
}

static bool parse_seed(const char *text, uint64_t *value) {
  char *end;
  errno = 0;
  *value = strtoull(text, &end, 10);
  return isdigit((unsigned char)*text) && !*end && !errno;
}

static bool parse_real(const char *text, double *value) {
  char *end;
  *value = strtod(text, &end);
  return end != text && !*end && isfinite(*value);
}

static bool parse_name(const char *text, const char *const *names, int *value) {
  for (*value = 0; names[*value]; ++*value)
    if (strcmp(names[*value], text) == 0) return true;
  return false;
}

static bool parse_value(const setting *s, const char *text, void *at) {
  static const char *const flags[] = {"false", "true", NULL};
  switch (s->type) {
    case SETTING_TEXT:
      *(const char **)at = text;
      return true;
    case SETTING_INT:
      return parse_int(text, at);
    case SETTING_LONG:
      return parse_whole(text, LONG_MIN, LONG_MAX, at);
    case SETTING_SEED:
      return parse_seed(text, at);
    case SETTING_REAL:
      return parse_real(text, at);
    case SETTING_FLAG:
      return parse_name(text, flags, at);
    case SETTING_CHOICE:
      return parse_name(text, s->choices, at);
  }
  return false;
}

static bool is_in_range(const setting *s, const void *at) {
  const double number = number_at(s, at);
  return !has_range(s) || s->type == SETTING_CHOICE || (number >= s->low && number <= s->high);
}

bool setting_parse(const setting *s, const char *text, bool ranged, void *at) {
  return parse_value(s, text, at) && (!ranged || is_in_range(s, at));
}

const char *setting_print(const setting *s, const void *at, char room[SETTING_TEXT_SIZE]) {
  switch (s->type) {
    case SETTING_TEXT:
      return *(const char *const *)at;
    case SETTING_CHOICE:
      return s->choices[*(const int *)at];
    case SETTING_FLAG:
      return *(const int *)at ? "true" : "false";
    case SETTING_INT:
      snprintf(room, SETTING_TEXT_SIZE, "%d", *(const int *)at);
      break;
    case SETTING_LONG:
      snprintf(room, SETTING_TEXT_SIZE, "%ld", *(const long *)at);
      break;
    case SETTING_SEED:
      snprintf(room, SETTING_TEXT_SIZE, "%" PRIu64, *(const uint64_t *)at);
      break;
    case SETTING_REAL:
      snprintf(room, SETTING_TEXT_SIZE, "%.17g", *(const double *)at);
      break;
  }
  return room;
}

/* "auto, plain or none" */
static void list_choices(const char *const *choices, char *room, size_t size) {
  size_t used = 0;
  room[0] = '\0';
  for (size_t i = 0; choices[i] && used < size; i++)
    used += (size_t)snprintf(room + used, size - used, "%s%s",
                             i == 0           ? ""
                             : choices[i + 1] ? ", "
                                              : " or ",
                             choices[i]);
}

const char *setting_expected(const setting *s, bool ranged, char *room, size_t size) {
  switch (s->type) {
    case SETTING_TEXT:
      return "text";
    case SETTING_FLAG:
      return "true or false";
    case SETTING_SEED:
      return "a whole number from 0 to 18446744073709551615";
    case SETTING_CHOICE:
      list_choices(s->choices, room, size);
      return room;
    case SETTING_REAL:
      if (!ranged) return "a number";
      snprintf(room, size, "a number from %g to %g", s->low, s->high);
      return room;
    case SETTING_INT:
    case SETTING_LONG:
      if (!ranged) return "a whole number";
      snprintf(room, size, "a whole number from %.0f to %.0f", s->low, s->high);
      return room;
  }
  return room;
}

/* ---- whole forms --------------------------------------------------------------------------------- */

void settings_clear(const settings_form *form) {
  const setting *s;
  void *at;
  for (int i = 0; (s = settings_row(form, i, &at)); i++) setting_unset(s, at);
}

static bool may_be_unset(const setting *s) { return s->type == SETTING_TEXT || s->role == FREE; }

sparc_status settings_check(const settings_form *form, bool complete) {
  const setting *s;
  void *at;
  for (int i = 0; (s = settings_row(form, i, &at)); i++) {
    if (s->role == STORED && !complete) continue;
    if (!setting_is_set(s, at) ? !complete || may_be_unset(s) : is_in_range(s, at)) continue;
    char expected[96];
    return fail(SPARC_INVALID, "%s is %g, expected %s", s->name, number_at(s, at),
                setting_expected(s, true, expected, sizeof expected));
  }
  return SPARC_OK;
}

void settings_fill(const settings_form *form, int usual) {
  const setting *s;
  void *at;
  const locale_guard guard = enter_c_locale();
  for (int i = 0; (s = settings_row(form, i, &at)); i++) {
    const char *text = s->usual[usual] ? s->usual[usual] : s->usual[USUAL_DATA];
    if (text && strcmp(text, TASKS_OWN) != 0 && !setting_is_set(s, at)) (void)setting_parse(s, text, false, at);
  }
  leave_c_locale(guard);
}

static size_t size_of(const setting *s) {
  static const size_t sizes[] = {
      [SETTING_TEXT] = sizeof(char *),   [SETTING_INT] = sizeof(int),     [SETTING_LONG] = sizeof(long),
      [SETTING_SEED] = sizeof(uint64_t), [SETTING_REAL] = sizeof(double), [SETTING_FLAG] = sizeof(int),
      [SETTING_CHOICE] = sizeof(int)};
  return sizes[s->type];
}

void settings_inherit(const settings_form *to, const settings_form *from) {
  const setting *s;
  void *at, *source;
  for (int i = 0; (s = settings_row(to, i, &at)) && settings_row(from, i, &source); i++)
    if (!setting_is_set(s, at)) memcpy(at, source, size_of(s));
}

/* ---- files --------------------------------------------------------------------------------------- */

static sparc_status refuse_key(const settings_form *form, const char *path, const char *key) {
  const char *names[SETTINGS_MOST + 1];
  const setting *s;
  int count = 0;
  for (int i = 0; (s = settings_row(form, i, NULL)); i++)
    if (may_stand_in_file(s)) names[count++] = s->name;
  names[count] = NULL;
  const char *guess = closest(key, names);
  return guess ? fail(SPARC_INVALID, "%.200s: unknown key '%.60s'; did you mean '%s'?", path, key, guess)
               : fail(SPARC_INVALID, "%.200s: unknown key '%.60s', expected the name of a setting", path, key);
}

/* the text of a JSON value, as it would stand on the command line; NULL for lists, objects and null */
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

static sparc_status read_key(const settings_form *form, const char *key, const json_t *value, settings_source *to) {
  const int i = settings_find(form, key);
  const setting *s = i >= 0 ? settings_row(form, i, NULL) : NULL;
  if (!s || !may_stand_in_file(s)) return refuse_key(form, to->where, key);
  if (s->letter == POSITIONAL && !json_is_string(value))
    return fail(SPARC_INVALID, "%.200s: %s is not a string", to->where, key);
  to->text[i] = json_as_text(value, to->number[i]);
  if (to->text[i]) return SPARC_OK;
  return fail(SPARC_INVALID, "%.200s: %s is neither a string nor a number nor true or false", to->where, key);
}

static sparc_status read_keys(const settings_form *form, settings_source *source) {
  const char *key;
  json_t *value;
  json_object_foreach(source->file, key, value) {
    const sparc_status status = read_key(form, key, value, source);
    if (status != SPARC_OK) return status;
  }
  return SPARC_OK;
}

sparc_status settings_read_json(const settings_form *form, const char *where, json_t *object, settings_source *source) {
  source->where = where;
  source->file = object;
  if (!json_is_object(object)) return fail(SPARC_FORMAT, "%.200s: expected one JSON object", where);
  const locale_guard guard = enter_c_locale();
  const sparc_status status = read_keys(form, source);
  leave_c_locale(guard);
  return status;
}

sparc_status settings_read_file(const settings_form *form, const char *path, settings_source *source) {
  json_error_t error;
  json_t *object = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
  if (!object && error.line < 0) return fail(SPARC_IO, "cannot read '%.200s': %s", path, strerror(errno));
  if (!object) return fail(SPARC_FORMAT, "%.200s:%d: %s", path, error.line, error.text);
  return settings_read_json(form, path, object, source);
}

void settings_source_free(settings_source *source) {
  json_decref(source->file);
  *source = (settings_source){.where = NULL};
}

/* ---- sources ------------------------------------------------------------------------------------- */

/* whether a list of names with blanks between them has this one */
static bool lists(const char *names, const char *name) {
  const size_t length = strlen(name);
  for (const char *found = names; found && (found = strstr(found, name)); found += length)
    if ((found == names || found[-1] == ' ') && (found[length] == ' ' || !found[length])) return true;
  return false;
}

static sparc_status check_exclusions(const settings_form *form, const settings_source *source) {
  const setting *a, *b;
  for (int i = 0; (a = settings_row(form, i, NULL)); i++)
    for (int k = i + 1; source->text[i] && (b = settings_row(form, k, NULL)); k++)
      if (source->text[k] && lists(a->voids, b->name) && lists(b->voids, a->name))
        return fail(SPARC_INVALID, "--%s and --%s exclude each other", a->name, b->name);
  return SPARC_OK;
}

static void clear_voided(const settings_form *form, const char *voids) {
  const setting *s;
  void *at;
  for (int i = 0; (s = settings_row(form, i, &at)); i++)
    if (lists(voids, s->name)) setting_unset(s, at);
}

/* what a source says voids other things that one below said of the same matter, unless it says nothing new */
static void clear_outdone(const settings_form *form, const settings_source *source) {
  const setting *s;
  void *at;
  for (int i = 0; (s = settings_row(form, i, &at)); i++) {
    if (!source->text[i] || !s->voids) continue;
    const char *below = s->type != SETTING_TEXT ? NULL : *(char **)at ? *(const char **)at : s->usual[USUAL_DATA];
    if (!below || strcmp(below, source->text[i]) != 0) clear_voided(form, s->voids);
  }
}

static sparc_status refuse_value(const settings_source *source, const setting *s, const char *text) {
  char expected[96];
  const char *wanted = setting_expected(s, true, expected, sizeof expected);
  if (!source->where) return fail(SPARC_INVALID, "--%s is '%.100s', expected %s", s->name, text, wanted);
  return fail(SPARC_INVALID, "%.200s: %s is '%.100s', expected %s", source->where, s->name, text, wanted);
}

sparc_status settings_apply(const settings_form *form, const settings_source *source) {
  const setting *s;
  void *at;
  clear_outdone(form, source);
  const locale_guard guard = enter_c_locale();
  sparc_status status = SPARC_OK;
  for (int i = 0; status == SPARC_OK && (s = settings_row(form, i, &at)); i++)
    if (source->text[i] && !setting_parse(s, source->text[i], true, at))
      status = refuse_value(source, s, source->text[i]);
  leave_c_locale(guard);
  return status == SPARC_OK ? check_exclusions(form, source) : status;
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
    case SETTING_SEED: /* what JSON's integers cannot hold becomes text */
      if (*(const uint64_t *)at <= INT64_MAX) return json_integer((json_int_t) * (const uint64_t *)at);
      return json_string(setting_print(s, at, text));
  }
  return NULL;
}

static bool is_written(const setting *s, const void *at) {
  return (s->role == DEFINES || s->role == FREE) && setting_is_set(s, at);
}

json_t *settings_json(const settings_form *form) {
  json_t *object = json_object();
  /* what the run is about comes first */
  for (int positional = 1; positional >= 0; positional--) {
    const setting *s;
    void *at;
    for (int i = 0; object && (s = settings_row(form, i, &at)); i++) {
      if ((s->letter == POSITIONAL) != positional || !is_written(s, at)) continue;
      if (json_object_set_new(object, s->name, json_value(s, at)) == 0) continue;
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

sparc_status settings_compare(const settings_form *form, const json_t *now, const json_t *then, const char *then_name) {
  const setting *s;
  sparc_status status = SPARC_OK;
  for (int i = 0; status == SPARC_OK && (s = settings_row(form, i, NULL)); i++)
    if (s->role == DEFINES)
      status = compare_value(s->name, json_object_get(now, s->name), json_object_get(then, s->name), then_name);
  return status;
}
