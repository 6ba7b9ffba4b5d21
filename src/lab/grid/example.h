/* SPDX-License-Identifier: MIT */
/* example.h: the first evaluation sequence of a diagnostic task and the trained methods' outputs after every step:
 * predictions, or class probabilities of the prefix. */
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
  example_row row[GRID_MAX_ENTRIES]; /* methods whose first seed is finished and has a checkpoint */
} example;

/* Whether the task is a diagnostic one and at least one method can be shown. */
bool example_exists(const grid_results *r, int task);

/* Runs the models. Returns SPARC_FORMAT if a checkpoint does not match the task. Call example_free in any case. */
sparc_status example_read(const grid_results *r, int task, example *out);
void example_free(example *e); /* accepts a zeroed structure */

/* callbacks of lab/plot.h; the context is the example */
enum { EXAMPLE_WIDTH = 960 };
int example_height(const example *e);
sparc_status example_data(FILE *f, const void *context);
void example_script(FILE *f, const void *context);

#endif
