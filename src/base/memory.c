/* SPDX-License-Identifier: MIT */
/* memory.c: aligned allocation with huge pages for large blocks, and arenas over caller memory. */
#include "base/memory.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { HUGE_PAGE = 2 << 20, HUGE_FROM = 4 << 20 };

void *sparc_alloc(size_t bytes) {
  size_t alignment = bytes >= HUGE_FROM ? HUGE_PAGE : CACHE_LINE;
  if (bytes > SIZE_MAX - alignment) return NULL;
  size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  if (rounded == 0) rounded = alignment;
  void *memory = aligned_alloc(alignment, rounded);
  if (!memory) return NULL;
  /* a refusal of huge pages costs speed, not correctness */
  if (rounded >= HUGE_FROM) (void)madvise(memory, rounded, MADV_HUGEPAGE);
  return memset(memory, 0, rounded);
}

void sparc_free(void *memory) { free(memory); }

void *arena_take(arena *a, size_t count, size_t size) {
  size_t bytes = (count * size + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
  assert(a->used + bytes <= a->capacity);
  void *piece = a->base ? a->base + a->used : NULL;
  a->used += bytes;
  return piece;
}

size_t size_product(size_t a, size_t b, int *overflow) {
  if (b != 0 && a > SIZE_MAX / b) {
    *overflow = 1;
    return 0;
  }
  return a * b;
}
