/* SPDX-License-Identifier: MIT */
/* shard_sum.h: the sum of the gradients of S shards, bit-identical for any number of ranks.
 *
 * Shards are the leaves of a binary tree over their numbers: a node of size z = 1, 2, 4, ... holds the shards from k z to
 * (k + 1) z - 1, as far as there are so many, and is the sum, in float, of its two halves. A rank adds up the nodes that
 * lie wholly within its own shards while it computes them, which takes memory for a logarithm of their number. Then
 * every rank gets one slice of all nodes, finishes the tree for that slice, and all slices are put together. So each
 * rank sends and receives twice the gradient, however many ranks there are.
 *
 * This is done in pieces: a backward pass leaves the end of the gradient first, and what is final is sent while the rest
 * is computed. Each number is the same sum whichever piece it is in. A piece is at least an eighth of the gradient and at
 * least 4 KiB for each rank, below which messages cost more than they hide.
 */
#ifndef SPARC_BASE_SHARD_SUM_H
#define SPARC_BASE_SHARD_SUM_H

#include "base/memory.h"
#include "base/ranks.h"

enum { SHARDS_MAX = 1 << 16, SHARD_NODES = 34, SHARD_PIECES = 9, SHARD_PIECE_MIN = 1 << 10 };

typedef struct shard_node {
  int first, size; /* shards */
  float *sum;      /* (width) */
} shard_node;

/* numbers [first, end) in transfer between ranks */
typedef struct shard_piece {
  size_t first, end;
  float *receive;                             /* (nodes of all ranks, slice of this rank) */
  int *send_counts, *receive_counts, *slices; /* (ranks) */
} shard_piece;

typedef struct shard_sum {
  ranks *group; /* NULL: one process */
  size_t width; /* numbers of a gradient */
  int shards, threads;
  shard_range own;              /* of this rank */
  shard_node node[SHARD_NODES]; /* wholly added up so far, in their order */
  int nodes;
  float *free[SHARD_NODES]; /* buffers (width) that hold no node */
  int frees;
  size_t ready;          /* from here on the nodes hold all own shards */
  float *send, *receive; /* of the exchange; NULL without a group */
  shard_piece piece[SHARD_PIECES];
  int pieces;
  size_t sent;         /* from here on numbers are in pieces */
  sparc_status status; /* of starting these */
} shard_sum;

/* places the arrays: shards a multiple of the ranks. The members of *s before `own` are the caller's. */
void shard_sum_carve(arena *a, shard_sum *s);

/* shard_sum_begin resets the sum; then for each own shard in its order: shard_sum_leaf is a buffer of zeros for its
 * gradient, and shard_sum_add takes it in. The gradient of the last own shard may still be growing when it is taken in. */
void shard_sum_begin(shard_sum *s);
float *shard_sum_leaf(shard_sum *s);
void shard_sum_add(shard_sum *s, int shard);

/* shard_sum_ready marks the last own shard's gradient as final from number `from` on, and sends it if it is large
 * enough. All ranks must have agreed before, and must call it with the same numbers, in descending order. */
void shard_sum_ready(shard_sum *s, size_t from);

/* shard_sum_finish: out (width) <- the sum over all shards, on every rank. All ranks must have agreed before. */
sparc_status shard_sum_finish(shard_sum *s, float *out);

#endif
