/* SPDX-License-Identifier: MIT */
/* fixed_spectrum_impl.h: what RTU and LRU share: complex modes whose transition does not depend on the input.
 *
 *   lambda = exp(-nu + i theta),  nu = exp(log_decay),  theta = exp(log_freq)    [eq:fixed_spectral_transition]
 *   h_t    = m_t lambda h_{t-1} + gamma (B_re x + i B_im x)                      [eq:spectral_recurrence]
 *
 * The cells differ in gamma alone, so each derives its own and adds the gradient through it; everything through lambda
 * and the content matrices is here, once; header-only, so that each cell gets its own copy in each precision. Constants
 * are derived in double when parameters change and rounded once; a step is then one complex product and one scaling.
 * Only one content trace is kept: the content enters holomorphically, so dh/dB_im = i dh/dB_re.
 */
#ifndef SPARC_CELLS_FIXED_SPECTRUM_IMPL_H
#define SPARC_CELLS_FIXED_SPECTRUM_IMPL_H

#include "cells/affine/affine_impl.h"
#include "cells/fixed_spectrum.h"
#include "cells/spectral.h"
#include "kernels/diagonal.h"

/* positions in the block table; a cell's own blocks follow */
enum { LOG_DECAY, LOG_FREQ, CONTENT_RE, CONTENT_IM, SPECTRUM_BLOCKS };

/* what the adjoint accumulates per mode: the cotangents of lambda and of gamma */
enum { SUM_LAMBDA_RE = SPECTRUM_LAMBDA_RE, SUM_LAMBDA_IM = SPECTRUM_LAMBDA_IM, SUM_GAIN = SPECTRUM_GAIN };

/* both cells keep two scalar traces per mode, whose meaning is theirs */
enum { SPECTRUM_SCALARS = 2 };

/* ---- description ------------------------------------------------------------------------------- */

static inline void declare_spectrum(sparc_cell *cell, int constants) {
  add_block(cell, "log_decay", SPARC_RECURRENT, cell->H, 0);
  add_block(cell, "log_freq", SPARC_RECURRENT, cell->H, 0);
  add_block(cell, "content_re", SPARC_RECURRENT, cell->H, cell->D);
  add_block(cell, "content_im", SPARC_RECURRENT, cell->H, cell->D);
  add_projection(cell, CONTENT_RE, -1);
  add_projection(cell, CONTENT_IM, -1);
  cell->parts = 2;
  cell->pre = cell->projected;
  cell->sums = SPECTRUM_SUMS;
  cell->constant_count = (size_t)constants * (size_t)cell->H;
  cell->outer = 1;
  cell->driver[0] = DRIVER_REAL;
  cell->scalar = SPECTRUM_SCALARS;
}

/* the content's sinks, and those of the cell's scalar traces */
static inline sparc_status add_spectrum_sinks(sparc_cell *cell, size_t count, const rtrl_sink *scalars) {
  static const rtrl_sink content[] = {
      {.outer = true, .block = CONTENT_RE},
      {.outer = true, .block = CONTENT_IM, .factor = FACTOR_I},
  };
  sparc_status status = add_sink(cell, content[0]);
  if (status == SPARC_OK) status = add_sink(cell, content[1]);
  for (size_t i = 0; i < count && status == SPARC_OK; i++) status = add_sink(cell, scalars[i]);
  return status;
}

/* spectrum and content; the content's style is the cell's choice */
static inline sparc_status init_fixed_spectrum(const sparc_cell *cell, sparc_init_style style,
                                               sparc_init_style content_style, uint64_t seed, const char *name,
                                               float *params) {
  const sparc_block *block = cell->block;
  init_spectrum(style, seed, name, cell->H, params + block[LOG_DECAY].offset, params + block[LOG_FREQ].offset);
  sparc_status status = init_content(content_style, seed, name, cell->D, &block[CONTENT_RE], params);
  return status == SPARC_OK ? init_content(content_style, seed, name, cell->D, &block[CONTENT_IM], params) : status;
}

/* ---- constants --------------------------------------------------------------------------------- */

static inline double spectrum_decay(const sparc_cell *cell, const real *params, size_t j) {
  return decay_of_log((double)params[cell->block[LOG_DECAY].offset + j]);
}

/* Everything of lambda. The radius stays a few units in the last place below 1, so that lambda lies inside the unit
 * circle after its parts are rounded. */
static inline void derive_spectrum(const sparc_cell *cell, const real *params, real *constants) {
  const size_t H = (size_t)cell->H;
  for (size_t j = 0; j < H; j++) {
    const double nu = spectrum_decay(cell, params, j), radius = exp(-fmax(nu, 4 * (double)REAL_EPSILON));
    const double theta = freq_of_log((double)params[cell->block[LOG_FREQ].offset + j]);
    const double re = radius * cos(theta), im = radius * sin(theta);
    constants[K_LAMBDA_RE * H + j] = (real)re;
    constants[K_LAMBDA_IM * H + j] = (real)im;
    constants[K_DECAY_RE * H + j] = (real)(-nu * re);
    constants[K_DECAY_IM * H + j] = (real)(-nu * im);
    constants[K_FREQ_RE * H + j] = (real)(-theta * im);
    constants[K_FREQ_IM * H + j] = (real)(theta * re);
  }
}

/* ---- a tile of modes at one token ---------------------------------------------------------------- */

/* one array of constants, from mode `first` on */
static inline const real *spectrum_constant(const sparc_cell *cell, const real *constants, int which, int first) {
  return constants + (size_t)which * (size_t)cell->H + first;
}

static inline void spectrum_coefficients(const sparc_cell *cell, const real *constants, const TYPED(token) * token,
                                         int first, int n, TYPED(coefficients) * out) {
  const real *lambda_re = spectrum_constant(cell, constants, K_LAMBDA_RE, first);
  const real *lambda_im = spectrum_constant(cell, constants, K_LAMBDA_IM, first);
  const real *gain = spectrum_constant(cell, constants, K_GAIN, first);
  const real *u_re = token->pre + first, *u_im = u_re + cell->H;
  for (int i = 0; i < n; i++) {
    out->a_re[i] = lambda_re[i];
    out->a_im[i] = lambda_im[i];
    out->b_re[i] = gain[i] * u_re[i];
    out->b_im[i] = gain[i] * u_im[i];
  }
}

/* NOLINTBEGIN(readability-non-const-parameter): the type is affine_ops' */
static inline void spectrum_adjoint(const sparc_cell *cell, const real *constants, const TYPED(token) * token,
                                    int first, int n, const TYPED(cotangent) * cot, TYPED(coefficients) * transition,
                                    real *dpre, double *dshared, double (*sums)[MODE_TILE]) {
  /* NOLINTEND(readability-non-const-parameter) */
  (void)dshared;
  const real *lambda_re = spectrum_constant(cell, constants, K_LAMBDA_RE, first);
  const real *lambda_im = spectrum_constant(cell, constants, K_LAMBDA_IM, first);
  const real *gain = spectrum_constant(cell, constants, K_GAIN, first);
  const real *u_re = token->pre + first, *u_im = u_re + cell->H;
  real *du_re = dpre + first, *du_im = du_re + cell->H;
  for (int i = 0; i < n; i++) {
    const real mu_re = cot->mu_re[i], mu_im = cot->mu_im[i], kept_re = cot->kept_re[i], kept_im = cot->kept_im[i];
    transition->a_re[i] = lambda_re[i];
    transition->a_im[i] = lambda_im[i];
    du_re[i] = gain[i] * mu_re;
    du_im[i] = gain[i] * mu_im;

    /* conj(kept) mu, and Re(conj(u) mu) */
    sums[SUM_LAMBDA_RE][i] += (double)(kept_re * mu_re + kept_im * mu_im);
    sums[SUM_LAMBDA_IM][i] += (double)(kept_re * mu_im - kept_im * mu_re);
    sums[SUM_GAIN][i] += (double)(u_re[i] * mu_re + u_im[i] * mu_im);
  }
}

/* gradient of a parameter of mode j through lambda, whose derivative by it is constant arrays slope and slope + 1 */
static inline double through_lambda(const sparc_cell *cell, const real *constants, const double *sums, size_t slope,
                                    size_t j) {
  const size_t H = (size_t)cell->H;
  return (double)constants[slope * H + j] * sums[SUM_LAMBDA_RE * H + j] +
         (double)constants[(slope + 1) * H + j] * sums[SUM_LAMBDA_IM * H + j];
}

/* ---- RTRL -------------------------------------------------------------------------------------- */

/* the content trace is driven by gamma x^T */
static inline void spectrum_content_drivers(const sparc_cell *cell, const real *constants, real *outer) {
  const size_t H = (size_t)cell->H;
  for (size_t j = 0; j < H; j++) {
    outer[j] = constants[K_GAIN * H + j];
    outer[H + j] = 0;
  }
}

/* ---- kernels ----------------------------------------------------------------------------------- */

#ifdef SPARC_DOUBLE
#define SPECTRUM_FUSED NULL
#else
static inline spectrum_rows spectrum_rows_of(const sparc_cell *cell, const float *constants, const span_f32 *span) {
  return (spectrum_rows){.H = (size_t)cell->H,
                         .first = span->first,
                         .n = span->n,
                         .tokens = span->tokens,
                         .lambda_re = spectrum_constant(cell, constants, K_LAMBDA_RE, 0),
                         .lambda_im = spectrum_constant(cell, constants, K_LAMBDA_IM, 0),
                         .gain = spectrum_constant(cell, constants, K_GAIN, 0),
                         .pre = span->pre,
                         .mask = span->mask};
}

static inline void spectrum_fused_scan(const sparc_cell *cell, const float *constants, const span_f32 *span, float *h,
                                       float *states) {
  const spectrum_rows rows = spectrum_rows_of(cell, constants, span);
  diagonal_of(cell->kernels)->spectrum_scan(&rows, &(complex_scan){h, h + span->n, states});
}

static inline void spectrum_fused_adjoint(const sparc_cell *cell, const float *constants, const span_f32 *span,
                                          const float *before, const float *states, const float *dstates, float *g,
                                          float *dpre, float *dshared, float *sums) {
  (void)dshared;
  const spectrum_rows rows = spectrum_rows_of(cell, constants, span);
  const complex_adjoint adjoint_rows = {states, dstates, before, before + span->n, g, g + span->n};
  diagonal_of(cell->kernels)->spectrum_adjoint(&rows, &adjoint_rows, dpre, sums);
}

/* a token alone is two products per mode: the scalar code's coefficients and drivers do */
static inline const fused_ops_f32 *spectrum_fused(const sparc_cell *cell, const float *constants) {
  static const fused_ops_f32 loops = {.scan = spectrum_fused_scan, .scan_adjoint = spectrum_fused_adjoint};
  (void)constants;
  return diagonal_of(cell->kernels)->spectrum_scan ? &loops : NULL;
}
#define SPECTRUM_FUSED spectrum_fused
#endif

#endif
