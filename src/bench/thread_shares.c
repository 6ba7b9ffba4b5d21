/* SPDX-License-Identifier: MIT */
/* thread_shares.c: the work of each of many threads, measured on a machine with few.
 *
 * The calls of a problem are planned for a number of threads and run tile by tile on one (parallel_watch). Then the
 * tiles are handed out with their times as parallel_for does it: every thread first has adjacent ones, then
 * takes remaining ones of others. The longest share is the time of the loop.
 */
#include "base/error.h"
#include "base/threads.h"
#include "bench/session.h"

#include <stdlib.h>
#include <string.h>

enum { PASSES = 3, LOOPS_MAX = 4096, PLAN_THREADS = 5 };
static const int plan_threads[PLAN_THREADS] = {1, 2, 4, 16, 64};

/* the tiles of a pass, loop after loop, each with its shortest time of all passes */
typedef struct recording {
  size_t tiles[LOOPS_MAX], loops, count, capacity;
  double *seconds, last;
  bool first, full; /* the first pass; more than fit */
} recording;

static void hear_loop(void *context, size_t tiles) {
  recording *r = context;
  if (r->loops == LOOPS_MAX) r->full = true;
  if (r->full) return;
  r->tiles[r->loops++] = tiles;
  if (r->count + tiles > r->capacity) {
    const size_t capacity = 2 * (r->count + tiles);
    double *larger = realloc(r->seconds, capacity * sizeof *larger);
    r->full = !larger;
    if (!larger) return;
    r->seconds = larger;
    r->capacity = capacity;
  }
  r->last = bench_now();
}

static void hear_tile(void *context) {
  recording *r = context;
  if (r->full) return;
  const double now = bench_now(), took = now - r->last;
  double *shortest = &r->seconds[r->count++];
  if (r->first || took < *shortest) *shortest = took;
  r->last = bench_now();
}

static sparc_status record(const bench_stage *stage, recording *r) {
  const parallel_watcher watcher = {hear_loop, hear_tile, r};
  for (int pass = 0; pass < PASSES && !r->full; pass++) {
    r->loops = r->count = 0;
    r->first = pass == 0;
    if (stage->task.refresh) stage->task.refresh(stage->task.context);
    parallel_watch(&watcher);
    for (size_t piece = 0; piece < stage->task.pieces; piece++) stage->task.run(stage->task.context, piece, 0, 1);
    parallel_watch(NULL);
  }
  if (!r->full) return SPARC_OK;
  return fail(SPARC_UNSUPPORTED, "%s: more than %d loops over tiles, or no memory for their times; --plan is for calls",
              stage->name, LOOPS_MAX);
}

/* the tile that a thread takes next: of its own run, else of the next one that has any; false: all are taken */
static bool next_tile(size_t thread, size_t shares, size_t *next, const size_t *end, size_t *tile) {
  for (size_t i = 0; i < shares; i++) {
    const size_t s = (thread + i) % shares;
    if (next[s] == end[s]) continue;
    *tile = next[s]++;
    return true;
  }
  return false;
}

/* the most tiles that any of row->threads threads has, and the longest time, when each takes one as it becomes free */
static void hand_out(const double *seconds, bench_plan_loop *row) {
  enum { MOST = 64 };
  size_t next[MOST], end[MOST], taken[MOST] = {0}, tile;
  double busy[MOST] = {0};
  const size_t shares = row->tiles < (size_t)row->threads ? row->tiles : (size_t)row->threads;
  for (size_t i = 0; i < shares; i++) {
    next[i] = row->tiles * i / shares;
    end[i] = row->tiles * (i + 1) / shares;
  }
  for (size_t free = 0; shares > 0 && next_tile(free, shares, next, end, &tile);) {
    busy[free] += seconds[tile];
    row->seconds += seconds[tile];
    if (++taken[free] > row->share) row->share = taken[free];
    if (busy[free] > row->share_seconds) row->share_seconds = busy[free];
    for (size_t i = 0; i < shares; i++)
      if (busy[i] < busy[free]) free = i;
  }
}

/* hands the loops of a recording over, and adds them to the total */
static void report(const bench_session *session, const bench_plan_loop *head, const recording *r,
                   bench_plan_total *total) {
  const double *tile = r->seconds;
  for (size_t loop = 0; loop < r->loops; loop++) {
    bench_plan_loop row = *head;
    row.loop = (int)loop + 1;
    row.tiles = r->tiles[loop];
    hand_out(tile, &row);
    tile += row.tiles;
    total->seconds += row.seconds;
    total->share_seconds += row.share_seconds;
    session->output->plan_loop(session->context, &row);
  }
}

/* the call as a whole where there is one, else every stage that is not a sum of others */
static bool planned(const bench_case *c, const bench_stage *stage) {
  if (bench_has_stage(c, "one call")) return strcmp(stage->name, "one call") == 0;
  return stage->sum_of == 0;
}

static bool plan_for(bench_session *session, const char *text, int threads) {
  bench_problem problem;
  bench_case c;
  if (!bench_open_all(session, &text, &threads, 1, &problem, &c)) return false;
  recording r = {.loops = 0};
  bench_plan_total total = {.problem = c.problem->text, .kernel = c.kernel, .threads = threads};
  sparc_status status = SPARC_OK;
  for (size_t i = 0; status == SPARC_OK && i < c.stages; i++) {
    if (!planned(&c, &c.stage[i])) continue;
    if (c.stage[i].task.team)
      status = fail(SPARC_UNSUPPORTED, "%s: the benchmark itself divides it among threads; --plan is for calls that do",
                    text);
    else
      status = record(&c.stage[i], &r);
    if (status == SPARC_OK)
      report(session,
             &(bench_plan_loop){
                 .problem = c.problem->text, .kernel = c.kernel, .stage = c.stage[i].name, .threads = threads},
             &r, &total);
  }
  if (status == SPARC_OK) session->output->plan_total(session->context, &total);
  free(r.seconds);
  bench_close(&c);
  return status == SPARC_OK || bench_failed(session, status);
}

bool bench_plan(bench_session *session, const char *problem) {
  bool good = true;
  for (size_t i = 0; good && i < PLAN_THREADS && !session->output->stopped(session->context); i++)
    good = plan_for(session, problem, plan_threads[i]);
  return good;
}
