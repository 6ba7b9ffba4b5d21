/* SPDX-License-Identifier: MIT */
/* kernels.c: which set a cell gets. Every slot that cells use has a scalar fallback there, so a missing kernel costs
 * speed and never correctness. */
#include "kernels/kernels.h"

#include "base/cpu.h"
#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* sets, best first, and the processor features they need; the last but one runs on every processor of its kind */
#if defined(__x86_64__) && defined(SPARC_INFERENCE) /* one set keeps the library small */
#define KERNEL_SETS(ROW) ROW(avx2, CPU_AVX2 | CPU_FMA) ROW(plain, 0)
#elif defined(__x86_64__)
#define KERNEL_SETS(ROW)                                                          \
  ROW(avx512, CPU_AVX512F | CPU_AVX512DQ | CPU_AVX512BW | CPU_AVX512VL | CPU_FMA) \
  ROW(avx2, CPU_AVX2 | CPU_FMA)                                                   \
  ROW(baseline, 0)                                                                \
  ROW(plain, 0)
#elif defined(__aarch64__)
#define KERNEL_SETS(ROW) ROW(neon, CPU_NEON) ROW(plain, 0)
#else
#define KERNEL_SETS(ROW) ROW(baseline, 0) ROW(plain, 0)
#endif

#define DECLARE(set, features)  extern const kernels kernels_##set;
#define SET_NAME(set, features) #set,
#define SET_ROW(set, features)  {&kernels_##set, features},

KERNEL_SETS(DECLARE)

/* no kernels at all: the scalar C of the cells with the C library's functions */
const kernels kernels_plain = {.name = "plain"};

static const char *const names[] = {KERNEL_SETS(SET_NAME) NULL};

static const struct {
  const kernels *table;
  unsigned needs;
} sets[] = {KERNEL_SETS(SET_ROW)};
enum { SETS = sizeof sets / sizeof *sets };
_Static_assert((int)SETS <= (int)KERNELS_MAX, "KERNELS_MAX is too small");

const char *const *kernel_names(void) { return names; }

bool kernel_available(const char *name) { return name && kernels_find(name); }

sparc_status kernel_resolve(const char *kernel, const char **name) {
  const kernels *chosen;
  sparc_status status = kernels_choose(kernel, &chosen);
  *name = status == SPARC_OK ? chosen->name : NULL;
  return status;
}

const kernels *kernels_find(const char *name) {
  const unsigned features = cpu_detect().features;
  for (size_t i = 0; i < SETS; i++)
    if ((sets[i].needs & features) == sets[i].needs && (!name || strcmp(name, names[i]) == 0)) return sets[i].table;
  return NULL;
}

/* the error message for an unavailable set; `who` names the source of the request */
static sparc_status refuse(const char *who, const char *requested) {
  char list[64] = "";
  for (size_t i = 0, used = 0; i < SETS && used < sizeof list; i++) {
    if (strcmp(requested, names[i]) == 0)
      return fail(SPARC_INVALID, "%s is '%s', which this machine cannot run", who, requested);
    const char *separator = i == 0 ? "" : i + 1 < SETS ? ", " : " or ";
    used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", separator, names[i]);
  }
  return fail(SPARC_INVALID, "%s is '%s', expected %s", who, requested, list);
}

sparc_status kernels_choose(const char *kernel, const kernels **out) {
  const char *override = getenv("SPARC_KERNEL");
  const bool overridden = override && *override;
  const char *requested = overridden ? override : kernel;
  *out = kernels_find(requested);
  return *out ? SPARC_OK : refuse(overridden ? "SPARC_KERNEL" : "kernel", requested);
}

const kernels *kernels_portable(void) { return sets[SETS - 2].table; }

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
