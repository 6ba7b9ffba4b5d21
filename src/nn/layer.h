/* SPDX-License-Identifier: MIT */
/* layer.h: the inside of a layer's description: its blocks and sizes, where it lies in the arrays of its network, and
 * the cell that it is built around, if there is one. */
#ifndef SPARC_NN_LAYER_H
#define SPARC_NN_LAYER_H

#include "cells/cell.h"
#include "sparc/layer.h"

enum { BLOCK_NAME = 64, LAYER_SPANS = SPARC_LAYER_BLOCKS + MAX_SPANS, OWN_START = -1 };

/* how a block starts */
typedef struct block_start {
  int kind;     /* a sparc_start, or OWN_START: the layer's cell draws it */
  double scale; /* the standard deviation of SPARC_START_NORMAL, the gain of SPARC_START_ORTHOGONAL */
} block_start;

struct sparc_layer {
  const sparc_layer_kind *kind;
  const sparc_network_config *network; /* for layouts, while the network is made */
  const char *text;                    /* the options as given, likewise */
  char resolved[OPTIONS_TEXT];         /* the same with defaults from the network's configuration; "": as given */
  const struct kernels *kernels;
  double option[MAX_OPTIONS];  /* in the order of kind->options */
  size_t inputs, index;        /* width of the input; number in the network */
  char prefix[BLOCK_NAME / 2]; /* of its blocks' names, with a point at the end */

  sparc_block block[SPARC_LAYER_BLOCKS];
  block_start start[SPARC_LAYER_BLOCKS];
  char name[SPARC_LAYER_BLOCKS][BLOCK_NAME];
  sparc_span span[LAYER_SPANS];
  size_t blocks, spans, params;
  bool surplus; /* a layout requested more than SPARC_LAYER_BLOCKS */
  sparc_layer_sizes sizes;

  /* set by layouts of this library */
  bool in_place;       /* dx may be dy, and y of a step x */
  size_t scratch;      /* elements of one stream that the gradient of a step needs */
  bool output_on_tape; /* the output of a step lies on the layer's tape, at output_place */
  size_t output_place;

  /* a layer around one cell: the cell, its places in the layer's params and prepared, whether it reads the layer's
   * input itself, and the step cut at the cell (layer_impl.h) */
  sparc_cell *cell;
  size_t cell_params, cell_prepared;
  bool cell_reads_input;
  const void *cut_f32, *cut_f64;
  void *own; /* of the kind; freed with the layer */

  /* places in the network's params, prepared and state, and on the tape of a step */
  size_t params_at, prepared_at, state_at, x_place, y_place;
};

/* the kinds of the library, NULL-terminated */
const sparc_layer_kind *const *layer_kinds(void);

/* layer_create makes layer number `index` of a network, which reads `inputs` numbers; config NULL: from the
 * compact form of the network's configuration */
sparc_status layer_create(const sparc_network_config *network, const sparc_layer_config *config,
                          const struct kernels *kernels, size_t index, size_t inputs, sparc_layer **out);
void layer_free(sparc_layer *layer); /* layer may be NULL */

/* the layer's cell: its blocks after those that the layer has, their spans with their groups */
void layer_add_cell(sparc_layer *layer);

/* layer_init draws the layer's parameters, which start as zeros */
sparc_status layer_init(const sparc_layer *layer, sparc_init_style style, uint64_t seed, float *params);
/* one block, keyed by its name */
sparc_status block_init(const sparc_block *block, block_start start, uint64_t seed, float *values);

#endif
