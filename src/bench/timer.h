/* SPDX-License-Identifier: MIT */
/* timer.h: timing on a machine that is never quite idle.
 *
 * Work is cut into pieces of 0.1 to 1 ms where the problem allows it. A pass runs all pieces of a task; the passes of
 * all tasks of a run take turns, so that what disturbs one disturbs its competitors. The result of a task is the sum
 * over its pieces of the shortest time among ten or more passes. Pieces of several threads start from a spin barrier.
 */
#ifndef SPARC_BENCH_TIMER_H
#define SPARC_BENCH_TIMER_H

#include "sparc/base.h"

#include <stdbool.h>
#include <stddef.h>

/* bench_now gives seconds of a monotonic clock. */
double bench_now(void);

/* ---- teams -------------------------------------------------------------------------------------- */

/* Threads that run the same piece together. They sleep between passes and spin within one. */
typedef struct bench_team bench_team;

/* bench_team_create starts threads - 1 workers: the caller of bench_time is the first thread. */
sparc_status bench_team_create(int threads, bench_team **out);
void bench_team_free(bench_team *team); /* may be NULL */

/* ---- tasks -------------------------------------------------------------------------------------- */

typedef struct bench_task {
  void *context;
  size_t pieces;                  /* of one pass */
  bool reverse;                   /* the last piece first */
  bool cold;                      /* never repeat a piece: its data would be nearer the second time */
  void (*refresh)(void *context); /* before every pass, not timed; NULL: nothing to refresh */
  /* piece number `piece`, the share of thread number `thread` of `threads`. It is called several times in a row when
   * it is too short for the clock, unless it is cold. */
  void (*run)(void *context, size_t piece, int thread, int threads);
  bench_team *team; /* NULL: the calling thread alone, as thread 0 of 1 */

  /* set by bench_time */
  double seconds; /* of one pass: the sum of the shortest times of its pieces */
  double noise;   /* the median pass is longer by this fraction */
  int passes;
} bench_task;

/* bench_improves returns true and updates *best (infinite at first) if result is at least 0.2 % below it. */
bool bench_improves(double result, double *best);

/* bench_pass runs every piece of a task once, without timing. */
void bench_pass(const bench_task *task);

/* bench_time times the tasks side by side for about `seconds` in all, with at least ten passes, or three when these
 * would take far longer than that. While a result still falls it continues, up to `patience` times as long. */
sparc_status bench_time(bench_task *const *tasks, size_t count, double seconds, double patience);

#endif
