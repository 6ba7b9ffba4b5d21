/* SPDX-License-Identifier: MIT */
/* lanes.h: one register of floats, for kernels that say themselves which numbers stay in registers. */
#ifndef SPARC_KERNELS_LANES_H
#define SPARC_KERNELS_LANES_H

#include "kernels/vmath.h"

#include <stddef.h>
#include <string.h>

#if defined(__AVX512F__)
enum { LANES = 16 };
#elif defined(__AVX__)
enum { LANES = 8 };
#else
enum { LANES = 4 };
#endif

enum { CACHE_LINE_FLOATS = 16 };

typedef float lanes __attribute__((vector_size(4 * LANES)));

VMATH lanes load_lanes(const float *from) {
  lanes v;
  memcpy(&v, from, sizeof v);
  return v;
}

VMATH void store_lanes(float *to, lanes v) { memcpy(to, &v, sizeof v); }

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
