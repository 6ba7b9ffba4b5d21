/* SPDX-License-Identifier: MIT */
/* loops.h: what the cells with time loops of their own share: tiles, the division of flat arrays, limits. */
#ifndef SPARC_CELLS_LOOPS_H
#define SPARC_CELLS_LOOPS_H

#include "cells/cell.h"

/* tiles depend on the problem alone: tokens per product with inputs or outputs, rows per weight gradient */
enum { TOKEN_TILE = 256, ROW_TILE = 64 };

typedef struct range {
  size_t first, n;
} range;

static inline size_t tiles_of(size_t items, size_t tile_size) { return (items + tile_size - 1) / tile_size; }

static inline range range_of(size_t items, size_t tile_size, size_t tile) {
  const size_t first = tile * tile_size, rest = items - first;
  return (range){first, rest < tile_size ? rest : tile_size};
}

/* the place of the next `count` elements of prepared or of a tape; sizes in elements serve float and double alike */
static inline size_t take_elements(size_t *used, size_t count) {
  const size_t at = *used;
  *used += round_elements(count);
  return at;
}

/* a weight beyond this only serves to overflow: a row of such weights times inputs of ordinary size still fits float */
static const double WEIGHT_MAX = 1e30;

/* a NaN stays one */
static inline double bounded(double value, double limit) {
  return value > limit ? limit : value < -limit ? -limit : value;
}

#endif
