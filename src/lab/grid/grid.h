/* SPDX-License-Identifier: MIT */
/* grid.h: an experiment as data: tasks by methods by seeds, with their settings, the score of a run and the paper's
 * numbers, read from JSON. The built-in grids are files of the same form (src/lab/grids), and the same parser reads
 * them.
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
 * Settings are those of --config files of the command that does the kind's work. A run takes those of the grid, then of
 * its task, then of its method; the later wins. `kind`, `score` and `protocol` may stand at a task, `score` at a
 * method, too. A `sweep`, {"rate": [1e-4, 3e-4]}, of the grid or a method makes a method of every combination of
 * values, such as sparc-lr0.0003. With `of` a grid is a part of a built-in one (part.h). docs/lab.md describes every
 * key.
 */
#ifndef SPARC_LAB_GRID_GRID_H
#define SPARC_LAB_GRID_GRID_H

#include "sparc/base.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* what does the work of a run */
typedef enum grid_kind {
  GRID_RL,    /* `sparc rl` */
  GRID_TRAIN, /* `sparc train` */
  GRID_BENCH, /* `sparc bench` of the problem that the settings name */
  GRID_CHECK  /* `sparc check` of the file that the settings name */
} grid_kind;

enum { GRID_NAME = 64, GRID_MAX_ENTRIES = 64, GRID_MAX_SEEDS = 1000, GRID_PROBLEM = 256 };

/* How a run's log becomes a number, in `unit`: offset + scale x. For RL and training x comes from the values of
 * `metric` in metrics.jsonl; for the other kinds it is the one value of `metric` among what the command printed, in the
 * line that has all of `where`. */
typedef struct grid_score {
  const char *metric, *unit;
  int window;   /* mean of the last so many values; a shorter log has no score */
  bool best;    /* the best value instead of the last ones; the window is then 1 */
  bool higher;  /* is better */
  int digits;   /* behind the point in tables; -1: three significant ones */
  double scale; /* first this, then the offset */
  double offset;
  const json_t *where; /* NULL: any line */
} grid_score;

/* what the paper's numbers were measured with; 0 and "": it does not say, or it does not matter */
typedef struct grid_protocol {
  long budget;           /* environment steps or updates */
  int fit, validation;   /* examples */
  const char *departure; /* how the grid itself is not as in the paper */
} grid_protocol;

typedef struct grid_task {
  const char *name, *title;
  grid_kind kind;
  grid_protocol protocol;
  grid_score score;       /* without what a method says of it */
  double random, optimal; /* scores of a random and of an optimal policy; NAN: unknown, as both are */
  const json_t *settings; /* NULL: none */
} grid_task;

typedef struct grid_method {
  const char *name, *title;
  const char *colour;             /* of its curves, "#D55E00" */
  bool baseline;                  /* ranks of the others are among the baselines */
  const json_t *settings, *score; /* NULL: none */
} grid_method;

typedef struct grid {
  json_t *file;     /* its strings are in use */
  json_t *expanded; /* methods of a grid with sweeps, each with one value of every setting; else NULL */
  const char *name, *title, *note;
  const json_t *settings, *paper, *differences, *ranks; /* NULL: none */
  grid_task task[GRID_MAX_ENTRIES];
  grid_method method[GRID_MAX_ENTRIES];
  int tasks, methods, seeds;
  uint64_t seed[GRID_MAX_SEEDS];
  int reference; /* the method that others are compared with */
} grid;

/* grid_parse reads a text; `where` names it in messages. SPARC_FORMAT: it is no grid, and sparc_error() says where.
 * grid_free releases what *out holds in any case. */
sparc_status grid_parse(const char *text, size_t size, const char *where, grid *out);
sparc_status grid_from_json(json_t *file, const char *where, grid *out); /* of JSON; the reference goes over */
void grid_free(grid *g);                                                 /* a zeroed one is fine, too */

/* grid_open reads a built-in grid, or the file if `name` ends in .json. SPARC_INVALID: there is no such grid;
 * SPARC_IO, SPARC_FORMAT: of the file. */
sparc_status grid_open(const char *name, grid *out);

/* grid_text is the JSON of a built-in grid, NULL: there is none; grid_names lists them and ends with NULL */
const char *grid_text(const char *name, size_t *size);
const char *const *grid_names(void);

const char *grid_kind_name(grid_kind kind); /* also the name of the command */

/* grid_score_of is the rule for a cell of the table */
grid_score grid_score_of(const grid *g, int task, int method);

/* grid_settings merges what the grid, the task and the method say; a new reference, NULL without memory */
json_t *grid_settings(const grid *g, int task, int method);

/* grid_problem is the problem of a benchmark, with {key} replaced by the setting of that name */
sparc_status grid_problem(const json_t *settings, char problem[GRID_PROBLEM]);

/* grid_paper is the paper's number for a cell; false: it prints none. *stddev is NAN where it prints no spread. */
bool grid_paper(const grid *g, int task, int method, double *mean, double *stddev);
/* grid_paper_difference is what it prints of the paired difference to the reference */
bool grid_paper_difference(const grid *g, int task, int method, double *mean, double *stddev);
/* grid_paper_rank is the mean rank that it prints for a method; NAN: none */
double grid_paper_rank(const grid *g, int method);

#endif
