/* SPDX-License-Identifier: MIT */
/* rollout.h: the stored data of one rollout of N streams and T steps.
 *
 * Arrays are (N, T + 1, width): row i (T + 1) + t is step t of stream i. The next rollout starts from row T, which is
 * all that a checkpoint stores; it is unused in arrays of results of a step. The stored state of a step is that before
 * its mask is applied.
 */
#ifndef SPARC_RL_ROLLOUT_H
#define SPARC_RL_ROLLOUT_H

#include "rl/symbols.h"

#include <stdbool.h>

typedef struct rollout_sizes {
  size_t N, T;
  size_t observation, action, state;
  size_t trace;       /* sensitivities before every step; 0: not stored */
  size_t records;     /* of all steps of a stream; 0: not stored */
  size_t boundary;    /* with records: the sensitivities before the first step */
  size_t checkpoints; /* and before some later ones */
  size_t grouped;     /* a grouped trace; 0: not stored */
  size_t groups;      /* symbols of a grouped trace */
  bool corners;       /* symbols are the corners of columns_impl.h, for any observation; no records then */
  size_t input, pre;  /* of the cell, with records; with grouped traces */
} rollout_sizes;

typedef struct rollout {
  rollout_sizes n;
  float *observations;                /* (observation), normalised */
  float *masks;                       /* 0 where the observation is the first of an episode, else 1 */
  float *states;                      /* (state): h_{t-1} */
  float *actions;                     /* (action), unclipped */
  float *rewards, *log_probabilities; /* of the action */
  float *values, *advantages, *targets;

  /* gradient through time: stored traces, */
  float *traces; /* (trace): Z_{t-1} */
  /* or records and one boundary per stream (trace-free), */
  float *records;     /* (N, records) */
  float *boundary;    /* (2, N, boundary): Z_{-1} of this rollout and of the next */
  float *checkpoints; /* (N, checkpoints, boundary) */
  float *inputs;      /* (input): of the cell */
  /* and grouped traces, as long as the rollout has few distinct observations */
  symbols symbols;
  float *symbol_inputs; /* (groups, input): of the cell, for each symbol */
  float *symbol_pre;    /* (groups, pre): see grouping */
  float *grouped;       /* (grouped) */
} rollout;

static inline size_t rollout_row(const rollout *r, size_t stream, size_t t) { return stream * (r->n.T + 1) + t; }

/* Place the arrays in an arena, or measure their size. */
void rollout_carve(arena *a, rollout *r);
/* Row 0 <- row T; clears the symbols. */
void rollout_begin(rollout *r);

/* The M rows of minibatch k for an epoch with this order of units. A unit is a window of consecutive steps of one stream
 * (window = 1: a step); the steps of a window stay together in the order of time. */
void rollout_items(const rollout *r, size_t window, const int *order, size_t k, size_t M, int *rows);

#endif
