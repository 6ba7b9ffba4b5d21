/* SPDX-License-Identifier: MIT */
/* kernels.c: which table this machine gets. Reference first: every slot has a scalar fallback in its cell, so a missing
 * kernel costs speed and never correctness. */
#include "kernels/kernels.h"

#include "base/cpu.h"
#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
extern const kernels kernels_avx512, kernels_avx2, kernels_baseline;
#elif defined(__aarch64__)
extern const kernels kernels_neon;
#else
extern const kernels kernels_baseline;
#endif

/* no kernels at all: the scalar C of the cells with the C library's functions */
static const kernels kernels_plain = {.name = "plain"};

typedef struct candidate {
  const kernels *table;
  unsigned needs; /* CPU features */
} candidate;

/* best first */
static const candidate candidates[] = {
#if defined(__x86_64__)
    {&kernels_avx512, CPU_AVX512F | CPU_AVX512DQ | CPU_AVX512BW | CPU_AVX512VL | CPU_FMA},
    {&kernels_avx2, CPU_AVX2 | CPU_FMA},
    {&kernels_baseline, 0},
#elif defined(__aarch64__)
    {&kernels_neon, CPU_NEON},
#else
    {&kernels_baseline, 0},
#endif
    {&kernels_plain, 0},
};
enum { CANDIDATES = sizeof candidates / sizeof *candidates };

static bool runs_here(const candidate *c, unsigned features) { return (c->needs & features) == c->needs; }

/* the sentence for a name that is in no row */
static sparc_status unknown_table(const char *name) {
  char list[64] = "";
  for (size_t i = 0, used = 0; i < CANDIDATES && used < sizeof list; i++) {
    const char *separator = i == 0 ? "" : i + 1 < CANDIDATES ? ", " : " or ";
    used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", separator, candidates[i].table->name);
  }
  return fail(SPARC_INVALID, "SPARC_KERNEL is '%s', expected %s", name, list);
}

sparc_status kernels_choose(const kernels **out) {
  const unsigned features = cpu_detect().features;
  const char *wanted = getenv("SPARC_KERNEL");
  for (size_t i = 0; i < CANDIDATES; i++) {
    if (wanted && *wanted && strcmp(wanted, candidates[i].table->name) != 0) continue;
    if (runs_here(&candidates[i], features)) {
      *out = candidates[i].table;
      return SPARC_OK;
    }
    if (wanted && *wanted) return fail(SPARC_INVALID, "SPARC_KERNEL is '%s', which this machine cannot run", wanted);
  }
  return unknown_table(wanted);
}

const kernels *kernels_portable(void) { return candidates[CANDIDATES - 2].table; }

size_t kernels_available(const char **names, size_t capacity) {
  const unsigned features = cpu_detect().features;
  size_t count = 0;
  for (size_t i = 0; i < CANDIDATES; i++) {
    if (!runs_here(&candidates[i], features)) continue;
    if (count < capacity) names[count] = candidates[i].table->name;
    count++;
  }
  return count;
}

int sparc_instance_of(sparc_rules rules, bool floor) {
#define INSTANCE_ROW(name, controls, decay, clock, gate, norm, linear, floor) \
  {{controls, decay, clock, gate, norm, linear}, floor},
  static const struct {
    sparc_rules rules;
    bool floor;
  } table[] = {SPARC_INSTANCES(INSTANCE_ROW)};
  for (int i = 0; i < SPARC_INSTANCE_COUNT; i++) {
    const sparc_rules *r = &table[i].rules;
    if (r->controls == rules.controls && r->adaptive_decay == rules.adaptive_decay && r->clock == rules.clock &&
        r->gate == rules.gate && r->adaptive_norm == rules.adaptive_norm && r->linear == rules.linear &&
        table[i].floor == floor)
      return i;
  }
  return -1;
}

const diagonal_kernels *diagonal_of(const struct kernels *table) { return &table->diagonal; }
