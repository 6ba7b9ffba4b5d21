/* SPDX-License-Identifier: MIT */
/* tiles.h: how work and flat arrays are divided, by the sequence engine and by the cells with time loops of their own.
 */
#ifndef SPARC_CELLS_TILES_H
#define SPARC_CELLS_TILES_H

#include "cells/cell.h"

/* tiles depend on the problem alone: tokens per product with inputs or outputs, rows per weight gradient. A product
 * kernel takes six tokens at a time. */
enum { TOKEN_TILE = 252, ROW_TILE = 64 };

typedef struct range {
  size_t first, n;
} range;

static inline size_t tiles_of(size_t items, size_t tile_size) { return (items + tile_size - 1) / tile_size; }

static inline range range_of(size_t items, size_t tile_size, size_t tile) {
  const size_t first = tile * tile_size, rest = items - first;
  return (range){first, rest < tile_size ? rest : tile_size};
}

/* one of `pieces` shares of some items, as even as they go */
static inline range even_share(size_t items, size_t pieces, size_t piece) {
  const size_t first = items * piece / pieces;
  return (range){first, items * (piece + 1) / pieces - first};
}

/* the place of the next `count` elements of prepared or of a tape; sizes in elements serve float and double alike */
static inline size_t take_elements(size_t *used, size_t count) {
  const size_t at = *used;
  *used += round_elements(count);
  return at;
}

#endif
