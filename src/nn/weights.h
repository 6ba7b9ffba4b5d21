/* SPDX-License-Identifier: MIT */
/* weights.h: where the weights of dense layers and readouts lie: in params, and in prepared as products read them. */
#ifndef SPARC_NN_WEIGHTS_H
#define SPARC_NN_WEIGHTS_H

#include "cells/tiles.h"

#include <stdbool.h>
#include <stddef.h>

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

/* their places in prepared, from *end on */
static inline void place_dense(dense_offsets *at, size_t *end) { at->weight_in = take_elements(end, at->in * at->out); }

static inline void place_readout(readout_offsets *at, size_t *end) {
  at->weight = take_elements(end, at->out * at->in);
  at->weight_in = take_elements(end, at->in * at->out);
}

#endif
