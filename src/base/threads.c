/* SPDX-License-Identifier: MIT */
/* threads.c: the tile loop, over OpenMP or plain POSIX threads, and sums in tile order.
 *
 * Both executors run the same function on every thread: take the tiles of the thread's own share, then what is left of
 * the others'. Neighbouring tiles touch neighbouring data, and the loops of a call divide the same arrays: in its own
 * share a thread finds what it has put into its cache before. Only how threads come to life differs. The POSIX executor
 * serves builds without OpenMP, the thread sanitizer, which cannot see into the OpenMP runtime, and forked processes: a
 * fork copies one thread, and the OpenMP runtime of the child would wait for the others of its team for ever. The
 * inference library stays on the thread of its caller.
 */
#include "base/threads.h"

#include <stdatomic.h>

#if SPARC_USE_OPENMP
#include "base/workspace.h"

#include <omp.h>
#include <sys/stat.h>
#elif !defined(SPARC_INFERENCE)
#include "base/cpu.h"
#endif
#ifndef SPARC_INFERENCE
#include <pthread.h>
#endif

/* a run of tiles; each has a line of the cache to itself, because its counter is busy */
typedef struct share {
  _Alignas(64) atomic_size_t next;
  size_t end;
} share;

enum { MAX_SHARES = 64 };

typedef struct job {
  void (*body)(void *context, size_t tile);
  void *context;
  size_t shares;
  share share[MAX_SHARES];
} job;

/* set while this thread runs a tile, so that a loop within a tile stays on its thread */
static _Thread_local int inside_tile;

static _Thread_local const parallel_watcher *watched;

void parallel_watch(const parallel_watcher *watcher) { watched = watcher; }

static void run_watched(size_t tiles, void (*body)(void *context, size_t tile), void *context) {
  const uint64_t mode = flush_denormals_begin();
  inside_tile = 1;
  watched->loop(watched->context, tiles);
  for (size_t tile = 0; tile < tiles; tile++) {
    body(context, tile);
    watched->tile(watched->context);
  }
  inside_tile = 0;
  flush_denormals_end(mode);
}

static void run_tiles(job *j, size_t thread) {
  uint64_t mode = flush_denormals_begin();
  inside_tile = 1;
  for (size_t i = 0; i < j->shares; i++) {
    share *s = &j->share[(thread + i) % j->shares];
    /* relaxed: the order of tiles is free, and starting and joining threads publishes the data */
    for (size_t tile; (tile = atomic_fetch_add_explicit(&s->next, 1, memory_order_relaxed)) < s->end;)
      j->body(j->context, tile);
  }
  inside_tile = 0;
  flush_denormals_end(mode);
}

#ifdef SPARC_INFERENCE

const char *thread_executor(void) { return "none"; }

static int available_threads(void) { return 1; }

static void run_on(int threads, job *j) {
  (void)threads;
  run_tiles(j, 0);
}

#else

typedef struct seat {
  pthread_t thread;
  job *job;
  size_t index;
} seat;

static void *worker(void *context) {
  const seat *s = context;
  run_tiles(s->job, s->index);
  return NULL;
}

/* a thread that cannot be created is not missed: the others take its tiles */
static void run_on_pthreads(int threads, job *j) {
  seat seats[THREADS_MAX];
  int started = 0;
  for (; started < threads - 1; started++) {
    seat *s = &seats[started];
    s->job = j;
    s->index = (size_t)started + 1;
    if (pthread_create(&s->thread, NULL, worker, s) != 0) break;
  }
  run_tiles(j, 0);
  while (started > 0) pthread_join(seats[--started].thread, NULL);
}

#if SPARC_USE_OPENMP

/* 1: this process was forked from one with several threads, which may have been a team of OpenMP, ours or another
 * library's; written in the child before it has threads of its own */
static int forked;
static atomic_int team_started;
static _Thread_local int crowded;

/* a folder has two links and one more for each folder in it, here a thread */
static void before_fork(void) {
  struct stat threads;
  crowded = atomic_load(&team_started) || stat("/proc/self/task", &threads) != 0 || threads.st_nlink > 3;
}
static void in_child(void) { forked |= crowded; }

__attribute__((constructor)) static void watch_forks(void) { pthread_atfork(before_fork, NULL, in_child); }

const char *thread_executor(void) { return forked ? "pthreads" : "openmp"; }

static int available_threads(void) { return omp_get_max_threads(); }

static void run_on(int threads, job *j) {
  if (forked) {
    run_on_pthreads(threads, j);
    return;
  }
  atomic_store_explicit(&team_started, 1, memory_order_relaxed);
#pragma omp parallel num_threads(threads) default(none) shared(j)
  {
    /* now, and not when a thread first happens to take a tile that needs it: later calls allocate nothing */
    (void)thread_workspace();
    run_tiles(j, (size_t)omp_get_thread_num());
  }
}

#else

const char *thread_executor(void) { return "pthreads"; }

static int available_threads(void) { return cpu_available(); }

static void run_on(int threads, job *j) { run_on_pthreads(threads, j); }

#endif
#endif

int thread_count(int requested) {
  int count = requested < 1 ? available_threads() : requested;
  return count < 1 ? 1 : count > THREADS_MAX ? THREADS_MAX : count;
}

void parallel_for(int threads, size_t tiles, void (*body)(void *context, size_t tile), void *context) {
  /* within a tile: the mode is set already, and the enclosing loop has the threads */
  if (inside_tile) {
    for (size_t tile = 0; tile < tiles; tile++) body(context, tile);
    return;
  }
  if (watched) {
    run_watched(tiles, body, context);
    return;
  }
  int count = thread_count(threads);
  if ((size_t)count > tiles) count = (int)tiles;
  if (count < 1) return;
  job j;
  j.body = body;
  j.context = context;
  j.shares = count < MAX_SHARES ? (size_t)count : MAX_SHARES;
  for (size_t i = 0; i < j.shares; i++) {
    atomic_init(&j.share[i].next, tiles * i / j.shares);
    j.share[i].end = tiles * (i + 1) / j.shares;
  }
  if (count > 1)
    run_on(count, &j);
  else
    run_tiles(&j, 0);
}

void ordered_sum_f32(double *restrict total, const float *restrict partials, size_t tiles, size_t stride,
                     size_t width) {
  for (size_t t = 0; t < tiles; t++)
    for (size_t i = 0; i < width; i++) total[i] += (double)partials[t * stride + i];
}

void ordered_sum_f64(double *restrict total, const double *restrict partials, size_t tiles, size_t stride,
                     size_t width) {
  for (size_t t = 0; t < tiles; t++)
    for (size_t i = 0; i < width; i++) total[i] += partials[t * stride + i];
}

/* columns summed at a time: their totals stay in the first-level cache */
enum { COLUMNS = 512 };

static size_t columns_from(size_t start, size_t width) {
  size_t rest = width - start;
  return rest < COLUMNS ? rest : COLUMNS;
}

/* two partial sums need no array of totals */
static void ordered_add_pair(float *restrict out, const float *restrict first, const float *restrict second,
                             size_t width) {
  for (size_t i = 0; i < width; i++) {
    const double total = 0.0 + (double)first[i] + (double)second[i];
    out[i] = (float)((double)out[i] + total);
  }
}

void ordered_add_f32(float *restrict out, const float *restrict partials, size_t tiles, size_t stride, size_t width) {
  if (tiles == 2) {
    ordered_add_pair(out, partials, partials + stride, width);
    return;
  }
  for (size_t start = 0; start < width; start += COLUMNS) {
    size_t n = columns_from(start, width);
    double total[COLUMNS] = {0};
    ordered_sum_f32(total, partials + start, tiles, stride, n);
    for (size_t i = 0; i < n; i++) out[start + i] = (float)((double)out[start + i] + total[i]);
  }
}

void ordered_add_f64(double *restrict out, const double *restrict partials, size_t tiles, size_t stride, size_t width) {
  for (size_t start = 0; start < width; start += COLUMNS) {
    size_t n = columns_from(start, width);
    double total[COLUMNS] = {0};
    ordered_sum_f64(total, partials + start, tiles, stride, n);
    for (size_t i = 0; i < n; i++) out[start + i] += total[i];
  }
}
