/* SPDX-License-Identifier: MIT */
/* loops.h: bare loops that reach the peak rates of a machine: multiply-add chains in registers, and streams
 * through memory. One table per instruction set, chosen at run time. */
#ifndef SPARC_BENCH_LOOPS_H
#define SPARC_BENCH_LOOPS_H

#include <stddef.h>

/* arrays are aligned to 64 bytes, n is a multiple of LOOP_UNIT */
enum { LOOP_UNIT = 16 };

typedef struct bench_loops {
  const char *name;
  size_t flops; /* of one round of multiply_add */
  size_t width; /* floats of a vector */

  float (*multiply_add)(size_t rounds); /* the result only keeps the work alive */
  void (*copy)(float *restrict a, const float *restrict b, size_t n);
  void (*copy_nt)(float *restrict a, const float *restrict b, size_t n); /* NULL: no non-temporal stores here */
  void (*triad)(float *restrict a, const float *restrict b, const float *restrict c, size_t n); /* a = b + 3 c */
  void (*triad_nt)(float *restrict a, const float *restrict b, const float *restrict c, size_t n);
  /* in place, as a scaling and a sum would be, but without drift: a = -a, a = b - a */
  void (*negate)(float *a, size_t n);
  void (*subtract)(float *restrict a, const float *restrict b, size_t n);
} bench_loops;

/* bench_loops_for returns the table of the instruction set that a requested set of kernels (sparc_cell_config; NULL: as
 * the environment says, else the best) is made for: kernels are held against what their own instructions could do. */
const bench_loops *bench_loops_for(const char *requested);

#endif
