/* SPDX-License-Identifier: MIT */
/* rollout.h: what one rollout of N streams and T steps keeps for its update.
 *
 * Every array has its N streams one behind the other, T + 1 rows each: row i (T + 1) + t is step t of stream i. Row T
 * is what the next rollout starts from, so it is all that a checkpoint needs of a rollout; of arrays that describe what
 * follows a step it is unused. The recorded carry of a step is the one before its reset.
 */
#ifndef SPARC_RL_ROLLOUT_H
#define SPARC_RL_ROLLOUT_H

#include "rl/symbols.h"

#include <stdbool.h>

typedef struct rollout_sizes {
  size_t N, T;
  size_t observation, action, state;
  size_t trace;       /* sensitivities before every step; 0: not kept */
  size_t records;     /* of all steps of a stream; 0: not kept */
  size_t boundary;    /* with records: the sensitivities before the first step */
  size_t checkpoints; /* and before some later ones */
  size_t grouped;     /* a grouped trace; 0: not kept */
  size_t groups;      /* its symbols */
  bool corners;       /* which are those of columns_impl.h, and stand for any observation; no records then */
  size_t input, pre;  /* of the cell, with records; with grouped traces */
} rollout_sizes;

typedef struct rollout {
  rollout_sizes n;
  float *observations;                /* (observation), as the agent saw them */
  float *starts;                      /* 1 where the observation opens an episode */
  float *states;                      /* (state): h_{t-1} */
  float *actions;                     /* (action), unclipped */
  float *rewards, *log_probabilities; /* of the action */
  float *values, *advantages, *targets;

  /* where the gradient through time comes from: sensitivities, */
  float *traces; /* (trace): Z_{t-1} */
  /* or records with one boundary per stream, */
  float *records;     /* (N, records) */
  float *boundary;    /* (2, N, boundary): Z_{-1}, and that of the next rollout */
  float *checkpoints; /* (N, checkpoints, boundary) */
  float *inputs;      /* (input): of the cell */
  /* beside which grouped traces stand as long as the observations of the rollout are few */
  symbols symbols;
  float *symbol_inputs; /* (groups, input): of the cell, for each symbol */
  float *symbol_pre;    /* (groups, pre): see grouping */
  float *grouped;       /* (grouped) */
} rollout;

static inline size_t rollout_row(const rollout *r, size_t stream, size_t t) { return stream * (r->n.T + 1) + t; }

/* places the arrays; with an arena that measures, tells how much they take */
void rollout_carve(arena *a, rollout *r);
/* row 0 <- row T, and no symbols yet */
void rollout_begin(rollout *r);

/* The rows of minibatch k, M of them, for an epoch whose units come in this order. A unit is a window of consecutive
 * steps of one stream (window = 1: a step); those of a window stay together and in the order of time. */
void rollout_items(const rollout *r, size_t window, const int *order, size_t k, size_t M, int *rows);

#endif
