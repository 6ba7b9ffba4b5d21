/* SPDX-License-Identifier: MIT */
/* rollout.h: what one rollout of N streams and T steps keeps for its update.
 *
 * Item t N + i is step t of stream i. Arrays that describe what comes before a step have T + 1 rows: the last is what
 * the next rollout starts from, so it is all that a checkpoint needs of a rollout. The recorded carry of a step is the
 * one before its reset.
 */
#ifndef SPARC_RL_ROLLOUT_H
#define SPARC_RL_ROLLOUT_H

#include "rl/symbols.h"

typedef struct rollout_sizes {
  size_t N, T;
  size_t observation, action, state;
  size_t trace;       /* sensitivities before every step; 0: not kept */
  size_t records;     /* of all steps of a stream; 0: not kept */
  size_t boundary;    /* with records: the sensitivities before the first step */
  size_t checkpoints; /* and before some later ones */
  size_t grouped;     /* a grouped trace; 0: not kept */
  size_t input;       /* of the cell, for each symbol */
} rollout_sizes;

typedef struct rollout {
  rollout_sizes n;
  float *observations;                /* (T + 1, N, observation), as the agent saw them */
  float *starts;                      /* (T + 1, N): 1 where the observation opens an episode */
  float *states;                      /* (N, T + 1, state): h_{t-1} */
  float *actions;                     /* (T, N, action), unclipped */
  float *rewards, *log_probabilities; /* (T, N) */
  float *values;                      /* (T + 1, N) */
  float *advantages, *targets;        /* (T, N) */

  /* where the gradient through time comes from: sensitivities, */
  float *traces; /* (N, T + 1, trace): Z_{t-1} */
  /* or records with one boundary per stream, */
  float *records;     /* (N, records) */
  float *boundary;    /* (2, N, boundary): Z_{-1}, and that of the next rollout */
  float *checkpoints; /* (N, checkpoints, boundary) */
  /* beside which grouped traces stand as long as the observations of the rollout are few */
  symbols symbols;
  float *inputs;  /* (MOST_SYMBOLS, input): of the cell, for each symbol */
  float *grouped; /* (N, T + 1, grouped) */
} rollout;

/* the place of item t N + i in arrays that have their streams one behind the other */
static inline size_t rollout_row(const rollout *r, size_t item) { return item % r->n.N * (r->n.T + 1) + item / r->n.N; }

/* places the arrays; with an arena that measures, tells how much they take */
void rollout_carve(arena *a, rollout *r);
/* row 0 <- row T, and no symbols yet */
void rollout_begin(rollout *r);

/* The items of minibatch k, M of them, for an epoch whose units come in this order. A unit is a window of consecutive
 * steps of one stream (window = 1: a step); those of a window stay together and in the order of time. */
void rollout_items(const rollout *r, size_t window, const int *order, size_t k, size_t M, int *items);

#endif
