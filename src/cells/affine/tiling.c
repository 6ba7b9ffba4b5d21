/* SPDX-License-Identifier: MIT */
/* tiling.c: see tiling.h. The number of tiles follows from the problem alone, never from the number of threads: that is
 * what makes results independent of it. */
#include "cells/affine/tiling.h"

enum { MAX_CHUNK_GROUPS = 16 };

/* Whole rows stream best, so a tile is as wide as the first-level cache allows; with few streams the modes are divided
 * until some threads have work. */
static int choose_mode_tile(int H, int streams) {
  enum { WANTED_TILES = 8 };
  const int pieces = streams < WANTED_TILES ? (WANTED_TILES + streams - 1) / streams : 1;
  const int width = (H + pieces - 1) / pieces, rounded = (width + MODE_TILE - 1) / MODE_TILE * MODE_TILE;
  return rounded < WIDE_TILE ? rounded : WIDE_TILE;
}

/* A tile passes all weights once. Where these stay in the second-level cache, smaller tiles cost little and leave the
 * threads more evenly busy, as does a number of tiles that some threads can share without rest. */
static int choose_token_tile(const sparc_cell *cell, size_t tokens) {
  enum { SMALL_WEIGHTS = 1 << 15, AT_A_TIME = 6 };
  const bool small = (size_t)cell->projected * (size_t)cell->D <= SMALL_WEIGHTS;
  const size_t most = small ? TOKEN_TILE / 2 : TOKEN_TILE + AT_A_TIME, shares = small ? 4 : 2;
  const size_t count = tiles_of(tiles_of(tokens, most), shares) * shares;
  const size_t even = tiles_of(tiles_of(tokens, count), AT_A_TIME) * AT_A_TIME;
  return (int)(tokens <= most ? most : even);
}

affine_tiling affine_tiling_of(const sparc_plan *plan) {
  const sparc_cell *cell = plan->cell;
  const size_t tokens = (size_t)plan->B * (size_t)plan->T;
  const int chunks = (int)tiles_of((size_t)plan->T, (size_t)plan->chunk);
  const int groups = chunks < MAX_CHUNK_GROUPS ? chunks : MAX_CHUNK_GROUPS;
  const int mode_tile = choose_mode_tile(cell->H, plan->B * groups), token_tile = choose_token_tile(cell, tokens);
  return (affine_tiling){.chunks = chunks,
                         .groups = groups,
                         .mode_tile = mode_tile,
                         .mode_tiles = (int)tiles_of((size_t)cell->H, (size_t)mode_tile),
                         .token_tile = token_tile,
                         .token_tiles = (int)tiles_of(tokens, (size_t)token_tile)};
}
