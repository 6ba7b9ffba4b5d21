/* SPDX-License-Identifier: MIT */
/* test_base.c: status and error text, log, memory, threads, processor features, hash, clock, moments. */
#include "base/clock.h"
#include "base/cpu.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/moments.h"
#include "base/threads.h"

#include <float.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* needs the headers above, so it stays apart from them; its own fail() gives way to the one under test */
#include <cmocka.h>
#undef fail

static void on_new_thread(void *(*function)(void *), void *argument) {
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, function, argument), 0);
  assert_int_equal(pthread_join(thread, NULL), 0);
}

/* ---- status, error text, log ---- */

static void status_names(void **state) {
  (void)state;
  static const char *const names[] = {"ok",     "invalid",     "no memory",  "io",
                                      "format", "unsupported", "not finite", "device"};
  for (size_t k = 0; k < COUNT(names); k++) assert_string_equal(sparc_status_name((sparc_status)k), names[k]);
  assert_string_equal(sparc_status_name((sparc_status)COUNT(names)), "unknown");
}

static void version_matches_header(void **state) {
  (void)state;
  char text[32];
  snprintf(text, sizeof text, "%d.%d.%d", SPARC_VERSION_MAJOR, SPARC_VERSION_MINOR, SPARC_VERSION_PATCH);
  assert_string_equal(sparc_version(), text);
}

typedef struct other_thread {
  char before[64], after[64];
  int lines;
} other_thread;

static void *fail_elsewhere(void *argument) {
  other_thread *other = argument;
  snprintf(other->before, sizeof other->before, "%s", sparc_error());
  (void)fail(SPARC_IO, "file %s cannot be read", "b");
  snprintf(other->after, sizeof other->after, "%s", sparc_error());
  log_line("this thread has no callback");
  return NULL;
}

static void error_text_is_per_thread(void **state) {
  (void)state;
  other_thread other = {.lines = 0};
  assert_int_equal(fail(SPARC_INVALID, "H is %d, expected at least 1", -4), SPARC_INVALID);
  on_new_thread(fail_elsewhere, &other);
  assert_string_equal(other.before, "");
  assert_string_equal(other.after, "file b cannot be read");
  assert_string_equal(sparc_error(), "H is -4, expected at least 1");
}

static void error_text_is_bounded(void **state) {
  (void)state;
  char longer[2000];
  memset(longer, 'x', sizeof longer - 1);
  longer[sizeof longer - 1] = '\0';
  assert_int_equal(fail(SPARC_FORMAT, "key %s", longer), SPARC_FORMAT);
  size_t length = strlen(sparc_error());
  assert_true(length >= 100 && length < sizeof longer);
  assert_memory_equal(sparc_error(), "key xxx", 7);
}

static void count_line(void *user, const char *line) {
  other_thread *seen = user;
  snprintf(seen->before, sizeof seen->before, "%s", line);
  seen->lines++;
}

static void log_goes_to_the_callback_of_its_thread(void **state) {
  (void)state;
  other_thread seen = {.lines = 0}, other = {.lines = 0};
  log_line("before");
  sparc_set_log(count_line, &seen);
  log_line("epoch %d of %d", 3, 8);
  on_new_thread(fail_elsewhere, &other);
  assert_int_equal(seen.lines, 1);
  assert_string_equal(seen.before, "epoch 3 of 8");
  sparc_set_log(NULL, NULL);
  log_line("after");
  assert_int_equal(seen.lines, 1);
}

static void closest_word(void **state) {
  (void)state;
  static const char *const commands[] = {"train", "check", "info", "bench", "rtrl", "rtu", NULL};
  static const char *const none[] = {NULL};
  static const struct {
    const char *typed, *expected;
  } cases[] = {
      {"check", "check"}, {"chekc", "check"},
      {"chck", "check"},  {"tarin", "train"},
      {"inof", "info"},   {"rtu", "rtu"},
      {"rt", "rtu"},      {"trainn", "train"},
      {"banana", NULL},   {"", NULL},
      {"xy", NULL},       {"a word far longer than the longest name that any list of candidates can hold", NULL},
  };
  for (size_t k = 0; k < COUNT(cases); k++) {
    const char *found = closest(cases[k].typed, commands);
    if (cases[k].expected)
      assert_true(found && strcmp(found, cases[k].expected) == 0);
    else
      assert_null(found);
  }
  assert_null(closest("check", none));
}

/* ---- memory ---- */

static void allocations_are_aligned_and_zero(void **state) {
  (void)state;
  static const size_t sizes[] = {0, 1, 63, 64, 65, 4096, 100001, (4 << 20) - 1, 4 << 20, (4 << 20) + 1};
  for (size_t k = 0; k < COUNT(sizes); k++) {
    unsigned char *memory = sparc_alloc(sizes[k]), *other = sparc_alloc(sizes[k]);
    assert_true(memory && other && memory != other);
    assert_int_equal((uintptr_t)memory % CACHE_LINE, 0);
    if (sizes[k] >= 4 << 20) assert_int_equal((uintptr_t)memory % (2 << 20), 0);
    size_t nonzero = 0;
    for (size_t i = 0; i < sizes[k]; i++) nonzero += memory[i] != 0;
    assert_int_equal(nonzero, 0);

    /* dirty memory comes back clean */
    memset(memory, 0xa5, sizes[k]);
    sparc_free(memory);
    memory = sparc_alloc(sizes[k]);
    assert_non_null(memory);
    for (size_t i = 0; i < sizes[k]; i++) nonzero += memory[i] != 0;
    assert_int_equal(nonzero, 0);
    sparc_free(memory);
    sparc_free(other);
  }
  sparc_free(NULL);
}

static void impossible_sizes_are_refused(void **state) {
  (void)state;
  static const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 1, SIZE_MAX - (2 << 20), SIZE_MAX / 2 + 1};
  for (size_t k = 0; k < COUNT(sizes); k++) assert_null(sparc_alloc(sizes[k]));
}

typedef struct pieces {
  float *a;
  double *b;
  char *c, *empty;
} pieces;

static pieces carve(arena *a) {
  pieces p;
  p.a = arena_take(a, 5, sizeof *p.a);
  p.b = arena_take(a, 9, sizeof *p.b);
  p.empty = arena_take(a, 0, 1);
  p.c = arena_take(a, 64, 1);
  return p;
}

/* measuring and placing run the same code and agree */
static void arena_measures_then_places(void **state) {
  (void)state;
  arena measure = arena_measure();
  pieces p = carve(&measure);
  assert_true(!p.a && !p.b && !p.c);
  assert_int_equal(measure.used, 64 + 128 + 64);

  char *block = sparc_alloc(measure.used);
  assert_non_null(block);
  arena place = arena_over(block, measure.used);
  p = carve(&place);
  assert_int_equal(place.used, measure.used);
  assert_ptr_equal(p.a, block);
  assert_ptr_equal(p.b, block + 64);
  assert_ptr_equal(p.c, block + 192);
  memset(p.a, 1, 5 * sizeof *p.a), memset(p.b, 2, 9 * sizeof *p.b), memset(p.c, 3, 64);
  assert_int_equal(*(char *)p.a, 1);
  assert_int_equal(*(char *)p.b, 2);
  sparc_free(block);
}

static void size_products(void **state) {
  (void)state;
  static const struct {
    size_t a, b, product;
    int overflow;
  } cases[] = {
      {6, 7, 42, 0},
      {0, SIZE_MAX, 0, 0},
      {SIZE_MAX, 0, 0, 0},
      {SIZE_MAX, 1, SIZE_MAX, 0},
      {SIZE_MAX / 2, 2, SIZE_MAX - 1, 0},
      {SIZE_MAX / 2 + 1, 2, 0, 1},
      {2, SIZE_MAX / 2 + 1, 0, 1},
      {SIZE_MAX, SIZE_MAX, 0, 1},
  };
  for (size_t k = 0; k < COUNT(cases); k++) {
    int overflow = 0;
    assert_int_equal(size_product(cases[k].a, cases[k].b, &overflow), cases[k].product);
    assert_int_equal(overflow, cases[k].overflow);
  }

  /* an overflow once seen is not forgotten by a later product */
  int overflow = 0;
  size_product(size_product(SIZE_MAX, 2, &overflow), 3, &overflow);
  assert_int_equal(overflow, 1);
}

/* ---- threads ---- */

static const int thread_counts[] = {1, 2, 3, 7, 16};

static void count_tile(void *context, size_t tile) {
  atomic_int *counts = context;
  atomic_fetch_add(&counts[tile], 1);
}

static void every_tile_runs_once(void **state) {
  (void)state;
  static const size_t tile_counts[] = {0, 1, 2, 1000};
  static const int requests[] = {-1, 0, 1, 2, 3, 7, 100000};
  for (size_t k = 0; k < COUNT(requests); k++) {
    for (size_t n = 0; n < COUNT(tile_counts); n++) {
      /* a thousand threads for a thousand tiles would prove nothing more */
      if (requests[k] > THREADS_MAX && tile_counts[n] > 2) continue;
      atomic_int counts[1001];
      for (size_t i = 0; i < COUNT(counts); i++) atomic_init(&counts[i], 0);
      parallel_for(requests[k], tile_counts[n], count_tile, counts);
      for (size_t i = 0; i < COUNT(counts); i++) assert_int_equal(atomic_load(&counts[i]), i < tile_counts[n]);
    }
  }
}

/* the calls of a watcher, and the results of the tiles */
typedef struct watched {
  size_t loops, tiles, done, order[8];
} watched;

static void count_loop(void *context, size_t tiles) {
  watched *h = context;
  h->loops++;
  h->tiles += tiles;
}
static void record_tile(void *context) {
  watched *h = context;
  assert_int_equal(h->done, h->tiles - 4 + h->order[h->tiles - 1]); /* the tile before it has run, and no other */
  h->done++;
}
static void note_order(void *context, size_t tile) {
  watched *h = context;
  h->order[h->tiles - 1] = tile;
}

/* loops of a watched thread run on it, in order; afterwards everything is as before */
static void loops_can_be_watched(void **state) {
  (void)state;
  watched h = {0};
  parallel_watch(&(parallel_watcher){count_loop, record_tile, &h});
  parallel_for(3, 4, note_order, &h);
  parallel_for(1, 4, note_order, &h);
  parallel_watch(NULL);
  assert_int_equal(h.loops, 2);
  assert_int_equal(h.done, 8);
  parallel_for(1, 4, note_order, &h);
  assert_int_equal(h.loops, 2);
  assert_int_equal(h.done, 8);
}

static void thread_counts_are_sane(void **state) {
  (void)state;
  assert_int_equal(thread_count(1), 1);
  assert_int_equal(thread_count(7), 7);
  assert_int_equal(thread_count(1 << 30), THREADS_MAX);
  assert_true(thread_count(0) >= 1);
  assert_int_equal(thread_count(-5), thread_count(0));
  assert_true(strcmp(thread_executor(), "openmp") == 0 || strcmp(thread_executor(), "pthreads") == 0);
}

/* each tile waits for the other, so both must be running at once; a serial loop runs into the deadline */
static void meet(void *context, size_t tile) {
  atomic_int *arrived = context;
  (void)tile;
  time_t deadline = time(NULL) + 10;
  atomic_fetch_add(arrived, 1);
  while (atomic_load(arrived) == 1) {
    if (time(NULL) > deadline) atomic_store(arrived, -100);
    sched_yield();
  }
}

static void tiles_run_at_the_same_time(void **state) {
  (void)state;
  atomic_int arrived;
  atomic_init(&arrived, 0);
  parallel_for(2, 2, meet, &arrived);
  assert_int_equal(atomic_load(&arrived), 2);
}

enum { TILES = 37, WIDTH = 700, STRIDE = 704 };

typedef struct partials {
  float f32[TILES * STRIDE];
  double f64[TILES * STRIDE];
} partials;

/* magnitudes spread over many powers of two: the sum depends on the order of its terms in nearly every column */
static void fill_partials(void *context, size_t tile) {
  partials *p = context;
  for (size_t i = 0; i < WIDTH; i++) {
    double x = sin(1.0 + (double)tile * 12.9898 + (double)i * 78.233) * exp2((double)((tile * 7 + i * 3) % 23));
    p->f32[tile * STRIDE + i] = (float)x;
    p->f64[tile * STRIDE + i] = x;
  }
}

typedef struct sums {
  double sum_f32[WIDTH], sum_f64[WIDTH], add_f64[WIDTH];
  float add_f32[WIDTH];
} sums;

static void reduce(int threads, partials *p, sums *s) {
  memset(p, 0xff, sizeof *p);
  parallel_for(threads, TILES, fill_partials, p);
  for (size_t i = 0; i < WIDTH; i++) s->sum_f32[i] = s->sum_f64[i] = s->add_f64[i] = 0.25, s->add_f32[i] = 0.25f;
  ordered_sum_f32(s->sum_f32, p->f32, TILES, STRIDE, WIDTH);
  ordered_sum_f64(s->sum_f64, p->f64, TILES, STRIDE, WIDTH);
  ordered_add_f32(s->add_f32, p->f32, TILES, STRIDE, WIDTH);
  ordered_add_f64(s->add_f64, p->f64, TILES, STRIDE, WIDTH);
}

static void reductions_keep_tile_order(void **state) {
  (void)state;
  partials *p = malloc(sizeof *p);
  sums first, again;
  assert_non_null(p);
  reduce(1, p, &first);

  /* against the definition, term by term; the opposite order must be seen to differ */
  int order_matters = 0;
  for (size_t i = 0; i < WIDTH; i++) {
    double sum_f32 = 0.25, sum_f64 = 0.25, zero_f32 = 0, zero_f64 = 0, backwards = 0.25;
    for (size_t t = 0; t < TILES; t++) {
      sum_f32 += (double)p->f32[t * STRIDE + i], zero_f32 += (double)p->f32[t * STRIDE + i];
      sum_f64 += p->f64[t * STRIDE + i], zero_f64 += p->f64[t * STRIDE + i];
      backwards += p->f64[(TILES - 1 - t) * STRIDE + i];
    }
    assert_true(first.sum_f32[i] == sum_f32);
    assert_true(first.sum_f64[i] == sum_f64);
    assert_true(first.add_f32[i] == (float)(0.25 + zero_f32));
    assert_true(first.add_f64[i] == 0.25 + zero_f64);
    order_matters += backwards != sum_f64;
  }
  assert_true(order_matters > WIDTH / 2);

  /* the same bits for any number of threads and for columns summed in pieces */
  for (size_t k = 0; k < COUNT(thread_counts); k++) {
    reduce(thread_counts[k], p, &again);
    assert_memory_equal(&first, &again, sizeof first);
  }
  for (size_t i = 0; i < WIDTH; i++) again.add_f32[i] = 0.25f;
  for (size_t i = 0; i < WIDTH; i += 100) ordered_add_f32(again.add_f32 + i, p->f32 + i, TILES, STRIDE, 100);
  assert_memory_equal(first.add_f32, again.add_f32, sizeof first.add_f32);
  free(p);
}

static int denormals_survive(void) {
  volatile float smallest = FLT_MIN;
  volatile float result = smallest * 0.5f; /* a denormal result */
  volatile float input = 1e-40f;           /* a denormal operand */
  volatile float raised = input * 0x1p20f;
  volatile double tiny = DBL_MIN;
  return (result != 0) + (raised != 0) + (tiny * 0.5 != 0);
}

static void look_for_denormals(void *context, size_t tile) { ((int *)context)[tile] = denormals_survive(); }

static void denormals_are_flushed_in_tiles_only(void **state) {
  (void)state;
  if (FLUSH_BITS == 0) skip();
  for (size_t k = 0; k < COUNT(thread_counts); k++) {
    int survivors[64];
    memset(survivors, 0xff, sizeof survivors);
    assert_int_equal(denormals_survive(), 3);
    parallel_for(thread_counts[k], 64, look_for_denormals, survivors);
    for (size_t i = 0; i < 64; i++) assert_int_equal(survivors[i], 0);
    assert_int_equal(denormals_survive(), 3);
  }

  /* a caller that flushes already keeps flushing */
  uint64_t saved = flush_denormals_begin();
  assert_int_equal(denormals_survive(), 0);
  int survivors[8];
  parallel_for(2, 8, look_for_denormals, survivors);
  assert_int_equal(denormals_survive(), 0);
  flush_denormals_end(saved);
  assert_int_equal(denormals_survive(), 3);
}

enum { OUTER = 13, INNER = 11 };

typedef struct nest {
  int threads;
  atomic_int counts[OUTER * INNER];
  atomic_int strays; /* inner tiles that left the thread of their outer tile */
} nest;

typedef struct inner_loop {
  nest *n;
  size_t outer;
  pthread_t thread;
  size_t next;
} inner_loop;

static void inner_tile(void *context, size_t tile) {
  inner_loop *loop = context;
  int in_place = pthread_equal(pthread_self(), loop->thread) && tile == loop->next++;
  if (!in_place) atomic_fetch_add(&loop->n->strays, 1);
  if (FLUSH_BITS != 0 && denormals_survive()) atomic_fetch_add(&loop->n->strays, 1);
  atomic_fetch_add(&loop->n->counts[loop->outer * INNER + tile], 1);
}

static void outer_tile(void *context, size_t tile) {
  nest *n = context;
  inner_loop loop = {.n = n, .outer = tile, .thread = pthread_self(), .next = 0};
  parallel_for(4, INNER, inner_tile, &loop);
  if (FLUSH_BITS != 0 && denormals_survive()) atomic_fetch_add(&n->strays, 1);
}

/* an inner loop runs in order on the thread of its tile, whether or not the outer one has threads */
static void nested_loops_stay_on_their_thread(void **state) {
  (void)state;
  for (size_t k = 0; k < COUNT(thread_counts); k++) {
    nest n = {.threads = thread_counts[k]};
    parallel_for(n.threads, OUTER, outer_tile, &n);
    for (size_t i = 0; i < COUNT(n.counts); i++) assert_int_equal(atomic_load(&n.counts[i]), 1);
    assert_int_equal(atomic_load(&n.strays), 0);
  }

  /* the mark is gone afterwards: a loop of its own has threads again */
  tiles_run_at_the_same_time(state);
}

/* loops started from several threads at once do not disturb each other */
static void *loop_from_thread(void *argument) {
  parallel_for(2, 500, count_tile, argument);
  return NULL;
}

static void callers_are_independent(void **state) {
  (void)state;
  static atomic_int counts[3][500];
  pthread_t callers[3];
  for (size_t k = 0; k < 3; k++) assert_int_equal(pthread_create(&callers[k], NULL, loop_from_thread, counts[k]), 0);
  for (size_t k = 0; k < 3; k++) assert_int_equal(pthread_join(callers[k], NULL), 0);
  for (size_t k = 0; k < 3; k++)
    for (size_t i = 0; i < 500; i++) assert_int_equal(atomic_load(&counts[k][i]), 1);
}

/* no new thread can have a stack of 2^46 bytes: the caller does all the work, with the same result */
static void loops_run_without_worker_threads(void **state) {
  (void)state;
#if defined(__GLIBC__) && defined(__LP64__)
  if (strcmp(thread_executor(), "pthreads") != 0) skip();
  pthread_attr_t previous, huge;
  pthread_t thread;
  assert_int_equal(pthread_getattr_default_np(&previous), 0);
  assert_int_equal(pthread_getattr_default_np(&huge), 0);
  assert_int_equal(pthread_attr_setstacksize(&huge, (size_t)1 << 46), 0);
  assert_int_equal(pthread_setattr_default_np(&huge), 0);
  int refused = pthread_create(&thread, NULL, loop_from_thread, NULL) != 0;
  atomic_int counts[100];
  for (size_t i = 0; i < COUNT(counts); i++) atomic_init(&counts[i], 0);
  if (refused) parallel_for(4, COUNT(counts), count_tile, counts);
  assert_int_equal(pthread_setattr_default_np(&previous), 0);
  assert_true(refused);
  for (size_t i = 0; i < COUNT(counts); i++) assert_int_equal(atomic_load(&counts[i]), 1);
#else
  skip();
#endif
}

/* ---- processor ---- */

static void processor_is_described(void **state) {
  (void)state;
  cpu_info info = cpu_detect();
  size_t length = strlen(info.brand);
  assert_true(length > 0 && length < sizeof info.brand);
  assert_true(info.brand[0] != ' ' && info.brand[length - 1] != ' ');
  assert_true(info.logical >= 1);
  assert_true(cpu_available() >= 1 && cpu_available() <= info.logical);
  if (info.l1d && info.l2) assert_true(info.l1d <= info.l2);
}

/* the compiler's own detection is the independent opinion */
static void features_agree_with_the_compiler(void **state) {
  (void)state;
  unsigned features = cpu_detect().features;
#if defined(__x86_64__)
  __builtin_cpu_init();
  assert_int_equal(!!(features & CPU_SSE2), !!__builtin_cpu_supports("sse2"));
  assert_int_equal(!!(features & CPU_SSE42), !!__builtin_cpu_supports("sse4.2"));
  assert_int_equal(!!(features & CPU_AVX), !!__builtin_cpu_supports("avx"));
  assert_int_equal(!!(features & CPU_AVX2), !!__builtin_cpu_supports("avx2"));
  assert_int_equal(!!(features & CPU_FMA), !!__builtin_cpu_supports("fma"));
  assert_int_equal(!!(features & CPU_AVX512F), !!__builtin_cpu_supports("avx512f"));
  assert_int_equal(!!(features & CPU_AVX512DQ), !!__builtin_cpu_supports("avx512dq"));
  assert_int_equal(!!(features & CPU_AVX512BW), !!__builtin_cpu_supports("avx512bw"));
  assert_int_equal(!!(features & CPU_AVX512VL), !!__builtin_cpu_supports("avx512vl"));
  assert_true(features & CPU_SSE2);
  assert_false(features & CPU_NEON);
#elif defined(__aarch64__)
  assert_int_equal(features, CPU_NEON);
#else
  skip();
#endif
}

static void feature_lists(void **state) {
  (void)state;
  static const char all[] = "sse2 sse4.2 avx avx2 fma f16c avx512f avx512dq avx512bw avx512vl neon";
  char text[128];
  assert_int_equal(cpu_feature_names(0, text, sizeof text), 0);
  assert_string_equal(text, "");
  assert_int_equal(cpu_feature_names(CPU_FMA | CPU_SSE2, text, sizeof text), 8);
  assert_string_equal(text, "sse2 fma");
  assert_int_equal(cpu_feature_names(~0u, text, sizeof text), sizeof all - 1);
  assert_string_equal(text, all);

  /* any capacity gives a terminated prefix and the full length */
  for (size_t capacity = 0; capacity <= sizeof all; capacity++) {
    memset(text, '#', sizeof text);
    assert_int_equal(cpu_feature_names(~0u, text, capacity), sizeof all - 1);
    if (capacity > 0) {
      assert_int_equal(strlen(text), capacity - 1 < sizeof all - 1 ? capacity - 1 : sizeof all - 1);
      assert_memory_equal(text, all, strlen(text));
    }
    assert_int_equal(text[capacity], '#');
  }
}

/* the published vectors of FNV-1a */
static void hashes_are_fnv(void **state) {
  (void)state;
  assert_int_equal(hash_bytes(HASH_START, "", 0), HASH_START);
  assert_int_equal(hash_bytes(HASH_START, "foobar", 6), UINT64_C(0x85944171f73967e8));
  assert_int_equal(hash_bytes(hash_bytes(HASH_START, "foo", 3), "bar", 3), UINT64_C(0x85944171f73967e8));
}

static void clocks_go_forward(void **state) {
  (void)state;
  const double start = seconds_now(), pause = 2e-3;
  nanosleep(&(struct timespec){.tv_nsec = (long)(1e9 * pause)}, NULL);
  const double passed = seconds_now() - start;
  assert_true(passed >= pause && passed < 60);
}

static double value_at(const void *values, size_t i) { return ((const double *)values)[i]; }

/* around an offset whose square cannot hold the differences */
static void moments_do_not_cancel(void **state) {
  (void)state;
  const double offset = 1e9, values[] = {offset + 1, NAN, offset + 3, offset + 8};
  const sample_summary all = sample_summarise(4, values), single = sample_summarise(2, values),
                       none = sample_summarise(1, values + 1);
  assert_int_equal(all.count, 3);
  assert_true(all.mean == offset + 4 && fabs(all.stddev - sqrt(13)) < 1e-15);
  assert_true(single.count == 1 && single.mean == offset + 1 && isnan(single.stddev));
  assert_true(none.count == 0 && isnan(none.mean));

  sample_sums streamed = {0};
  for (size_t i = 0; i < 4; i++)
    if (!isnan(values[i])) sample_add(&streamed, values[i]);
  assert_true(sample_mean(&streamed) == all.mean && fabs(sample_variance(&streamed, streamed.count - 1) - 13) < 1e-14);

  const batch_moments batch = batch_moments_of(2, value_at, values + 2);
  assert_true(batch.mean == offset + 5.5 && fabs(batch.variance - 6.25) < 1e-15);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(status_names),
      cmocka_unit_test(version_matches_header),
      cmocka_unit_test(error_text_is_per_thread),
      cmocka_unit_test(error_text_is_bounded),
      cmocka_unit_test(log_goes_to_the_callback_of_its_thread),
      cmocka_unit_test(closest_word),
      cmocka_unit_test(allocations_are_aligned_and_zero),
      cmocka_unit_test(impossible_sizes_are_refused),
      cmocka_unit_test(arena_measures_then_places),
      cmocka_unit_test(size_products),
      cmocka_unit_test(every_tile_runs_once),
      cmocka_unit_test(loops_can_be_watched),
      cmocka_unit_test(thread_counts_are_sane),
      cmocka_unit_test(tiles_run_at_the_same_time),
      cmocka_unit_test(reductions_keep_tile_order),
      cmocka_unit_test(denormals_are_flushed_in_tiles_only),
      cmocka_unit_test(nested_loops_stay_on_their_thread),
      cmocka_unit_test(callers_are_independent),
      cmocka_unit_test(loops_run_without_worker_threads),
      cmocka_unit_test(processor_is_described),
      cmocka_unit_test(features_agree_with_the_compiler),
      cmocka_unit_test(feature_lists),
      cmocka_unit_test(hashes_are_fnv),
      cmocka_unit_test(clocks_go_forward),
      cmocka_unit_test(moments_do_not_cancel),
  };
  return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
