/* SPDX-License-Identifier: MIT */
/* network.h: the inside of a network's description: where each array lies in params, in prepared, in a state and on a
 * tape. */
#ifndef SPARC_NN_NETWORK_H
#define SPARC_NN_NETWORK_H

#include "nn/layer.h"
#include "nn/stages.h"
#include "nn/weights.h"

enum { MAX_HEADS = 64, HEAD_NAME = 32 };

typedef struct network_head {
  sparc_head_input input;
  dense_offsets hidden, linear;
  size_t first;                     /* its place among the outputs of a step */
  size_t hidden_tape, dhidden_tape; /* its hidden layer on the tape of a step */
} network_head;

/* Layout of the tape of a step: elements of one stream before the array, so that array `at` of n streams starts at
 * tapes + n * at, and its n rows lie one after the other. Several layers share these arrays. */
typedef struct network_tape_layout {
  size_t x, embedded; /* the embedding's input and output */
  size_t layer;       /* the layer's own */
  size_t y, other;    /* outputs of layers, alternately unless a layer works in place */
  size_t pooled;      /* input of heads on the mean */
  size_t dfeatures;   /* cotangents of the features */
  size_t scratch;     /* of the layer's gradient */
  size_t total;
} network_tape_layout;

struct sparc_network {
  sparc_network_config config; /* its strings, layers and heads are the network's own */
  const struct kernels *kernels;
  bool pools;      /* some head reads the mean */
  size_t features; /* width of the features that heads read */
  sparc_network_sizes sizes;
  network_tape_layout tape;
  dense_offsets embed; /* of symbols: the table (symbols, width) as the weight, no bias */
  sparc_layer **layer; /* (layers) */
  size_t layers;       /* at least 1 */
  size_t pool;         /* where a stream's state holds the sum over the segment and, after it, the number of steps */
  network_head head[MAX_HEADS];
  sparc_head_config head_config[MAX_HEADS];
  char head_name[MAX_HEADS][HEAD_NAME];
  sparc_layer_config *layer_config; /* (layers), where the configuration names kinds */
  char (*layer_text)[OPTIONS_TEXT]; /* their options */
  sparc_block *block;
  block_start *start; /* of each block */
  char (*name)[BLOCK_NAME];
  sparc_span *span;
  size_t blocks, spans;
  /* of the first layer around a cell: the cell, and its places in params and prepared; NULL: there is none */
  const sparc_cell *cell;
  size_t cell_params, cell_prepared;
};

/* network_cell is the cell of the first layer that has one; NULL: there is none */
const sparc_cell *network_cell(const sparc_network *network);

/* sparc_network_step_rtrl and sparc_network_rtrl_gradient in double */
sparc_status sparc_network_step_rtrl_f64(const sparc_network *network, const double *prepared,
                                         sparc_encoder_gradient encoder, double *state, double *trace, const double *x,
                                         double mask, double *y, double *tape);
sparc_status sparc_network_rtrl_gradient_f64(const sparc_network *network, const double *prepared,
                                             sparc_encoder_gradient encoder, const double *trace, double *tape,
                                             const double *dy, double *dparams, double *dx);

static inline bool reads_symbols(const sparc_network *net) { return net->config.embedding == SPARC_EMBED_SYMBOLS; }

/* whether there is an embedding, and its width */
static inline bool has_embedding(const sparc_network *net) { return net->config.embedding != SPARC_EMBED_NONE; }

struct sparc_network_plan {
  const sparc_network *network;
  const executor *executor;
  void **layer; /* (layers): their plans */
  int B, T, threads;
  size_t tokens;
};

#endif
