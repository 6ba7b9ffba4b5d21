/* SPDX-License-Identifier: MIT */
#define KERNEL_TABLE kernels_avx512
#define KERNEL_NAME  "avx512"
#include "kernels/kernels_body.h"
