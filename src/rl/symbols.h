/* SPDX-License-Identifier: MIT */
/* symbols.h: the distinct observations of a rollout.
 *
 * Card tasks show a handful of observations again and again. What depends on an observation alone can then be computed
 * once per distinct one, and sums over steps can be grouped by them: exactly, because equal means equal in every bit.
 */
#ifndef SPARC_RL_SYMBOLS_H
#define SPARC_RL_SYMBOLS_H

#include "base/memory.h"

enum { MOST_SYMBOLS = 64 };

typedef struct symbols {
  size_t width;  /* numbers of an observation */
  int count;     /* distinct ones so far; -1: too many, the rest is not looked at */
  float *values; /* (MOST_SYMBOLS, width) */
} symbols;

void symbols_carve(arena *a, symbols *s);
/* the number of an observation, new or old; -1 once there are too many */
int symbols_find(symbols *s, const float *observation);

#endif
