/* SPDX-License-Identifier: MIT */
/* clock.c: readings of clock_gettime as seconds. */
#include "base/clock.h"

double clock_seconds(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double seconds_now(void) { return clock_seconds(CLOCK_MONOTONIC); }
