/* SPDX-License-Identifier: MIT */
/* stages_impl.h: the stages of a network over whole arrays, in one precision.
 *
 * A schedule (network_run.c, cell_layer_run.c) defines the order of stages; the stages are a table, which
 * an executor fills: cpu_stages_f32 and cpu_stages_f64 cut them into tiles for threads. A schedule passes
 * arrays on and never reads them. Arguments are validated before the first stage; stages cannot fail.
 */
#ifndef SPARC_NN_STAGES_IMPL_H
#define SPARC_NN_STAGES_IMPL_H

#include "cells/cell_impl.h"
#include "nn/cell_layer.h"
#include "nn/network.h"
#include "nn/rows_impl.h"
#include "sparc/optimiser.h"

/* ---- a layer around one cell --------------------------------------------------------------------- */

/* N = B T tokens */
typedef struct TYPED(layer_pass) {
  const cell_layer *at;
  TYPED(weight_view) w;
  size_t B, T;
  int threads;
  size_t output;     /* O, of the cell */
  const real *u;     /* (N, width): input of the layer */
  real *mean, *rstd; /* (N) */
  real *x;           /* (N, width): normalised, the cell's input */
  real *y;           /* (N, O): the cell's output */
  real *r;           /* (N, width): after the readout; y itself for cells that end in a projection */
  real *g;           /* (N, width): after GELU and dropout */
  real *o;           /* (N, 2 width): GLU pre-activations */
  real *out;         /* (N, width), or the features (N, F): output of the layer */
  real *masks;       /* (B, DROPOUT_PLACES, width) factors; NULL: nothing is dropped */
  real *du;          /* (N, width): cotangent of the output, then of the input; of the features (N, F) */
  real *dr, *dx;     /* (N, width) */
  real *dy;          /* (N, O) */
  real *dparams;     /* of the layer */
  void *scratch;     /* layer_scratch bytes */
} TYPED(layer_pass);

/* ---- the network around its layers --------------------------------------------------------------- */

/* the segment that an example ends in */
typedef struct segment {
  size_t first;  /* its first step here */
  size_t before; /* its steps before these */
  bool carried;  /* it continues from state0 */
} segment;

typedef struct TYPED(network_pass) {
  const sparc_network *net;
  const real *prepared;
  size_t B, T;
  int threads;
  const int *lengths;          /* (B); NULL: T */
  const segment *segments;     /* (B), where some head reads the mean */
  const real *x;               /* (N, inputs) */
  real *embedded, *dembedded;  /* (N, width) */
  const real *features;        /* (N, F) */
  real *dfeatures;             /* (N, F) */
  real *mean, *last;           /* (B, F): inputs of heads of one row per example */
  real *dmean, *dlast;         /* (B, F) */
  real *const *hidden;         /* (heads): (rows, hidden), N rows for a head on every step, else B */
  real *const *dhidden;        /* likewise */
  real *const *outputs;        /* (heads) */
  const real *const *doutputs; /* (heads); NULL in an entry: zeros */
  const real *state0;          /* (B, state); NULL: zeros; here and below only the sums of the mean */
  real *state_last;            /* likewise; NULL: not requested */
  const real *dstate_last;
  real *dstate0;
  real *dx;      /* (N, inputs), or NULL */
  real *dparams; /* added to */
} TYPED(network_pass);

/* ---- the table ------------------------------------------------------------------------------------ */

typedef struct TYPED(stages) {
  /* rows of `width` numbers, between arrays whose rows are strides apart */
  void (*copy_rows)(size_t rows, size_t width, const real *from, size_t from_stride, real *to, size_t to_stride);

  void (*embed)(const TYPED(network_pass) * p);
  void (*embed_backward)(const TYPED(network_pass) * p); /* dembedded is overwritten; += its weights */

  /* a layer: masks are a function of dropout, the layer's index and the shape; post_cell_backward and pre_cell_backward
   * accumulate gradients of weights in scratch, layer_gradient adds them to dparams */
  size_t (*layer_scratch)(const cell_layer *at, size_t B, size_t T); /* bytes */
  void (*draw_masks)(const TYPED(layer_pass) * p, const sparc_dropout *dropout, size_t index);
  void (*pre_cell)(const TYPED(layer_pass) * p);
  void (*cell)(const sparc_plan *plan, const real *prepared, const TYPED(sequence_call) * call);
  void (*post_cell)(const TYPED(layer_pass) * p);
  void (*features)(const TYPED(layer_pass) * p);
  void (*features_backward)(const TYPED(layer_pass) * p); /* += the readout */
  void (*post_cell_backward)(const TYPED(layer_pass) * p);
  void (*cell_backward)(const sparc_plan *plan, const real *prepared, const TYPED(sequence_call) * call);
  void (*pre_cell_backward)(const TYPED(layer_pass) * p);
  void (*layer_gradient)(const TYPED(layer_pass) * p);

  void (*pool)(const TYPED(network_pass) * p); /* mean and last, and the sums in state_last */
  void (*heads)(const TYPED(network_pass) * p);
  /* dmean and dlast, and dfeatures of heads on every step, where there are some with a gradient; += their weights */
  void (*heads_backward)(const TYPED(network_pass) * p);
  /* dfeatures is overwritten, or added to; and the sums in dstate0 */
  void (*pool_backward)(const TYPED(network_pass) * p, int accumulate);

  /* losses of nn/layers_impl.h, and the optimiser of nn/optimiser.h */
  double (*cross_entropy)(size_t n, size_t classes, const real *logits, const int *labels, const double *weight,
                          double smoothing, real *probabilities, real *dlogits);
  double (*squared_error)(size_t count, const real *prediction, const real *target, real *d);
  double (*gradient_norm)(const sparc_span *spans, size_t span_count, int threads, const real *gradient);
  double (*gradient_clip)(const sparc_span *spans, size_t span_count, size_t count, int threads, double max_norm,
                          real *gradient);
  sparc_status (*adam)(const sparc_adam_config *config, const sparc_span *spans, size_t span_count, size_t count,
                       int threads, long step, double learning_rate, const real *gradient, real *moments, real *params);
} TYPED(stages);

extern const TYPED(stages) TYPED(cpu_stages);

static inline const TYPED(stages) * TYPED(stages_of)(const executor *e) {
#ifdef SPARC_DOUBLE
  return (const TYPED(stages) *)e->f64->stages;
#else
  return (const TYPED(stages) *)e->f32->stages;
#endif
}

#define layer_pass   TYPED(layer_pass)
#define network_pass TYPED(network_pass)
#define stages_of    TYPED(stages_of)

#endif
