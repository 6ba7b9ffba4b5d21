/* SPDX-License-Identifier: MIT */
/* recorder.h: a device that computes nothing. It keeps the text of the kernels and every launch, so that what a plan
 * moves can be counted at any shape, without a driver and without memory. */
#ifndef SPARC_BENCH_DEVICE_RECORDER_H
#define SPARC_BENCH_DEVICE_RECORDER_H

#include "device/backend.h"

enum { RECORDER_LAUNCHES = 64, RECORDER_NAME = 32 };

/* an array of a launch; bytes: what the kernel loads or stores of it, each element once */
typedef struct recorded_array {
  char name[RECORDER_NAME]; /* as the kernel calls it */
  bool absent, read, written;
  double bytes;
} recorded_array;

typedef struct recorded_launch {
  char kernel[RECORDER_NAME];
  size_t groups;
  recorded_array array[LAUNCH_ARGUMENTS / 2];
  size_t arrays;
  double loaded, stored; /* bytes */
  kernel_launch raw;     /* the arguments as the driver gets them */
} recorded_launch;

/* recorder_open opens a recorder; sparc_device_close closes it. fast as in sparc_device_config. */
sparc_status recorder_open(bool fast, sparc_device **out);

/* recorder_clear forgets the launches so far. */
void recorder_clear(sparc_device *recorder);

/* recorder_launches gives the launches since then, their bytes counted. Arrays of a block are distinguished by where they
 * begin: record all calls that use a block, forward and backward, before asking. */
sparc_status recorder_launches(sparc_device *recorder, const recorded_launch **launches, size_t *count);

/* recorder_count_bytes records one call forward and one backward and counts the bytes that their kernels move. */
sparc_status recorder_count_bytes(sparc_device *recorder, sparc_status (*forward)(const void *),
                                  sparc_status (*backward)(const void *), const void *context, double *forward_bytes,
                                  double *backward_bytes);

/* recorder_text gives the kernels of the plan that was created last. */
const char *recorder_text(const sparc_device *recorder);

#endif
