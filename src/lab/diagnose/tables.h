/* SPDX-License-Identifier: MIT */
/* tables.h: diagnoses of several runs as tables with the paper's columns. Runs of the same task and cell form a row: mean
 * and sample standard deviation, next to the paper's number. */
#ifndef SPARC_LAB_DIAGNOSE_TABLES_H
#define SPARC_LAB_DIAGNOSE_TABLES_H

#include "base/moments.h"
#include "lab/diagnose/diagnosis.h"
#include "lab/diagnose/paper_numbers.h"
#include "lab/text_table.h"

enum { TABLE_LABEL = REPLAY_TITLE + 40 };

typedef struct table_cell {
  sample_summary value; /* count 0: there is no number */
  double scale;         /* in text tables; CSV and JSON are unscaled */
  int digits;
  const paper_number *paper; /* NULL: not in the paper */
} table_cell;

typedef struct table_column {
  char key[TABLE_LABEL], heading[TABLE_LABEL];
} table_column;

typedef struct table {
  const char *key, *title, *first, *note; /* first: the heading of the rows */
  table_column *column;                   /* (columns) */
  char (*label)[TABLE_LABEL];             /* (rows) */
  table_cell *cell;                       /* (rows, columns) */
  int columns, rows;
} table;

enum { DIAGNOSIS_TABLES = 6 };

typedef struct diagnosis_tables {
  table table[DIAGNOSIS_TABLES];
  int count;
} diagnosis_tables;

sparc_status diagnosis_tables_create(const diagnosis *runs, int count, diagnosis_tables *out);
void diagnosis_tables_free(diagnosis_tables *tables); /* accepts a zeroed structure */

/* Formats a table; false: no memory. Call text_table_free in any case. */
bool diagnosis_text_table(const table *t, text_table *out);

/* prints all tables and a description of the runs */
sparc_status diagnosis_print(FILE *stream, table_format format, const diagnosis *runs, int count,
                             const diagnosis_tables *tables);

#endif
