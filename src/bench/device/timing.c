/* SPDX-License-Identifier: MIT */
/* timing.c: see timing.h. */
#include "bench/device/timing.h"

#include "bench/timer.h"

#include <stdlib.h>

static int compare(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* seconds of n calls that follow each other */
static sparc_status time_round(sparc_device *device, device_work work, void *context, size_t n, size_t *call,
                               double *seconds) {
  const double start = bench_now();
  for (size_t i = 0; i < n; i++) {
    const sparc_status status = work(context, (*call)++);
    if (status != SPARC_OK) return status;
  }
  const sparc_status status = sparc_device_wait(device);
  *seconds = bench_now() - start;
  return status;
}

sparc_status device_time(sparc_device *device, device_work work, void *context, double seconds, double *out) {
  enum { FEWEST = 3, MOST = 31, CALLS = 1000 };
  const double round = seconds / MOST;
  double times[MOST] = {0}, one = 0, spent = 0;
  size_t call = 0, rounds = 0;
  sparc_status status = time_round(device, work, context, 1, &call, &one); /* drivers compile at the first launch */
  if (status == SPARC_OK) status = time_round(device, work, context, 1, &call, &one);
  const size_t n = one * CALLS < round ? CALLS : one < round ? (size_t)(round / one) : 1;
  while (status == SPARC_OK && rounds < MOST && (rounds < FEWEST || spent < seconds)) {
    status = time_round(device, work, context, n, &call, &times[rounds]);
    spent += times[rounds];
    times[rounds++] /= (double)n;
  }
  if (status != SPARC_OK) return status;
  qsort(times, rounds, sizeof *times, compare);
  *out = times[rounds / 2];
  return SPARC_OK;
}

/* ---- copies ------------------------------------------------------------------------------------- */

typedef struct copy_work {
  sparc_slice from, to;
  size_t bytes;
} copy_work;

static sparc_status copy_once(void *context, size_t call) {
  const copy_work *c = context;
  return sparc_memory_copy(call % 2 ? c->to : c->from, call % 2 ? c->from : c->to, c->bytes);
}

sparc_status device_copy_rate(sparc_device *device, double seconds, double *out) {
  enum { SHARE = 8 };
  const sparc_device_info info = sparc_device_info_of(device);
  const size_t most = (size_t)512 << 20; /* far beyond any cache */
  size_t bytes = info.memory / SHARE < info.largest ? info.memory / SHARE : info.largest;
  bytes = bytes < most ? bytes : most;
  copy_work c = {.bytes = bytes};
  double time = 0;
  sparc_status status = sparc_memory_create(device, bytes, &c.from.memory);
  if (status == SPARC_OK) status = sparc_memory_create(device, bytes, &c.to.memory);
  if (status == SPARC_OK) status = device_time(device, copy_once, &c, seconds, &time);
  sparc_memory_free(c.from.memory);
  sparc_memory_free(c.to.memory);
  if (status == SPARC_OK) *out = 2 * (double)bytes / time;
  return status;
}
