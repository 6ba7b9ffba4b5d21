/* SPDX-License-Identifier: MIT */
/* text_table.h: tables of formatted cells, printed as plain text, Markdown or LaTeX; formatting of numbers and CSV
 * fields. */
#ifndef SPARC_LAB_TEXT_TABLE_H
#define SPARC_LAB_TEXT_TABLE_H

#include "sparc/base.h"

#include <stdbool.h>
#include <stdio.h>

/* output formats of tables; CSV and JSON are written by each kind of table itself */
typedef enum table_format { FORMAT_TEXT, FORMAT_MARKDOWN, FORMAT_LATEX, FORMAT_CSV, FORMAT_JSON } table_format;
extern const char *const table_format_names[]; /* in this order, NULL-terminated */

enum { TEXT_TABLE_CELL = 80, TEXT_TABLE_TITLE = 360, TEXT_TABLE_MAX_COLUMNS = 3 };

typedef enum table_mark { MARK_NONE, MARK_BEST, MARK_SECOND } table_mark;

typedef struct text_table_cell {
  char text[TEXT_TABLE_CELL]; /* "0.829 ± 0.008", "2 of 3 done", "" */
  table_mark mark;
  bool unfinished;
} text_table_cell;

/* rows by groups of columns */
typedef struct text_table {
  char title[TEXT_TABLE_TITLE];
  char label[128];           /* of LaTeX, without "tab:"; "": none */
  const char *corner, *note; /* heading of the row titles; text below the table; "": none */
  int rows, groups, columns; /* columns per group, at most TEXT_TABLE_MAX_COLUMNS */
  char (*row)[TEXT_TABLE_TITLE], (*group)[TEXT_TABLE_TITLE]; /* titles */
  const char *column[TEXT_TABLE_MAX_COLUMNS];                /* titles within a group of several */
  text_table_cell *cell;                                     /* (rows, groups, columns) */
} text_table;

/* Creates a table of empty cells; false: no memory. text_table_free must be called in any case. */
bool text_table_create(int rows, int groups, int columns, text_table *out);
void text_table_free(text_table *s); /* accepts a zeroed table */

text_table_cell *text_table_at(const text_table *s, int row, int group, int column);

/* prints as text, Markdown or LaTeX */
void text_table_write(const text_table *s, table_format format, FILE *stream);

/* ---- numbers ---- */

/* formats with `digits` decimals; -1: three significant digits */
void text_table_number(double value, int digits, char *text, size_t size);
/* "0.829 ± 0.008"; the mean alone if stddev is NAN */
void text_table_mean_stddev(double mean, double stddev, int digits, char text[TEXT_TABLE_CELL]);

/* CSV fields: a quoted string; a comma and a number, which is left out if `there` is false or it is not finite */
void csv_put_text(FILE *stream, const char *text);
void csv_put_number(FILE *stream, bool there, double value);

#endif
