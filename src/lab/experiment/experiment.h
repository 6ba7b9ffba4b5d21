/* SPDX-License-Identifier: MIT */
/* experiment.h: methods compared on tasks: a table with a row for each method (a cell with its options) and a column
 * for each task, every field of it trained with every seed.
 *
 * The runs are sparc/run.h's, without folders, so `sparc train` with the same settings trains the same model. They are
 * independent of each other, so they are what is spread over threads; a run gives the same bits whatever else is going
 * on beside it.
 */
#ifndef SPARC_LAB_EXPERIMENT_EXPERIMENT_H
#define SPARC_LAB_EXPERIMENT_EXPERIMENT_H

#include "lab/experiment/methods.h"
#include "run/cell_choice.h"
#include "sparc/run.h"

#include <stdatomic.h>
#include <stdbool.h>

enum { EXPERIMENT_TASKS = 8, CURVE_POINTS = 13, EMBEDDING_WIDTH = 64 };

typedef enum run_state {
  RUN_WAITING,
  RUN_TRAINING,
  RUN_DONE,
  RUN_STOPPED, /* before its end, because the watcher asked for it */
  RUN_FAILED   /* status and error say why */
} run_state;

typedef struct experiment_run {
  const sparc_task *task;
  const method *method;
  uint64_t seed;
  long updates;
  bool embedding; /* a linear one in front of the cell */
  bool wants_example;
  const _Atomic bool *stop; /* set when the run is to end at its next update */

  /* what other threads may look at while it trains; what follows is theirs once state is beyond RUN_TRAINING */
  _Atomic run_state state;
  _Atomic long done;
  _Atomic double recent; /* training loss of the last update */

  sparc_status status;
  char error[256];
  char options[CELL_OPTIONS_SIZE]; /* every option of the cell */
  double score, seconds;
  size_t params;
  int H;
  long point[CURVE_POINTS];   /* numbers of updates, from 0 to all */
  double curve[CURVE_POINTS]; /* score on the evaluation part after that many */
  float *loss;                /* (updates): of training, before each update */
  float *example; /* (T, O) for evaluation sequence 0: predictions, or class probabilities if it ended at that step */
} experiment_run;

typedef struct experiment {
  int tasks, methods, seeds, threads;
  bool embedding; /* in front of every cell, so that all see the same: one of them needs it, see method_needs_width */
  sparc_task *task[EXPERIMENT_TASKS];
  method method[METHODS_MOST];
  experiment_run *run; /* (tasks, methods, seeds) */
  int runs;
  _Atomic bool stop;
} experiment;

typedef struct experiment_config {
  const char *const *tasks; /* names, NULL-terminated */
  const method *methods;    /* as methods_choose gives them */
  int method_count;
  uint64_t seed; /* the first */
  int seeds;
  long updates; /* 0: as many as the task says */
  int threads;  /* 0: as many as there are processors */
} experiment_config;

/* experiment_create makes the data of the tasks and the list of runs. */
sparc_status experiment_create(const experiment_config *config, experiment *e);
void experiment_free(experiment *e);

/* experiment_execute does all runs on e->threads threads and calls watch a few times a second, and once at the end.
 * When watch returns something other than 0 the runs stop at their next update. */
void experiment_execute(experiment *e, int (*watch)(void *context), void *context);

static inline experiment_run *experiment_at(const experiment *e, int task, int row, int seed) {
  return &e->run[((size_t)task * (size_t)e->methods + (size_t)row) * (size_t)e->seeds + (size_t)seed];
}

static inline bool run_is_over(const experiment_run *run) { return atomic_load(&run->state) > RUN_TRAINING; }
static inline bool run_is_done(const experiment_run *run) { return atomic_load(&run->state) == RUN_DONE; }

/* ---- over the seeds of one task and method ---- */

typedef struct score_summary {
  int count;                           /* finished runs; 0: the rest means nothing */
  double mean, deviation, least, most; /* deviation: of the sample, 0 for a single run */
} score_summary;

score_summary experiment_summary(const experiment *e, int task, int row);
/* the same of one point of the learning curve; *update is where it lies */
score_summary experiment_curve(const experiment *e, int task, int row, int point, long *update);
/* the first finished run of a method, which is the one to show; NULL: none */
const experiment_run *experiment_shown(const experiment *e, int task, int row);
int experiment_finished(const experiment *e);

#endif
