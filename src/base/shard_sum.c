/* SPDX-License-Identifier: MIT */
/* shard_sum.c: a binary counter of nodes within a rank, exchanges piece by piece, and the rest of the tree. */
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
  const int buffers = s->own.end - s->own.first + 1, bound = 2 * levels_of(s->own.end - s->own.first) + 1;
  s->frees = buffers < bound ? buffers : bound;
  for (int i = 0; i < s->frees; i++) s->free[i] = arena_take(a, s->width, sizeof(float));
  s->nodes = 0;
  if (!s->group) return;
  s->send = arena_take(a, (size_t)nodes_of_rank(s, ranks_number(s->group)) * s->width, sizeof(float));
  /* slices of pieces are rounded up */
  s->receive = arena_take(a, (size_t)nodes_of_all(s) * (s->width / count + SHARD_PIECES), sizeof(float));
  for (int i = 0; i < SHARD_PIECES; i++) {
    shard_piece *p = &s->piece[i];
    p->send_counts = arena_take(a, count, sizeof(int));
    p->receive_counts = arena_take(a, count, sizeof(int));
    p->slices = arena_take(a, count, sizeof(int));
  }
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
  s->ready = s->sent = s->width;
  s->pieces = 0;
  s->status = SPARC_OK;
}

float *shard_sum_leaf(shard_sum *s) {
  float *leaf = s->free[s->frees - 1];
  memset(leaf, 0, s->width * sizeof *leaf);
  return leaf;
}

/* how many of the last nodes go into the ones before them: each doubles its left neighbour, if that is its other half */
static int count_merges(const shard_sum *s) {
  int merges = 0;
  for (int i = s->nodes - 1, size = s->node[i].size; i > 0; i--, size *= 2, merges++)
    if (s->node[i - 1].size != size || s->node[i - 1].first % (2 * size) != 0) break;
  return merges;
}

/* these merges, for numbers [first, end) */
static void merge(const shard_sum *s, int merges, size_t first, size_t end) {
  for (int i = s->nodes - 1; i >= s->nodes - merges; i--)
    add(s->threads, end - first, s->node[i - 1].sum + first, s->node[i].sum + first);
}

void shard_sum_add(shard_sum *s, int shard) {
  s->node[s->nodes++] = (shard_node){shard, 1, s->free[--s->frees]};
  if (shard == s->own.end - 1) return; /* merged as far as it is ready */
  const int merges = count_merges(s);
  merge(s, merges, 0, s->width);
  for (int i = 0; i < merges; i++) {
    s->free[s->frees++] = s->node[--s->nodes].sum;
    s->node[s->nodes - 1].size *= 2;
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

/* ---- pieces -------------------------------------------------------------------------------------- */

static size_t slice_start(const shard_sum *s, const shard_piece *p, int rank) {
  return p->first + (p->end - p->first) * (size_t)rank / (size_t)ranks_count(s->group);
}

static int slice_width(const shard_sum *s, const shard_piece *p, int rank) {
  return (int)(slice_start(s, p, rank + 1) - slice_start(s, p, rank));
}

/* its part of s->send: for each rank its slice of every node */
static const float *pack(const shard_sum *s, const shard_piece *p, int nodes) {
  float *const start = s->send + (size_t)nodes * p->first, *to = start;
  for (int rank = 0; rank < ranks_count(s->group); rank++) {
    const int width = slice_width(s, p, rank);
    for (int i = 0; i < nodes; i++, to += width)
      memcpy(to, s->node[i].sum + slice_start(s, p, rank), (size_t)width * sizeof *to);
    p->send_counts[rank] = nodes * width;
    p->receive_counts[rank] = nodes_of_rank(s, rank) * slice_width(s, p, ranks_number(s->group));
    p->slices[rank] = width;
  }
  return start;
}

/* sends numbers [s->ready, s->sent) */
static sparc_status send_piece(shard_sum *s) {
  const int rank = ranks_number(s->group), ticket = s->pieces++;
  shard_piece *p = &s->piece[ticket];
  p->first = s->ready;
  p->end = s->sent;
  p->receive = s->receive;
  if (ticket > 0) {
    const shard_piece *before = p - 1;
    p->receive = before->receive + (size_t)nodes_of_all(s) * (size_t)slice_width(s, before, rank);
  }
  s->sent = s->ready;
  const float *from = pack(s, p, s->nodes - count_merges(s));
  return ranks_exchange(s->group, ticket, from, p->send_counts, p->receive, p->receive_counts);
}

static size_t least_piece(const shard_sum *s) {
  const size_t eighth = (s->width + SHARD_PIECES - 2) / (SHARD_PIECES - 1);
  const size_t least = (size_t)SHARD_PIECE_MIN * (size_t)ranks_count(s->group);
  return eighth > least ? eighth : least;
}

void shard_sum_ready(shard_sum *s, size_t from) {
  merge(s, count_merges(s), from, s->ready);
  s->ready = from;
  if (!s->group || s->status != SPARC_OK) return;
  const bool enough = s->sent - from >= least_piece(s) || (from == 0 && s->sent > 0);
  s->status = enough ? send_piece(s) : ranks_advance(s->group);
}

/* ---- all ranks ----------------------------------------------------------------------------------- */

/* without others: nodes come from large to small, and the tree adds the small ones first */
static void finish_alone(const shard_sum *s, float *out) {
  for (int i = s->nodes - count_merges(s) - 1; i > 0; i--)
    add(s->threads, s->width, s->node[i - 1].sum, s->node[i].sum);
  memcpy(out, s->node[0].sum, s->width * sizeof *out);
}

/* the sum of a piece, first this rank's slice of it */
static sparc_status finish_piece(const shard_sum *s, int ticket, float *out) {
  const shard_piece *p = &s->piece[ticket];
  const int rank = ranks_number(s->group);
  const size_t width = (size_t)slice_width(s, p, rank);
  const sparc_status status = ranks_wait(s->group, ticket);
  if (status != SPARC_OK) return status;
  memcpy(out + slice_start(s, p, rank), reduce_all(s, width, p->receive), width * sizeof *out);
  return ranks_complete(s->group, SHARD_PIECES + ticket, out + p->first, p->slices);
}

sparc_status shard_sum_finish(shard_sum *s, float *out) {
  if (s->ready > 0) shard_sum_ready(s, 0);
  if (!s->group) {
    finish_alone(s, out);
    return SPARC_OK;
  }
  sparc_status status = s->status;
  for (int i = 0; i < s->pieces && status == SPARC_OK; i++) status = finish_piece(s, i, out);
  for (int i = 0; i < s->pieces && status == SPARC_OK; i++) status = ranks_wait(s->group, SHARD_PIECES + i);
  return status;
}
