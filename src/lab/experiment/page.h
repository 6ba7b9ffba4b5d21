/* SPDX-License-Identifier: MIT */
/* page.h: what an experiment leaves behind: the table of its scores, a line for each run, and a folder with a page. */
#ifndef SPARC_LAB_EXPERIMENT_PAGE_H
#define SPARC_LAB_EXPERIMENT_PAGE_H

#include "lab/experiment/experiment.h"

#include <jansson.h>

/* ---- the table, as texts ---- */

enum { TABLE_TITLE, TABLE_OPTIONS, TABLE_PARAMETERS, TABLE_FIXED }; /* columns in front of the scores */
enum { TABLE_TEXT = 64, TABLE_COLUMNS = TABLE_FIXED + 2 * EXPERIMENT_TASKS };

/* title, options that are not defaults, parameters, and for each task our score and the paper's */
typedef struct table_row {
  char text[TABLE_COLUMNS][TABLE_TEXT];
  const char *field[TABLE_COLUMNS]; /* the same, as html_table_row wants it */
} table_row;

/* experiment_row fills in the row of a method and returns the number of its columns */
int experiment_row(const experiment *e, int row, table_row *out);

/* experiment_remark says in a sentence how to read the scores: over how many seeds, with or without an embedding */
void experiment_remark(const experiment *e, char *text, size_t size);

/* ---- files ---- */

/* experiment_run_json describes a finished run; a new reference */
json_t *experiment_run_json(const experiment_run *run);

/* experiment_prepare_folder makes the folder and its data/ and finds out whether files can be written there, so that a
 * wrong name is known before the work is done. */
sparc_status experiment_prepare_folder(const char *folder);

typedef struct experiment_drawing {
  int figures;      /* drawn */
  char reason[256]; /* why some are missing; "": none is */
} experiment_drawing;

/* experiment_write writes everything: data, scripts, results.jsonl, figures, index.html. A figure that cannot be drawn
 * is no failure: the page and *drawing say so. */
sparc_status experiment_write(const experiment *e, const char *folder, experiment_drawing *drawing);

#endif
