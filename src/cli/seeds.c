/* SPDX-License-Identifier: MIT */
/* seeds.c: what --seeds says. */
#include "cli/seeds.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

sparc_status seeds_parse(const char *text, uint64_t *first, int *count) {
  char *end;
  const unsigned long long a = strtoull(text, &end, 10);
  const char *second = *end == '-' ? end + 1 : text;
  const unsigned long long b = strtoull(second, &end, 10);
  if (strspn(text, "0123456789-") != strlen(text) || *text == '-' || *second == '-' || !*second || *end || b < a ||
      b - a >= MOST_SEEDS)
    return fail(SPARC_INVALID, "--seeds is '%.60s', expected A-B, at most %d seeds", text, MOST_SEEDS);
  *first = a;
  *count = (int)(b - a) + 1;
  return SPARC_OK;
}
