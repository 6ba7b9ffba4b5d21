/* SPDX-License-Identifier: MIT */
/* device.h: an open device and its memory, for the files of this folder and their tests. */
#ifndef SPARC_DEVICE_DEVICE_H
#define SPARC_DEVICE_DEVICE_H

#include "device/backend.h"

#include <limits.h>

/* what kernels report of their inputs; the numbers are those of kernels/tokens.k */
enum { FAULT_MASK, FAULT_CONTROL, FAULTS };

struct sparc_device {
  const device_backend *backend;
  void *context;
  sparc_device_info info;
  bool fast;
  char cache[PATH_MAX]; /* folder of compiled kernels; "": none */
  sparc_memory *fault;  /* FAULTS ints: the number of an element that is not valid, counted from 1; or 0 */
};

struct sparc_memory {
  sparc_device *device;
  void *buffer;
  size_t bytes;
};

/* device_backends returns the NULL-terminated list of backends. */
const char *const *device_backends(void);

/* device_parse reads "opencl" or "opencl:1" into the backend and index of a configuration. */
sparc_status device_parse(const char *text, sparc_device_config *config);

/* device_open_on opens device `index` of a given backend, which may be one of a test. */
sparc_status device_open_on(const device_backend *backend, const sparc_device_config *config, int index,
                            sparc_device **out);

/* slice_check fails unless `bytes` bytes of a slice lie inside a block of this device. name opens the error message. */
sparc_status slice_check(const sparc_device *device, sparc_slice slice, size_t bytes, size_t alignment,
                         const char *name);

#endif
