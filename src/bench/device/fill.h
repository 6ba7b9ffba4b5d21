/* SPDX-License-Identifier: MIT */
/* fill.h: random numbers in the memory of a device. */
#ifndef SPARC_BENCH_DEVICE_FILL_H
#define SPARC_BENCH_DEVICE_FILL_H

#include "sparc/device.h"

#include <stdbool.h>

/* device_fill writes n numbers, float or bfloat16, from the stream of that name: standard normal, or between low and
 * high where these differ. Long arrays repeat them. */
sparc_status device_fill(sparc_slice to, size_t n, bool bf16, const char *name, float low, float high);

#endif
