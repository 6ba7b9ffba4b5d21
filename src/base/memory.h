/* SPDX-License-Identifier: MIT */
/* memory.h: arenas. A table of sizes, one block, a bump pointer: callers state what they need, take one
 * aligned block and carve it up in the same order. */
#ifndef SPARC_BASE_MEMORY_H
#define SPARC_BASE_MEMORY_H

#include "sparc/base.h"

#include <stddef.h>

enum { CACHE_LINE = 64 };

/* An arena hands out aligned pieces of a block it does not own. With base == NULL it only measures:
 * run the same carving code twice, first to learn the size, then to place the pieces. */
typedef struct arena {
  char *base;
  size_t used, capacity;
} arena;

static inline arena arena_measure(void) { return (arena){NULL, 0, (size_t)-1}; }
static inline arena arena_over(void *base, size_t capacity) { return (arena){(char *)base, 0, capacity}; }

/* arena_take returns count * size bytes on a cache line, or NULL while measuring */
void *arena_take(arena *a, size_t count, size_t size);

/* checked arithmetic for sizes that come from users: returns 0 and sets *overflow instead of wrapping */
size_t size_product(size_t a, size_t b, int *overflow);

#endif
