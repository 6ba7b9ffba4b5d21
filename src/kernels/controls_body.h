/* SPDX-License-Identifier: MIT */
/* controls_body.h: what the transitions of a token need of its two controls, for many tokens at once. */
#ifndef SPARC_KERNELS_CONTROLS_BODY_H
#define SPARC_KERNELS_CONTROLS_BODY_H

#include "kernels/vmath.h"

#include <stddef.h>

enum { SCAN_TOKENS = 32 }; /* whose controls are prepared together */

/* exp(kappa_r r) and kappa_p p */
typedef struct scan_controls {
  float scale[SCAN_TOKENS], phase[SCAN_TOKENS];
} scan_controls;

/* controls (n, 2): r, p. The exponent is reduced in double: what it is off by, every mode is off by. As in decay_of, a
 * large number added leaves the exponent in the low bits, so that a control that is not a number needs no care. */
static void controls_of(const float *controls, float kappa_r, float kappa_p, size_t n, scan_controls *out) {
  const double rate = (double)kappa_r * 1.44269504088896340736, magic = 0x1.8p52 + 127;
#pragma omp simd
  for (size_t i = 0; i < n; i++) {
    const double x = rate * (double)controls[2 * i], shifted = x + magic;
    const float f = (float)(x - (shifted - magic));
    uint64_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    const float power = float_of_bits((uint32_t)bits << 23);
    out->scale[i] = power * exp2m1_of(f) + power;
    out->phase[i] = kappa_p * controls[2 * i + 1];
  }
}

#endif
