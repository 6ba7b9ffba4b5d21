/* SPDX-License-Identifier: MIT */
#include "cells/spectral.h"

#include "base/random.h"

#include <math.h>

double decay_of_log(double log_decay) { return fmin(fmax(exp(log_decay), 1e-30), 1e25); }
double freq_of_log(double log_freq) { return fmin(exp(log_freq), 1e12); }
double gain_of_log(double log_gain) { return fmin(exp(log_gain), 1e12); }

void init_spectrum(sparc_init_style style, uint64_t seed, const char *name, int H, float *log_decay, float *log_freq) {
  const bool control = style != SPARC_INIT_CLASSIFICATION;
  sparc_random radius = block_stream(seed, name, "log_decay"), phase = block_stream(seed, name, "log_freq");
  for (int j = 0; j < H; j++) {
    const double square = control ? random_ring(&radius, 0, 1) : random_ring(&radius, 0.9, 0.999);
    log_decay[j] = (float)log(-0.5 * log(square));
    log_freq[j] = (float)log(random_phase(&phase, control ? 6.28 : 2 * 3.14159265358979323846));
  }
}

void init_log_gain(sparc_init_style style, int H, const float *log_decay, float *log_gain) {
  for (int j = 0; j < H; j++) {
    const double gain = sqrt(-expm1(-2 * exp((double)log_decay[j])));
    log_gain[j] = (float)log(style == SPARC_INIT_CONTROL ? gain + 1e-8 : gain);
  }
}

sparc_status init_content(sparc_init_style style, uint64_t seed, const char *name, int D, const sparc_block *block,
                          float *params) {
  sparc_random stream = block_stream(seed, name, block->name);
  if (style == SPARC_INIT_CONTROL) return random_lecun_normal(&stream, params + block->offset, block->size, D);
  random_fill_normal(&stream, params + block->offset, block->size, 1 / sqrt(2.0 * D));
  return SPARC_OK;
}
