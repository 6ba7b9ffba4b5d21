/* SPDX-License-Identifier: MIT */
/* naive.h: the naive way on a device: one step of all streams after the other, each a call of its own, forward and then
 * backward, as an eager program would do it. */
#ifndef SPARC_BENCH_DEVICE_NAIVE_H
#define SPARC_BENCH_DEVICE_NAIVE_H

#include "bench/device/mixer.h"

typedef struct device_naive device_naive;

/* device_naive_create makes the arrays of config: config->T steps of config->B streams. */
sparc_status device_naive_create(sparc_device *device, const device_mixer_config *config, device_naive **out);
void device_naive_free(device_naive *n); /* may be NULL */

sparc_status device_naive_forward(const device_naive *n);
sparc_status device_naive_backward(const device_naive *n);

#endif
