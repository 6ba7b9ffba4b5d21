/* SPDX-License-Identifier: MIT */
/* random.h: random streams and the initialisers drawn from them.
 *
 * A stream is keyed by (seed, purpose, name): "init" and "content.weight", "env" and "12". What it yields
 * at a position is a pure function of the key and of that position, so neither the order of execution nor
 * the number of threads can change a number, and two models that name an array alike get the same array.
 *
 * The generator is Philox4x32-10 of Random123. A stream is a small value: copy it to fork it, store
 * sparc_random_tell() to continue it later. Positions count the 32-bit words drawn; each draw says below
 * how many words it takes.
 */
#ifndef SPARC_RANDOM_H
#define SPARC_RANDOM_H

#include "sparc/base.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Word number `position` of a stream is word position % 4 of the Philox block with the 64-bit key `key`
 * and the 128-bit counter (position / 4, stream). The 128 bits of key and stream come from the hash that
 * sparc_random_init describes. `words` caches that block whenever position is not a multiple of four. */
typedef struct sparc_random {
  uint32_t key[2];
  uint32_t stream[2];
  uint64_t position;
  uint32_t words[4];
} sparc_random;

/* sparc_random_init opens the stream (seed, purpose, name) at position 0; NULL counts as "".
 *
 * With P = Philox4x32-10 under the key (0x243f6a88, 0x85a308d3), start from
 *   s = P(seed low, seed high, length of purpose, length of name),
 * then, for the bytes of purpose and after them those of name, in pieces of 16 padded with zeros and read
 * as four little-endian words m, let s = P(s xor m). The first two words of s are the key, the others the
 * stream. P is a bijection: for given strings no two seeds share a stream, and for a given seed and
 * purpose no two names of one length up to 16 do. */
SPARC_API void sparc_random_init(sparc_random *r, uint64_t seed, const char *purpose, const char *name);

/* sparc_random_tell returns how many words were drawn; sparc_random_seek goes to any such position. */
SPARC_API uint64_t sparc_random_tell(const sparc_random *r);
SPARC_API void sparc_random_seek(sparc_random *r, uint64_t position);

/* ---- draws ---- */

/* all 32 bits (one word) or 64 bits (two words, the low half first) */
SPARC_API uint32_t sparc_random_u32(sparc_random *r);
SPARC_API uint64_t sparc_random_u64(sparc_random *r);

/* uniform on (0,1), never 0 or 1, symmetric about 1/2: the odd multiples of 2^-53 (two words), or of 2^-24 for
 * the single-precision form (one word) */
SPARC_API double sparc_random_uniform(sparc_random *r);
SPARC_API float sparc_random_uniform_f32(sparc_random *r);

/* uniform on {0, ..., n-1} without bias; 0 for n = 0. One word, more when a word is rejected, which happens with
 * probability below n / 2^32. */
SPARC_API uint32_t sparc_random_below(sparc_random *r, uint32_t n);

/* standard normal by the inverse distribution function of one uniform: two words each, no hidden second value */
SPARC_API double sparc_random_normal(sparc_random *r);

/* standard normal conditioned on [-2, 2], by the inverse distribution function: two words */
SPARC_API double sparc_random_truncated_normal(sparc_random *r);

/* a uniformly random order of count values, in place, and a random order of 0 ... count-1; one draw of
 * sparc_random_below for each value but the first */
SPARC_API void sparc_random_shuffle(sparc_random *r, int *values, int count);
SPARC_API void sparc_random_permutation(sparc_random *r, int *values, int count);

/* count draws, each computed in double and rounded once to float, two words each: normal with mean 0, and uniform
 * between lo and hi (an end can be reached by the rounding) */
SPARC_API void sparc_random_fill_normal(sparc_random *r, float *values, size_t count, double deviation);
SPARC_API void sparc_random_fill_uniform(sparc_random *r, float *values, size_t count, double lo, double hi);

/* ---- initialisers ----
 *
 * Those that return a status leave the array and the stream as they were when it is not SPARC_OK. */

/* truncated normal on [-2, 2] scaled to variance 1 / fan_in; two words each */
SPARC_API sparc_status sparc_random_lecun_normal(sparc_random *r, float *values, size_t count, int fan_in);

/* uniform on +- 1 / sqrt(fan_in); two words each */
SPARC_API sparc_status sparc_random_torch_uniform(sparc_random *r, float *values, size_t count, int fan_in);

/* A rows x cols matrix (row-major) of gain times orthonormal columns, or orthonormal rows when it is wider than tall:
 * the Q factor of a normal matrix whose R has a positive diagonal, hence uniform over such matrices. Computed
 * in double; 2 * rows * cols words. */
SPARC_API sparc_status sparc_random_orthogonal(sparc_random *r, float *values, int rows, int cols, double gain);

/* The squared radius s of an area-uniform point of the ring rmin <= radius <= rmax, kept inside [1e-12, 1 - 1e-7] so
 * that log(s) and log(1 - s) are finite: radius sqrt(s), decay -log(s) / 2. Two words. */
SPARC_API double sparc_random_ring(sparc_random *r, double rmin, double rmax);

/* A phase c * V with V uniform on (0,1) and not below 1e-7, so that its logarithm is finite for c > 0. Two words. */
SPARC_API double sparc_random_phase(sparc_random *r, double c);

#ifdef __cplusplus
}
#endif

#endif
