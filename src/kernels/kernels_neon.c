/* SPDX-License-Identifier: MIT */
#define KERNEL_TABLE kernels_neon
#define KERNEL_NAME  "neon"
#include "kernels/kernels_body.h"
