/* SPDX-License-Identifier: MIT */
/* cpu.h: processor features and caches. Detected on every call; there is no global state. */
#ifndef SPARC_BASE_CPU_H
#define SPARC_BASE_CPU_H

#include <stddef.h>

/* Instruction sets that both the processor and the operating system support. */
typedef enum cpu_feature {
  CPU_SSE2 = 1 << 0,
  CPU_SSE42 = 1 << 1,
  CPU_AVX = 1 << 2,
  CPU_AVX2 = 1 << 3,
  CPU_FMA = 1 << 4,
  CPU_F16C = 1 << 5,
  CPU_AVX512F = 1 << 6,
  CPU_AVX512DQ = 1 << 7,
  CPU_AVX512BW = 1 << 8,
  CPU_AVX512VL = 1 << 9,
  CPU_NEON = 1 << 10
} cpu_feature;

typedef struct cpu_info {
  unsigned features;  /* or of cpu_feature */
  char brand[49];     /* as the processor names itself, or "unknown" */
  size_t l1d, l2, l3; /* bytes of data cache, 0 if unknown */
  int logical;        /* logical processors online */
} cpu_info;

cpu_info cpu_detect(void);

/* cpu_available returns how many logical processors this process may run on */
int cpu_available(void);

/* cpu_feature_names writes the names of a set of features, separated by spaces, as far as capacity allows (always
 * terminated), and returns the length of the whole list as snprintf does */
size_t cpu_feature_names(unsigned features, char *text, size_t capacity);

#endif
