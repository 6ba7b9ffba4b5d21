/* SPDX-License-Identifier: MIT */
/* support_device.h: problems of support.h on a device. */
#ifndef SPARC_TESTS_SUPPORT_DEVICE_H
#define SPARC_TESTS_SUPPORT_DEVICE_H

#include "sparc/device.h"
#include "support.h"

/* device_check fails the running test unless status is SPARC_OK */
void device_check(sparc_status status);

/* a zeroed block */
sparc_slice device_block(sparc_device *device, size_t bytes);

/* forward and backward in one plan; backward runs `times` times, each adds to dparams. Scratch is filled with NaN. */
void run_device(sparc_device *device, const problem *p, const sparc_device_plan_config *config, int times, result *r);

/* rounds numbers to bfloat16 */
void round_to_bf16(double *values, size_t n);

#endif
