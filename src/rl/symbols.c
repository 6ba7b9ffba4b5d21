/* SPDX-License-Identifier: MIT */
/* symbols.c: a search through the few values seen so far. */
#include "rl/symbols.h"

#include <string.h>

void symbols_carve(arena *a, symbols *s) { s->values = arena_take(a, MOST_SYMBOLS * s->width, sizeof *s->values); }

int symbols_find(symbols *s, const float *observation) {
  const size_t bytes = s->width * sizeof *observation;
  for (int v = 0; v < s->count; v++)
    if (memcmp(s->values + (size_t)v * s->width, observation, bytes) == 0) return v;
  if (s->count < 0 || s->count == MOST_SYMBOLS) {
    s->count = -1;
    return -1;
  }
  memcpy(s->values + (size_t)s->count * s->width, observation, bytes);
  return s->count++;
}
