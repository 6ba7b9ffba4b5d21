/* SPDX-License-Identifier: MIT */
/* table.h: results as text tables and as CSV. */
#ifndef SPARC_LAB_GRID_TABLE_H
#define SPARC_LAB_GRID_TABLE_H

#include "lab/grid/results.h"
#include "lab/text_table.h"

typedef enum table_kind {
  TABLE_SCORES,      /* mean and standard deviation over seeds */
  TABLE_DIFFERENCES, /* to the reference, paired by seed, with confidence intervals */
  TABLE_RANKS,       /* mean competition ranks over tasks */
  TABLE_OVERALL,     /* interquartile means and probabilities of improvement over tasks */
  TABLE_KINDS
} table_kind;

/* Creates a table; false: it would be empty, or no memory. Rows are methods and groups are tasks or, with more tasks than
 * methods, vice versa. A group has the measured value, for differences the interval, and the paper's number if there
 * are any. Call text_table_free in any case. */
bool table_make(const grid_results *r, table_kind kind, text_table *out);
bool table_has_tasks_in_rows(const grid_results *r);

/* prints all results as CSV, a row per task and method */
void table_write_csv(const grid_results *r, FILE *stream);

/* prints a CSV row per run: state, score, provenance, and a column for every setting of any run */
sparc_status table_write_runs(const grid_results *r, FILE *stream);

#endif
