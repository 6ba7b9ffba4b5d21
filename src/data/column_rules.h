/* SPDX-License-Identifier: MIT */
/* column_rules.h: what the columns of comma-separated text are, by the same rules for files (csv_columns.c) and for
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
  span (*name)(const void *columns, size_t i, char room[COLUMN_NAME]); /* without quotes; may lie in `room` */
  column_role (*role)(const void *columns, size_t i);
} column_list;

/* column_find finds a column by its number from 1 or, unless `named` is NULL, by its name in the first row, which
 * *named then says. false: there is none. */
bool column_find(const column_list *list, span text, size_t *out, bool *named);

/* columns_have_header: the first row is a header if half of the columns that should hold numbers, values and targets,
 * hold something else, or if it calls the label column by a usual name. One word among numbers is rather a mistake. */
bool columns_have_header(const column_list *list, locale_t locale, char decimal);

#endif
