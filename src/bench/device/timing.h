/* SPDX-License-Identifier: MIT */
/* timing.h: times of work on a device, by the clock of the host around calls that wait. */
#ifndef SPARC_BENCH_DEVICE_TIMING_H
#define SPARC_BENCH_DEVICE_TIMING_H

#include "sparc/device.h"

/* enqueues one call; `call` counts from 0 */
typedef sparc_status (*device_work)(void *context, size_t call);

/* device_time gives the seconds of a call: the median over rounds of calls, which take about `seconds` in all. A call
 * that is not timed goes before. */
sparc_status device_time(sparc_device *device, device_work work, void *context, double seconds, double *out);

/* device_copy_rate gives the bytes per second that a copy within the device's memory reads and writes. */
sparc_status device_copy_rate(sparc_device *device, double seconds, double *out);

#endif
