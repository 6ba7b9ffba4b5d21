/* SPDX-License-Identifier: MIT */
/* column_rules.c: the rules themselves. */
#include "data/column_rules.h"

#include <math.h>
#include <string.h>

bool column_find(const column_list *list, span text, size_t *out, bool *named) {
  int number;
  char buffer[COLUMN_NAME];
  if (parse_int(text, &number) && number >= 1 && (size_t)number <= list->count) {
    *out = (size_t)number - 1;
    return true;
  }
  for (*out = 0; named && *out < list->count; ++*out) {
    const span name = list->name(list->columns, *out, buffer);
    if (name.size == text.size && memcmp(name.at, text.at, text.size) == 0) return *named = true;
  }
  return false;
}

static bool is_usual_label(span name) {
  static const char *const common[] = {"label", "labels", "class", "target", "y"};
  for (size_t i = 0; i < sizeof common / sizeof *common; i++)
    if (span_is(name, common[i])) return true;
  return false;
}

bool columns_have_header(const column_list *list, locale_t locale, char decimal) {
  size_t words = 0, values = 0;
  for (size_t i = 0; i < list->count; i++) {
    const column_role role = list->role(list->columns, i);
    char buffer[COLUMN_NAME];
    const span name = list->name(list->columns, i, buffer);
    float unused;
    if (role == COLUMN_LABEL && is_usual_label(name)) return true;
    if (role != COLUMN_VALUE && role != COLUMN_TARGET) continue;
    values++;
    words += parse_decimal(locale, decimal, name, &unused) == NUMBER_WRONG;
  }
  return 2 * words >= values;
}

bool columns_have_index(const column_list *list) {
  char buffer[COLUMN_NAME];
  if (list->count < 2 || list->role(list->columns, 0) != COLUMN_VALUE) return false;
  for (size_t i = 0; i < list->count; i++)
    if ((span_trim(list->name(list->columns, i, buffer)).size > 0) != (i > 0)) return false;
  return true;
}

/* ---- times ---- */

const char *column_time_name(const char *setting) { return setting && strcmp(setting, "none") == 0 ? NULL : setting; }

/* digits of a date, those before its first mark, and marks; digits 0: it is none */
typedef struct date_form {
  size_t digits, first, marks;
} date_form;

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* two marks: a day; one: a month, which follows its year */
static date_form date_form_of(span s) {
  date_form d = {0};
  size_t i = 0;
  char mark = 0;
  for (; i < s.size && d.marks <= 2; i++) {
    if (is_digit(s.at[i])) {
      d.digits++;
    } else if (strchr("-/.", s.at[i]) && s.at[i] && d.digits && (!mark || mark == s.at[i])) {
      mark = s.at[i];
      if (!d.marks++) d.first = d.digits;
    } else {
      break;
    }
  }
  const bool day = d.marks == 2 && d.digits >= 4 && d.digits <= 8;
  const bool month = d.marks == 1 && d.first == 4 && (d.digits == 5 || d.digits == 6) && i == s.size;
  return day || month ? d : (date_form){0};
}

/* 1970Q1, 1970 Q1, 1970-Q1 */
static bool is_quarter(span s) {
  if (s.size < 6 || s.size > 7 || (s.size == 7 && s.at[4] != ' ' && s.at[4] != '-')) return false;
  for (size_t i = 0; i < 4; i++)
    if (!is_digit(s.at[i])) return false;
  const char *quarter = s.at + s.size - 2;
  return quarter[0] == 'Q' && quarter[1] >= '1' && quarter[1] <= '4';
}

bool column_is_date(span text) { return date_form_of(text).digits > 0 || is_quarter(text); }

/* a date that does not begin with its year, or one or an hour without leading zeros, is not in order where its bytes
 * are */
static bool is_in_order(span text) {
  const date_form d = date_form_of(text);
  if (d.digits) return d.first == 4 && d.digits == (d.marks == 2 ? 8 : 6);
  return !(text.size > 1 && is_digit(text.at[0]) && text.at[1] == ':');
}

/* numbers have the precision of double: seconds since 1970 with fractions are times */
static number_kind read_number(locale_t locale, char decimal, span text, double *value) {
  char copy[64];
  if (decimal == '.' || text.size >= sizeof copy) return parse_double(locale, text, value);
  for (size_t i = 0; i < text.size; i++) copy[i] = text.at[i] == decimal ? '.' : text.at[i];
  return parse_double(locale, (span){copy, text.size}, value);
}

const char *column_time_read(locale_t locale, char decimal, span text, column_time *out) {
  *out = (column_time){.text = span_trim(text)};
  const number_kind kind = read_number(locale, decimal, out->text, &out->number);
  if (kind == NUMBER_FINITE) return NULL;
  out->number = NAN;
  if (kind != NUMBER_WRONG) return "a time";
  return is_in_order(out->text) ? NULL : "a time whose text can be put in order, such as 2024-05-31 08:15, or a number";
}

bool column_times_mix(const column_time *a, const column_time *b) { return isnan(a->number) != isnan(b->number); }

int column_time_compare(const column_time *a, const column_time *b) {
  if (isnan(a->number) || isnan(b->number)) return span_compare(a->text, b->text);
  return (a->number > b->number) - (a->number < b->number);
}
