/* SPDX-License-Identifier: MIT */
/* leaky.c: leaky integrators, a = sigmoid(decay_logit). */
#include "cells/affine/affine_impl.h"

enum { CONTENT, DECAY_LOGIT }; /* blocks, in order */

static sparc_status layout(sparc_cell *cell) {
  add_block(cell, "content", SPARC_RECURRENT, cell->H, cell->D);
  add_block(cell, "decay_logit", SPARC_RECURRENT, cell->H, 0);
  add_projection(cell, CONTENT, -1); /* pre[j] = (W x)_j */
  cell->parts = 1;                   /* 1: real state, 2: complex state [re | im] */
  cell->pre = cell->projected;
  cell->constant_count = (size_t)cell->H; /* written by derive: a */
  cell->sums = 1;                         /* gradient sums per mode: dL/da */
  cell->outer = cell->scalar = 1;         /* RTRL traces per mode: rows of D, and scalars; 0 without RTRL */
  sparc_status status = add_sink(cell, (rtrl_sink){.outer = true, .block = CONTENT});
  return status == SPARC_OK ? add_sink(cell, (rtrl_sink){.block = DECAY_LOGIT}) : status;
}
static sparc_status init(const sparc_cell *cell, sparc_init_style style, uint64_t seed, const char *name, float *p) {
  (void)style;
  sparc_random stream = block_stream(seed, name, "content");
  return random_lecun_normal(&stream, p, cell->block[CONTENT].size, cell->D);
}
static void derive(const sparc_cell *cell, const real *params, real *a) { /* once per change of params, in double */
  const real *logit = params + cell->block[DECAY_LOGIT].offset;
  for (int j = 0; j < cell->H; j++) a[j] = (real)(1 / (1 + exp(-(double)logit[j])));
}
static void coefficients(const sparc_cell *cell, const real *a, const TYPED(token) * token, int first, int n,
                         TYPED(coefficients) * out) { /* modes [first, first + n) of one token */
  (void)cell;
  for (int i = 0, j = first; i < n; i++, j++) out->a_re[i] = a[j], out->b_re[i] = (1 - a[j]) * token->pre[j];
}
static void adjoint(const sparc_cell *cell, const real *a, const TYPED(token) * token, int first, int n,
                    const TYPED(cotangent) * cot, TYPED(coefficients) * transition, real *dpre, double *dshared,
                    double (*sums)[MODE_TILE]) { /* mu = dL/dh_t, kept = m_t h_{t-1} */
  (void)cell, (void)dshared;
  for (int i = 0, j = first; i < n; i++, j++) {
    transition->a_re[i] = a[j];
    dpre[j] = (1 - a[j]) * cot->mu_re[i];
    sums[0][i] += (double)((cot->kept_re[i] - token->pre[j]) * cot->mu_re[i]);
  }
}
static void sums_gradient(const sparc_cell *cell, const real *a, const double *sums, real *dparams) {
  real *dlogit = dparams + cell->block[DECAY_LOGIT].offset;
  for (int j = 0; j < cell->H; j++) dlogit[j] += (real)((double)(a[j] * (1 - a[j])) * sums[j]);
}
static void drivers(const sparc_cell *cell, const real *a, const TYPED(token) * token, const real *kept,
                    const real *a_t, const real *b_t, real *outer, real *scalar) { /* RTRL: dh_t by this step alone */
  (void)a_t, (void)b_t;
  for (int j = 0; j < cell->H; j++) outer[j] = 1 - a[j], scalar[j] = a[j] * (1 - a[j]) * (kept[j] - token->pre[j]);
}
static const sparc_option options[] = {{.name = NULL}};
static const cell_description about = {.kind = {.name = "leaky",
                                                .summary = "leaky integrators",
                                                .readout = READOUT_REAL,
                                                .features = POLICY_OUTPUT,
                                                .coordinates = 1,
                                                .options = options},
                                       .layout = layout,
                                       .init = init};
static const TYPED(affine_ops) affine = {.derive = derive,
                                         .coefficients = coefficients,
                                         .adjoint = adjoint,
                                         .sums_gradient = sums_gradient,
                                         .drivers = drivers};
static const TYPED(cell_ops) ops = AFFINE_CELL_OPS(affine);
extern const cell_entry TYPED(cell_leaky);
const cell_entry TYPED(cell_leaky) = {&about, &ops};
