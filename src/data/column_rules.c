/* SPDX-License-Identifier: MIT */
/* column_rules.c: the rules themselves. */
#include "data/column_rules.h"

#include <string.h>

bool column_find(const column_list *list, span text, size_t *out, bool *named) {
  int number;
  char room[COLUMN_NAME];
  if (parse_int(text, &number) && number >= 1 && (size_t)number <= list->count) {
    *out = (size_t)number - 1;
    return true;
  }
  for (*out = 0; named && *out < list->count; ++*out) {
    const span name = list->name(list->columns, *out, room);
    if (name.size == text.size && memcmp(name.at, text.at, text.size) == 0) return *named = true;
  }
  return false;
}

static bool is_usual_label(span name) {
  static const char *const usual[] = {"label", "labels", "class", "target", "y"};
  for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
    if (span_is(name, usual[i])) return true;
  return false;
}

bool columns_have_header(const column_list *list, locale_t locale, char decimal) {
  size_t words = 0, values = 0;
  for (size_t i = 0; i < list->count; i++) {
    const column_role role = list->role(list->columns, i);
    char room[COLUMN_NAME];
    const span name = list->name(list->columns, i, room);
    float unused;
    if (role == COLUMN_LABEL && is_usual_label(name)) return true;
    if (role != COLUMN_VALUE && role != COLUMN_TARGET) continue;
    values++;
    words += parse_decimal(locale, decimal, name, &unused) == NUMBER_WRONG;
  }
  return 2 * words >= values;
}
