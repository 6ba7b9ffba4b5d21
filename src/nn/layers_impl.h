/* SPDX-License-Identifier: MIT */
/* layers_impl.h: the layers between the cells, forward and backward side by side, in one precision.
 *
 * Every function works on n tokens (rows) and is serial: callers cut tokens into tiles and run tiles in parallel.
 * Shapes are trailing comments. Argument order: dims, inputs, parameters, outputs. Gradients of parameters are added
 * to; gradients of activations are overwritten unless the comment says "added to". Sums over tokens run in double.
 *
 * Functions that take a kernel table run its float32 loops; with NULL, in double, or where the table has an empty slot
 * they are plain C over the C library's functions.
 *
 * A dense weight is W[out][in]. The forward pass uses W^T [in][out], in the panels that products read (`weight_in`),
 * the input gradient W itself: both products then have their right factor stored K x N, the fast case.
 */
#ifndef SPARC_NN_LAYERS_IMPL_H
#define SPARC_NN_LAYERS_IMPL_H

#include "base/real.h"
#include "kernels/kernels.h"

#include <stddef.h>

/* ---- dense: y = W x + b ------------------------------------------------------------------------ */

/* refreshes weight_in after an update */
void TYPED(dense_prepare)(const kernels *k, size_t in, size_t out, const real *weight /* (out, in) */,
                          real *weight_in /* (in, out), in panels */);

/* rows of y are stride_y apart; the bits of a row do not depend on n */
void TYPED(dense_forward)(const kernels *k, size_t n, size_t in, size_t out, const real *x /* (n, in) */,
                          const real *weight_in, const real *bias /* (out) or NULL */, real *y /* (n, out) */,
                          size_t stride_y);
/* dx is overwritten, or added to when accumulate is 1; rows of dy are stride_dy apart */
void TYPED(dense_backward_input)(const kernels *k, size_t n, size_t in, size_t out, const real *dy /* (n, out) */,
                                 size_t stride_dy, const real *weight /* (out, in) */, int accumulate,
                                 real *dx /* (n, in) */);
/* rows [first, first + count) of W: dW += dy^T x, db += sums of dy; stride_dy elements between tokens of dy */
void TYPED(dense_backward_weight)(const kernels *k, size_t n, size_t in, size_t first, size_t count, const real *dy,
                                  size_t stride_dy, const real *x /* (n, in) */, real *dweight /* (out, in) */,
                                  real *dbias /* (out) or NULL */);

/* ---- layer norm over the features of a token, eps 1e-6 ------------------------------------------- */

void TYPED(layer_norm_forward)(const kernels *k, size_t n, size_t width, const real *u /* (n, width) */,
                               const real *scale /* (width) */, const real *bias /* (width) */,
                               real *x /* (n, width) */, real *mean /* (n) */, real *rstd /* (n) */);
/* du is added to (the residual branch is already there); dscale and dbias are double partial sums, added to, or both
 * NULL */
void TYPED(layer_norm_backward)(const kernels *k, size_t n, size_t width, const real *u, const real *mean,
                                const real *rstd, const real *scale, const real *dx /* (n, width) */,
                                real *du /* (n, width), added to */, double *dscale /* (width) */,
                                double *dbias /* (width) */);

/* ---- GELU, tanh approximation, followed by a dropout mask shared over time ------------------------- */

/* mask: (width) factors of this example, 0 or 1 / (1 - p); NULL: ones. g may be y, dy may be dg */
void TYPED(gelu_forward)(const kernels *k, size_t n, size_t width, const real *y, const real *mask, real *g);
void TYPED(gelu_backward)(const kernels *k, size_t n, size_t width, const real *y, const real *mask, const real *dg,
                          real *dy);

/* ---- gated linear unit: v = mask . (o1 . sigmoid(o2)), o = [o1 | o2] -------------------------------- */

/* u_out = u_in + v; u_out may be u_in, d_o may be o */
void TYPED(glu_forward)(const kernels *k, size_t n, size_t width, const real *o /* (n, 2 width) */, const real *mask,
                        const real *u_in, real *u_out /* (n, width) */);
void TYPED(glu_backward)(const kernels *k, size_t n, size_t width, const real *o, const real *mask,
                         const real *du /* (n, width) */, real *d_o /* (n, 2 width) */);

/* ---- tanh ------------------------------------------------------------------------------------------- */

/* y may be z, dz may be dy */
void TYPED(tanh_forward)(const kernels *k, size_t count, const real *z, real *y);
void TYPED(tanh_backward)(size_t count, const real *y, const real *dy, real *dz);

/* ---- readouts of a cell's state -------------------------------------------------------------------- */

/* y = Re(C h) + skip . x [eq:app_bptt_readout]: with h = [re | im] this is a dense layer with W = [C_re | -C_im].
 * readout_weights builds that W (out, 2 H) and its weight_in from C_re, C_im (out, H). */
void TYPED(readout_weights)(const kernels *k, size_t H, size_t out, const real *c_re, const real *c_im, real *weight,
                            real *weight_in);
/* splits rows [first, first + count) of dW (out, 2 H) back: dC_re += left half, dC_im -= right half */
void TYPED(readout_weights_backward)(size_t H, size_t first, size_t count, const real *dweight, real *dc_re,
                                     real *dc_im);
/* y += skip . x and its backward: dx += skip . dy, dskip += sum of dy . x (double partial sums, or NULL) */
void TYPED(skip_forward)(size_t n, size_t width, const real *x, const real *skip, real *y);
void TYPED(skip_backward)(size_t n, size_t width, const real *x, const real *skip, const real *dy, real *dx,
                          double *dskip);
/* the features that RL heads see: z = max(h, 0) */
void TYPED(relu_forward)(size_t n, size_t width, const real *h, real *z);
void TYPED(relu_backward)(size_t n, size_t width, const real *h, const real *dz, real *dh);

/* ---- pooling and losses ---------------------------------------------------------------------------- */

/* the mean over `count` tokens, of which n are here and the others in sum0; sum is the sum over all. The sums run in
 * double and are rounded once. */
void TYPED(mean_pool_forward)(size_t n, size_t width, const real *u /* (n, width) */,
                              const real *sum0 /* (width); NULL: zeros */, size_t count, real *pooled /* (width) */,
                              real *sum /* (width) or NULL */);
/* du is overwritten, or added to when accumulate is 1, with dpooled / count + dsum; either may be NULL */
void TYPED(mean_pool_backward)(size_t n, size_t width, const real *dpooled, size_t count, const real *dsum,
                               int accumulate, real *du /* (n, width) */);

/* mean cross-entropy over n examples: returns the loss, writes probabilities (n, classes) and, unless NULL, dlogits */
double TYPED(cross_entropy)(size_t n, size_t classes, const real *logits, const int *labels, real *probabilities,
                            real *dlogits);
/* the same against targets that give each class smoothing / classes and the label the rest, examples weighted by the
 * weight of their class; weights (classes) NULL: 1 for all */
double TYPED(cross_entropy_soft)(size_t n, size_t classes, const real *logits, const int *labels, const double *weights,
                                 double smoothing, real *probabilities, real *dlogits);
/* mean squared error over count numbers: returns the loss and, unless NULL, writes d */
double TYPED(mean_squared_error)(size_t count, const real *prediction, const real *target, real *d);

/* callers write the plain names */
#define dense_prepare            TYPED(dense_prepare)
#define dense_forward            TYPED(dense_forward)
#define dense_backward_input     TYPED(dense_backward_input)
#define dense_backward_weight    TYPED(dense_backward_weight)
#define layer_norm_forward       TYPED(layer_norm_forward)
#define layer_norm_backward      TYPED(layer_norm_backward)
#define gelu_forward             TYPED(gelu_forward)
#define gelu_backward            TYPED(gelu_backward)
#define glu_forward              TYPED(glu_forward)
#define glu_backward             TYPED(glu_backward)
#define tanh_forward             TYPED(tanh_forward)
#define tanh_backward            TYPED(tanh_backward)
#define readout_weights          TYPED(readout_weights)
#define readout_weights_backward TYPED(readout_weights_backward)
#define skip_forward             TYPED(skip_forward)
#define skip_backward            TYPED(skip_backward)
#define relu_forward             TYPED(relu_forward)
#define relu_backward            TYPED(relu_backward)
#define mean_pool_forward        TYPED(mean_pool_forward)
#define mean_pool_backward       TYPED(mean_pool_backward)
#define cross_entropy            TYPED(cross_entropy)
#define cross_entropy_soft       TYPED(cross_entropy_soft)
#define mean_squared_error       TYPED(mean_squared_error)

#endif
