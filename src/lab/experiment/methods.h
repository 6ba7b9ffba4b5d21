/* SPDX-License-Identifier: MIT */
/* methods.h: what is compared: cells with options, and how they are called and drawn. */
#ifndef SPARC_LAB_EXPERIMENT_METHODS_H
#define SPARC_LAB_EXPERIMENT_METHODS_H

#include "run/cell_choice.h"
#include "sparc/tasks.h"

#include <stdbool.h>

enum { METHODS_MOST = 16, METHOD_NAME = 96 };

typedef struct method {
  const char *cell;
  const char *options, *variant; /* NULL: the defaults of the cell */
  bool in_paper;                 /* the paper's scores of the cell belong to this row */
  const char *title, *colour;
  char said[CELL_OPTIONS_SIZE]; /* the options that are not defaults; "": none */
  char name[METHOD_NAME];       /* unique, and fit for files: "rglru-block_128-ring_transition" */
} method;

typedef struct methods_wish {
  const char *const *cells; /* NULL-terminated */
  const char *variant;      /* for the cells that have variants; NULL: none was asked for */
  const char *options;      /* for all of them; NULL: none were asked for */
} methods_wish;

/* methods_choose lists the rows of the cells. A cell has the rows of the table, or one with what was asked for. */
sparc_status methods_choose(const methods_wish *wish, method chosen[METHODS_MOST], int *count);

/* method_paper_score is the paper's score of a row, NaN where it reports none */
double method_paper_score(const method *m, const sparc_task *task);

/* method_needs_width says whether the cell's output is narrow because the task has few inputs: with inputs of this
 * width it would be wider */
sparc_status method_needs_width(const method *m, const sparc_task *task, int width, bool *needs);

/* method_options is said, or "defaults" */
const char *method_options(const method *m);

#endif
