/* SPDX-License-Identifier: MIT */
/* bits.h: hashes of what small mixers give on a device, beside the committed ones. Devices with exact arithmetic must
 * give the committed bits; their kernels are those that the tables time. */
#ifndef SPARC_BENCH_DEVICE_BITS_H
#define SPARC_BENCH_DEVICE_BITS_H

#include "sparc/device.h"

#include <stdint.h>

enum { DEVICE_BITS = 6 };

typedef struct device_bits {
  const char *name;
  uint64_t committed;
} device_bits;
extern const device_bits device_bits_committed[DEVICE_BITS];

/* device_bits_of runs mixer `index` on the device and hashes outputs and all gradients. */
sparc_status device_bits_of(sparc_device *device, int index, uint64_t *hash);

#endif
