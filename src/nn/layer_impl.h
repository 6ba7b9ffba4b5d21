/* SPDX-License-Identifier: MIT */
/* layer_impl.h: the calls of layers in one precision, and the step of a layer around one cell, cut at the cell. */
#ifndef SPARC_NN_LAYER_IMPL_H
#define SPARC_NN_LAYER_IMPL_H

#include "cells/cell_impl.h"
#include "nn/layer.h"

#ifdef SPARC_DOUBLE
typedef sparc_layer_sequence_f64 TYPED(layer_sequence);
typedef sparc_layer_gradient_f64 TYPED(layer_gradient);
typedef sparc_layer_step_f64 TYPED(layer_step);
typedef sparc_layer_ops_f64 TYPED(layer_ops);
#else
typedef sparc_layer_sequence TYPED(layer_sequence);
typedef sparc_layer_gradient TYPED(layer_gradient);
typedef sparc_layer_step TYPED(layer_step);
typedef sparc_layer_ops TYPED(layer_ops);
#endif

/* NULL: the kind has no calls in this precision */
static inline const TYPED(layer_ops) * TYPED(layer_ops_of)(const sparc_layer *layer) {
#ifdef SPARC_DOUBLE
  return layer->kind->ops_f64;
#else
  return layer->kind->ops;
#endif
}

/* the arrays of n streams around a layer: activations of a step, and cotangents */
typedef struct TYPED(layer_streams) {
  const real *params, *prepared;
  size_t n;
  const real *x;      /* (n, inputs) */
  real *y, *tape;     /* (n, outputs), the layer's tapes */
  real *dy, *scratch; /* (n, outputs), the layer's scratch */
} TYPED(layer_streams);

/* the arrays of n streams around the cell, on their tapes */
typedef struct TYPED(network_tape) {
  real *cell_input;   /* (n, D) */
  real *cell_output;  /* (n, O) */
  real *cell_tapes;   /* (n, tape of the cell) */
  real *dcell_output; /* (n, O) */
  real *dcell_input;  /* (n, D) */
} TYPED(network_tape);

/* Sensitivities are advanced by the cell's own calls, so RTRL needs the parts of a step before and after it. Functions
 * of rows are serial; weights are sums over all n rows. */
typedef struct TYPED(layer_cut) {
  TYPED(network_tape) (*tape)(const sparc_layer *layer, const TYPED(layer_streams) * s);
  void (*pre_cell)(const sparc_layer *layer, const TYPED(layer_streams) * s, range rows);
  void (*post_cell)(const sparc_layer *layer, const TYPED(layer_streams) * s, range rows);
  /* from dy to the cotangent of the cell's output; from that of its input to the layer's, in place of dy, unless the
   * cell reads the layer's input itself */
  void (*post_cell_backward)(const sparc_layer *layer, const TYPED(layer_streams) * s, range rows);
  void (*pre_cell_backward)(const sparc_layer *layer, const TYPED(layer_streams) * s, range rows);
  /* the gradients of the layer's own weights, added to dparams of the layer */
  void (*post_cell_gradient)(const sparc_layer *layer, const TYPED(layer_streams) * s, int threads, real *dparams);
  void (*pre_cell_gradient)(const sparc_layer *layer, const TYPED(layer_streams) * s, real *dparams);
  /* the sequence as the cell saw it in the forward just run with the same call */
  TYPED(sequence_call) (*cell_sequence)(const sparc_layer *layer, const TYPED(layer_sequence) * call);
} TYPED(layer_cut);

/* NULL: the layer is not built around one cell */
static inline const TYPED(layer_cut) * TYPED(layer_cut_of)(const sparc_layer *layer) {
#ifdef SPARC_DOUBLE
  return (const TYPED(layer_cut) *)layer->cut_f64;
#else
  return (const TYPED(layer_cut) *)layer->cut_f32;
#endif
}

#endif
