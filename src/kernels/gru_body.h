/* SPDX-License-Identifier: MIT */
/* gru_body.h: the unit loops of the gated recurrent unit as vector code. Included by kernels_body.h. */
#include "kernels/gru.h"
#include "kernels/vmath.h"

static void gru_advance(size_t H, const float *product, const float *kept, float *gates, float *h) {
  float *reset = gates, *update = reset + H, *new = update + H, *shift = new + H;
#pragma omp simd
  for (size_t j = 0; j < H; j++) {
    const fraction fr = sigmoid_fraction(reset[j] + product[j]), fz = sigmoid_fraction(update[j] + product[H + j]);
    const float inverse = 1 / (fr.under * fz.under);
    const float r = fr.over * fz.under * inverse, z = fz.over * fr.under * inverse, s = product[2 * H + j];
    const fraction fn = tanh_fraction(new[j] + r *s);
    const float n = fn.over / fn.under;
    reset[j] = r;
    update[j] = z;
    new[j] = n;
    shift[j] = s;
    h[j] = (1 - z) * n + z * kept[j];
  }
}

static void gru_adjoint(size_t H, const float *gates, const float *kept, const float *mu, float *dgates,
                        float *direct) {
#pragma omp simd
  for (size_t j = 0; j < H; j++) {
    const float r = gates[j], z = gates[H + j], n = gates[2 * H + j], s = gates[3 * H + j];
    const float dn = mu[j] * (1 - z) * (1 - n * n);
    dgates[j] = dn;
    dgates[H + j] = dn * s * r * (1 - r);
    dgates[2 * H + j] = mu[j] * (kept[j] - n) * z * (1 - z);
    dgates[3 * H + j] = dn * r;
    direct[j] = z * mu[j];
  }
}

#define GRU_KERNELS \
  { gru_advance, gru_adjoint }
