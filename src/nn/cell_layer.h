/* SPDX-License-Identifier: MIT */
/* cell_layer.h: layers around one cell: the residual layer of the paper's classifiers [app:bptt_details], and the cell
 * with the features that heads read, which is a layer of width 0. */
#ifndef SPARC_NN_CELL_LAYER_H
#define SPARC_NN_CELL_LAYER_H

#include "cells/plan.h"
#include "nn/layer.h"
#include "nn/stages.h"
#include "nn/weights.h"

/* places of dropout in a residual layer: after GELU and after the gated linear unit */
enum { DROPOUT_PLACES = 2 };

/* Offsets in the layer's params and prepared. GLU weights lie one after the other, [value; gate] (2 width, width),
 * then both biases. */
typedef struct cell_layer {
  size_t width;   /* of the residual stream; 0: the cell and its features */
  double dropout; /* probability */
  size_t norm_scale, norm_bias, skip;
  readout_offsets readout; /* none for cells that end in a projection */
  dense_offsets glu;
  cell_features reads; /* width 0: the features that heads read */
  /* on the tape of a step, as elements of one stream: array `at` of n streams starts at tape + n * at */
  size_t state, tape, y, mean, rstd, normed, read, gelu, gated;
  /* and in the scratch of its gradient */
  size_t dy, dx, dread, dgelu, dgated, split;
} cell_layer;

static inline const cell_layer *cell_layer_of(const sparc_layer *layer) { return layer->own; }

/* whether a bare cell has features other than its output */
static inline bool has_features(const cell_layer *at) { return at->width == 0 && at->reads != POLICY_OUTPUT; }

typedef struct cell_layer_plan {
  const executor *executor;
  sparc_plan *cell;
} cell_layer_plan;

/* cell_layer_run.c and cell_layer_step.c fill these, once per precision */
extern const sparc_layer_kind layer_residual, layer_cell;
extern const sparc_layer_ops cell_layer_ops_f32;
extern const sparc_layer_ops_f64 cell_layer_ops_f64;
typedef struct layer_cut_entry {
  const void *table; /* layer_cut_f32 or layer_cut_f64 */
} layer_cut_entry;
extern const layer_cut_entry cell_layer_cut_f32, cell_layer_cut_f64;

#endif
