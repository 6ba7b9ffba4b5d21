/* SPDX-License-Identifier: MIT */
/* run.h: the training runs of `sparc demo`: every task with every cell and every seed.
 *
 * Runs are independent of each other, so they are what is spread over threads; a run gives the same bits whatever
 * else is going on beside it.
 */
#ifndef SPARC_CLI_DEMO_RUN_H
#define SPARC_CLI_DEMO_RUN_H

#include "sparc/train.h"

#include <stdatomic.h>
#include <stdbool.h>

enum { DEMO_TASKS_MAX = 8, DEMO_CELLS_MAX = 16, CURVE_POINTS = 13 };

typedef enum run_state {
  RUN_WAITING,
  RUN_TRAINING,
  RUN_DONE,
  RUN_STOPPED, /* by a signal, before its end */
  RUN_FAILED   /* status and error say why */
} run_state;

typedef struct demo_run {
  const sparc_task *task;
  const char *cell;
  uint64_t seed;
  long updates;
  bool wants_example;
  const _Atomic bool *stop; /* set when the run is to end at its next update */

  /* what other threads may look at while it trains; what follows is theirs once state is beyond RUN_TRAINING */
  _Atomic run_state state;
  _Atomic long done;
  _Atomic double recent; /* training loss of the last update */

  sparc_status status;
  char error[256];
  double score, seconds;
  size_t params;
  int H;
  long point[CURVE_POINTS];   /* numbers of updates, from 0 to all */
  double curve[CURVE_POINTS]; /* score on the evaluation part after that many */
  float *loss;                /* (updates): of training, before each update */
  float *example; /* (T, O) for evaluation sequence 0: predictions, or class probabilities if it ended at that step */
} demo_run;

typedef struct demo {
  int tasks, cells, seeds, threads;
  sparc_task *task[DEMO_TASKS_MAX];
  const char *cell[DEMO_CELLS_MAX];
  demo_run *run; /* (tasks, cells, seeds) */
  int runs;
  _Atomic bool stop; /* a signal has come */
} demo;

/* demo_create makes the data of the tasks and the list of runs; updates 0: as many as the task says. */
sparc_status demo_create(const char *const *tasks, const char *const *cells, int seeds, int updates, int threads,
                         demo *d);
void demo_free(demo *d);

/* demo_train does all runs on d->threads threads and calls watch a few times a second, and once at the end. After a
 * signal (interrupt_requested) the runs stop at their next update. */
void demo_train(demo *d, void (*watch)(void *context), void *context);

static inline demo_run *demo_run_at(const demo *d, int task, int cell, int seed) {
  return &d->run[((size_t)task * (size_t)d->cells + (size_t)cell) * (size_t)d->seeds + (size_t)seed];
}

static inline bool run_is_over(const demo_run *run) { return atomic_load(&run->state) > RUN_TRAINING; }
static inline bool run_is_done(const demo_run *run) { return atomic_load(&run->state) == RUN_DONE; }

/* ---- over the seeds of one task and cell ---- */

typedef struct score_summary {
  int count;                           /* finished runs; 0: the rest means nothing */
  double mean, deviation, least, most; /* deviation: of the sample, 0 for a single run */
} score_summary;

score_summary demo_summary(const demo *d, int task, int cell);
/* the same of one point of the learning curve; *update is where it lies */
score_summary demo_curve(const demo *d, int task, int cell, int point, long *update);
/* the first finished run of a cell, which is the one to show; NULL: none */
const demo_run *demo_shown(const demo *d, int task, int cell);
int demo_finished(const demo *d);

#endif
