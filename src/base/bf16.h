/* SPDX-License-Identifier: MIT */
/* bf16.h: bfloat16, the upper half of a float's bits, and the rounding to it.
 *
 * Integer arithmetic only, so that the floating-point mode (rounding, flushed denormals) has no effect; subnormals and
 * infinities need no special case. No branches, so that compilers vectorise a loop around it.
 */
#ifndef SPARC_BASE_BF16_H
#define SPARC_BASE_BF16_H

#include <stdint.h>
#include <string.h>

/* to nearest, ties to even; the carry of a large number runs into infinity, as it should. Adding to a NaN could carry
 * as well, so a NaN is cut and made quiet. */
static inline uint16_t bf16_of_float_bits(uint32_t bits) {
  const uint32_t nearest = (bits + 0x7fff + (bits >> 16 & 1)) >> 16, quiet = bits >> 16 | 0x40;
  return (uint16_t)((bits & 0x7fffffff) > 0x7f800000 ? quiet : nearest);
}

/* exact: every bfloat16 is a float */
static inline uint32_t float_bits_of_bf16(uint16_t value) { return (uint32_t)value << 16; }

static inline uint16_t bf16_from_float(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bf16_of_float_bits(bits);
}

static inline float float_from_bf16(uint16_t value) {
  const uint32_t bits = float_bits_of_bf16(value);
  float out;
  memcpy(&out, &bits, sizeof out);
  return out;
}

#endif
