/* SPDX-License-Identifier: MIT */
/* csv_columns.h: what the columns of a CSV file are. */
#ifndef SPARC_DATA_CSV_COLUMNS_H
#define SPARC_DATA_CSV_COLUMNS_H

#include "data/column_rules.h"
#include "data/csv_text.h"
#include "data/dataset.h"

typedef struct column {
  span name; /* what the first row has there */
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
  bool steps; /* a row is one step, and the values are its channels */
} csv_columns;

/* csv_columns_learn learns from the first row, which is read again later, and from the options. A row is a step when
 * the options name a column of times or ids, and in forecasts where nothing else is possible. */
sparc_status csv_columns_learn(csv_columns *c, csv_text f, locale_t locale, const sparc_read_options *o);
void csv_columns_free(csv_columns *c);

/* csv_columns_names makes *out what a header says of the columns, NULL if there is none */
sparc_status csv_columns_names(const csv_columns *c, const csv_text *f, column_names **out);

/* one row, before anything is made of it */
typedef struct csv_row {
  field label, id, time;
  size_t missing;
} csv_row;

/* csv_read_row reads the fields of a row; values [count of values] go to their slots */
sparc_status csv_read_row(csv_text *f, const csv_columns *c, locale_t locale, float *values, csv_row *row);

/* csv_skip_row moves behind a row */
sparc_status csv_skip_row(csv_text *f);

/* read_csv_long reads a long file, behind its header */
sparc_status read_csv_long(builder *b, csv_text *f, const csv_columns *c);

#endif
