/* SPDX-License-Identifier: MIT */
/* kernels.h: the texts of the kernels, src/device/kernels/NAME.k, inside the library. */
#ifndef SPARC_DEVICE_KERNELS_H
#define SPARC_DEVICE_KERNELS_H

#include "io/embedded.h"

extern const embedded_file kernel_dialect, kernel_math, kernel_num, kernel_tokens, kernel_transition, kernel_sparc,
    kernel_spectrum, kernel_rglru, kernel_scan_spectral, kernel_scan_real, kernel_strip, kernel_sums, kernel_gates,
    kernel_step, kernel_product;

#endif
