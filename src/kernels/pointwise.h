/* SPDX-License-Identifier: MIT */
/* pointwise.h: the float32 row loops of the layers between the cells, as slots of the kernel table.
 *
 * Arguments mean what they mean in nn/layers_impl.h, whose functions call these. Layers without transcendental
 * functions or sums over a row are left to the compiler's own vector code and have no slot.
 */
#ifndef SPARC_KERNELS_POINTWISE_H
#define SPARC_KERNELS_POINTWISE_H

#include <stddef.h>

/* what both precisions and every table agree on */
#define LAYER_NORM_EPSILON 1e-6
#define GELU_LINEAR        1.5957691216057308  /* 2 sqrt(2 / pi) */
#define GELU_CUBIC         0.07135481627260025 /* 0.044715 times that */
/* a bound on the derivative of GELU's polynomial that it passes only where the gate's slope is zero, so that zero times
 * a large number never is zero times infinity */
#define GELU_RATE_LIMIT 1000

typedef struct pointwise_kernels {
  void (*norm)(size_t n, size_t width, const float *u, const float *scale, const float *bias, float *x, float *mean,
               float *rstd);
  void (*norm_adjoint)(size_t n, size_t width, const float *u, const float *mean, const float *rstd, const float *scale,
                       const float *dx, float *du, double *dscale, double *dbias);
  void (*gelu)(size_t n, size_t width, const float *y, const float *mask, float *g);
  void (*gelu_adjoint)(size_t n, size_t width, const float *y, const float *mask, const float *dg, float *dy);
  void (*glu)(size_t n, size_t width, const float *o, const float *mask, const float *u_in, float *u_out);
  void (*glu_adjoint)(size_t n, size_t width, const float *o, const float *mask, const float *du, float *d_o);
  void (*tanh)(size_t count, const float *z, float *y);
} pointwise_kernels;

#endif
