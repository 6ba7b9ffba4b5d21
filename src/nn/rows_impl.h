/* SPDX-License-Identifier: MIT */
/* rows_impl.h: dense layers and readouts on n rows, in one precision, and the gradients of their weights.
 *
 * A row is a token of a sequence, an example after pooling, or a stream of a step. Functions of rows are serial;
 * callers cut rows into tiles. Gradients of weights are sums over all rows and so are cut otherwise, by rows of the
 * weight: a table of weight_job lists the sums, add_weight_gradients computes them in parallel.
 */
#ifndef SPARC_NN_ROWS_IMPL_H
#define SPARC_NN_ROWS_IMPL_H

#include "nn/layers_impl.h"
#include "nn/weights.h"

/* the numbers that offsets refer to */
typedef struct TYPED(weight_view) {
  const kernels *kernels;
  const real *params, *prepared;
} TYPED(weight_view);

void TYPED(prepare_dense)(const kernels *k, const dense_offsets *at, const real *params, real *prepared);
void TYPED(prepare_readout)(const kernels *k, const readout_offsets *at, const real *params, real *prepared);

/* rows of y and dy are `stride` apart; dx is overwritten, or added to when accumulate is 1 */
void TYPED(dense_rows)(const TYPED(weight_view) * w, const dense_offsets *at, size_t n, const real *x, real *y,
                       size_t stride);
void TYPED(dense_rows_backward)(const TYPED(weight_view) * w, const dense_offsets *at, size_t n, const real *dy,
                                size_t stride, int accumulate, real *dx);
void TYPED(readout_rows)(const TYPED(weight_view) * w, const readout_offsets *at, size_t n, const real *y, real *r);
void TYPED(readout_rows_backward)(const TYPED(weight_view) * w, const readout_offsets *at, size_t n, const real *dr,
                                  real *dy);

/* dW += dy^T x and db += sums of dy, over n rows */
typedef struct TYPED(weight_job) {
  const dense_offsets *dense;
  size_t n;
  const real *x;  /* (n, in) */
  const real *dy; /* (n, out), rows `stride` apart */
  size_t stride;
} TYPED(weight_job);

void TYPED(add_weight_gradients)(const kernels *k, int threads, const TYPED(weight_job) * jobs, size_t count,
                                 real *dparams);

/* callers write the plain names */
#define weight_view           TYPED(weight_view)
#define prepare_dense         TYPED(prepare_dense)
#define prepare_readout       TYPED(prepare_readout)
#define dense_rows            TYPED(dense_rows)
#define dense_rows_backward   TYPED(dense_rows_backward)
#define readout_rows          TYPED(readout_rows)
#define readout_rows_backward TYPED(readout_rows_backward)
#define weight_job            TYPED(weight_job)
#define add_weight_gradients  TYPED(add_weight_gradients)

#endif
