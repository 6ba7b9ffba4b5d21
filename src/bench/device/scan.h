/* SPDX-License-Identifier: MIT */
/* scan.h: a scan with given coefficients on a device: two controls per token for SPARC, a transition per coordinate for
 * RG-LRU, and what is written, for both. */
#ifndef SPARC_BENCH_DEVICE_SCAN_H
#define SPARC_BENCH_DEVICE_SCAN_H

#include "sparc/device.h"

enum {
  SCAN_PREPARED,
  SCAN_SAVED,
  SCAN_WORK,
  SCAN_GIVEN,
  SCAN_B,
  SCAN_H,
  SCAN_DH,
  SCAN_DB,
  SCAN_DGIVEN,
  SCAN_NU,
  SCAN_THETA,
  SCAN_DNU,
  SCAN_DTHETA,
  SCAN_ARRAYS
};

typedef struct device_scan {
  sparc_device_scan *scan;
  sparc_device_scan_config config;
  sparc_slice array[SCAN_ARRAYS];
} device_scan;

/* device_scan_create makes it and fills its inputs. After a failure nothing is left to free. */
sparc_status device_scan_create(sparc_device *device, const sparc_device_scan_config *config, device_scan *out);
void device_scan_free(device_scan *s);

sparc_status device_scan_forward(const device_scan *s);
sparc_status device_scan_backward(const device_scan *s);

/* device_scan_count counts the bytes that the kernels of a scan move, as device_mixer_count does. */
sparc_status device_scan_count(const sparc_device_scan_config *config, double *forward, double *backward);

#endif
