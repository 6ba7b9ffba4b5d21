/* SPDX-License-Identifier: MIT */
/* block.c: checks of a block of the caller. */
#include "base/block.h"

#include "base/error.h"
#include "base/memory.h"

#include <stdint.h>

sparc_status check_block(const void *block, const char *name) {
  if (!block) return fail(SPARC_INVALID, "%s is NULL", name);
  const unsigned beyond = (unsigned)((uintptr_t)block % CACHE_LINE);
  if (beyond == 0) return SPARC_OK;
  return fail(SPARC_INVALID,
              "%s begins %u bytes after a multiple of %d, expected a block of sparc_alloc or one as aligned", name,
              beyond, (int)CACHE_LINE);
}
