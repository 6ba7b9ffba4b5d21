/* SPDX-License-Identifier: MIT */
/* sheet.h: a table of texts for people, printed as text, Markdown or LaTeX, and what all tables print alike: numbers
 * with their spread, and fields of CSV. */
#ifndef SPARC_LAB_SHEET_H
#define SPARC_LAB_SHEET_H

#include "sparc/base.h"

#include <stdbool.h>
#include <stdio.h>

/* how a command prints tables; the last two are for programs, and each kind of table writes them itself */
typedef enum sheet_format { SHEET_TEXT, SHEET_MARKDOWN, SHEET_LATEX, SHEET_CSV, SHEET_JSON } sheet_format;
extern const char *const sheet_formats[]; /* names, in this order; ends with NULL */

enum { SHEET_CELL = 80, SHEET_TITLE = 360, SHEET_COLUMNS = 3 };

typedef enum sheet_mark { MARK_NONE, MARK_BEST, MARK_SECOND } sheet_mark;

typedef struct sheet_cell {
  char text[SHEET_CELL]; /* "0.829 ± 0.008", "2 of 3 done", "" */
  sheet_mark mark;
  bool unfinished;
} sheet_cell;

/* rows by groups of columns */
typedef struct sheet {
  char title[SHEET_TITLE];
  char label[128];                                 /* of LaTeX, without "tab:"; "": none */
  const char *corner, *note;                       /* over the titles of the rows, and below all; "": nothing */
  int rows, groups, columns;                       /* columns of each group, up to SHEET_COLUMNS */
  char (*row)[SHEET_TITLE], (*group)[SHEET_TITLE]; /* titles */
  const char *column[SHEET_COLUMNS];               /* titles within a group of several */
  sheet_cell *cell;                                /* (rows, groups, columns) */
} sheet;

/* sheet_create makes one with empty texts; false: no memory. sheet_free releases what *out holds in any case. */
bool sheet_create(int rows, int groups, int columns, sheet *out);
void sheet_free(sheet *s); /* a zeroed one is fine, too */

sheet_cell *sheet_at(const sheet *s, int row, int group, int column);

/* sheet_write prints it in one of the formats for people */
void sheet_write(const sheet *s, sheet_format format, FILE *stream);

/* ---- numbers ---- */

/* so many digits behind the point; -1: three significant ones */
void sheet_number(double value, int digits, char *text, size_t size);
/* "0.829 ± 0.008", or the mean alone where the deviation is NAN */
void sheet_pair(double mean, double deviation, int digits, char text[SHEET_CELL]);

/* fields of CSV: a text in quotes; a comma and a number, or nothing behind it where there is none */
void csv_put_text(FILE *stream, const char *text);
void csv_put_number(FILE *stream, bool there, double value);

#endif
