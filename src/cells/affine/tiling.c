/* SPDX-License-Identifier: MIT */
/* tiling.c: see tiling.h. */
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
  const size_t largest = small ? TOKEN_TILE / 2 : TOKEN_TILE + AT_A_TIME, shares = small ? 4 : 2;
  const size_t count = tiles_of(tiles_of(tokens, largest), shares) * shares;
  const size_t even = tiles_of(tiles_of(tokens, count), AT_A_TIME) * AT_A_TIME;
  return (int)(tokens <= largest ? largest : even);
}

/* one of `pieces` parts of a whole, rounded up to a multiple of unit */
static int piece_of(int whole, int pieces, int unit) {
  const size_t even = tiles_of((size_t)whole, (size_t)pieces);
  return (int)(tiles_of(even, (size_t)unit) * (size_t)unit);
}

/* threads that each of some tiles can have */
static int threads_per(int threads, int tiles) { return (int)tiles_of((size_t)threads, (size_t)tiles); }

/* modes in whole cache lines: narrower tiles spend their time on what a token costs them all */
static int choose_time_tile(int H, const affine_tiling *t, int threads, int streams) {
  enum { LINE = 16 };
  const int pieces = threads_per(threads, streams);
  const int width = pieces > t->mode_tiles ? piece_of(H, pieces, LINE) : t->mode_tile;
  return width < t->mode_tile ? width : t->mode_tile;
}

/* columns in whole panels of every product kernel */
static int choose_columns(int columns, int threads, int token_tiles) {
  enum { PANELS = 64 };
  return columns == 0 ? 1 : piece_of(columns, threads_per(threads, token_tiles), PANELS);
}

affine_tiling affine_tiling_of(const sparc_plan *plan, bool panels) {
  const sparc_cell *cell = plan->cell;
  const size_t tokens = (size_t)plan->B * (size_t)plan->T;
  affine_tiling t = {.chunks = (int)tiles_of((size_t)plan->T, (size_t)plan->chunk)};
  t.groups = t.chunks < MAX_CHUNK_GROUPS ? t.chunks : MAX_CHUNK_GROUPS;
  t.mode_tile = choose_mode_tile(cell->H, plan->B * t.groups);
  t.mode_tiles = (int)tiles_of((size_t)cell->H, (size_t)t.mode_tile);
  t.token_tile = choose_token_tile(cell, tokens);
  t.token_tiles = (int)tiles_of(tokens, (size_t)t.token_tile);
  t.time_tile = choose_time_tile(cell->H, &t, plan->threads, plan->B * t.groups);
  t.pre_columns = cell->projected;
  t.dx_columns = cell->D;
  if (!panels) return t;
  t.pre_columns = choose_columns(cell->projected, plan->threads, t.token_tiles);
  t.dx_columns = choose_columns(cell->D, plan->threads, t.token_tiles);
  return t;
}
