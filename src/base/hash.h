/* SPDX-License-Identifier: MIT */
/* hash.h: FNV-1a with 64 bits. Detects accidental changes; not collision-resistant against an adversary.
 */
#ifndef SPARC_BASE_HASH_H
#define SPARC_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_START UINT64_C(0xcbf29ce484222325) /* the hash of no bytes */

/* hash_bytes continues a hash with bytes. */
static inline uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t size) {
  const unsigned char *byte = bytes;
  for (size_t i = 0; i < size; i++) hash = (hash ^ byte[i]) * UINT64_C(0x100000001b3);
  return hash;
}

#endif
