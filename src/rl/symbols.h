/* SPDX-License-Identifier: MIT */
/* symbols.h: the distinct observations of a rollout.
 *
 * Card tasks have few distinct observations. Terms that depend only on an observation are computed once per distinct one,
 * and sums over steps are grouped by them. Observations are equal if they are bit-identical, so the sums are exact.
 */
#ifndef SPARC_RL_SYMBOLS_H
#define SPARC_RL_SYMBOLS_H

#include "base/memory.h"
#include "sparc/env.h"

/* with more symbols, grouping is no faster */
enum { MAX_SYMBOLS = 32 };

typedef struct symbols {
  size_t width;  /* numbers of an observation */
  int limit;     /* at most MAX_SYMBOLS */
  int count;     /* distinct observations so far; -1: too many */
  float *values; /* (MAX_SYMBOLS, width) */
} symbols;

void symbols_carve(arena *a, symbols *s);
/* Index of an observation, new or known; -1: too many. */
int symbols_find(symbols *s, const float *observation);

/* Number of distinct observations in some thousand steps with random actions; 0: more than MAX_SYMBOLS. */
sparc_status symbols_probe(const sparc_envs_config *task, int *count);

#endif
