/* SPDX-License-Identifier: MIT */
/* network.h: the inside of a network's description: where each array lies in params and in prepared. */
#ifndef SPARC_NN_NETWORK_H
#define SPARC_NN_NETWORK_H

#include "cells/cell.h"
#include "sparc/network.h"

/* offsets of one residual layer. GLU weights lie one behind the other, [value; gate] (2 width, width), then both
 * biases. */
typedef struct layer_offsets {
  size_t norm_scale, norm_bias;
  size_t cell;
  size_t readout, readout_im, skip; /* unused by cells that end in a projection; readout_im only by complex ones */
  size_t glu_weight, glu_bias;
  /* in prepared: the cell, the readout as (width, S) and (S, width), GLU weights as (width, 2 width) */
  size_t cell_prepared, readout_weight, readout_in, glu_in;
} layer_offsets;

struct sparc_network {
  sparc_network_config config; /* its strings point into the cell */
  sparc_cell *cell;
  size_t features; /* width of what the head reads */
  size_t params, prepared;
  size_t embed_weight, embed_bias, head_weight, head_bias;
  size_t embed_in, head_in; /* in prepared, behind a copy of params */
  layer_offsets *layer;     /* (max(layers, 1)): a bare cell uses cell and cell_prepared of the first */
  sparc_block *block;
  char (*name)[64];
  sparc_span *span;
  size_t blocks, spans;
};

/* tokens of one example that are processed together */
enum { EXAMPLE_TILE = 256 };
/* groups of tiles, each with its own partial sums of weight gradients; at most so many, whatever the threads */
enum { TILE_GROUPS = 16 };

struct sparc_network_plan {
  const sparc_network *network;
  sparc_plan *cell_plan;
  int B, T, threads;
  size_t tokens, tiles_per_example, tiles, groups;
};

#endif
