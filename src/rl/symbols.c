/* SPDX-License-Identifier: MIT */
/* symbols.c: linear search in the known observations, and a probe that counts those of a task. */
#include "rl/symbols.h"

#include "base/error.h"

#include <string.h>

void symbols_carve(arena *a, symbols *s) { s->values = arena_take(a, MAX_SYMBOLS * s->width, sizeof *s->values); }

int symbols_find(symbols *s, const float *observation) {
  const size_t bytes = s->width * sizeof *observation;
  for (int v = 0; v < s->count; v++)
    if (memcmp(s->values + (size_t)v * s->width, observation, bytes) == 0) return v;
  if (s->count < 0 || s->count == s->limit) {
    s->count = -1;
    return -1;
  }
  memcpy(s->values + (size_t)s->count * s->width, observation, bytes);
  return s->count++;
}

/* ---- probing a task ------------------------------------------------------------------------------------ */

typedef struct probe {
  symbols seen;
  float *observation, *action;
} probe;

static void carve_probe(arena *a, const sparc_env_shape *shape, probe *p) {
  p->seen = (symbols){.width = (size_t)shape->observation, .limit = MAX_SYMBOLS};
  symbols_carve(a, &p->seen);
  p->observation = arena_take(a, p->seen.width, sizeof(float));
  p->action = arena_take(a, (size_t)shape->action, sizeof(float));
}

static sparc_status play(sparc_envs *envs, const sparc_env_shape *shape, probe *p) {
  enum { STEPS = 4096 };
  float reward, mask;
  sparc_random random;
  sparc_random_init(&random, 0, "symbols", NULL);
  sparc_status status = sparc_envs_reset(envs, p->observation);
  for (int t = 0; t < STEPS && status == SPARC_OK && symbols_find(&p->seen, p->observation) >= 0; t++) {
    for (int d = 0; d < shape->action; d++)
      p->action[d] = shape->choices ? (float)sparc_random_below(&random, (uint32_t)shape->choices)
                                    : (float)sparc_random_normal(&random);
    status = sparc_envs_step(envs, p->action, p->observation, &reward, &mask, NULL, NULL);
  }
  return status;
}

sparc_status symbols_probe(const sparc_envs_config *task, int *count) {
  sparc_envs *envs;
  sparc_status status = sparc_envs_create(task, &envs);
  if (status != SPARC_OK) return status;
  const sparc_env_shape shape = sparc_envs_info_of(envs).shape;
  probe p;
  arena size = arena_measure();
  carve_probe(&size, &shape, &p);
  void *memory = sparc_alloc(size.used);
  if (memory) {
    arena block = arena_over(memory, size.used);
    carve_probe(&block, &shape, &p);
    status = play(envs, &shape, &p);
    *count = p.seen.count > 0 ? p.seen.count : 0;
  } else {
    status = fail(SPARC_NO_MEMORY, "no memory to count the observations of a task");
  }
  sparc_free(memory);
  sparc_envs_free(envs);
  return status;
}
