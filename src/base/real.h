/* SPDX-License-Identifier: MIT */
/* real.h: one source, two precisions.
 *
 * Files that include this header are compiled twice: with real = float (the product) and with
 * real = double (SPARC_DOUBLE: gradient checks, `sparc check --double`). Names that the linker sees
 * carry the precision: TYPED(affine_forward) is affine_forward_f32 or affine_forward_f64, and
 * PUBLIC(sparc_step) is sparc_step or sparc_step_f64.
 */
#ifndef SPARC_BASE_REAL_H
#define SPARC_BASE_REAL_H

#include <math.h>

#ifdef SPARC_DOUBLE
typedef double real;
#define TYPED(name)  name##_f64
#define PUBLIC(name) name##_f64
#define REAL_NAME    "float64"
#define REAL_EPSILON 0x1p-52
#else
typedef float real;
#define TYPED(name)  name##_f32
#define PUBLIC(name) name
#define REAL_NAME    "float32"
#define REAL_EPSILON 0x1p-23f
#endif

/* the C library's functions in the precision of real */
#ifdef SPARC_DOUBLE
static inline real r_exp(real x) { return exp(x); }
static inline real r_expm1(real x) { return expm1(x); }
static inline real r_tanh(real x) { return tanh(x); }
static inline real r_sqrt(real x) { return sqrt(x); }
static inline real r_sin(real x) { return sin(x); }
static inline real r_cos(real x) { return cos(x); }
static inline real r_fmax(real x, real y) { return fmax(x, y); }
#else
static inline real r_exp(real x) { return expf(x); }
static inline real r_expm1(real x) { return expm1f(x); }
static inline real r_tanh(real x) { return tanhf(x); }
static inline real r_sqrt(real x) { return sqrtf(x); }
static inline real r_sin(real x) { return sinf(x); }
static inline real r_cos(real x) { return cosf(x); }
static inline real r_fmax(real x, real y) { return fmaxf(x, y); }
#endif

/* 1 / (1 + exp(-x)) without overflow at either end */
static inline real r_sigmoid(real x) {
  real t = r_exp(x < 0 ? x : -x);
  return x < 0 ? t / (1 + t) : 1 / (1 + t);
}

#endif
