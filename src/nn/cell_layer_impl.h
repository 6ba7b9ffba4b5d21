/* SPDX-License-Identifier: MIT */
/* cell_layer_impl.h: a layer around a cell on n rows, before and after the cell, in one precision; used for whole
 * sequences and for steps (docs/training.md has the formulas). */
#ifndef SPARC_NN_CELL_LAYER_IMPL_H
#define SPARC_NN_CELL_LAYER_IMPL_H

#include "nn/cell_layer.h"
#include "nn/rows_impl.h"

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
  const real *drop_g, *drop_v; /* (width): dropout after GELU and after GLU; NULL: none */
} TYPED(layer_rows);

void TYPED(pre_cell_rows)(const TYPED(weight_view) * w, const cell_layer *at, size_t n, const TYPED(layer_rows) * a);
void TYPED(post_cell_rows)(const TYPED(weight_view) * w, const cell_layer *at, size_t n, const TYPED(layer_rows) * a);

/* cotangents of n rows */
typedef struct TYPED(layer_cotangents) {
  real *du; /* (n, width): of the stream after the layer, which is that of its residual branch, too */
  real *d_o, *dg, *dr, *dy;
  real *dx; /* (n, width): of the cell's input */
} TYPED(layer_cotangents);

/* from du to dy; d_o and dr are left for the gradients of weights */
void TYPED(post_cell_rows_backward)(const TYPED(weight_view) * w, const cell_layer *at, size_t n,
                                    const TYPED(layer_rows) * a, const TYPED(layer_cotangents) * d);
/* from dx, to which the skip is added, to du of the stream before the layer; dskip, dscale and dbias are partial sums
 * (width), added to, or all NULL */
void TYPED(pre_cell_rows_backward)(const TYPED(weight_view) * w, const cell_layer *at, size_t n,
                                   const TYPED(layer_rows) * a, const TYPED(layer_cotangents) * d, double *dscale,
                                   double *dbias, double *dskip);

/* features of a bare cell's output; F = O but after a readout */
void TYPED(feature_rows)(const TYPED(weight_view) * w, const cell_layer *at, size_t n, size_t O,
                         const real *y /* (n, O) */, real *z /* (n, F) */);
void TYPED(feature_rows_backward)(const TYPED(weight_view) * w, const cell_layer *at, size_t n, size_t O, const real *y,
                                  const real *dz, real *dy);

/* callers write the plain names */
#define layer_rows              TYPED(layer_rows)
#define layer_cotangents        TYPED(layer_cotangents)
#define pre_cell_rows           TYPED(pre_cell_rows)
#define post_cell_rows          TYPED(post_cell_rows)
#define post_cell_rows_backward TYPED(post_cell_rows_backward)
#define pre_cell_rows_backward  TYPED(pre_cell_rows_backward)
#define feature_rows            TYPED(feature_rows)
#define feature_rows_backward   TYPED(feature_rows_backward)

#endif
