/* SPDX-License-Identifier: MIT */
/* fill.c: see fill.h. */
#include "bench/device/fill.h"

#include "base/error.h"
#include "bench/problem.h"
#include "sparc/bf16.h"

#include <math.h>

static void draw(float *values, size_t n, const char *name, float low, float high) {
  bench_fill(values, n, name);
  for (size_t i = 0; i < n && low < high; i++)
    values[i] = low + (high - low) * (0.5f + 0.5f * values[i] / (1 + fabsf(values[i])));
}

sparc_status device_fill(sparc_slice to, size_t n, bool bf16, const char *name, float low, float high) {
  enum { PERIOD = 1 << 20 };
  const size_t drawn = n < PERIOD ? n : PERIOD, element = bf16 ? sizeof(sparc_bf16) : sizeof(float);
  float *values = sparc_alloc(drawn * sizeof *values);
  sparc_bf16 *narrow = sparc_alloc(drawn * sizeof *narrow);
  if (!values || !narrow) {
    sparc_free(values);
    sparc_free(narrow);
    return fail(SPARC_NO_MEMORY, "no memory for %zu numbers", drawn);
  }
  draw(values, drawn, name, low, high);
  sparc_bf16_from_floats(drawn, values, narrow);
  sparc_status status = SPARC_OK;
  for (size_t at = 0; at < n && status == SPARC_OK; at += drawn) {
    const sparc_slice part = {to.memory, to.offset + at * element};
    status = sparc_memory_write(part, bf16 ? (void *)narrow : values, (n - at < drawn ? n - at : drawn) * element);
  }
  sparc_free(values);
  sparc_free(narrow);
  return status;
}
