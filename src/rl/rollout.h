/* SPDX-License-Identifier: MIT */
/* rollout.h: what one rollout of N streams and T steps keeps for its update.
 *
 * Rows are steps, and a row holds its N streams one behind the other: a step of all streams works on contiguous memory,
 * and item t N + i is step t of stream i. Arrays that describe what comes before a step have T + 1 rows: the last is
 * what the next rollout starts from, so it is all that a checkpoint needs of a rollout. The recorded carry of a step is
 * the one before its reset.
 */
#ifndef SPARC_RL_ROLLOUT_H
#define SPARC_RL_ROLLOUT_H

#include "base/memory.h"

typedef struct rollout_sizes {
  size_t N, T;
  size_t observation, action, state;
  size_t trace;    /* sensitivities before every step; 0: not kept */
  size_t record;   /* record of every step; 0: not kept */
  size_t boundary; /* sensitivities before the first step, beside records */
} rollout_sizes;

typedef struct rollout {
  rollout_sizes n;
  float *observations;                /* (T + 1, N, observation), as the agent saw them */
  float *starts;                      /* (T + 1, N): 1 where the observation opens an episode */
  float *states;                      /* (T + 1, N, state): h_{t-1} */
  float *traces;                      /* (T + 1, N, trace): Z_{t-1} */
  float *records;                     /* (N, T, record) */
  float *boundary;                    /* (2, N, boundary): Z_{-1}, and what the next rollout starts from */
  float *actions;                     /* (T, N, action), unclipped */
  float *rewards, *log_probabilities; /* (T, N) */
  float *values;                      /* (T + 1, N) */
  float *advantages, *targets;        /* (T, N) */
} rollout;

/* places the arrays; with an arena that measures, tells how much they take */
void rollout_carve(arena *a, rollout *r);
/* row 0 <- row T */
void rollout_begin(rollout *r);

/* The items of minibatch k, M of them, for an epoch whose units come in this order. A unit is a window of consecutive
 * steps of one stream (window = 1: a step); those of a window stay together and in the order of time. */
void rollout_items(const rollout *r, size_t window, const int *order, size_t k, size_t M, int *items);

#endif
