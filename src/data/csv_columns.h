/* SPDX-License-Identifier: MIT */
/* csv_columns.h: what the columns of a CSV file are. */
#ifndef SPARC_DATA_CSV_COLUMNS_H
#define SPARC_DATA_CSV_COLUMNS_H

#include "data/column_rules.h"
#include "data/csv_text.h"
#include "data/dataset.h"

typedef struct column {
  span name; /* its field in the first row */
  column_role role;
  size_t slot; /* of a value: its place in the series of the row, [T][C] */
} column;

typedef struct csv_columns {
  column *at; /* [count] */
  size_t count;
  size_t values; /* how many of them hold values */
  int channels;  /* of the series that a row holds */
  bool named;    /* the first row is a header */
  bool labelled;
  bool steps;   /* a row is one step, and the values are its channels */
  bool counted; /* names of values are those of channels and steps: ax_0,ax_1,...,ay_0,... */
} csv_columns;

/* csv_columns_learn learns from the first row, which is read again later, and from the options. A row is a step when
 * the options name a column of times or ids, and in forecasts where nothing else is possible. */
sparc_status csv_columns_learn(csv_columns *c, csv_text f, locale_t locale, const sparc_read_options *o);
void csv_columns_free(csv_columns *c);

/* csv_columns_names sets *out to the column names of the header, NULL if there is none. Values of a row have names
 * unless these only number the steps. */
sparc_status csv_columns_names(const csv_columns *c, const csv_text *f, const sparc_read_options *o,
                               column_names **out);

/* csv_find_header returns whether a line is a header, and fails if it is one without columns that the options require;
 * `name` is that of the line in error texts */
sparc_status csv_find_header(const char *line, size_t size, const char *name, const sparc_read_options *o, bool *named);

/* ---- what csv_columns.c and csv_names.c share ---- */

/* the text of the first row without quotes and blanks around it; may be in `buffer` */
span csv_column_name(const csv_columns *c, size_t i, char buffer[COLUMN_NAME]);

/* csv_split_name splits "acc_x_12" into "acc_x" and 12 */
bool csv_split_name(span name, span *stem, int *index);

/* csv_give_role gives a column the only role that it has; csv_assign does so by its name or number from 1, which may be
 * NULL; csv_assign_ignored does so with those that the options ignore, which may be missing if the other table ignored
 * them; csv_assign_last makes the last column without a role the label */
sparc_status csv_give_role(csv_columns *c, const csv_text *f, size_t i, span name, column_role role);
sparc_status csv_assign(csv_columns *c, const csv_text *f, const char *name, int header, column_role role);
sparc_status csv_assign_ignored(csv_columns *c, const csv_text *f, const sparc_read_options *o);
void csv_assign_last(csv_columns *c);

/* csv_has_names returns whether the first row has names of another table; numbers count only if all are present.
 * csv_assign_like gives columns their roles in that table and values their slots; the options apply to roles for which
 * it has no name. */
bool csv_has_names(const csv_columns *c, const sparc_columns *like, locale_t locale, char decimal);
sparc_status csv_assign_like(csv_columns *c, const csv_text *f, const sparc_read_options *o);

/* ---- rows ---- */

/* one row, before anything is made of it */
typedef struct csv_row {
  field label, id, time;
  size_t missing;
} csv_row;

/* csv_read_row reads the fields of a row; values [count of values] go to their slots */
sparc_status csv_read_row(csv_text *f, const csv_columns *c, locale_t locale, float *values, csv_row *row);

/* csv_skip_row skips a row */
sparc_status csv_skip_row(csv_text *f);

/* read_csv_long reads a long file, after its header */
sparc_status read_csv_long(builder *b, csv_text *f, const csv_columns *c);

#endif
