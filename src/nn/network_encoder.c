/* SPDX-License-Identifier: MIT */
/* network_encoder.c: the embedding's part of exact RTRL [eq:app_upstream_derivative].
 *
 *   Z_e <- m a Z_e + (dh/dx)(dx/dp)        p: W and b of x = W s + b, or tanh(W s + b)
 *
 * A row of W reaches the cell through one pre-activation, so dx/dp is a number per pre-activation, the slope of tanh,
 * times the input: with Q = dh/dx diag(slope), entry (i, k) of W drives mode j by Q_ji s_k. One complex factor per mode
 * moves all of them, as it does the cell's own sensitivities.
 */
#include "base/threads.h"
#include "cells/affine/affine_impl.h"
#include "nn/network_encoder_impl.h"
#include "nn/network_rows_impl.h"
#include "rtrl/rtrl_f64.h"

#include <string.h>

/* the two arrays after the cell's trace, and their sizes */
typedef struct encoder_trace {
  size_t H, parts, width, rows; /* rows: inputs + 1 */
  real *Z, *Q;
} encoder_trace;

static encoder_trace view_encoder(const sparc_network *net, real *trace) {
  encoder_trace v = {.H = (size_t)net->cell->H,
                     .parts = (size_t)net->cell->parts,
                     .width = net->embed.out,
                     .rows = net->embed.in + 1,
                     .Z = trace + net->cell->sizes.trace};
  v.Q = v.Z + v.H * v.parts * v.rows * v.width;
  return v;
}

/* Q from dh/dx */
static void apply_slope(const sparc_network *net, const real *e, const encoder_trace *v) {
  if (net->config.embedding != SPARC_EMBED_TANH) return;
  for (size_t s = 0; s < v->H * v->parts; s++)
    for (size_t i = 0; i < v->width; i++) v->Q[s * v->width + i] *= 1 - e[i] * e[i];
}

static void advance_complex(size_t n, real a_re, real a_im, real x, const real *restrict q_re,
                            const real *restrict q_im, real *restrict z_re, real *restrict z_im) {
  for (size_t i = 0; i < n; i++) {
    const real re = z_re[i], im = z_im[i];
    z_re[i] = a_re * re - a_im * im + x * q_re[i];
    z_im[i] = a_re * im + a_im * re + x * q_im[i];
  }
}

static void advance_real(size_t n, real a, real x, const real *restrict q, real *restrict z) {
  for (size_t i = 0; i < n; i++) z[i] = a * z[i] + x * q[i];
}

static void advance_mode(const encoder_trace *v, size_t j, real mask, const real *a, const real *x) {
  const size_t n = v->width;
  const real a_re = mask * a[j];
  for (size_t k = 0; k < v->rows; k++) {
    real *z = v->Z + (j * v->rows + k) * v->parts * n;
    const real input = k + 1 < v->rows ? x[k] : 1;
    if (v->parts == 2)
      advance_complex(n, a_re, mask * a[v->H + j], input, v->Q + j * n, v->Q + (v->H + j) * n, z, z + n);
    else
      advance_real(n, a_re, input, v->Q + j * n, z);
  }
}

void TYPED(encoder_advance)(const sparc_network *net, const real *prepared, const real *x, const real *e,
                            real *cell_tape, real *trace) {
  const encoder_trace v = view_encoder(net, trace);
  const TYPED(tape_view) tape = TYPED(view_tape)(net->cell, cell_tape);
  (void)PUBLIC(sparc_input_jacobian)(net->cell, prepared + net->cell_prepared, cell_tape, v.Q);
  const uint64_t mode = flush_denormals_begin();
  apply_slope(net, e, &v);
  if (*tape.mask == 0) memset(v.Z, 0, v.H * v.parts * v.rows * v.width * sizeof *v.Z);
  for (size_t j = 0; j < v.H; j++) advance_mode(&v, j, *tape.mask, tape.a, x);
  flush_denormals_end(mode);
}

/* ---- contraction ------------------------------------------------------------------------------- */

/* pre-activations that are summed over all modes together, in double */
enum { STRIP = 64 };

/* total[i] += the sum over modes of dh . Z for input k, pre-activations from `first` on */
static void sum_modes(const encoder_trace *v, const real *dh, size_t k, size_t first, size_t n, double total[STRIP]) {
  for (size_t j = 0; j < v->H; j++)
    for (size_t part = 0; part < v->parts; part++) {
      const double weight = (double)dh[part * v->H + j];
      const real *z = v->Z + ((j * v->rows + k) * v->parts + part) * v->width + first;
      for (size_t i = 0; i < n; i++) total[i] += weight * (double)z[i];
    }
}

static void contract_input(const sparc_network *net, const encoder_trace *v, const real *dh, size_t k, real *dparams) {
  const dense_offsets *at = &net->embed;
  real *out = dparams + (k < at->in ? at->weight + k : at->bias);
  const size_t stride = k < at->in ? at->in : 1;
  for (size_t first = 0; first < v->width; first += STRIP) {
    const size_t n = v->width - first < STRIP ? v->width - first : STRIP;
    double total[STRIP] = {0};
    sum_modes(v, dh, k, first, n, total);
    for (size_t i = 0; i < n; i++) out[(first + i) * stride] += (real)total[i];
  }
}

void TYPED(encoder_contract_state)(const sparc_network *net, const real *trace, const real *dstate, real *dparams) {
  const encoder_trace v = view_encoder(net, (real *)trace); /* read only */
  const uint64_t mode = flush_denormals_begin();
  for (size_t k = 0; k < v.rows; k++) contract_input(net, &v, dstate, k, dparams);
  flush_denormals_end(mode);
}

void TYPED(encoder_rows_gradient)(const sparc_network *net, const real *prepared, size_t n, const real *x,
                                  const real *e, real *de, real *dparams, int threads) {
  embed_rows_backward(net, prepared, n, e, de, NULL);
  embed_gradient(net, threads, n, x, de, dparams);
}

/* some pre-activations are read by the output alone */
static bool output_reads_input(const sparc_cell *cell) {
  for (int i = 0; i < cell->projections; i++)
    if (cell->project[i].output_only) return true;
  return false;
}

bool TYPED(encoder_contract)(const sparc_network *net, const real *trace, real *cell_tape, real *de, real *dparams) {
  const encoder_trace v = view_encoder(net, (real *)trace); /* read only */
  const real *dh = TYPED(view_tape)(net->cell, cell_tape).dstate;
  TYPED(encoder_contract_state)(net, trace, dh, dparams);
  const uint64_t mode = flush_denormals_begin();
  const bool past_the_state = output_reads_input(net->cell);
  for (size_t s = 0; past_the_state && s < v.H * v.parts; s++)
    for (size_t i = 0; i < v.width; i++) de[i] -= dh[s] * v.Q[s * v.width + i];
  flush_denormals_end(mode);
  return past_the_state;
}
