/* SPDX-License-Identifier: MIT */
/* layers.c: layer norm, GELU, gated linear unit and tanh, in reference form; the float32 build hands rows to the
 * kernel table where there is one (kernels/pointwise_body.h has the same equations as vector code).
 *
 * GELU in its tanh form is y sigmoid(2 a) with a = sqrt(2/pi) (y + 0.044715 y^3), because (1 + tanh a) / 2 is a
 * sigmoid; written so, its lower tail does not cancel.
 */
#include "nn/layers_impl.h"

/* runs a slot of the table; false: there is none */
#ifdef SPARC_DOUBLE
#define RUN_KERNEL(k, slot, ...) ((void)(k), 0)
#else
#define RUN_KERNEL(k, slot, ...) ((k) && (k)->pointwise.slot ? ((k)->pointwise.slot(__VA_ARGS__), 1) : 0)
#endif

/* ---- layer norm ------------------------------------------------------------------------------------- */

void TYPED(layer_norm_forward)(const kernels *k, size_t n, size_t width, const real *u, const real *scale,
                               const real *bias, real *x, real *mean, real *rstd) {
  if (RUN_KERNEL(k, norm, n, width, u, scale, bias, x, mean, rstd)) return;
  for (size_t t = 0; t < n; t++, u += width, x += width) {
    double sum = 0, square = 0;
    for (size_t i = 0; i < width; i++) sum += (double)u[i];
    const double m = sum / (double)width;
    for (size_t i = 0; i < width; i++) square += ((double)u[i] - m) * ((double)u[i] - m);
    mean[t] = (real)m;
    rstd[t] = (real)(1 / sqrt(square / (double)width + LAYER_NORM_EPSILON));
    for (size_t i = 0; i < width; i++) x[i] = (u[i] - mean[t]) * rstd[t] * scale[i] + bias[i];
  }
}

void TYPED(layer_norm_backward)(const kernels *k, size_t n, size_t width, const real *u, const real *mean,
                                const real *rstd, const real *scale, const real *dx, real *du, double *dscale,
                                double *dbias) {
  if (dscale && RUN_KERNEL(k, norm_adjoint, n, width, u, mean, rstd, scale, dx, du, dscale, dbias)) return;
  for (size_t t = 0; t < n; t++, u += width, dx += width, du += width) {
    const real m = mean[t], rs = rstd[t];
    double sum = 0, product = 0;
    for (size_t i = 0; i < width; i++) {
      const real e = dx[i] * scale[i];
      sum += (double)e;
      product += (double)(e * ((u[i] - m) * rs));
    }
    const real mean_e = (real)(sum / (double)width), mean_ex = (real)(product / (double)width);
    for (size_t i = 0; i < width; i++) {
      const real xh = (u[i] - m) * rs;
      du[i] += rs * (dx[i] * scale[i] - mean_e - xh * mean_ex);
      if (!dscale) continue;
      dscale[i] += (double)(dx[i] * xh);
      dbias[i] += (double)dx[i];
    }
  }
}

/* ---- GELU ------------------------------------------------------------------------------------------- */

typedef struct sigmoid_pair {
  real value, slope; /* sigmoid z and its derivative, neither by a difference that cancels */
} sigmoid_pair;

static sigmoid_pair sigmoid_of(real z) {
  const real t = r_exp(z < 0 ? z : -z), inverse = 1 / (1 + t);
  return (sigmoid_pair){z < 0 ? t * inverse : inverse, t * inverse * inverse};
}

static real masked(const real *mask, size_t i, real value) { return mask ? mask[i] * value : value; }

void TYPED(gelu_forward)(const kernels *k, size_t n, size_t width, const real *y, const real *mask, real *g) {
  if (RUN_KERNEL(k, gelu, n, width, y, mask, g)) return;
  for (size_t t = 0; t < n; t++, y += width, g += width)
    for (size_t i = 0; i < width; i++) {
      const real gate = sigmoid_of(y[i] * ((real)GELU_LINEAR + (real)GELU_CUBIC * (y[i] * y[i]))).value;
      g[i] = masked(mask, i, y[i] * gate);
    }
}

void TYPED(gelu_backward)(const kernels *k, size_t n, size_t width, const real *y, const real *mask, const real *dg,
                          real *dy) {
  if (RUN_KERNEL(k, gelu_adjoint, n, width, y, mask, dg, dy)) return;
  for (size_t t = 0; t < n; t++, y += width, dg += width, dy += width)
    for (size_t i = 0; i < width; i++) {
      const real square = y[i] * y[i], rate = (real)GELU_LINEAR + 3 * (real)GELU_CUBIC * square;
      const sigmoid_pair s = sigmoid_of(y[i] * ((real)GELU_LINEAR + (real)GELU_CUBIC * square));
      const real bounded = rate < GELU_RATE_LIMIT ? rate : GELU_RATE_LIMIT;
      dy[i] = masked(mask, i, dg[i]) * (s.value + y[i] * s.slope * bounded);
    }
}

/* ---- gated linear unit ------------------------------------------------------------------------------- */

void TYPED(glu_forward)(const kernels *k, size_t n, size_t width, const real *o, const real *mask, const real *u_in,
                        real *u_out) {
  if (RUN_KERNEL(k, glu, n, width, o, mask, u_in, u_out)) return;
  for (size_t t = 0; t < n; t++, o += 2 * width, u_in += width, u_out += width)
    for (size_t i = 0; i < width; i++) u_out[i] = u_in[i] + masked(mask, i, o[i] * sigmoid_of(o[width + i]).value);
}

void TYPED(glu_backward)(const kernels *k, size_t n, size_t width, const real *o, const real *mask, const real *du,
                         real *d_o) {
  if (RUN_KERNEL(k, glu_adjoint, n, width, o, mask, du, d_o)) return;
  for (size_t t = 0; t < n; t++, o += 2 * width, d_o += 2 * width, du += width)
    for (size_t i = 0; i < width; i++) {
      const real value = o[i], dv = masked(mask, i, du[i]);
      const sigmoid_pair s = sigmoid_of(o[width + i]);
      d_o[i] = dv * s.value;
      d_o[width + i] = dv * value * s.slope;
    }
}

/* ---- tanh -------------------------------------------------------------------------------------------- */

void TYPED(tanh_forward)(const kernels *k, size_t count, const real *z, real *y) {
  if (RUN_KERNEL(k, tanh, count, z, y)) return;
  for (size_t i = 0; i < count; i++) y[i] = r_tanh(z[i]);
}

void TYPED(tanh_backward)(size_t count, const real *y, const real *dy, real *dz) {
  for (size_t i = 0; i < count; i++) dz[i] = dy[i] * (1 - y[i] * y[i]);
}
