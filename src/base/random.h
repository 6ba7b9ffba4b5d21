/* SPDX-License-Identifier: MIT */
/* random.h: draws and initialisers besides those of sparc/random.h. Those that return a status leave the array and the
 * stream unchanged when it is not SPARC_OK. */
#ifndef SPARC_BASE_RANDOM_H
#define SPARC_BASE_RANDOM_H

#include "sparc/random.h"

/* move to a position */
void random_seek(sparc_random *r, uint64_t position);
/* 32 bits (one word), or 64 bits (two words, low half first) */
uint32_t random_u32(sparc_random *r);
uint64_t random_u64(sparc_random *r);
/* uniform on (0,1) in single precision: an odd multiple of 2^-24; one word */
float random_uniform_f32(sparc_random *r);
/* standard normal conditioned on [-2, 2], by the inverse distribution function; two words */
double random_truncated_normal(sparc_random *r);
/* a uniformly random order of count values, in place, and of 0 ... count-1; one draw of sparc_random_below for each
 * value but the first */
void random_shuffle(sparc_random *r, int *values, int count);
void random_permutation(sparc_random *r, int *values, int count);
/* count draws uniform between lo and hi (an end can be reached by the rounding), each computed in double and rounded once
 * to float; two words each */
void random_fill_uniform(sparc_random *r, float *values, size_t count, double lo, double hi);

/* count draws from the normal distribution with mean 0, computed in double; two words each */
void random_fill_normal(sparc_random *r, float *values, size_t count, double stddev);

/* truncated normal on [-2, 2] scaled to variance 1 / fan_in; two words each */
sparc_status random_lecun_normal(sparc_random *r, float *values, size_t count, int fan_in);
/* uniform on +- 1 / sqrt(fan_in); two words each */
sparc_status random_torch_uniform(sparc_random *r, float *values, size_t count, int fan_in);
/* A rows x cols matrix (row-major) of gain times orthonormal columns, or orthonormal rows when it is wider than tall:
 * the Q factor of a normal matrix whose R has a positive diagonal, hence uniform over such matrices. Computed in double;
 * 2 * rows * cols words. */
sparc_status random_orthogonal(sparc_random *r, float *values, int rows, int cols, double gain);
/* The squared radius s of an area-uniform point of the ring rmin <= radius <= rmax, clamped to [1e-12, 1 - 1e-7] so that
 * log(s) and log(1 - s) are finite: radius sqrt(s), decay -log(s) / 2. Two words. */
double random_ring(sparc_random *r, double rmin, double rmax);
/* A phase c * V with V uniform on (0,1) and at least 1e-7, so that its logarithm is finite for c > 0. Two words. */
double random_phase(sparc_random *r, double c);

/* normal_quantile returns x with P(normal <= x) = 1/2 + q, for |q| < 1/2. Centred at the median so that it is an
 * exactly odd function. */
double normal_quantile(double q);

/* orthonormal_draw fills vectors [count][length], count <= length, with orthonormal vectors: the columns of Q in A = Q
 * R with R's diagonal positive, where A [length][count] is normal and drawn column by column. diagonal [count] is work.
 */
void orthonormal_draw(sparc_random *r, double *restrict vectors, double *restrict diagonal, size_t count,
                      size_t length);

#endif
