/* SPDX-License-Identifier: MIT */
/* network_rows_impl.h: what a network does outside its cells, to n rows, in one precision.
 *
 * A row is a token of a sequence, an example behind pooling, or a stream of a step: all calls run on these functions.
 * They are serial; callers cut rows into tiles. Gradients of weights are sums over all rows and so are cut otherwise,
 * by rows of the weight: a table of weight_job says what to sum, add_weight_gradients does it in parallel.
 */
#ifndef SPARC_NN_NETWORK_ROWS_IMPL_H
#define SPARC_NN_NETWORK_ROWS_IMPL_H

#include "nn/layers_impl.h"
#include "nn/network.h"

/* ---- embedding --------------------------------------------------------------------------------- */

void TYPED(embed_rows)(const sparc_network *net, const real *prepared, size_t n, const real *x /* (n, inputs) */,
                       real *e /* (n, width) */);
/* de becomes the cotangent of W x + b; dx may be NULL */
void TYPED(embed_rows_backward)(const sparc_network *net, const real *prepared, size_t n, const real *e,
                                real *de /* (n, width) */, real *dx /* (n, inputs) */);

/* ---- residual layer ---------------------------------------------------------------------------- */

/* the activations of n rows; dropout masks are shared by all of them */
typedef struct TYPED(layer_rows) {
  const real *u;               /* (n, width): the residual stream that enters */
  real *mean, *rstd;           /* (n) */
  real *x;                     /* (n, width): normalised, the cell's input */
  real *y;                     /* (n, O): the cell's output */
  real *r;                     /* (n, width): after the readout; y itself for cells that end in a projection */
  real *g;                     /* (n, width): after GELU and dropout */
  real *o;                     /* (n, 2 width): GLU pre-activations */
  real *out;                   /* (n, width): the residual stream that leaves; may be u */
  const real *drop_g, *drop_v; /* (width): dropout behind GELU and behind GLU; NULL: none */
} TYPED(layer_rows);

void TYPED(before_cell_rows)(const sparc_network *net, const real *prepared, const layer_offsets *at, size_t n,
                             const TYPED(layer_rows) * a);
void TYPED(behind_cell_rows)(const sparc_network *net, const real *prepared, const layer_offsets *at, size_t n,
                             const TYPED(layer_rows) * a);

/* cotangents of n rows */
typedef struct TYPED(layer_cotangents) {
  real *du; /* (n, width): of the stream behind the layer, which is that of its residual branch, too */
  real *d_o, *dg, *dr, *dy;
  real *dx; /* (n, width): of the cell's input */
} TYPED(layer_cotangents);

/* from du to dy; d_o and dr are left for the gradients of weights */
void TYPED(behind_cell_rows_backward)(const sparc_network *net, const real *prepared, const layer_offsets *at, size_t n,
                                      const TYPED(layer_rows) * a, const TYPED(layer_cotangents) * d);
/* from dx, to which the skip is added, to du of the stream before the layer; dskip, dscale and dbias are partial sums
 * (width), added to, or all NULL */
void TYPED(before_cell_rows_backward)(const sparc_network *net, const real *prepared, const layer_offsets *at, size_t n,
                                      const TYPED(layer_rows) * a, const TYPED(layer_cotangents) * d, double *dscale,
                                      double *dbias, double *dskip);

/* ---- features of a bare cell ------------------------------------------------------------------- */

/* where the features are the output itself, there is nothing to do: has_features says so */
static inline bool has_features(const sparc_network *net) {
  return net->config.layers == 0 && net->reads != SPARC_POLICY_OUTPUT;
}
void TYPED(feature_rows)(const sparc_network *net, const real *prepared, size_t n, const real *y /* (n, O) */,
                         real *z /* (n, F) */);
void TYPED(feature_rows_backward)(const sparc_network *net, const real *prepared, size_t n, const real *y,
                                  const real *dz, real *dy);

/* ---- heads ------------------------------------------------------------------------------------- */

/* rows of out and dout are `stride` apart; a head of constants reads nothing and copies its numbers */
void TYPED(head_rows)(const sparc_network *net, const real *prepared, const network_head *head, size_t n,
                      const real *z /* (n, F) */, real *hidden /* (n, hidden) */, real *out, size_t stride);
/* dz is overwritten, or added to when accumulate is 1; dhidden is left for the gradients of weights */
void TYPED(head_rows_backward)(const sparc_network *net, const real *prepared, const network_head *head, size_t n,
                               const real *dout, size_t stride, const real *hidden, real *dhidden, int accumulate,
                               real *dz);

/* ---- gradients of weights ---------------------------------------------------------------------- */

/* dW += dy^T x and db += sums of dy, over n rows */
typedef struct TYPED(weight_job) {
  const dense_offsets *dense;
  size_t n;
  const real *x;  /* (n, in) */
  const real *dy; /* (n, out), rows `stride` apart */
  size_t stride;
} TYPED(weight_job);

/* those of the two layers of a head; returns how many these are */
size_t TYPED(head_weight_jobs)(const network_head *head, size_t n, const real *z, const real *hidden,
                               const real *dhidden, const real *dout, size_t stride, TYPED(weight_job) * jobs);
void TYPED(add_weight_gradients)(const sparc_network *net, int threads, const TYPED(weight_job) * jobs, size_t count,
                                 real *dparams);

/* callers write the plain names */
#define embed_rows                TYPED(embed_rows)
#define embed_rows_backward       TYPED(embed_rows_backward)
#define layer_rows                TYPED(layer_rows)
#define layer_cotangents          TYPED(layer_cotangents)
#define before_cell_rows          TYPED(before_cell_rows)
#define behind_cell_rows          TYPED(behind_cell_rows)
#define behind_cell_rows_backward TYPED(behind_cell_rows_backward)
#define before_cell_rows_backward TYPED(before_cell_rows_backward)
#define feature_rows              TYPED(feature_rows)
#define feature_rows_backward     TYPED(feature_rows_backward)
#define head_rows                 TYPED(head_rows)
#define head_rows_backward        TYPED(head_rows_backward)
#define weight_job                TYPED(weight_job)
#define head_weight_jobs          TYPED(head_weight_jobs)
#define add_weight_gradients      TYPED(add_weight_gradients)

#endif
