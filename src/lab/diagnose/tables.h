/* SPDX-License-Identifier: MIT */
/* tables.h: diagnoses of several runs as tables with the paper's columns. Runs of the same task and cell are one row:
 * their mean and, of more than one, the deviation of the sample, beside what the paper prints of the task. */
#ifndef SPARC_LAB_DIAGNOSE_TABLES_H
#define SPARC_LAB_DIAGNOSE_TABLES_H

#include "base/moments.h"
#include "lab/diagnose/diagnosis.h"
#include "lab/diagnose/paper_numbers.h"
#include "lab/text_table.h"

enum { TABLE_LABEL = REPLAY_TITLE + 40 };

typedef struct table_cell {
  sample_summary value; /* count 0: there is no number */
  double scale;         /* in tables for people; files for programs have plain numbers */
  int digits;
  const paper_number *paper; /* NULL: the paper prints none */
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
void diagnosis_tables_free(diagnosis_tables *tables); /* a zeroed one is fine, too */

/* diagnosis_text_table is a table as people read it; false: no memory. text_table_free releases what *out holds in any case. */
bool diagnosis_text_table(const table *t, text_table *out);

/* diagnosis_print writes all tables, and what they are of */
sparc_status diagnosis_print(FILE *stream, table_format format, const diagnosis *runs, int count,
                             const diagnosis_tables *tables);

#endif
