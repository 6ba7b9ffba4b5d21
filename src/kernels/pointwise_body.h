/* SPDX-License-Identifier: MIT */
/* pointwise_body.h: layer norm, GELU, gated linear unit and tanh as vector code. Included by kernels_body.h.
 *
 * GELU in its tanh form is y sigmoid(2 a) with a = sqrt(2/pi) (y + 0.044715 y^3), because (1 + tanh a) / 2 is a
 * sigmoid; so GELU and GLU share one function, which keeps its relative accuracy in the lower tail. Loops are instances
 * with a mask and without one (a literal NULL); GELU without one takes all rows as one long row.
 */
#include "kernels/pointwise.h"
#include "kernels/vmath.h"

#include <stddef.h>

typedef struct sigmoid_pair {
  float value, slope; /* sigmoid z and its derivative */
} sigmoid_pair;

VMATH sigmoid_pair sigmoid_of(float z) {
  const float rho = decay_of(-1.4426950408889634f * fabsf(z)).rho, inverse = 1 / (1 + rho);
  return (sigmoid_pair){select_float(z < 0, rho * inverse, inverse), rho * inverse * inverse};
}

/* ---- GELU -------------------------------------------------------------------------------------- */

VMATH void gelu_row(size_t width, const float *y, const float *mask, float *g) {
#pragma omp simd
  for (size_t i = 0; i < width; i++) {
    const float value = y[i] * sigmoid_of(y[i] * ((float)GELU_LINEAR + (float)GELU_CUBIC * (y[i] * y[i]))).value;
    g[i] = mask ? mask[i] * value : value;
  }
}

static void gelu_rows(size_t n, size_t width, const float *y, const float *mask, float *g) {
  if (!mask) {
    gelu_row(n * width, y, NULL, g);
    return;
  }
  for (size_t t = 0; t < n; t++) gelu_row(width, y + t * width, mask, g + t * width);
}

VMATH void gelu_adjoint_row(size_t width, const float *y, const float *mask, const float *dg, float *dy) {
#pragma omp simd
  for (size_t i = 0; i < width; i++) {
    const float square = y[i] * y[i], rate = (float)GELU_LINEAR + 3 * (float)GELU_CUBIC * square;
    const sigmoid_pair s = sigmoid_of(y[i] * ((float)GELU_LINEAR + (float)GELU_CUBIC * square));
    const float bounded = rate < GELU_RATE_LIMIT ? rate : GELU_RATE_LIMIT;
    dy[i] = (mask ? mask[i] * dg[i] : dg[i]) * (s.value + y[i] * s.slope * bounded);
  }
}

static void gelu_adjoint_rows(size_t n, size_t width, const float *y, const float *mask, const float *dg, float *dy) {
  if (!mask) {
    gelu_adjoint_row(n * width, y, NULL, dg, dy);
    return;
  }
  for (size_t t = 0; t < n; t++) gelu_adjoint_row(width, y + t * width, mask, dg + t * width, dy + t * width);
}

/* ---- gated linear unit -------------------------------------------------------------------------- */

VMATH void glu_masked(size_t n, size_t width, const float *o, const float *mask, const float *u_in, float *u_out) {
  for (size_t t = 0; t < n; t++, o += 2 * width, u_in += width, u_out += width) {
#pragma omp simd
    for (size_t i = 0; i < width; i++) {
      const float value = o[i] * sigmoid_of(o[width + i]).value;
      u_out[i] = u_in[i] + (mask ? mask[i] * value : value);
    }
  }
}

static void glu_rows(size_t n, size_t width, const float *o, const float *mask, const float *u_in, float *u_out) {
  if (mask)
    glu_masked(n, width, o, mask, u_in, u_out);
  else
    glu_masked(n, width, o, NULL, u_in, u_out);
}

VMATH void glu_adjoint_masked(size_t n, size_t width, const float *o, const float *mask, const float *du, float *d_o) {
  for (size_t t = 0; t < n; t++, o += 2 * width, d_o += 2 * width, du += width) {
#pragma omp simd
    for (size_t i = 0; i < width; i++) {
      const float dv = mask ? mask[i] * du[i] : du[i], value = o[i];
      const sigmoid_pair s = sigmoid_of(o[width + i]);
      d_o[i] = dv * s.value;
      d_o[width + i] = dv * value * s.slope;
    }
  }
}

static void glu_adjoint_rows(size_t n, size_t width, const float *o, const float *mask, const float *du, float *d_o) {
  if (mask)
    glu_adjoint_masked(n, width, o, mask, du, d_o);
  else
    glu_adjoint_masked(n, width, o, NULL, du, d_o);
}

/* ---- layer norm ---------------------------------------------------------------------------------- */

static void norm_rows(size_t n, size_t width, const float *u, const float *scale, const float *bias, float *x,
                      float *mean, float *rstd) {
  const float share = 1 / (float)width;
  for (size_t t = 0; t < n; t++, u += width, x += width) {
    float sum = 0, square = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < width; i++) sum += u[i];
    const float m = sum * share;
#pragma omp simd reduction(+ : square)
    for (size_t i = 0; i < width; i++) square += (u[i] - m) * (u[i] - m);
    const float rs = 1 / sqrtf(square * share + (float)LAYER_NORM_EPSILON);
#pragma omp simd
    for (size_t i = 0; i < width; i++) x[i] = (u[i] - m) * rs * scale[i] + bias[i];
    mean[t] = m;
    rstd[t] = rs;
  }
}

static void norm_adjoint_rows(size_t n, size_t width, const float *u, const float *mean, const float *rstd,
                              const float *scale, const float *dx, float *du, double *dscale, double *dbias) {
  const float share = 1 / (float)width;
  for (size_t t = 0; t < n; t++, u += width, dx += width, du += width) {
    const float m = mean[t], rs = rstd[t];
    float sum = 0, product = 0;
#pragma omp simd reduction(+ : sum, product)
    for (size_t i = 0; i < width; i++) {
      const float e = dx[i] * scale[i];
      sum += e;
      product += e * ((u[i] - m) * rs);
    }
    sum *= share;
    product *= share;
#pragma omp simd
    for (size_t i = 0; i < width; i++) {
      const float xh = (u[i] - m) * rs;
      du[i] += rs * (dx[i] * scale[i] - sum - xh * product);
      dscale[i] += (double)(dx[i] * xh);
      dbias[i] += (double)dx[i];
    }
  }
}

/* ---- tanh ---------------------------------------------------------------------------------------- */

static void tanh_entries(size_t count, const float *z, float *y) {
#pragma omp simd
  for (size_t i = 0; i < count; i++) {
    const fraction t = tanh_fraction(z[i]);
    y[i] = t.over / t.under;
  }
}

#define POINTWISE_KERNELS                                                                                       \
  {                                                                                                             \
    .norm = norm_rows, .norm_adjoint = norm_adjoint_rows, .gelu = gelu_rows, .gelu_adjoint = gelu_adjoint_rows, \
    .glu = glu_rows, .glu_adjoint = glu_adjoint_rows, .tanh = tanh_entries                                      \
  }
