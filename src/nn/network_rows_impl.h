/* SPDX-License-Identifier: MIT */
/* network_rows_impl.h: embedding and heads of a network on n rows, in one precision, for whole sequences and for
 * steps (rows_impl.h). */
#ifndef SPARC_NN_NETWORK_ROWS_IMPL_H
#define SPARC_NN_NETWORK_ROWS_IMPL_H

#include "nn/network.h"
#include "nn/rows_impl.h"

/* every layer of the network has calls in this precision */
sparc_status TYPED(check_precision)(const sparc_network *net);

/* ---- embedding --------------------------------------------------------------------------------- */

void TYPED(embed_rows)(const sparc_network *net, const real *prepared, size_t n, const real *x /* (n, inputs) */,
                       real *e /* (n, width) */);
/* de becomes the cotangent of W x + b; dx may be NULL */
void TYPED(embed_rows_backward)(const sparc_network *net, const real *prepared, size_t n, const real *e,
                                real *de /* (n, width) */, real *dx /* (n, inputs) */);
/* the gradient of the embedding's weights over n rows, from what embed_rows_backward leaves */
void TYPED(embed_gradient)(const sparc_network *net, int threads, size_t n, const real *x, const real *de,
                           real *dparams);
/* symbols of n rows are whole numbers from 0 to below their number; other inputs are not checked */
sparc_status TYPED(check_symbols)(const sparc_network *net, size_t n, const real *x);

/* ---- heads ------------------------------------------------------------------------------------- */

/* rows of out and dout are `stride` apart; a head of constants reads nothing and copies its numbers */
void TYPED(head_rows)(const sparc_network *net, const real *prepared, const network_head *head, size_t n,
                      const real *z /* (n, F) */, real *hidden /* (n, hidden) */, real *out, size_t stride);
/* dz is overwritten, or added to when accumulate is 1; dhidden is left for the gradients of weights */
void TYPED(head_rows_backward)(const sparc_network *net, const real *prepared, const network_head *head, size_t n,
                               const real *dout, size_t stride, const real *hidden, real *dhidden, int accumulate,
                               real *dz);
/* the gradients of a head's two layers; returns how many these are */
size_t TYPED(head_weight_jobs)(const network_head *head, size_t n, const real *z, const real *hidden,
                               const real *dhidden, const real *dout, size_t stride, weight_job *jobs);

/* callers write the plain names */
#define check_precision     TYPED(check_precision)
#define embed_rows          TYPED(embed_rows)
#define embed_rows_backward TYPED(embed_rows_backward)
#define embed_gradient      TYPED(embed_gradient)
#define check_symbols       TYPED(check_symbols)
#define head_rows           TYPED(head_rows)
#define head_rows_backward  TYPED(head_rows_backward)
#define head_weight_jobs    TYPED(head_weight_jobs)

#endif
