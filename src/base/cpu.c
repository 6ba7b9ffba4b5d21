/* SPDX-License-Identifier: MIT */
/* cpu.c: processor features by cpuid or the kernel's auxiliary vector, caches and counts by sysconf.
 *
 * cpuid is read directly rather than through the compiler's helpers: they differ in which features they support
 * and keep a global, and the brand string needs cpuid anyway.
 */
#include "base/cpu.h"

#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

static const struct {
  cpu_feature feature;
  const char *name;
} feature_names[] = {
    {CPU_SSE2, "sse2"},         {CPU_SSE42, "sse4.2"},      {CPU_AVX, "avx"},         {CPU_AVX2, "avx2"},
    {CPU_FMA, "fma"},           {CPU_F16C, "f16c"},         {CPU_AVX512F, "avx512f"}, {CPU_AVX512DQ, "avx512dq"},
    {CPU_AVX512BW, "avx512bw"}, {CPU_AVX512VL, "avx512vl"}, {CPU_NEON, "neon"},
};

enum { FEATURE_COUNT = sizeof feature_names / sizeof *feature_names };

#if defined(__x86_64__) || defined(__i386__)

enum { EAX, EBX, ECX, EDX };

/* register state that the system must save for the feature to be usable, as bits of XCR0 */
enum { XMM = 0, YMM = 0x06, ZMM = 0xe6 };

static const struct {
  cpu_feature feature;
  unsigned leaf, reg, bit, state;
} feature_bits[] = {
    {CPU_SSE2, 1, EDX, 26, XMM},     {CPU_SSE42, 1, ECX, 20, XMM},    {CPU_AVX, 1, ECX, 28, YMM},
    {CPU_FMA, 1, ECX, 12, YMM},      {CPU_F16C, 1, ECX, 29, YMM},     {CPU_AVX2, 7, EBX, 5, YMM},
    {CPU_AVX512F, 7, EBX, 16, ZMM},  {CPU_AVX512DQ, 7, EBX, 17, ZMM}, {CPU_AVX512BW, 7, EBX, 30, ZMM},
    {CPU_AVX512VL, 7, EBX, 31, ZMM},
};

/* XCR0, or 0 where the system has not enabled the instruction that reads it */
static unsigned saved_state(void) {
  unsigned a, b, c, d, low, high;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c >> 27 & 1)) return 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

static unsigned detect_features(void) {
  unsigned found = 0, state = saved_state();
  for (size_t k = 0; k < sizeof feature_bits / sizeof *feature_bits; k++) {
    unsigned reg[4];
    if (!__get_cpuid_count(feature_bits[k].leaf, 0, &reg[EAX], &reg[EBX], &reg[ECX], &reg[EDX])) continue;
    if ((state & feature_bits[k].state) != feature_bits[k].state) continue;
    if (reg[feature_bits[k].reg] >> feature_bits[k].bit & 1) found |= feature_bits[k].feature;
  }
  return found;
}

/* three leaves of 16 characters, padded with spaces on either side */
static void read_brand(char brand[49]) {
  char text[49] = {0};
  for (unsigned k = 0; k < 3; k++) {
    unsigned reg[4];
    if (!__get_cpuid(0x80000002 + k, &reg[EAX], &reg[EBX], &reg[ECX], &reg[EDX])) return;
    memcpy(text + k * sizeof reg, reg, sizeof reg);
  }
  const char *start = text + strspn(text, " ");
  size_t length = strlen(start);
  while (length > 0 && start[length - 1] == ' ') length--;
  if (length == 0) return;
  memcpy(brand, start, length);
  brand[length] = '\0';
}

#else

static unsigned detect_features(void) {
#if defined(__aarch64__) && defined(__linux__)
  return getauxval(AT_HWCAP) & HWCAP_ASIMD ? CPU_NEON : 0;
#elif defined(__ARM_NEON)
  return CPU_NEON;
#else
  return 0;
#endif
}

static void read_brand(char brand[49]) { (void)brand; }

#endif

/* sysconf returns -1 or 0 for unknown values */
static long system_value(int name) {
  long value = sysconf(name);
  return value > 0 ? value : 0;
}

cpu_info cpu_detect(void) {
  cpu_info info = {.features = detect_features(), .brand = "unknown"};
  read_brand(info.brand);
#ifdef _SC_LEVEL1_DCACHE_SIZE
  info.l1d = (size_t)system_value(_SC_LEVEL1_DCACHE_SIZE);
  info.l2 = (size_t)system_value(_SC_LEVEL2_CACHE_SIZE);
  info.l3 = (size_t)system_value(_SC_LEVEL3_CACHE_SIZE);
#endif
  info.logical = (int)system_value(_SC_NPROCESSORS_ONLN);
  return info;
}

int cpu_available(void) {
#ifdef CPU_COUNT
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) return CPU_COUNT(&allowed);
#endif
  long online = system_value(_SC_NPROCESSORS_ONLN);
  return online > 0 ? (int)online : 1;
}

size_t cpu_feature_names(unsigned features, char *text, size_t capacity) {
  size_t length = 0;
  if (capacity > 0) text[0] = '\0';
  for (size_t k = 0; k < FEATURE_COUNT; k++) {
    if (!(features & feature_names[k].feature)) continue;
    size_t space = length < capacity ? capacity - length : 0;
    length += (size_t)snprintf(space ? text + length : NULL, space, "%s%s", length ? " " : "", feature_names[k].name);
  }
  return length;
}
