/* SPDX-License-Identifier: MIT */
/* settings.c: parse, print, check and copy the members of structures that tables describe. */
#include "io/settings.h"

#include "base/c_locale.h"
#include "base/error.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void settings_bind(settings_binding *binding, const settings_table *table, void *at, uint64_t *given) {
  int p = 0;
  while (binding->part[p].table) p++;
  binding->part[p] = (settings_part){.table = table, .at = at, .given = given};
}

/* ---- rows ---------------------------------------------------------------------------------------- */

bool settings_list_contains(const char *names, const char *name) {
  const size_t length = strlen(name);
  for (const char *found = names; found && (found = strstr(found, name)); found += length)
    if ((found == names || found[-1] == ' ') && (found[length] == ' ' || !found[length])) return true;
  return false;
}

/* row i: its part and its number in the table of the part */
typedef struct place {
  const settings_part *part; /* NULL: there is no such row */
  int row;
} place;

static place find_row(const settings_binding *binding, int i) {
  for (int p = 0; p < MAX_SETTINGS_PARTS && binding->part[p].table; p++) {
    const settings_part *part = &binding->part[p];
    for (int r = 0; r < part->table->rows; r++)
      if (!settings_list_contains(part->without, part->table->row[r].name) && i-- == 0) return (place){part, r};
  }
  return (place){NULL, 0};
}

static void *member_at(place p) { return (char *)p.part->at + p.part->table->row[p.row].offset; }

const setting *settings_row(const settings_binding *binding, int i, void **at) {
  const place p = find_row(binding, i);
  if (p.part && at) *at = member_at(p);
  return p.part ? &p.part->table->row[p.row] : NULL;
}

static bool has_option(const setting *s) { return s->role != STORED; }

int settings_find(const settings_binding *binding, const char *name) {
  const setting *s;
  for (int i = 0; (s = settings_row(binding, i, NULL)); i++)
    if (has_option(s) && (strcmp(s->name, name) == 0 || strcmp(setting_canonical_name(s), name) == 0)) return i;
  return -1;
}

const char *setting_canonical_name(const setting *s) { return s->old_name ? s->old_name : s->name; }

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

static size_t size_of(const setting *s) {
  static const size_t sizes[] = {
      [SETTING_TEXT] = sizeof(char *),   [SETTING_INT] = sizeof(int),     [SETTING_LONG] = sizeof(long),
      [SETTING_SEED] = sizeof(uint64_t), [SETTING_REAL] = sizeof(double), [SETTING_FLAG] = sizeof(int),
      [SETTING_CHOICE] = sizeof(int)};
  return sizes[s->type];
}

bool setting_is_zero(const setting *s, const void *at) {
  switch (s->type) {
    case SETTING_TEXT:
      return *(const char *const *)at == NULL;
    case SETTING_SEED:
      return *(const uint64_t *)at == 0;
    case SETTING_FLAG:
      return *(const int *)at == 0;
    default:
      return number_at(s, at) == 0;
  }
}

static double highest(const setting *s) {
  if (s->type != SETTING_CHOICE) return s->high;
  int choices = 0;
  while (s->choices[choices]) choices++;
  return choices - 1;
}

static bool is_in_range(const setting *s, const void *at) {
  const double number = number_at(s, at);
  return !has_range(s) || (number >= s->low && number <= highest(s));
}

/* ---- given settings ------------------------------------------------------------------------------ */

int settings_find_member(const settings_binding *binding, const void *member) {
  void *at;
  for (int i = 0; settings_row(binding, i, &at); i++)
    if (at == member) return i;
  return -1;
}

bool settings_is_given(const settings_binding *binding, int i) {
  const place p = find_row(binding, i);
  const setting *s = &p.part->table->row[p.row];
  if (s->type == SETTING_TEXT) return *(const char *const *)member_at(p) != NULL;
  if (!has_range(s) || !p.part->given || !setting_is_zero(s, member_at(p))) return true;
  return s->low <= 0 && (*p.part->given >> p.row & 1);
}

void settings_mark(const settings_binding *binding, int i) {
  const place p = find_row(binding, i);
  if (p.part->given) *p.part->given |= UINT64_C(1) << p.row;
}

void settings_unset(const settings_binding *binding, int i) {
  const place p = find_row(binding, i);
  memset(member_at(p), 0, size_of(&p.part->table->row[p.row]));
  if (p.part->given) *p.part->given &= ~(UINT64_C(1) << p.row);
}

/* ---- texts --------------------------------------------------------------------------------------- */

/* appends digits to a number; false: it leaves the range */
static bool append_digits(const char **text, uint64_t *value, int *count) {
  for (*count = 0; isdigit((unsigned char)**text); ++*text, ++*count) {
    const unsigned digit = (unsigned)(**text - '0');
    if (*value > (UINT64_MAX - digit) / 10) return false;
    *value = *value * 10 + digit;
  }
  return true;
}

/* digits, or a decimal number whose exponent leaves no fraction: 12, 1e6, 2.5e5. Exact, so 1e19 is not rounded. */
static bool parse_natural(const char *text, uint64_t *value) {
  int digits, fraction = 0, places;
  uint64_t exponent = 0;
  *value = 0;
  if (!append_digits(&text, value, &digits) || digits == 0) return false;
  if (*text == '.' && (text++, !append_digits(&text, value, &fraction) || fraction == 0)) return false;
  if (*text == 'e' || *text == 'E') {
    text += text[1] == '+' ? 2 : 1;
    if (!append_digits(&text, &exponent, &places) || places == 0) return false;
  }
  if (*text || exponent < (uint64_t)fraction) return false;
  for (uint64_t shift = exponent - (uint64_t)fraction; shift > 0 && *value > 0; shift--) {
    if (*value > UINT64_MAX / 10) return false;
    *value *= 10;
  }
  return true;
}

bool setting_parse_whole(const char *text, long low, long high, long *value) {
  const bool negative = *text == '-';
  uint64_t size;
  if (!parse_natural(text + (negative || *text == '+'), &size) || size > LONG_MAX) return false;
  *value = negative ? -(long)size : (long)size;
  return *value >= low && *value <= high;
}

static bool parse_int(const char *text, int *value) {
  long whole;
  if (!setting_parse_whole(text, INT_MIN, INT_MAX, &whole)) return false;
  *value = (int)whole;
  return true;
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
      return setting_parse_whole(text, LONG_MIN, LONG_MAX, at);
    case SETTING_SEED:
      return parse_natural(text, at);
    case SETTING_REAL:
      return parse_real(text, at);
    case SETTING_FLAG:
      return parse_name(text, flags, at);
    case SETTING_CHOICE:
      return parse_name(text, s->choices, at);
  }
  return false;
}

bool setting_parse(const setting *s, const char *text, bool check_range, void *at) {
  return parse_value(s, text, at) && (!check_range || is_in_range(s, at));
}

const char *setting_print(const setting *s, const void *at, char buffer[SETTING_TEXT_SIZE]) {
  switch (s->type) {
    case SETTING_TEXT:
      return *(const char *const *)at;
    case SETTING_CHOICE:
      return s->choices[*(const int *)at];
    case SETTING_FLAG:
      return *(const int *)at ? "true" : "false";
    case SETTING_INT:
      snprintf(buffer, SETTING_TEXT_SIZE, "%d", *(const int *)at);
      break;
    case SETTING_LONG:
      snprintf(buffer, SETTING_TEXT_SIZE, "%ld", *(const long *)at);
      break;
    case SETTING_SEED:
      snprintf(buffer, SETTING_TEXT_SIZE, "%" PRIu64, *(const uint64_t *)at);
      break;
    case SETTING_REAL:
      snprintf(buffer, SETTING_TEXT_SIZE, "%.17g", *(const double *)at);
      break;
  }
  return buffer;
}

/* "auto, plain or none" */
static void list_choices(const char *const *choices, char *buffer, size_t size) {
  size_t used = 0;
  buffer[0] = '\0';
  for (size_t i = 0; choices[i] && used < size; i++)
    used += (size_t)snprintf(buffer + used, size - used, "%s%s",
                             i == 0           ? ""
                             : choices[i + 1] ? ", "
                                              : " or ",
                             choices[i]);
}

const char *setting_expected(const setting *s, bool check_range, char *buffer, size_t size) {
  switch (s->type) {
    case SETTING_TEXT:
      return "text";
    case SETTING_FLAG:
      return "true or false";
    case SETTING_SEED:
      return "a whole number from 0 to 18446744073709551615";
    case SETTING_CHOICE:
      list_choices(s->choices, buffer, size);
      return buffer;
    case SETTING_REAL:
      if (!check_range) return "a number";
      snprintf(buffer, size, "a number from %g to %g", s->low, s->high);
      return buffer;
    case SETTING_INT:
    case SETTING_LONG:
      if (!check_range) return "a whole number";
      snprintf(buffer, size, "a whole number from %.0f to %.0f", s->low, s->high);
      return buffer;
  }
  return buffer;
}

/* ---- whole bindings ------------------------------------------------------------------------------ */

void settings_clear(const settings_binding *binding) {
  for (int i = 0; settings_row(binding, i, NULL); i++) settings_unset(binding, i);
}

const char *settings_member(const settings_binding *binding, int i, char path[SETTING_MEMBER_SIZE]) {
  const place p = find_row(binding, i);
  const setting *s = &p.part->table->row[p.row];
  const char *dot = s->key ? strrchr(s->key, '.') : NULL;
  snprintf(path, SETTING_MEMBER_SIZE, "%s%s", p.part->prefix ? p.part->prefix : "",
           s->member ? s->member
           : dot     ? dot + 1
           : s->key  ? s->key
                     : s->name);
  return path;
}

int settings_find_path(const settings_binding *binding, const char *path) {
  char member[SETTING_MEMBER_SIZE];
  for (int i = 0; settings_row(binding, i, NULL); i++)
    if (strcmp(settings_member(binding, i, member), path) == 0) return i;
  return -1;
}

static bool is_optional(const setting *s) { return s->type == SETTING_TEXT || s->role == FREE; }

sparc_status settings_check(const settings_binding *binding, bool complete) {
  const setting *s;
  void *at;
  for (int i = 0; (s = settings_row(binding, i, &at)); i++) {
    if (s->role == STORED && !complete) continue;
    if (!settings_is_given(binding, i) ? !complete || is_optional(s) : is_in_range(s, at)) continue;
    char expected[96], path[SETTING_MEMBER_SIZE];
    return fail(SPARC_INVALID, "%s is %g, expected %s", settings_member(binding, i, path), number_at(s, at),
                setting_expected(s, true, expected, sizeof expected));
  }
  return SPARC_OK;
}

static void set_defaults(const settings_binding *binding, int kind, bool all) {
  const setting *s;
  void *at;
  const locale_guard guard = enter_c_locale();
  for (int i = 0; (s = settings_row(binding, i, &at)); i++) {
    const char *text = s->defaults[kind] ? s->defaults[kind] : s->defaults[DEFAULT_DATA];
    if (!text || strcmp(text, TASK_SPECIFIC) == 0 || (!all && settings_is_given(binding, i))) continue;
    (void)setting_parse(s, text, false, at);
    settings_mark(binding, i);
  }
  leave_c_locale(guard);
}

void settings_fill_defaults(const settings_binding *binding, int kind) { set_defaults(binding, kind, false); }

void settings_reset(const settings_binding *binding, int kind) {
  settings_clear(binding);
  set_defaults(binding, kind, true);
}

void settings_inherit(const settings_binding *to, const settings_binding *from) {
  const setting *s;
  void *at, *source;
  for (int i = 0; (s = settings_row(to, i, &at)) && settings_row(from, i, &source); i++) {
    const bool given = settings_is_given(to, i);
    if (!given) memcpy(at, source, size_of(s));
    if (given || settings_is_given(from, i)) settings_mark(to, i);
  }
}

sparc_status settings_copy_texts(const settings_binding *binding, settings_texts *texts) {
  const setting *s;
  void *at;
  for (int i = 0; i < MAX_SETTINGS && (s = settings_row(binding, i, &at)); i++) {
    if (s->type != SETTING_TEXT || !*(const char **)at) continue;
    texts->text[i] = strdup(*(const char **)at);
    if (!texts->text[i]) return fail(SPARC_NO_MEMORY, "no memory for a configuration");
    *(const char **)at = texts->text[i];
  }
  return SPARC_OK;
}

void settings_texts_free(settings_texts *texts) {
  for (int i = 0; i < MAX_SETTINGS; i++) free(texts->text[i]);
}
