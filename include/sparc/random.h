/* SPDX-License-Identifier: MIT */
/* random.h: counter-based random streams.
 *
 * A stream is keyed by (seed, purpose, name), for example (1, "init", "content.weight") or (1, "env", "12"). The value
 * at a position is a pure function of the key and the position, so results depend neither on the order of execution nor
 * on the number of threads, and two models with equal array names get equal arrays.
 *
 * The generator is Philox4x32-10 of Random123. A stream is a small value: copy it to fork it or to continue
 * it later. Positions count 32-bit words; the number of words per draw is given below.
 */
#ifndef SPARC_RANDOM_H
#define SPARC_RANDOM_H

#include "sparc/base.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Word number `position` of a stream is word position % 4 of the Philox block with the 64-bit key `key` and the 128-bit
 * counter (position / 4, stream). `words` caches that block while position is not a multiple of 4. */
typedef struct sparc_random {
  uint32_t key[2];
  uint32_t stream[2];
  uint64_t position;
  uint32_t words[4];
} sparc_random;

/* Open the stream (seed, purpose, name) at position 0. NULL counts as "".
 *
 * With P = Philox4x32-10 under the key (0x243f6a88, 0x85a308d3), start from
 *   s = P(seed low, seed high, length of purpose, length of name),
 * then, for the bytes of purpose and after them those of name, in pieces of 16 padded with zeros and read as four
 * little-endian words m, let s = P(s xor m). The first two words of s are the key, the others the stream. P is a
 * bijection: for given strings no two seeds share a stream, and for a given seed and purpose no two names of one length
 * up to 16 do. */
SPARC_API void sparc_random_init(sparc_random *r, uint64_t seed, const char *purpose, const char *name);

/* Draw from the uniform distribution on (0,1): an odd multiple of 2^-53, never 0 or 1. Two words. */
SPARC_API double sparc_random_uniform(sparc_random *r);

/* Draw uniformly from {0, ..., n-1} without bias; 0 for n = 0. One word, more with probability below n / 2^32. */
SPARC_API uint32_t sparc_random_below(sparc_random *r, uint32_t n);

/* Draw from the standard normal distribution, by the quantile of one uniform. Two words. */
SPARC_API double sparc_random_normal(sparc_random *r);

#ifdef __cplusplus
}
#endif

#endif
