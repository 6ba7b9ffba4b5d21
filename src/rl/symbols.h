/* SPDX-License-Identifier: MIT */
/* symbols.h: the distinct observations of a rollout.
 *
 * Card tasks show a handful of observations again and again. What depends on an observation alone can then be computed
 * once per distinct one, and sums over steps can be grouped by them: exactly, because equal means equal in every bit.
 */
#ifndef SPARC_RL_SYMBOLS_H
#define SPARC_RL_SYMBOLS_H

#include "base/memory.h"
#include "sparc/env.h"

/* more would not pay: what is grouped has this many numbers where it had one per input of the cell */
enum { MOST_SYMBOLS = 32 };

typedef struct symbols {
  size_t width;  /* numbers of an observation */
  int most;      /* at most MOST_SYMBOLS */
  int count;     /* distinct ones so far; -1: too many, the rest is not looked at */
  float *values; /* (MOST_SYMBOLS, width) */
} symbols;

void symbols_carve(arena *a, symbols *s);
/* the number of an observation, new or old; -1 once there are too many */
int symbols_find(symbols *s, const float *observation);

/* how many distinct observations a task shows in some thousand steps with random actions; 0: more than MOST_SYMBOLS */
sparc_status symbols_probe(const sparc_envs_config *task, int *count);

#endif
