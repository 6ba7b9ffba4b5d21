/* SPDX-License-Identifier: MIT */
/* column_rules.h: roles of the columns of comma-separated text, by the same rules for files (csv_columns.c) and for
 * streams (online/stream.c): how a column is found, what roles there are, and when the first row is a header. */
#ifndef SPARC_DATA_COLUMN_RULES_H
#define SPARC_DATA_COLUMN_RULES_H

#include "data/text.h"

typedef enum column_role {
  COLUMN_VALUE, /* or an input */
  COLUMN_LABEL,
  COLUMN_ID,
  COLUMN_TIME,
  COLUMN_IGNORED,
  COLUMN_TARGET
} column_role;

enum { COLUMN_NAME = 256 };

/* columns wherever they are stored: the text of the first row there, and the role */
typedef struct column_list {
  const void *columns;
  size_t count;
  span (*name)(const void *columns, size_t i, char buffer[COLUMN_NAME]); /* without quotes; may be in `buffer` */
  column_role (*role)(const void *columns, size_t i);
} column_list;

/* column_find finds a column by its number from 1 or, unless `named` is NULL, by its name in the first row;
 * *named: by name. false: there is none. */
bool column_find(const column_list *list, span text, size_t *out, bool *named);

/* columns_have_header: the first row is a header if half of the columns that should hold numbers, values and targets,
 * hold something else, or if it gives the label column a common name. One word among numbers is more likely a mistake. */
bool columns_have_header(const column_list *list, locale_t locale, char decimal);

/* columns_have_index: the first column has no name and all others have one, as pandas writes an index */
bool columns_have_index(const column_list *list);

/* column_time_name is the column of times that a setting names; NULL: there is none, or the setting is "none", which
 * means rows in the order of the file */
const char *column_time_name(const char *setting);

/* column_is_date recognises 2024-05-31, 31.05.2024, 5/31/24, with or without a time of day; months, 2024-05; and
 * quarters, 2024 Q2 */
bool column_is_date(span text);

/* A time is a number, or a text of which the order of bytes is that of time: 2024-05-31T12:00, 08:15. */
typedef struct column_time {
  span text;
  double number; /* NAN: it is none */
} column_time;

/* column_time_read returns what was expected if a field is not a sortable time, else NULL */
const char *column_time_read(locale_t locale, char decimal, span text, column_time *out);
/* column_times_mix: one is a number and one a text, so that there is no order of them; column_time_compare is the order
 * of others, as that of qsort */
bool column_times_mix(const column_time *a, const column_time *b);
int column_time_compare(const column_time *a, const column_time *b);

#endif
