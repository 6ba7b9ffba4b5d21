/* SPDX-License-Identifier: MIT */
/* table.h: results as tables for people, and as CSV. */
#ifndef SPARC_LAB_GRID_TABLE_H
#define SPARC_LAB_GRID_TABLE_H

#include "lab/grid/results.h"
#include "lab/text_table.h"

typedef enum table_kind {
  TABLE_SCORES,      /* mean and stddev over seeds */
  TABLE_DIFFERENCES, /* to the reference, paired by seed, with their intervals */
  TABLE_RANKS,       /* mean competition ranks over tasks */
  TABLE_OVERALL,     /* interquartile means and probabilities of improvement over tasks */
  TABLE_KINDS
} table_kind;

/* table_make fills in a table; false: there is nothing to put into it, or no memory. Rows are methods and groups tasks
 * or, where there are more tasks than methods, the other way round; in each group stands what was measured here, of
 * differences the interval, and where the paper has numbers what it prints. text_table_free releases what *out holds in any
 * case. */
bool table_make(const grid_results *r, table_kind kind, text_table *out);
bool table_has_tasks_in_rows(const grid_results *r);

/* table_write_csv prints all results, a row for each field */
void table_write_csv(const grid_results *r, FILE *stream);

/* table_write_runs prints a row for each run: its state, its score, what made it, and its settings, of which every one
 * that some run has is a column */
sparc_status table_write_runs(const grid_results *r, FILE *stream);

#endif
