/* SPDX-License-Identifier: MIT */
/* options.c: reading and printing "key=value,..." by a table of rules. */
#include "base/options.h"

#include "base/c_locale.h"
#include "base/error.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading ----------------------------------------------------------------------------------- */

static sparc_status parse_choice(const sparc_option *rule, const char *text, double *value) {
  for (int i = 0; rule->choices[i]; i++) {
    if (strcmp(rule->choices[i], text) == 0) {
      *value = i;
      return SPARC_OK;
    }
  }
  return unknown_name(rule->name, text, rule->choices);
}

static sparc_status parse_number(const sparc_option *rule, const char *text, double *value) {
  char *end;
  double number = strtod(text, &end);
  bool whole = rule->type == SPARC_OPTION_REAL || number == floor(number);
  if (end == text || *end || !whole || !(number >= rule->low && number <= rule->high))
    return fail(SPARC_INVALID, "option %s is '%s', expected %s from %g to %g", rule->name, text,
                rule->type == SPARC_OPTION_INT ? "a whole number" : "a number", rule->low, rule->high);
  *value = number;
  return SPARC_OK;
}

/* one "key=value" */
static sparc_status parse_option(const char *owner, const sparc_option *rules, char *item, double *values) {
  char *value = strchr(item, '=');
  if (!value) return fail(SPARC_INVALID, "option '%s' of %s has no value (expected key=value)", item, owner);
  *value++ = '\0';
  const char *names[MAX_OPTIONS + 1] = {NULL};
  for (int i = 0; rules[i].name; i++) {
    names[i] = rules[i].name;
    if (strcmp(rules[i].name, item) != 0) continue;
    return rules[i].type == SPARC_OPTION_CHOICE ? parse_choice(&rules[i], value, &values[i])
                                                : parse_number(&rules[i], value, &values[i]);
  }
  if (!names[0]) return fail(SPARC_INVALID, "%s has no options, got '%s'", owner, item);
  return unknown_name("option", item, names);
}

static sparc_status parse_items(const char *owner, const sparc_option *rules, char *text, double *values) {
  sparc_status status = SPARC_OK;
  for (char *item; status == SPARC_OK && (item = strsep(&text, ",")) != NULL;)
    if (*item) status = parse_option(owner, rules, item, values);
  return status;
}

sparc_status options_parse(const char *owner, const sparc_option *rules, const char *text, double *values) {
  for (int i = 0; rules[i].name; i++) values[i] = rules[i].fallback;
  if (!text) return SPARC_OK;
  char copy[OPTIONS_TEXT];
  const int length = snprintf(copy, sizeof copy, "%s", text);
  if (length < 0 || (size_t)length >= sizeof copy)
    return fail(SPARC_INVALID, "options of %s are %d characters long, at most %zu are allowed", owner, length,
                sizeof copy - 1);
  const locale_guard guard = enter_c_locale();
  sparc_status status = parse_items(owner, rules, copy, values);
  leave_c_locale(guard);
  return status;
}

/* ---- printing ---------------------------------------------------------------------------------- */

static size_t print_option(const sparc_option *rule, double value, int digits, size_t used, char text[OPTIONS_TEXT]) {
  char number[32];
  snprintf(number, sizeof number, "%.*g", digits, value);
  used += (size_t)snprintf(text + used, OPTIONS_TEXT - used, "%s%s=%s", used ? "," : "", rule->name,
                           rule->type == SPARC_OPTION_CHOICE ? rule->choices[(int)value] : number);
  assert(used < OPTIONS_TEXT);
  return used;
}

void options_print(const sparc_option *rules, const double *values, char text[OPTIONS_TEXT]) {
  const locale_guard guard = enter_c_locale();
  text[0] = '\0';
  for (size_t i = 0, used = 0; rules[i].name; i++)
    if (!rules[i].later || values[i] != rules[i].fallback) used = print_option(&rules[i], values[i], 17, used, text);
  leave_c_locale(guard);
}

static int digits_of(double value) {
  int digits = 1;
  for (char text[32]; digits < 17; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, value);
    if (strtod(text, NULL) == value) break;
  }
  return digits;
}

void options_print_changed(const sparc_option *rules, const double *values, char text[OPTIONS_TEXT]) {
  const locale_guard guard = enter_c_locale();
  text[0] = '\0';
  for (size_t i = 0, used = 0; rules[i].name; i++)
    if (values[i] != rules[i].fallback) used = print_option(&rules[i], values[i], digits_of(values[i]), used, text);
  leave_c_locale(guard);
}
