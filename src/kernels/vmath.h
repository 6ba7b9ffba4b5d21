/* SPDX-License-Identifier: MIT */
/* vmath.h: elementary functions written so that a loop around them becomes vector code on any instruction set.
 *
 * No branches, no tables, no range reduction beyond what the cell needs: every argument range is known. Errors are
 * measured by tests/test_vmath.c and stated in docs/numerics.md. The polynomials are minimax fits on the stated ranges.
 */
#ifndef SPARC_KERNELS_VMATH_H
#define SPARC_KERNELS_VMATH_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#define LOG2E 1.44269504088896341f

#define VMATH static inline __attribute__((always_inline))

VMATH float float_of_bits(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

VMATH uint32_t bits_of_float(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

/* a + b * (p - a) with p in {0, 1} would round; a select does not */
VMATH float select_float(int condition, float yes, float no) { return condition ? yes : no; }

/* The polynomials, lowest power first: (2^f - 1) / f for |f| <= 1/2; (sin x - x) / x^3 and (cos x - 1) / x^2 in x^2 for
 * |x| <= pi / 2. vlanes.h has the same functions over whole vectors. */
static const float EXP2M1[] = {.6931471879266888f,   .24022649794955653f,   .055503574334577005f,
                               .009618237494837853f, .0013390735592967648f, .0001540351260658707f};
static const float SINE[] = {-.16666659544557516f, .008333066082220373f, -.00019809590059915484f,
                             2.605750592870118e-6f};
static const float COSINE[] = {-.49999999549108837f, .04166664070744054f, -.0013888403219569495f,
                               2.4761870575758932e-5f, -2.607681567207143e-7f};

typedef struct decay_pair {
  float rho;       /* 2^x */
  float one_minus; /* 1 - 2^x, accurate to the last bits for x near 0 */
} decay_pair;

/* 2^f - 1 for |f| <= 1/2 */
VMATH float exp2m1_of(float f) {
  float p = EXP2M1[5];
  p = p * f + EXP2M1[4];
  p = p * f + EXP2M1[3];
  p = p * f + EXP2M1[2];
  p = p * f + EXP2M1[1];
  p = p * f + EXP2M1[0];
  return p * f;
}

/* 2^x and 1 - 2^x for x <= 0. Adding 1.5 * 2^23 + 127 rounds x to an integer n and leaves n + 127 in the low bits,
 * ready to be shifted into the exponent, where -127 makes 0; f = x - n is left for the polynomial. */
VMATH decay_pair decay_of(float x) {
  const float magic = 0x1.8p23f + 127;
  x = x < -127.0f ? -127.0f : x;
  const float shifted = x + magic, f = x - (shifted - magic), scale = float_of_bits(bits_of_float(shifted) << 23);
  const float q = exp2m1_of(f);
  return (decay_pair){scale * q + scale, -(scale * q + (scale - 1))};
}

typedef struct turn {
  float re, im; /* cos, sin */
} turn;

/* cos and sin for |x| <= pi / 2, no range reduction */
VMATH turn turn_of(float x) {
  const float y = x * x;
  float s = SINE[3], c = COSINE[4];
  s = s * y + SINE[2];
  c = c * y + COSINE[3];
  s = s * y + SINE[1];
  c = c * y + COSINE[2];
  s = s * y + SINE[0];
  c = c * y + COSINE[1];
  c = c * y + COSINE[0];
  return (turn){c * y + 1, s * (y * x) + x};
}

/* cos and sin for |x| <= WIDE_TURN_MAX: x - n pi in three steps, of which the first two are exact, and the sign from
 * the parity of n */
#define WIDE_TURN_MAX 2e4f
static const float PI_PARTS[] = {3.140625f, 9.67502593994140625e-4f, 1.509957990978376432e-7f};
#define INVERSE_PI .31830988618379067f

VMATH turn wide_turn_of(float x) {
  const float magic = 0x1.8p23f, shifted = x * INVERSE_PI + magic, n = shifted - magic;
  const turn t = turn_of(((x - n * PI_PARTS[0]) - n * PI_PARTS[1]) - n * PI_PARTS[2]);
  const uint32_t sign = bits_of_float(shifted) << 31;
  return (turn){float_of_bits(bits_of_float(t.re) ^ sign), float_of_bits(bits_of_float(t.im) ^ sign)};
}

/* tanh z = sign(z) one_minus / (1 + rho) with rho = exp(-2|z|), as a fraction so that several share one division */
typedef struct fraction {
  float over, under;
} fraction;

VMATH fraction tanh_fraction(float z) {
  const decay_pair d = decay_of(-2.8853900817779268f * fabsf(z));
  return (fraction){copysignf(d.one_minus, z), 1 + d.rho};
}

/* sigmoid z = 1 / (1 + exp(-z)), the small exponential whatever the sign */
VMATH fraction sigmoid_fraction(float z) {
  const decay_pair d = decay_of(-1.4426950408889634f * fabsf(z));
  return (fraction){select_float(z < 0, d.rho, 1), 1 + d.rho};
}

/* tanh z in double, for numbers that many others follow from: as above, 2^f - 1 by its series, to 1e-12 */
VMATH double tanh_of(double z) {
  const double magic = 0x1.8p52 + 1023;
  static const double series[] = {6.931471805599453e-1,  2.402265069591007e-1,  5.550410866482158e-2,
                                  9.618129107628477e-3,  1.3333558146428443e-3, 1.5403530393381608e-4,
                                  1.5252733804059841e-5, 1.3215486790144307e-6, 1.0178086009239699e-7,
                                  7.0549116208011233e-9};
  double x = -2.8853900817779268 * fabs(z);
  x = x < -100 ? -100 : x;
  const double shifted = x + magic, f = x - (shifted - magic);
  uint64_t bits;
  double scale, p = series[9];
  memcpy(&bits, &shifted, sizeof bits);
  bits <<= 52;
  memcpy(&scale, &bits, sizeof scale);
  for (int i = 8; i >= 0; i--) p = p * f + series[i];
  const double q = scale * (p * f);
  return copysign(((1 - scale) - q) / ((1 + scale) + q), z);
}

#endif
