/* SPDX-License-Identifier: MIT */
/* bf16.h: arrays between float32 and bfloat16, as slots of the kernel table. Every table gives the same bits. */
#ifndef SPARC_KERNELS_BF16_H
#define SPARC_KERNELS_BF16_H

#include <stddef.h>
#include <stdint.h>

typedef struct bf16_kernels {
  void (*narrow)(size_t n, const float *restrict in, uint16_t *restrict out); /* rounds to nearest even */
  void (*widen)(size_t n, const uint16_t *restrict in, float *restrict out);
} bf16_kernels;

#endif
