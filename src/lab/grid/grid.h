/* SPDX-License-Identifier: MIT */
/* grid.h: an experiment as data, read from JSON: tasks, methods and seeds with their settings, the definition of the
 * score, and the paper's numbers. The built-in grids (src/lab/grids) have the same format.
 *
 *   {"name": "mine", "title": "...", "kind": "rl",
 *    "settings": {"steps": 100000},
 *    "score": {"metric": "return", "window": 100, "better": "higher"},
 *    "tasks": [{"name": "repeat-first", "settings": {"task": "repeat-first"}}],
 *    "methods": [{"name": "sparc", "title": "SPARC", "settings": {"cell": "sparc"}}, ...],
 *    "seeds": [0, 1, 2], "reference": "sparc",
 *    "protocol": {"budget": 3999744},
 *    "paper": {"repeat-first": {"sparc": [0.829, 0.008], "rtu": 0.448}},
 *    "differences": {"repeat-first": {"rtu": [-0.381, 0.1]}}}
 *
 * Settings are those of --config files of the command of the kind. Settings of a method override those of the task,
 * which override those of the grid. A task may have its own `kind`, `score` and `protocol`, a method its own `score`. A
 * `sweep`, {"learning-rate": [1e-4, 3e-4]}, of the grid or a method creates a method for every combination of values, such as
 * sparc-lr0.0003. With `of`, a grid is derived from a built-in one (derived_grid.h). docs/lab.md describes all keys.
 */
#ifndef SPARC_LAB_GRID_GRID_H
#define SPARC_LAB_GRID_GRID_H

#include "sparc/base.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* command of a run */
typedef enum grid_kind {
  GRID_RL,    /* `sparc rl` */
  GRID_TRAIN, /* `sparc train` */
  GRID_BENCH, /* `sparc bench`, with the problem given by the settings */
  GRID_CHECK  /* `sparc check`, with the file given by the settings */
} grid_kind;

enum { GRID_NAME = 64, GRID_MAX_ENTRIES = 64, GRID_MAX_SEEDS = 1000, GRID_PROBLEM = 256 };

/* Definition of a run's score: offset + scale x, in `unit`. For RL and training, x is computed from the values of
 * `metric` in metrics.jsonl; for the other kinds it is the value of `metric` in the only output line that matches
 * `where`. */
typedef struct grid_score {
  const char *metric, *unit;
  int window;  /* mean of the last `window` values; a shorter log has no score */
  bool best;   /* best value instead of the last ones; requires window 1 */
  bool higher; /* higher is better */
  int digits;  /* decimals in tables; -1: three significant digits */
  double scale;
  double offset;
  const json_t *where; /* NULL: any line */
} grid_score;

/* protocol of the paper's numbers; 0 and "": unknown or irrelevant */
typedef struct grid_protocol {
  long budget;           /* environment steps or updates */
  int fit, validation;   /* examples */
  const char *departure; /* how the grid departs from the paper */
} grid_protocol;

typedef struct grid_task {
  const char *name, *title;
  grid_kind kind;
  grid_protocol protocol;
  grid_score score;       /* before a method's own score settings */
  double random, optimal; /* scores of a random and of an optimal policy; both NAN: unknown */
  const json_t *settings; /* NULL: none */
} grid_task;

typedef struct grid_method {
  const char *name, *title;
  const char *colour;             /* "#D55E00" */
  bool baseline;                  /* if some methods are baselines, ranks are among them */
  const json_t *settings, *score; /* NULL: none */
} grid_method;

typedef struct grid {
  json_t *file;     /* owns the strings below */
  json_t *expanded; /* methods after expansion of sweeps; NULL: no sweep */
  const char *name, *title, *note;
  const json_t *settings, *paper, *differences, *ranks; /* NULL: none */
  grid_task task[GRID_MAX_ENTRIES];
  grid_method method[GRID_MAX_ENTRIES];
  int tasks, methods, seeds;
  uint64_t seed[GRID_MAX_SEEDS];
  int reference; /* method that the others are compared with */
} grid;

/* Parses a grid; `where` is its name in messages. Returns SPARC_FORMAT if it is invalid. Call grid_free in any case. */
sparc_status grid_parse(const char *text, size_t size, const char *where, grid *out);
sparc_status grid_from_json(json_t *file, const char *where, grid *out); /* takes the reference */
void grid_free(grid *g);                                                 /* accepts a zeroed structure */

/* Opens a built-in grid, or a file if `name` ends in .json. Returns SPARC_INVALID for an unknown grid, SPARC_IO or
 * SPARC_FORMAT for a file. */
sparc_status grid_open(const char *name, grid *out);

/* grid_text returns the JSON of a built-in grid, or NULL; grid_names lists the grids, NULL-terminated. */
const char *grid_text(const char *name, size_t *size);
const char *const *grid_names(void);

const char *grid_kind_name(grid_kind kind); /* also the command's name */

/* score definition of a task and method */
grid_score grid_score_of(const grid *g, int task, int method);

/* merged settings of grid, task and method; a new reference, NULL: no memory */
json_t *grid_settings(const grid *g, int task, int method);

/* the problem of a benchmark, with {key} replaced by the setting of that name */
sparc_status grid_problem(const json_t *settings, char problem[GRID_PROBLEM]);

/* The paper's number of a task and method; false: none. *stddev is NAN if the paper gives none. */
bool grid_paper(const grid *g, int task, int method, double *mean, double *stddev);
/* the paper's paired difference to the reference; false: none */
bool grid_paper_difference(const grid *g, int task, int method, double *mean, double *stddev);
/* the paper's mean rank of a method; NAN: none */
double grid_paper_rank(const grid *g, int method);

#endif
