/* SPDX-License-Identifier: MIT */
/* support_device.h: problems of support.h on a device. */
#ifndef SPARC_TESTS_SUPPORT_DEVICE_H
#define SPARC_TESTS_SUPPORT_DEVICE_H

#include "sparc/device.h"
#include "support.h"

/* ---- the device of a test program ------------------------------------------------------------------ */

/* from its arguments BACKEND[:INDEX] [COUNT]: opencl without them */
typedef struct device_under_test {
  sparc_device_config config;
  sparc_device *device; /* NULL: there is none */
  int random_shapes;    /* COUNT: how many random shapes to compare; 0: few sets of kernels, for a short test */
} device_under_test;

extern device_under_test under_test;

void device_arguments(int argc, char **argv);
/* setup and teardown of a group; without a device tests are skipped with a message */
int open_device(void **state);
int close_device(void **state);
/* skips the running test where there is no device */
void need_device(void);

/* ---- planted mistakes ------------------------------------------------------------------------------ */

/* plant_mistake makes a mistake in all kernels that a device compiles from now on: a test must notice it. open_device
 * plants the one that DEVICE_PLANT names in the environment. False: there is none of this name. */
bool plant_mistake(sparc_device *device, const char *name);
/* a text with that mistake, in memory of malloc; the program ends where the text has no place for it */
char *text_with_mistake(const char *text);

/* ---- arrays ---------------------------------------------------------------------------------------- */

/* device_check fails the running test unless status is SPARC_OK */
void device_check(sparc_status status);

/* a zeroed block, and one of NaN */
sparc_slice device_block(sparc_device *device, size_t bytes);
sparc_slice poisoned_block(sparc_device *device, size_t bytes);

/* an array of the device with the given doubles, as floats or bfloat16; absent for NULL */
sparc_slice upload(sparc_device *device, const double *values, size_t n, bool bf16);
void download(sparc_slice slice, double *values, size_t n, bool bf16);

/* |got - want| <= 2^-8 |want| + tolerance max(1, max |want|): half a unit of bfloat16 on top of float's error */
void expect_rounded(const char *what, size_t n, const double *got, const double *want, double tolerance);

/* forward and backward in one plan; backward runs `times` times, each adds to dparams. Scratch is filled with NaN. */
void run_device(sparc_device *device, const problem *p, const sparc_device_plan_config *config, int times, result *r);

/* rounds numbers to bfloat16 */
void round_to_bf16(double *values, size_t n);

#endif
