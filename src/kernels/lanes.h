/* SPDX-License-Identifier: MIT */
/* lanes.h: one register of floats, for kernels that say themselves which numbers stay in registers. */
#ifndef SPARC_KERNELS_LANES_H
#define SPARC_KERNELS_LANES_H

#include "kernels/vmath.h"

#include <float.h>
#include <stddef.h>
#include <string.h>

#if defined(__SSE2__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#if defined(__AVX512F__)
enum { LANES = 16 };
#elif defined(__AVX__)
enum { LANES = 8 };
#else
enum { LANES = 4 };
#endif

enum { CACHE_LINE_FLOATS = 16 };

/* registers of that kind: how much a kernel may keep at hand at once */
#if defined(__AVX512F__) || defined(__aarch64__)
enum { REGISTERS = 32 };
#else
enum { REGISTERS = 16 };
#endif

typedef float lanes __attribute__((vector_size(4 * LANES)));

VMATH lanes load_lanes(const float *from) {
  lanes v;
  memcpy(&v, from, sizeof v);
  return v;
}

VMATH void store_lanes(float *to, lanes v) { memcpy(to, &v, sizeof v); }

/* the first n numbers, and zeros; the other way, the first n lanes. Out of line: only the end of a row comes here. */
static __attribute__((noinline, unused)) lanes load_rest(const float *from, size_t n) {
  float padded[LANES] = {0};
  memcpy(padded, from, n * sizeof(float));
  return load_lanes(padded);
}

static __attribute__((noinline, unused)) void store_rest(float *to, lanes v, size_t n) {
  memcpy(to, &v, n * sizeof(float));
}

/* the same number in every lane */
VMATH lanes every_lane(float x) { return x - (lanes){0}; }

/* ---- single instructions that C does not name ---------------------------------------------------- */

/* min_lanes and max_lanes give the second argument where it is not a number: a limit must not hide one */
#if defined(__AVX512F__)
VMATH lanes max_lanes(lanes limit, lanes x) { return (lanes)_mm512_max_ps((__m512)limit, (__m512)x); }
VMATH lanes min_lanes(lanes limit, lanes x) { return (lanes)_mm512_min_ps((__m512)limit, (__m512)x); }
#elif defined(__AVX__)
VMATH lanes max_lanes(lanes limit, lanes x) { return (lanes)_mm256_max_ps((__m256)limit, (__m256)x); }
VMATH lanes min_lanes(lanes limit, lanes x) { return (lanes)_mm256_min_ps((__m256)limit, (__m256)x); }
#elif defined(__SSE2__)
VMATH lanes max_lanes(lanes limit, lanes x) { return (lanes)_mm_max_ps((__m128)limit, (__m128)x); }
VMATH lanes min_lanes(lanes limit, lanes x) { return (lanes)_mm_min_ps((__m128)limit, (__m128)x); }
#elif defined(__aarch64__)
VMATH lanes max_lanes(lanes limit, lanes x) { return (lanes)vmaxq_f32((float32x4_t)limit, (float32x4_t)x); }
VMATH lanes min_lanes(lanes limit, lanes x) { return (lanes)vminq_f32((float32x4_t)limit, (float32x4_t)x); }
#else
VMATH lanes max_lanes(lanes limit, lanes x) {
  for (size_t i = 0; i < LANES; i++) x[i] = limit[i] > x[i] ? limit[i] : x[i];
  return x;
}
VMATH lanes min_lanes(lanes limit, lanes x) {
  for (size_t i = 0; i < LANES; i++) x[i] = limit[i] < x[i] ? limit[i] : x[i];
  return x;
}
#endif

/* 1 / x, and the roots of x and 1 / x for x above 0 (smaller than any normal float: as that one). Wide divisions and
 * roots keep a port of AVX-512 busy for 10 to 18 cycles; an estimate of 14 bits and one step of Newton's method take 4
 * and are as exact to a unit in the last place. */
#if defined(__AVX512F__)
/* a b + c and c - a b, rounded once whatever the compiler makes of sums of products: a remainder needs that */
VMATH lanes plus_product(lanes c, lanes a, lanes b) { return (lanes)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c); }
VMATH lanes minus_product(lanes c, lanes a, lanes b) {
  return (lanes)_mm512_fnmadd_ps((__m512)a, (__m512)b, (__m512)c);
}

VMATH lanes inverse_of(lanes x) {
  const lanes guess = (lanes)_mm512_rcp14_ps((__m512)x);
  return plus_product(guess, guess, minus_product(every_lane(1), x, guess));
}

VMATH void roots_of(lanes x, lanes *root, lanes *inverse) {
  x = max_lanes(every_lane(FLT_MIN), x);
  const lanes guess = (lanes)_mm512_rsqrt14_ps((__m512)x), near = x * guess;
  const lanes half = minus_product(every_lane(.5f), .5f * near, guess);
  *root = plus_product(near, near, half);
  *inverse = plus_product(guess, guess, half);
}
#else
VMATH lanes inverse_of(lanes x) { return 1 / x; }

VMATH void roots_of(lanes x, lanes *root, lanes *inverse) {
  x = max_lanes(every_lane(FLT_MIN), x);
#if defined(__AVX__)
  *root = (lanes)_mm256_sqrt_ps((__m256)x);
#elif defined(__SSE2__)
  *root = (lanes)_mm_sqrt_ps((__m128)x);
#elif defined(__aarch64__)
  *root = (lanes)vsqrtq_f32((float32x4_t)x);
#else
  for (size_t i = 0; i < LANES; i++) (*root)[i] = sqrtf(x[i]);
#endif
  *inverse = 1 / *root;
}
#endif

/* halves are added until one number is left */
VMATH float sum_lanes(lanes v) {
  float part[LANES];
  store_lanes(part, v);
  for (size_t half = LANES / 2; half > 0; half /= 2)
    for (size_t i = 0; i < half; i++) part[i] += part[i + half];
  return part[0];
}

/* PIN keeps a vector in a register: without it the compiler loads an operand again for every multiply-add that uses it,
 * and loads become the limit */
#if defined(__AVX512F__)
#define PIN(v) __asm__("" : "+v"(v))
#elif defined(__x86_64__)
#define PIN(v) __asm__("" : "+x"(v))
#elif defined(__aarch64__)
#define PIN(v) __asm__("" : "+w"(v))
#else
#define PIN(v) (void)(v)
#endif

#endif
