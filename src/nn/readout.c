/* SPDX-License-Identifier: MIT */
/* readout.c: features of a cell's state [eq:app_bptt_readout].
 *
 * The complex readout Re(C h) = C_re h_re - C_im h_im is a dense layer on the planar state [re | im], so only its
 * weight is made here and its gradient taken apart again; the products are those of dense.c.
 */
#include "nn/layers_impl.h"

/* ---- complex readout ------------------------------------------------------------------------------ */

void TYPED(readout_weights)(const kernels *k, size_t H, size_t out, const real *c_re, const real *c_im, real *weight,
                            real *weight_in) {
  for (size_t i = 0; i < out; i++)
    for (size_t j = 0; j < H; j++) {
      weight[i * 2 * H + j] = c_re[i * H + j];
      weight[i * 2 * H + H + j] = -c_im[i * H + j];
    }
  dense_prepare(k, 2 * H, out, weight, weight_in);
}

void TYPED(readout_weights_backward)(size_t H, size_t first, size_t count, const real *dweight, real *dc_re,
                                     real *dc_im) {
  for (size_t i = first; i < first + count; i++)
    for (size_t j = 0; j < H; j++) {
      dc_re[i * H + j] += dweight[i * 2 * H + j];
      dc_im[i * H + j] -= dweight[i * 2 * H + H + j];
    }
}

/* ---- skip ------------------------------------------------------------------------------------------ */

void TYPED(skip_forward)(size_t n, size_t width, const real *x, const real *skip, real *y) {
  for (size_t t = 0; t < n; t++)
    for (size_t i = 0; i < width; i++) y[t * width + i] += skip[i] * x[t * width + i];
}

void TYPED(skip_backward)(size_t n, size_t width, const real *x, const real *skip, const real *dy, real *dx,
                          double *dskip) {
  for (size_t t = 0; t < n; t++)
    for (size_t i = 0; i < width; i++) {
      const real d = dy[t * width + i];
      dx[t * width + i] += skip[i] * d;
      if (dskip) dskip[i] += (double)(d * x[t * width + i]);
    }
}

/* ---- ReLU features --------------------------------------------------------------------------------- */

/* comparisons this way round let a NaN through */
void TYPED(relu_forward)(size_t n, size_t width, const real *h, real *z) {
  for (size_t i = 0; i < n * width; i++) z[i] = h[i] < 0 ? 0 : h[i];
}

void TYPED(relu_backward)(size_t n, size_t width, const real *h, const real *dz, real *dh) {
  for (size_t i = 0; i < n * width; i++) {
    const real d = dz[i]; /* read in any case: no branch */
    dh[i] = h[i] > 0 ? d : 0;
  }
}
