/* SPDX-License-Identifier: MIT */
/* table.h: results as tables, in text, Markdown, LaTeX and CSV. */
#ifndef SPARC_LAB_GRID_TABLE_H
#define SPARC_LAB_GRID_TABLE_H

#include "lab/grid/results.h"

#include <stdio.h>

typedef enum table_format { TABLE_TEXT, TABLE_MARKDOWN, TABLE_LATEX, TABLE_CSV } table_format;

extern const char *const table_formats[]; /* names, in this order; ends with NULL */

enum { TABLE_CELL = 64, TABLE_TITLE = 256 };

typedef struct table_cell {
  char text[TABLE_CELL]; /* "0.829 ± 0.008", "2 of 3 done", "" */
  aggregate_mark mark;
  bool unfinished;
} table_cell;

/* rows by groups of columns: tasks by methods, or, where there are more tasks than methods, the other way round; in
 * each group what was measured here and, where the paper has numbers, what it prints */
typedef struct table {
  char title[TABLE_TITLE];
  const char *note;                                                /* "": none */
  int rows, groups, columns;                                       /* columns of a group, 1 or 2 */
  const char *row[GRID_MOST], *group[GRID_MOST], *unit[GRID_MOST]; /* titles; a unit belongs to a task */
  bool units_in_rows;
  table_cell *cell; /* (rows, groups, columns) */
} table;

typedef enum table_kind {
  TABLE_SCORES,      /* mean and deviation over seeds */
  TABLE_DIFFERENCES, /* to the reference, paired by seed */
  TABLE_RANKS,       /* mean competition ranks over tasks */
  TABLE_KINDS
} table_kind;

/* table_make fills in a table; false: there is nothing to put into it, or no memory. table_free releases it. */
bool table_make(const grid_results *r, table_kind kind, table *out);
void table_free(table *t);

/* its parts, for other writers: titles of rows and of groups, with the unit of a task, "here" or "paper" over a column
 * (or ""), and the cells */
void table_row_title(const table *t, int row, char text[TABLE_TITLE]);
void table_group_title(const table *t, int group, char text[TABLE_TITLE]);
const char *table_column_title(const table *t, int column);
const table_cell *table_cell_at(const table *t, int row, int group, int column);

/* table_write prints it; not for TABLE_CSV */
void table_write(const table *t, table_format format, FILE *stream);

/* table_write_csv prints all results, a row for each field */
void table_write_csv(const grid_results *r, FILE *stream);

#endif
