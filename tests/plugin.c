/* SPDX-License-Identifier: MIT */
/* plugin.c: a valid environment plugin but for one FAULT, defined by the build. WRITES_FILE: loading it creates the
 * file LOADED in the working folder. COUNTS: it counts its steps. */
#include <sparc/env.h>
#include <stdio.h>

#define NO_ENTRY    1
#define NO_KIND     2
#define OLD_VERSION 3
#define NO_STEP     4
#define LARGE_STATE 5
#define WRITES_FILE 6
#define COUNTS      7

#if FAULT == COUNTS
SPARC_API long still_steps;
long still_steps;
#define COUNT_STEP() still_steps++
#else
#define COUNT_STEP() (void)0
#endif

typedef struct still {
  int steps;
} still;

static sparc_status still_open(const char *options, sparc_env_shape *shape, void **model) {
  (void)options, (void)model;
  *shape = (sparc_env_shape){.observation = 1, .choices = 2, .action = 1, .horizon = 5};
  return SPARC_OK;
}

static size_t still_state_bytes(const void *model) {
  (void)model;
  return sizeof(still);
}

static void still_reset(const void *model, void *scratch, void *state, sparc_random *random, float *observation) {
  (void)model, (void)scratch, (void)random;
  *(still *)state = (still){0};
  *observation = 0;
}

static void still_step(const void *model, void *scratch, void *state, sparc_random *random, const float *action,
                       float *observation, float *reward, int *done) {
  (void)model, (void)scratch, (void)random, (void)action, (void)done;
  still *s = state;
  s->steps++;
  COUNT_STEP();
  if (FAULT == LARGE_STATE) s[1].steps++;
  *observation = (float)s->steps;
  *reward = 1;
}

static const sparc_env_kind kind = {
    .version = FAULT == OLD_VERSION ? 0 : SPARC_ENV_VERSION,
    .name = "still",
    .open = still_open,
    .state_bytes = still_state_bytes,
    .reset = still_reset,
    .step = FAULT == NO_STEP ? NULL : still_step,
};

#if FAULT == WRITES_FILE
__attribute__((constructor)) static void write_file(void) {
  FILE *file = fopen("LOADED", "w");
  if (file) fclose(file);
}
#endif

#if FAULT == NO_ENTRY
#define sparc_env_plugin another_name
#endif

SPARC_API const sparc_env_kind *sparc_env_plugin(void);
const sparc_env_kind *sparc_env_plugin(void) { return FAULT == NO_KIND ? NULL : &kind; }
