/* SPDX-License-Identifier: MIT */
/* example.h: the first evaluation sequence of a diagnostic task, and what the trained methods say of it step by step:
 * predictions, or the class probabilities if the sequence ended there. */
#ifndef SPARC_LAB_GRID_EXAMPLE_H
#define SPARC_LAB_GRID_EXAMPLE_H

#include "lab/grid/results.h"
#include "sparc/tasks.h"

typedef struct example_row {
  const char *name, *title, *colour;
  double score;   /* of all evaluation sequences */
  float *outputs; /* (T, O) */
} example_row;

typedef struct example {
  sparc_task *task;
  const char *unit; /* of the scores */
  int rows;
  example_row row[GRID_MAX_ENTRIES]; /* methods whose first seed is finished and has its checkpoint */
} example;

/* example_exists tells whether there is one: the task is a diagnostic one, and some method can be shown. */
bool example_exists(const grid_results *r, int task);

/* example_read runs the models. example_free releases what *out holds in any case. SPARC_FORMAT: a checkpoint is not
 * one of the task. */
sparc_status example_read(const grid_results *r, int task, example *out);
void example_free(example *e); /* a zeroed one is fine, too */

/* the figure, as lab/plot.h wants it; the context is the example */
enum { EXAMPLE_WIDTH = 960 };
int example_height(const example *e);
sparc_status example_data(FILE *f, const void *context);
void example_script(FILE *f, const void *context);

#endif
