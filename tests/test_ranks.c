/* SPDX-License-Identifier: MIT */
/* test_ranks.c: groups of ranks whose link is shared memory between threads: agreement and failures, and sums over shards
 * that have the same bits for every number of ranks. MPI itself is for tests/cli/ranks.sh. */
#include "base/error.h"
#include "base/shard_sum.h"
#include "sparc/random.h"
#include "unit.h"
#undef fail /* of cmocka; ours is of base/error.h */

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RANKS = 16 };

/* what the threads share */
static struct {
  pthread_barrier_t barrier;
  int size;
  const void *sent[MAX_RANKS];
  const int *counts[MAX_RANKS];
} hall;
static _Thread_local int me;

static void meet(void) { pthread_barrier_wait(&hall.barrier); }

static int gather(const void *mine, int bytes, void *all) {
  hall.sent[me] = mine;
  meet();
  for (int i = 0; i < hall.size; i++) memcpy((char *)all + (size_t)i * (size_t)bytes, hall.sent[i], (size_t)bytes);
  meet();
  return 0;
}

/* Transfers happen when they are waited for: whoever changes their arrays before loses what was there. */
static _Thread_local struct transfer {
  const float *send;
  const int *send_counts, *receive_counts;
  float *receive;
} started[RANKS_TICKETS];

static int exchange(int ticket, const float *send, const int *send_counts, float *receive, const int *receive_counts) {
  assert_null(started[ticket].receive);
  started[ticket] = (struct transfer){send, send_counts, receive_counts, receive};
  return 0;
}

static int complete(int ticket, float *all, const int *counts) { return exchange(ticket, NULL, counts, all, NULL); }

static void finish_exchange(const struct transfer *t) {
  float *receive = t->receive;
  for (int i = 0; i < hall.size; i++) {
    const float *from = hall.sent[i];
    for (int k = 0; k < me; k++) from += hall.counts[i][k];
    assert_int_equal(hall.counts[i][me], t->receive_counts[i]);
    memcpy(receive, from, (size_t)t->receive_counts[i] * sizeof *receive);
    receive += t->receive_counts[i];
  }
}

static void finish_complete(const struct transfer *t) {
  for (int i = 0, at = 0; i < hall.size; at += t->send_counts[i++])
    if (i != me)
      memcpy(t->receive + at, (const float *)hall.sent[i] + at, (size_t)t->send_counts[i] * sizeof *t->receive);
}

static int wait(int ticket) {
  struct transfer *t = &started[ticket];
  hall.sent[me] = t->send ? t->send : t->receive;
  hall.counts[me] = t->send_counts;
  meet();
  (t->send ? finish_exchange : finish_complete)(t);
  meet();
  *t = (struct transfer){NULL, NULL, NULL, NULL};
  return 0;
}

static int advance(void) { return 0; }

static void close_link(void) {}

static ranks *enter(int rank) {
  const ranks_link link = {.version = RANKS_LINK_VERSION,
                           .rank = rank,
                           .size = hall.size,
                           .gather = gather,
                           .exchange = exchange,
                           .complete = complete,
                           .advance = advance,
                           .wait = wait,
                           .close = close_link};
  ranks *group;
  me = rank;
  assert_int_equal(ranks_create(&link, &group), SPARC_OK);
  return group;
}

/* each rank in a thread of its own */
static void run_ranks(int count, void *(*body)(void *rank)) {
  pthread_t thread[MAX_RANKS];
  hall.size = count;
  pthread_barrier_init(&hall.barrier, NULL, (unsigned)count);
  for (long i = 0; i < count; i++) assert_int_equal(pthread_create(&thread[i], NULL, body, (void *)i), 0);
  for (int i = 0; i < count; i++) pthread_join(thread[i], NULL);
  pthread_barrier_destroy(&hall.barrier);
}

/* ---- sums ---- */

static struct {
  int shards;
  size_t width;
  const float *leaves; /* (shards, width) */
  float *sums;         /* (ranks, width) */
} problem;

static void sum_shards(ranks *group, float *out) {
  shard_sum s = {.group = group, .width = problem.width, .shards = problem.shards, .threads = 1};
  arena size = arena_measure();
  shard_sum_carve(&size, &s);
  void *memory = sparc_alloc(size.used);
  arena block = arena_over(memory, size.used);
  shard_sum_carve(&block, &s);
  for (int again = 0; again < 3; again++) { /* with buffers that are used, and the last shard bit by bit */
    shard_sum_begin(&s);
    for (int i = s.own.first; i < s.own.end; i++) {
      float *leaf = shard_sum_leaf(&s);
      const bool grows = again == 2 && i == s.own.end - 1;
      if (grows) shard_sum_add(&s, i);
      for (size_t k = s.width; k-- > 0;) {
        leaf[k] += problem.leaves[(size_t)i * s.width + k];
        if (grows && (k % 5 == 3 || k == 0)) shard_sum_ready(&s, k);
      }
      if (!grows) shard_sum_add(&s, i);
    }
    assert_true(s.pieces <= SHARD_PIECES);
    assert_int_equal(shard_sum_finish(&s, out), SPARC_OK);
  }
  sparc_free(memory);
}

static void *sum_as_rank(void *rank) {
  ranks *group = enter((int)(long)rank);
  sum_shards(group, problem.sums + (size_t)me * problem.width);
  ranks_free(group);
  return NULL;
}

/* the tree as the header describes it */
static float reduce(int first, int size, size_t k) {
  if (size == 1) return problem.leaves[(size_t)first * problem.width + k];
  const float left = reduce(first, size / 2, k);
  return first + size / 2 < problem.shards ? left + reduce(first + size / 2, size / 2, k) : left;
}

static void test_sums(void **state) {
  static const int shards[] = {1, 2, 3, 4, 6, 7, 8, 12, 15, 16, 48};
  static const size_t widths[] = {1, 5, 17, 40000};
  (void)state;
  for (size_t a = 0; a < sizeof shards / sizeof *shards; a++)
    for (size_t b = 0; b < sizeof widths / sizeof *widths; b++) {
      const size_t count = (size_t)shards[a] * widths[b];
      float *leaves = malloc(count * sizeof *leaves), *sums = malloc(MAX_RANKS * widths[b] * sizeof *sums);
      sparc_random stream;
      sparc_random_init(&stream, 1, "leaves", "");
      for (size_t i = 0; i < count; i++) leaves[i] = (float)sparc_random_normal(&stream);
      problem.shards = shards[a];
      problem.width = widths[b];
      problem.leaves = leaves;
      problem.sums = sums;
      int root = 1;
      while (root < shards[a]) root *= 2;
      sum_shards(NULL, sums);
      for (size_t k = 0; k < widths[b]; k++) {
        const float expected = reduce(0, root, k);
        assert_memory_equal(&sums[k], &expected, sizeof expected);
      }
      float *alone = malloc(widths[b] * sizeof *alone);
      memcpy(alone, sums, widths[b] * sizeof *alone);
      for (int r = 2; r <= MAX_RANKS && r <= shards[a]; r++) {
        if (shards[a] % r != 0) continue;
        run_ranks(r, sum_as_rank);
        for (int i = 0; i < r; i++) assert_memory_equal(sums + (size_t)i * widths[b], alone, widths[b] * sizeof *alone);
      }
      free(alone);
      free(leaves);
      free(sums);
    }
}

/* ---- agreement ---- */

static void *agree_and_fail(void *rank) {
  ranks *group = enter((int)(long)rank);
  bool stop = me == 2;
  assert_int_equal(ranks_agree(group, SPARC_OK, NULL), SPARC_OK);
  assert_int_equal(ranks_agree(group, SPARC_OK, &stop), SPARC_OK);
  assert_true(stop);
  /* two fail: the first in order is reported by all, with its rank */
  const sparc_status mine = me == 1   ? fail(SPARC_FORMAT, "the file of one is bad")
                            : me == 3 ? fail(SPARC_IO, "the disk of three is full")
                                      : SPARC_OK;
  assert_int_equal(ranks_agree(group, mine, NULL), SPARC_FORMAT);
  assert_string_equal(sparc_error(), "rank 1: the file of one is bad");
  /* no process listens any more */
  assert_int_equal(ranks_agree(group, SPARC_OK, NULL), SPARC_OK);
  ranks_free(group);
  return NULL;
}

static void *fail_on_first(void *rank) {
  ranks *group = enter((int)(long)rank);
  const sparc_status mine = fail(SPARC_INVALID, "rate is %d", me);
  assert_int_equal(ranks_agree(group, mine, NULL), SPARC_INVALID);
  assert_string_equal(sparc_error(), "rate is 0");
  ranks_free(group);
  return NULL;
}

static void test_agreement(void **state) {
  (void)state;
  run_ranks(4, agree_and_fail);
  run_ranks(3, fail_on_first);
  double share;
  assert_int_equal(ranks_agree(NULL, SPARC_IO, NULL), SPARC_IO);
  assert_int_equal(ranks_count(NULL), 1);
  assert_int_equal(ranks_number(NULL), 0);
  assert_int_equal(ranks_slowest(NULL, &share), 0);
  assert_int_equal(ranks_share(NULL, 7).end, 7);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_sums), cmocka_unit_test(test_agreement)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
