/* SPDX-License-Identifier: MIT */
/* shard_sum.h: the sum of the gradients of S shards, whose bits do not depend on how many ranks compute them.
 *
 * Shards are the leaves of a binary tree over their numbers: a node of size z = 1, 2, 4, ... holds the shards from k z to
 * (k + 1) z - 1, as far as there are so many, and is the sum, in float, of its two halves. A rank adds up the nodes that
 * lie wholly within its own shards while it computes them, which takes memory for a logarithm of their number. Then
 * every rank gets one slice of all nodes, finishes the tree for that slice, and all slices are put together. So each
 * rank sends and receives twice the gradient, however many ranks there are.
 */
#ifndef SPARC_BASE_SHARD_SUM_H
#define SPARC_BASE_SHARD_SUM_H

#include "base/memory.h"
#include "base/ranks.h"

enum { SHARDS_MAX = 1 << 16, SHARD_NODES = 34 };

typedef struct shard_node {
  int first, size; /* shards */
  float *sum;      /* (width) */
} shard_node;

typedef struct shard_sum {
  ranks *group; /* NULL: one process */
  size_t width; /* numbers of a gradient */
  int shards, threads;
  shard_range own;              /* of this rank */
  shard_node node[SHARD_NODES]; /* wholly added up so far, in their order */
  int nodes;
  float *free[SHARD_NODES]; /* buffers (width) that hold no node */
  int frees;
  float *send, *receive; /* of the exchange; NULL without a group */
  int *send_counts, *receive_counts, *slices;
} shard_sum;

/* places the arrays: shards a multiple of the ranks. The members of *s before `own` are the caller's. */
void shard_sum_carve(arena *a, shard_sum *s);

/* shard_sum_begin forgets all; then for each own shard in its order: shard_sum_leaf is a buffer of zeros for its
 * gradient, and shard_sum_add takes it in. */
void shard_sum_begin(shard_sum *s);
float *shard_sum_leaf(shard_sum *s);
void shard_sum_add(shard_sum *s, int shard);

/* shard_sum_finish: out (width) <- the sum over all shards, on every rank. All ranks must have agreed before. */
sparc_status shard_sum_finish(shard_sum *s, float *out);

#endif
