/* SPDX-License-Identifier: MIT */
/* text_table.h: a table of texts for people, printed as text, Markdown or LaTeX, and what all tables print alike: numbers
 * with their spread, and fields of CSV. */
#ifndef SPARC_LAB_TEXT_TABLE_H
#define SPARC_LAB_TEXT_TABLE_H

#include "sparc/base.h"

#include <stdbool.h>
#include <stdio.h>

/* how a command prints tables; the last two are for programs, and each kind of table writes them itself */
typedef enum table_format { FORMAT_TEXT, FORMAT_MARKDOWN, FORMAT_LATEX, FORMAT_CSV, FORMAT_JSON } table_format;
extern const char *const table_format_names[]; /* names, in this order; ends with NULL */

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
  const char *corner, *note; /* over the titles of the rows, and below all; "": nothing */
  int rows, groups, columns; /* columns of each group, up to TEXT_TABLE_MAX_COLUMNS */
  char (*row)[TEXT_TABLE_TITLE], (*group)[TEXT_TABLE_TITLE]; /* titles */
  const char *column[TEXT_TABLE_MAX_COLUMNS];                /* titles within a group of several */
  text_table_cell *cell;                                     /* (rows, groups, columns) */
} text_table;

/* text_table_create makes one with empty texts; false: no memory. text_table_free releases what *out holds in any case. */
bool text_table_create(int rows, int groups, int columns, text_table *out);
void text_table_free(text_table *s); /* a zeroed one is fine, too */

text_table_cell *text_table_at(const text_table *s, int row, int group, int column);

/* text_table_write prints it in one of the formats for people */
void text_table_write(const text_table *s, table_format format, FILE *stream);

/* ---- numbers ---- */

/* so many digits behind the point; -1: three significant ones */
void text_table_number(double value, int digits, char *text, size_t size);
/* "0.829 ± 0.008", or the mean alone where the deviation is NAN */
void text_table_mean_stddev(double mean, double stddev, int digits, char text[TEXT_TABLE_CELL]);

/* fields of CSV: a text in quotes; a comma and a number, or nothing behind it where there is none */
void csv_put_text(FILE *stream, const char *text);
void csv_put_number(FILE *stream, bool there, double value);

#endif
