/* SPDX-License-Identifier: MIT */
/* shard_sum.c: a binary counter of nodes within a rank, one exchange, and the rest of the tree. */
#include "base/shard_sum.h"

#include "base/error.h"
#include "base/threads.h"

#include <string.h>

enum { TILE = 1 << 14 };

/* ---- memory -------------------------------------------------------------------------------------- */

/* nodes that the shards [first, end) are made of in the end: each as large as its place and what is left allow */
static int count_nodes(int first, int end) {
  int count = 0;
  for (int at = first, size; at < end; at += size, count++)
    for (size = 1; at % (2 * size) == 0 && at + 2 * size <= end;) size *= 2;
  return count;
}

static int levels_of(int count) {
  int levels = 1;
  while ((1 << levels) < count) levels++;
  return levels;
}

static size_t slice_start(const shard_sum *s, int rank) {
  return s->width * (size_t)rank / (size_t)ranks_count(s->group);
}

static int slice_width(const shard_sum *s, int rank) { return (int)(slice_start(s, rank + 1) - slice_start(s, rank)); }

static int nodes_of_rank(const shard_sum *s, int rank) {
  const int each = s->shards / ranks_count(s->group);
  return count_nodes(rank * each, (rank + 1) * each);
}

static int nodes_of_all(const shard_sum *s) {
  int count = 0;
  for (int i = 0; i < ranks_count(s->group); i++) count += nodes_of_rank(s, i);
  return count;
}

void shard_sum_carve(arena *a, shard_sum *s) {
  const size_t count = (size_t)ranks_count(s->group);
  s->own = ranks_share(s->group, s->shards);
  /* a node for every level on the way up and another on the way down, and a leaf */
  const int buffers = s->own.end - s->own.first + 1, most = 2 * levels_of(s->own.end - s->own.first) + 1;
  s->frees = buffers < most ? buffers : most;
  for (int i = 0; i < s->frees; i++) s->free[i] = arena_take(a, s->width, sizeof(float));
  s->nodes = 0;
  if (!s->group) return;
  s->send = arena_take(a, (size_t)nodes_of_rank(s, ranks_number(s->group)) * s->width, sizeof(float));
  s->receive = arena_take(a, (size_t)nodes_of_all(s) * (size_t)slice_width(s, ranks_number(s->group)), sizeof(float));
  s->send_counts = arena_take(a, count, sizeof(int));
  s->receive_counts = arena_take(a, count, sizeof(int));
  s->slices = arena_take(a, count, sizeof(int));
}

/* ---- adding -------------------------------------------------------------------------------------- */

typedef struct addition {
  float *to;
  const float *from;
  size_t width;
} addition;

static void add_tile(void *context, size_t tile) {
  const addition *a = context;
  const size_t first = tile * TILE, end = first + TILE < a->width ? first + TILE : a->width;
  float *restrict to = a->to;
  const float *restrict from = a->from;
  for (size_t i = first; i < end; i++) to[i] += from[i];
}

static void add(int threads, size_t width, float *to, const float *from) {
  addition a = {to, from, width};
  parallel_for(threads, (width + TILE - 1) / TILE, add_tile, &a);
}

void shard_sum_begin(shard_sum *s) {
  while (s->nodes > 0) s->free[s->frees++] = s->node[--s->nodes].sum;
}

float *shard_sum_leaf(shard_sum *s) {
  float *leaf = s->free[s->frees - 1];
  memset(leaf, 0, s->width * sizeof *leaf);
  return leaf;
}

/* whether the last two nodes are the halves of one */
static bool are_halves(const shard_sum *s) {
  if (s->nodes < 2) return false;
  const shard_node *a = &s->node[s->nodes - 2], *b = &s->node[s->nodes - 1];
  return a->size == b->size && a->first % (2 * a->size) == 0;
}

void shard_sum_add(shard_sum *s, int shard) {
  s->node[s->nodes++] = (shard_node){shard, 1, s->free[--s->frees]};
  while (are_halves(s)) {
    shard_node *a = &s->node[s->nodes - 2];
    float *half = s->node[--s->nodes].sum;
    add(s->threads, s->width, a->sum, half);
    a->size *= 2;
    s->free[s->frees++] = half;
  }
}

/* ---- the rest of the tree ------------------------------------------------------------------------ */

/* nodes in their order, of all ranks, each (width) */
typedef struct tree {
  int next; /* first shard that no node before *at has */
  float *at;
  size_t width;
  const shard_sum *s;
} tree;

/* how many shards the next node has, as count_nodes cuts them */
static int next_size(const tree *t) {
  const int each = t->s->shards / ranks_count(t->s->group), end = (t->next / each + 1) * each;
  int size = 1;
  while (t->next % (2 * size) == 0 && t->next + 2 * size <= end) size *= 2;
  return size;
}

/* the node of shards [first, first + size): one that is there, or the sum of its halves */
/* NOLINTNEXTLINE(misc-no-recursion): no deeper than the logarithm of the shards */
static float *reduce(tree *t, int size) {
  if (next_size(t) == size) {
    float *sum = t->at;
    t->at += t->width;
    t->next += size;
    return sum;
  }
  float *left = reduce(t, size / 2);
  if (t->next < t->s->shards) add(t->s->threads, t->width, left, reduce(t, size / 2));
  return left;
}

static float *reduce_all(const shard_sum *s, size_t width, float *nodes) {
  tree t = {.at = nodes, .width = width, .s = s};
  int size = 1;
  while (size < s->shards) size *= 2;
  return reduce(&t, size);
}

/* ---- all ranks ----------------------------------------------------------------------------------- */

/* without others: nodes come from large to small, and the tree adds the small ones first */
static void finish_alone(shard_sum *s, float *out) {
  for (int i = s->nodes - 1; i > 0; i--) add(s->threads, s->width, s->node[i - 1].sum, s->node[i].sum);
  memcpy(out, s->node[0].sum, s->width * sizeof *out);
}

static void pack(shard_sum *s) {
  float *to = s->send;
  for (int rank = 0; rank < ranks_count(s->group); rank++) {
    const int width = slice_width(s, rank);
    for (int i = 0; i < s->nodes; i++, to += width)
      memcpy(to, s->node[i].sum + slice_start(s, rank), (size_t)width * sizeof *to);
    s->send_counts[rank] = s->nodes * width;
    s->receive_counts[rank] = nodes_of_rank(s, rank) * slice_width(s, ranks_number(s->group));
    s->slices[rank] = width;
  }
}

sparc_status shard_sum_finish(shard_sum *s, float *out) {
  if (!s->group) {
    finish_alone(s, out);
    return SPARC_OK;
  }
  const int rank = ranks_number(s->group);
  const size_t width = (size_t)slice_width(s, rank);
  pack(s);
  const sparc_status status = ranks_exchange(s->group, s->send, s->send_counts, s->receive, s->receive_counts);
  if (status != SPARC_OK) return status;
  memcpy(out + slice_start(s, rank), reduce_all(s, width, s->receive), width * sizeof *out);
  return ranks_complete(s->group, out, s->slices);
}
