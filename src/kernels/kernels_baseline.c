/* SPDX-License-Identifier: MIT */
#define KERNEL_TABLE kernels_baseline
#define KERNEL_NAME  "baseline"
#include "kernels/kernels_body.h"
