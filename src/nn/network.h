/* SPDX-License-Identifier: MIT */
/* network.h: the inside of a network's description: where each array lies in params, in prepared, in a state and on a
 * tape. */
#ifndef SPARC_NN_NETWORK_H
#define SPARC_NN_NETWORK_H

#include "cells/cell.h"
#include "sparc/network.h"

enum { MAX_HEADS = 64, HEAD_NAME = 32, BLOCK_NAME = 64 };

/* how a block starts */
typedef enum initialiser {
  START_ZEROS,
  START_ONES,
  START_NORMAL,
  START_LECUN,
  START_ORTHOGONAL,
  START_CELL
} initialiser;

typedef struct block_start {
  initialiser kind; /* START_CELL: the cell draws it */
  double scale;     /* the deviation of START_NORMAL, the gain of START_ORTHOGONAL */
} block_start;

/* W x + b: W (out, in) and b (out) in params, and in prepared W^T in the panels that products read */
typedef struct dense_offsets {
  size_t in, out; /* in == 0: there is none, or only b */
  size_t weight, bias;
  size_t weight_in;
} dense_offsets;

/* Re(C h) or C h: C (out, H) in params; in prepared the W of a dense layer on the cell's output, and its transpose */
typedef struct readout_offsets {
  size_t in, out;   /* in == 0: there is none */
  size_t re, im;    /* im only of complex ones */
  bool has_im;      /* in = 2 H and W = [C_re | -C_im]; else in = H and W = C */
  size_t weight;    /* (out, in) */
  size_t weight_in; /* (in, out), in panels */
} readout_offsets;

/* one residual layer. GLU weights lie one behind the other, [value; gate] (2 width, width), then both biases. A bare
 * cell is a layer with nothing around the cell. */
typedef struct layer_offsets {
  size_t norm_scale, norm_bias;
  size_t cell, cell_prepared;
  readout_offsets readout; /* none for cells that end in a projection */
  size_t skip;
  dense_offsets glu;
} layer_offsets;

typedef struct network_head {
  sparc_head_input input;
  dense_offsets hidden, linear;
  size_t first;                     /* its place among the outputs of a step */
  size_t hidden_tape, dhidden_tape; /* its hidden layer on the tape of a step */
} network_head;

/* Where a step keeps what: elements of one stream in front of the array, so that array `at` of n streams starts at
 * tapes + n * at, and its n rows lie one behind the other. Several layers take turns. */
typedef struct network_tape_layout {
  size_t x, embedded;                                 /* the embedding's input and output */
  size_t state, cell, y;                              /* of the cell: state, tape, output */
  size_t mean, rstd, normed, read, gelu, glu, stream; /* of a residual layer, in the order of its formulas */
  size_t features, pooled;                            /* what heads read */
  size_t dfeatures, dy, dx;                           /* scratch of the gradient */
  size_t dread, dgelu, dglu, split;
  size_t total;
} network_tape_layout;

struct sparc_network {
  sparc_network_config config; /* its strings and heads are the network's own */
  sparc_cell *cell;
  sparc_cell_features reads; /* what heads read of a bare cell */
  bool pools;                /* some head reads the mean */
  size_t features;           /* width of what heads read */
  sparc_network_sizes sizes;
  network_tape_layout tape;
  dense_offsets embed;
  layer_offsets *layer;    /* (max(layers, 1)) */
  readout_offsets readout; /* of a bare cell */
  network_head head[MAX_HEADS];
  sparc_head_config head_config[MAX_HEADS];
  char head_name[MAX_HEADS][HEAD_NAME];
  sparc_block *block;
  block_start *start; /* of each block */
  char (*name)[BLOCK_NAME];
  sparc_span *span;
  size_t blocks, spans;
};

/* the cells, one per residual layer, or the bare one */
static inline size_t cells_of(const sparc_network *net) { return net->config.layers ? (size_t)net->config.layers : 1; }

/* where a stream's state holds the sum over the segment and, behind it, the number of steps */
static inline size_t pool_of(const sparc_network *net) { return cells_of(net) * net->cell->sizes.state; }

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
