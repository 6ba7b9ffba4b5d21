/* SPDX-License-Identifier: MIT */
#define KERNEL_TABLE kernels_avx2
#define KERNEL_NAME  "avx2"
#include "kernels/kernels_body.h"
