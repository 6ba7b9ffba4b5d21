/* SPDX-License-Identifier: MIT */
/* env_plugin.c: an environment as a plugin: a corridor with a sign at its entrance that tells where to turn at its end.
 *
 *   cc -shared -fPIC -o env_plugin.so env_plugin.c $(pkg-config --cflags sparc)
 *   sparc envs ./env_plugin.so --options length=20 --play oracle
 *
 * The program that loads the plugin provides the library's functions. A C program can pass the same table in
 * sparc_envs_config.kind.
 */
#include <sparc/env.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct corridor { /* the model: constant, shared by all environments */
  int length;
} corridor;

typedef struct walk { /* the state: all mutable data, without pointers */
  int at, left;
} walk;

static sparc_status corridor_open(const char *options, sparc_env_shape *shape, void **model) {
  int length = 10, used = 0;
  if (*options && (sscanf(options, "length=%d%n", &length, &used) != 1 || options[used] || length < 1))
    return sparc_env_refuse("the corridor's options are '%s', expected length=N with N from 1", options);
  corridor *c = malloc(sizeof *c);
  if (!c) return SPARC_NO_MEMORY;
  c->length = length;
  *shape = (sparc_env_shape){.observation = 2, .choices = 2, .action = 1, .horizon = length + 1};
  *model = c;
  return SPARC_OK;
}

static size_t corridor_state_bytes(const void *model) { return (void)model, sizeof(walk); }

/* observation: the sign, visible at the entrance only, and whether this is the end */
static void look(const corridor *c, const walk *w, float *observation) {
  observation[0] = w->at > 0 ? 0.0F : w->left ? -1.0F : 1.0F;
  observation[1] = w->at == c->length;
}

static void corridor_reset(const void *model, void *scratch, void *state, sparc_random *random, float *observation) {
  (void)scratch;
  walk *w = state;
  *w = (walk){.left = (int)sparc_random_below(random, 2)};
  look(model, w, observation);
}

static void corridor_step(const void *model, void *scratch, void *state, sparc_random *random, const float *action,
                          float *observation, float *reward, int *done) {
  (void)scratch, (void)random;
  const corridor *c = model;
  walk *w = state;
  *done = w->at == c->length;
  *reward = !*done ? 0.0F : (int)*action == w->left ? 1.0F : -1.0F;
  w->at++;
  look(c, w, observation);
}

static void corridor_oracle(const void *model, void *scratch, const void *state, float *action) {
  (void)model, (void)scratch;
  *action = (float)((const walk *)state)->left;
}

/* saved states come from untrusted files: check every member */
static int corridor_state_valid(const void *model, const void *state, int steps) {
  (void)model;
  const walk *w = state;
  return w->at == steps && (w->left == 0 || w->left == 1);
}

static const sparc_env_kind kind = {.version = SPARC_ENV_VERSION,
                                    .name = "corridor",
                                    .summary = "turn at the end as the sign at the entrance said",
                                    .random_return = 0,
                                    .optimal_return = 1,
                                    .open = corridor_open,
                                    .close = free,
                                    .state_bytes = corridor_state_bytes,
                                    .reset = corridor_reset,
                                    .step = corridor_step,
                                    .oracle = corridor_oracle,
                                    .state_valid = corridor_state_valid};

SPARC_API const sparc_env_kind *sparc_env_plugin(void);
const sparc_env_kind *sparc_env_plugin(void) { return &kind; }
