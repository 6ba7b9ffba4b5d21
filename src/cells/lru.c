/* SPDX-License-Identifier: MIT */
/* lru.c: the linear recurrent unit: a fixed spectrum with a free write gain.
 *
 *   gamma = exp(log_gain)
 *
 * lambda and gamma share no parameter, so one trace dh/dlambda serves log_decay and log_freq: it is multiplied by the
 * current d lambda / d log_decay and d lambda / d log_freq when it is read. The trace of log_gain equals the state as
 * long as a stream starts from zeros and parameters rest; it is kept apart because parameters move during online
 * learning. The rest is fixed_spectrum_impl.h. The output is the state; the readout Re(C h) is a layer.
 */
#include "cells/fixed_spectrum_impl.h"

#include <string.h>

enum { LOG_GAIN = SPECTRUM_BLOCKS };
enum { SLOT_LAMBDA, SLOT_GAIN };

static const sparc_option options[] = {{.name = NULL}};

static sparc_status layout(sparc_cell *cell) {
  const size_t H = (size_t)cell->H;
  const rtrl_sink sinks[] = {
      {.slot = SLOT_LAMBDA, .block = LOG_DECAY, .factor = FACTOR_CONSTANT, .constant = K_DECAY_RE * H},
      {.slot = SLOT_LAMBDA, .block = LOG_FREQ, .factor = FACTOR_CONSTANT, .constant = K_FREQ_RE * H},
      {.slot = SLOT_GAIN, .block = LOG_GAIN},
  };
  declare_spectrum(cell, SPECTRUM_CONSTANTS);
  add_block(cell, "log_gain", SPARC_RECURRENT, cell->H, 0);
  return add_spectrum_sinks(cell, sizeof sinks / sizeof *sinks, sinks);
}

/* content and gain are drawn alike in both styles: normal with standard deviation 1 / sqrt(2 D), and sqrt(1 - exp(-2 nu)) */
static sparc_status init(const sparc_cell *cell, sparc_init_style style, uint64_t seed, const char *name,
                         float *params) {
  const sparc_init_style own = SPARC_INIT_CLASSIFICATION;
  sparc_status status = init_fixed_spectrum(cell, style, own, seed, name, params);
  init_log_gain(own, cell->H, params + cell->block[LOG_DECAY].offset, params + cell->block[LOG_GAIN].offset);
  return status;
}

static const cell_description about = {
    .kind =
        {
            .name = "lru",
            .summary = "fixed complex modes with a free write gain",
            .features = POLICY_READOUT,
            .coordinates = 2,
            .options = options,
        },
    .layout = layout,
    .init = init,
};

static void derive(const sparc_cell *cell, const real *params, real *constants) {
  const size_t H = (size_t)cell->H;
  const real *log_gain = params + cell->block[LOG_GAIN].offset;
  derive_spectrum(cell, params, constants);
  for (size_t j = 0; j < H; j++) constants[K_GAIN * H + j] = (real)gain_of_log((double)log_gain[j]);
}

static void sums_gradient(const sparc_cell *cell, const real *constants, const double *sums, real *dparams) {
  const size_t H = (size_t)cell->H;
  const sparc_block *block = cell->block;
  for (size_t j = 0; j < H; j++) {
    dparams[block[LOG_DECAY].offset + j] += (real)through_lambda(cell, constants, sums, K_DECAY_RE, j);
    dparams[block[LOG_FREQ].offset + j] += (real)through_lambda(cell, constants, sums, K_FREQ_RE, j);
    dparams[block[LOG_GAIN].offset + j] += (real)((double)constants[K_GAIN * H + j] * sums[SUM_GAIN * H + j]);
  }
}

/* dh/dlambda is driven by the carried state, dh/dlog_gain by the write [eq:rtrl_recurrence] */
static void drivers(const sparc_cell *cell, const real *constants, const TYPED(token) * token, const real *kept,
                    const real *a, const real *b, real *outer, real *scalar) {
  (void)token, (void)a;
  const size_t S = cell->sizes.state;
  spectrum_content_drivers(cell, constants, outer);
  memcpy(scalar + SLOT_LAMBDA * S, kept, S * sizeof *scalar);
  memcpy(scalar + SLOT_GAIN * S, b, S * sizeof *scalar);
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

extern const cell_entry TYPED(cell_lru);
const cell_entry TYPED(cell_lru) = {&about, &ops};
