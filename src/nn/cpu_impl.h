/* SPDX-License-Identifier: MIT */
/* cpu_impl.h: how the CPU cuts the stages of a network, in one precision: tiles of tokens that never cross an example,
 * and groups of tiles with partial sums of their own. Both depend on the shape only. */
#ifndef SPARC_NN_CPU_IMPL_H
#define SPARC_NN_CPU_IMPL_H

#include "nn/stages_impl.h"

/* tokens of one example that are processed together */
enum { EXAMPLE_TILE = 256 };
/* groups of tiles, each with its own partial sums of weight gradients; at most so many, for any number of threads */
enum { TILE_GROUPS = 16 };

typedef struct tiling {
  size_t per_example, tiles, groups;
} tiling;

static inline tiling tiling_of(size_t B, size_t T) {
  const size_t per_example = tiles_of(T, EXAMPLE_TILE), tiles = B * per_example;
  return (tiling){per_example, tiles, tiles < TILE_GROUPS ? tiles : TILE_GROUPS};
}

/* tokens of one example */
typedef struct example_range {
  size_t b, t, first, n; /* example, first step in it, first token of all, number of tokens */
} example_range;

static inline example_range example_of(size_t T, size_t tile) {
  const size_t per_example = tiles_of(T, EXAMPLE_TILE), b = tile / per_example;
  const range steps = range_of(T, EXAMPLE_TILE, tile % per_example);
  return (example_range){b, steps.first, b * T + steps.first, steps.n};
}

/* the stages of layers, in cpu_layer.c */
size_t TYPED(cpu_layer_scratch)(const cell_layer *at, size_t B, size_t T);
void TYPED(cpu_draw_masks)(const layer_pass *p, const sparc_dropout *dropout, size_t index);
void TYPED(cpu_pre_cell)(const layer_pass *p);
void TYPED(cpu_post_cell)(const layer_pass *p);
void TYPED(cpu_features)(const layer_pass *p);
void TYPED(cpu_features_backward)(const layer_pass *p);
void TYPED(cpu_post_cell_backward)(const layer_pass *p);
void TYPED(cpu_pre_cell_backward)(const layer_pass *p);
void TYPED(cpu_layer_gradient)(const layer_pass *p);

#endif
