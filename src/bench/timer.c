/* SPDX-License-Identifier: MIT */
/* timer.c: the clock, teams behind a spin barrier, and minima over interleaved passes. */
#include "bench/timer.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/threads.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

double bench_now(void) {
#ifdef CLOCK_MONOTONIC_RAW
  return clock_seconds(CLOCK_MONOTONIC_RAW);
#else
  return seconds_now();
#endif
}

/* ---- teams -------------------------------------------------------------------------------------- */

/* what all threads of a team do at once */
typedef struct order {
  const bench_task *task; /* NULL: the pass is over */
  size_t piece;
  int repeats;
} order;

typedef struct worker {
  bench_team *team;
  pthread_t thread;
  int number; /* from 1 */
} worker;

struct bench_team {
  int workers; /* besides the caller */
  worker *worker;
  pthread_mutex_t lock;
  pthread_cond_t wake;
  bool awake, quit;   /* guarded by lock */
  cpu_set_t allowed;  /* processors of this process */
  order order;        /* written before phase moves on */
  atomic_uint phase;  /* one further for every order */
  atomic_int arrived; /* workers that wait for the next order */
};

static inline void relax(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

/* spins; gives the processor away after a while, for there may be more threads than processors */
static inline void spin(unsigned *turns) {
  enum { PATIENCE = 1 << 10 };
  if (++*turns % PATIENCE == 0) sched_yield();
  relax();
}

/* Thread i of a team stays on the i-th processor of this process: two threads on one processor would measure the
 * scheduler. The caller is bound during a pass only, for threads that it creates inherit the binding. */
static void bind_to(int thread, const cpu_set_t *allowed) {
  int requested = thread % CPU_COUNT(allowed);
  for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
    if (!CPU_ISSET(cpu, allowed) || requested-- > 0) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    /* a refusal costs accuracy, nothing else */
    (void)sched_setaffinity(0, sizeof one, &one);
    return;
  }
}

static void run_order(const order *o, int thread, int threads) {
  for (int i = 0; i < o->repeats; i++) o->task->run(o->task->context, o->piece, thread, threads);
}

/* *seen is the last phase that this worker knows; every worker sees every phase */
static void work_through_pass(const worker *w, unsigned *seen) {
  bench_team *team = w->team;
  atomic_fetch_add_explicit(&team->arrived, 1, memory_order_release);
  for (;;) {
    unsigned turns = 0;
    while (atomic_load_explicit(&team->phase, memory_order_acquire) == *seen) spin(&turns);
    ++*seen;
    if (!team->order.task) return;
    run_order(&team->order, w->number, team->workers + 1);
    atomic_fetch_add_explicit(&team->arrived, 1, memory_order_release);
  }
}

static void *work(void *argument) {
  const worker *w = argument;
  bench_team *team = w->team;
  const uint64_t mode = flush_denormals_begin();
  bind_to(w->number, &team->allowed);
  for (unsigned seen = 0;;) {
    pthread_mutex_lock(&team->lock);
    while (!team->awake && !team->quit) pthread_cond_wait(&team->wake, &team->lock);
    const bool quit = team->quit;
    pthread_mutex_unlock(&team->lock);
    if (quit) break;
    work_through_pass(w, &seen);
  }
  flush_denormals_end(mode);
  return NULL;
}

static void wait_for_workers(bench_team *team) {
  unsigned turns = 0;
  while (atomic_load_explicit(&team->arrived, memory_order_acquire) < team->workers) spin(&turns);
}

static void give_order(bench_team *team, order next) {
  atomic_store_explicit(&team->arrived, 0, memory_order_relaxed);
  team->order = next;
  atomic_fetch_add_explicit(&team->phase, 1, memory_order_release);
}

static void begin_pass(bench_team *team) {
  if (!team) return;
  bind_to(0, &team->allowed);
  atomic_store_explicit(&team->arrived, 0, memory_order_relaxed);
  pthread_mutex_lock(&team->lock);
  team->awake = true;
  pthread_cond_broadcast(&team->wake);
  pthread_mutex_unlock(&team->lock);
  wait_for_workers(team);
}

static void end_pass(bench_team *team) {
  if (!team) return;
  /* asleep first: a worker that leaves the pass must not find the flag of the pass it left */
  pthread_mutex_lock(&team->lock);
  team->awake = false;
  pthread_mutex_unlock(&team->lock);
  give_order(team, (order){.task = NULL});
  (void)sched_setaffinity(0, sizeof team->allowed, &team->allowed);
}

sparc_status bench_team_create(int threads, bench_team **out) {
  *out = NULL;
  bench_team *team = calloc(1, sizeof *team);
  worker *workers = calloc((size_t)threads, sizeof *workers);
  if (!team || !workers) {
    free(team);
    free(workers);
    return fail(SPARC_NO_MEMORY, "no memory for a team of %d threads", threads);
  }
  team->worker = workers;
  if (sched_getaffinity(0, sizeof team->allowed, &team->allowed) != 0) CPU_SET(0, &team->allowed);
  pthread_mutex_init(&team->lock, NULL);
  pthread_cond_init(&team->wake, NULL);
  atomic_init(&team->phase, 0);
  atomic_init(&team->arrived, 0);
  for (int i = 1; i < threads; i++) {
    worker *w = &workers[team->workers];
    *w = (worker){.team = team, .number = i};
    if (pthread_create(&w->thread, NULL, work, w) != 0) {
      bench_team_free(team);
      return fail(SPARC_NO_MEMORY, "the system refuses thread %d of %d", i + 1, threads);
    }
    team->workers++;
  }
  *out = team;
  return SPARC_OK;
}

void bench_team_free(bench_team *team) {
  if (!team) return;
  pthread_mutex_lock(&team->lock);
  team->quit = true;
  pthread_cond_broadcast(&team->wake);
  pthread_mutex_unlock(&team->lock);
  for (int i = 0; i < team->workers; i++) pthread_join(team->worker[i].thread, NULL);
  pthread_cond_destroy(&team->wake);
  pthread_mutex_destroy(&team->lock);
  free(team->worker);
  free(team);
}

/* ---- passes ------------------------------------------------------------------------------------- */

enum { LEAST_PASSES = 10, HURRIED_PASSES = 3, MAX_PASSES = 1 << 14 };

/* if ten passes take this many times the requested seconds, fewer are run */
static const double HURRY = 5;

/* pieces shorter than this are repeated until they are as long as the other */
static const double SHORT_PIECE = 50e-6, WANTED_PIECE = 200e-6;

typedef struct record {
  double *shortest; /* (pieces) */
  double *totals;   /* (MAX_PASSES) */
  double best;      /* see bench_improves */
  int repeats;
} record;

static void run_piece(const bench_task *task, size_t piece, int repeats) {
  const order o = {task, piece, repeats};
  if (task->team) give_order(task->team, o);
  run_order(&o, 0, task->team ? task->team->workers + 1 : 1);
  if (task->team) wait_for_workers(task->team);
}

/* seconds of one run of a piece; one that is repeated finds its data where the run before left it, the first too */
static double time_piece(const bench_task *task, size_t piece, int repeats) {
  if (repeats > 1) run_piece(task, piece, 1);
  const double start = bench_now();
  run_piece(task, piece, repeats);
  return (bench_now() - start) / repeats;
}

/* runs a pass, lowers the minima, and returns its seconds */
static double time_pass(const bench_task *task, int repeats, double *shortest) {
  double total = 0;
  if (task->refresh) task->refresh(task->context);
  const uint64_t mode = flush_denormals_begin();
  begin_pass(task->team);
  for (size_t i = 0; i < task->pieces; i++) {
    const size_t piece = task->reverse ? task->pieces - 1 - i : i;
    const double seconds = time_piece(task, piece, repeats);
    total += seconds;
    if (shortest && seconds < shortest[piece]) shortest[piece] = seconds;
  }
  end_pass(task->team);
  flush_denormals_end(mode);
  return total;
}

void bench_pass(const bench_task *task) { time_pass(task, 1, NULL); }

static int compare_doubles(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double sum_of(const double *numbers, size_t count) {
  double sum = 0;
  for (size_t i = 0; i < count; i++) sum += numbers[i];
  return sum;
}

static void conclude(bench_task *task, const record *r, int passes) {
  task->seconds = sum_of(r->shortest, task->pieces);
  qsort(r->totals, (size_t)passes, sizeof *r->totals, compare_doubles);
  task->noise = r->totals[passes / 2] / task->seconds - 1;
  task->passes = passes;
}

/* improved: when a result last improved */
static bool enough(int passes, double elapsed, double improved, double seconds, double patience) {
  if (passes >= MAX_PASSES) return true;
  if (passes < LEAST_PASSES) return passes >= HURRIED_PASSES && elapsed >= HURRY * patience * seconds;
  return elapsed >= seconds && (elapsed >= 2 * improved || elapsed >= patience * seconds);
}

/* warms up, and finds how often a short piece must be repeated; a short task gets several tries, for the first may have
 * been interrupted */
static int repeats_of(const bench_task *task) {
  enum { TRIES = 5 };
  double piece = 1e300;
  const double start = bench_now();
  for (int i = 0; i < TRIES && (i == 0 || bench_now() - start < 10 * WANTED_PIECE); i++) {
    const double seconds = time_pass(task, 1, NULL) / (double)task->pieces;
    if (seconds < piece) piece = seconds;
  }
  return piece < SHORT_PIECE && !task->cold ? 1 + (int)(WANTED_PIECE / (piece + 1e-9)) : 1;
}

bool bench_improves(double result, double *best) {
  static const double LEAST = 0.002;
  if (result > (1 - LEAST) * *best) return false;
  *best = result;
  return true;
}

static void run_passes(bench_task *const *tasks, size_t count, double seconds, double patience, record *records) {
  for (size_t i = 0; i < count; i++) records[i].repeats = repeats_of(tasks[i]);
  const double start = bench_now();
  double improved = 0;
  int passes = 0;
  for (; !enough(passes, bench_now() - start, improved, seconds, patience); passes++) {
    for (size_t i = 0; i < count; i++) {
      records[i].totals[passes] = time_pass(tasks[i], records[i].repeats, records[i].shortest);
      if (bench_improves(sum_of(records[i].shortest, tasks[i]->pieces), &records[i].best))
        improved = bench_now() - start;
    }
  }
  for (size_t i = 0; i < count; i++) conclude(tasks[i], &records[i], passes);
}

sparc_status bench_time(bench_task *const *tasks, size_t count, double seconds, double patience) {
  if (count == 0) return SPARC_OK;
  size_t numbers = count * MAX_PASSES;
  for (size_t i = 0; i < count; i++) numbers += tasks[i]->pieces;
  record *records = calloc(count, sizeof *records);
  double *memory = calloc(numbers, sizeof *memory);
  if (!records || !memory) {
    free(records);
    free(memory);
    return fail(SPARC_NO_MEMORY, "no memory for the times of %zu pieces", numbers);
  }
  double *next = memory;
  for (size_t i = 0; i < count; i++) {
    records[i].shortest = next;
    records[i].totals = next + tasks[i]->pieces;
    records[i].best = INFINITY;
    for (size_t k = 0; k < tasks[i]->pieces; k++) records[i].shortest[k] = 1e300;
    next = records[i].totals + MAX_PASSES;
  }
  run_passes(tasks, count, seconds, patience, records);
  free(records);
  free(memory);
  return SPARC_OK;
}
