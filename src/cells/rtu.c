/* SPDX-License-Identifier: MIT */
/* rtu.c: the linear recurrent trace unit: a fixed spectrum whose write is normalised by its decay.
 *
 *   gamma = sqrt(1 - exp(-2 nu)) + 1e-8
 *
 * gamma moves with log_decay, which is all that sets RTU apart from LRU: the decay's trace is driven through lambda and
 * through gamma. The rest is fixed_spectrum_impl.h. The output is the state; what a network makes of it is a layer.
 */
#include "cells/fixed_spectrum_impl.h"

enum { SLOT_DECAY, SLOT_FREQ };

static const sparc_option options[] = {{.name = NULL}};

static sparc_status layout(sparc_cell *cell) {
  static const rtrl_sink sinks[] = {{.slot = SLOT_DECAY, .block = LOG_DECAY}, {.slot = SLOT_FREQ, .block = LOG_FREQ}};
  declare_spectrum(cell, RTU_CONSTANTS);
  return add_spectrum_sinks(cell, sizeof sinks / sizeof *sinks, sinks);
}

/* for classification RTU takes LRU's draws, as SPARC does */
static sparc_status init(const sparc_cell *cell, sparc_init_style style, uint64_t seed, const char *name,
                         float *params) {
  return init_fixed_spectrum(cell, style, style, seed, name, params);
}

static const cell_description about = {
    .kind =
        {
            .name = "rtu",
            .summary = "fixed complex modes, write normalised by the decay",
            .features = POLICY_RELU,
            .coordinates = 2,
            .options = options,
        },
    .layout = layout,
    .init = init,
};

static void derive(const sparc_cell *cell, const real *params, real *constants) {
  const size_t H = (size_t)cell->H;
  derive_spectrum(cell, params, constants);
  for (size_t j = 0; j < H; j++) {
    const double nu = spectrum_decay(cell, params, j), root = sqrt(-expm1(-2 * nu));
    constants[K_GAIN * H + j] = (real)(root + 1e-8);
    constants[K_GAIN_SLOPE * H + j] = (real)(nu * exp(-2 * nu) / root);
  }
}

static void sums_gradient(const sparc_cell *cell, const real *constants, const double *sums, real *dparams) {
  const size_t H = (size_t)cell->H;
  real *ddecay = dparams + cell->block[LOG_DECAY].offset, *dfreq = dparams + cell->block[LOG_FREQ].offset;
  for (size_t j = 0; j < H; j++) {
    const double through_gain = (double)constants[K_GAIN_SLOPE * H + j] * sums[SUM_GAIN * H + j];
    ddecay[j] += (real)(through_lambda(cell, constants, sums, K_DECAY_RE, j) + through_gain);
    dfreq[j] += (real)through_lambda(cell, constants, sums, K_FREQ_RE, j);
  }
}

/* sensitivities to log_decay and log_freq themselves [eq:rtrl_recurrence] */
static void drivers(const sparc_cell *cell, const real *constants, const TYPED(token) * token, const real *kept,
                    const real *a, const real *b, real *outer, real *scalar) {
  (void)a, (void)b;
  const size_t H = (size_t)cell->H, S = cell->sizes.state;
  real *decay = scalar + SLOT_DECAY * S, *freq = scalar + SLOT_FREQ * S;
  spectrum_content_drivers(cell, constants, outer);
  for (size_t j = 0; j < H; j++) {
    const real *k = constants + j, re = kept[j], im = kept[H + j];
    decay[j] = k[K_DECAY_RE * H] * re - k[K_DECAY_IM * H] * im + k[K_GAIN_SLOPE * H] * token->pre[j];
    decay[H + j] = k[K_DECAY_RE * H] * im + k[K_DECAY_IM * H] * re + k[K_GAIN_SLOPE * H] * token->pre[H + j];
    freq[j] = k[K_FREQ_RE * H] * re - k[K_FREQ_IM * H] * im;
    freq[H + j] = k[K_FREQ_RE * H] * im + k[K_FREQ_IM * H] * re;
  }
}

static const TYPED(affine_ops) affine = {
    .derive = derive,
    .coefficients = spectrum_coefficients,
    .adjoint = spectrum_adjoint,
    .sums_gradient = sums_gradient,
    .fused = SPECTRUM_FUSED,
    .drivers = drivers,
};

static const TYPED(cell_ops) ops = AFFINE_CELL_OPS(affine);

extern const cell_entry TYPED(cell_rtu);
const cell_entry TYPED(cell_rtu) = {&about, &ops};
