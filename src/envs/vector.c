/* SPDX-License-Identifier: MIT */
/* vector.c: n environments of one kind, stepped in tiles, with results in the caller's arrays.
 *
 * All mutable data are one block: a header, then random streams, returns, lengths, faults and states, each by
 * environment. Saving copies the block. Environments are independent and the tiles depend only on n, so results do not
 * depend on the number of threads.
 */
#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/threads.h"
#include "envs/envs.h"
#include "io/dtype.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
  MAX_ENVIRONMENTS = 1 << 20,
  QUICK_TILE = 256, /* environments per tile of a fast kind; fewer do not justify a second thread */
  SLOW_TILES = 64   /* greatest number of tiles of a kind with scratch memory, one scratch per tile */
};

/* start of the block; restore accepts a block whose header differs only in `begun` and whose numbers are valid */
typedef struct header {
  char format[8]; /* "sparcenv" */
  char name[40];
  uint64_t options; /* hash of the text; 0: none */
  uint64_t state_bytes;
  sparc_env_shape shape;
  int32_t n;
  int32_t begun; /* whether sparc_envs_reset was called */
} header;

struct sparc_envs {
  const sparc_env_kind *kind;
  void *plugin, *model;
  sparc_env_shape shape;
  int n, threads;
  size_t tiles;
  void **scratch; /* tiles; NULL: none */

  void *block; /* mutable data, divided into: */
  size_t block_bytes, stride;
  header *header;
  sparc_random *random; /* n */
  double *returns;      /* n, of the current episodes */
  int *lengths;         /* n */
  int64_t *faults;      /* n */
  char *states;         /* n, stride */
};

/* ---- creation ---------------------------------------------------------------------------------- */

static size_t carve(sparc_envs *envs, arena a) {
  const size_t n = (size_t)envs->n;
  envs->header = arena_take(&a, 1, sizeof *envs->header);
  envs->random = arena_take(&a, n, sizeof *envs->random);
  envs->returns = arena_take(&a, n, sizeof *envs->returns);
  envs->lengths = arena_take(&a, n, sizeof *envs->lengths);
  envs->faults = arena_take(&a, n, sizeof *envs->faults);
  envs->states = arena_take(&a, n, envs->stride);
  return a.used;
}

/* hash of the options */
static uint64_t digest(const char *options) {
  return options && *options ? hash_bytes(HASH_START, options, strlen(options)) : 0;
}

static sparc_status make_block(sparc_envs *envs, const sparc_envs_config *config, int first, size_t state_bytes) {
  /* states of different threads share no cache line */
  envs->stride = (state_bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
  envs->block_bytes = carve(envs, arena_measure());
  envs->block = sparc_alloc(envs->block_bytes);
  if (!envs->block)
    return fail(SPARC_NO_MEMORY, "no memory for %d environments with states of %zu bytes", envs->n, state_bytes);
  carve(envs, arena_over(envs->block, envs->block_bytes));
  memcpy(envs->header->format, "sparcenv", sizeof envs->header->format);
  snprintf(envs->header->name, sizeof envs->header->name, "%s", envs->kind->name);
  envs->header->options = digest(config->options);
  envs->header->state_bytes = state_bytes;
  envs->header->shape = envs->shape;
  envs->header->n = envs->n;
  for (int i = 0; i < envs->n; i++) {
    char name[16];
    snprintf(name, sizeof name, "%d", first + i);
    sparc_random_init(&envs->random[i], config->seed, "env", name);
  }
  return SPARC_OK;
}

static sparc_status make_scratch(sparc_envs *envs) {
  const size_t n = (size_t)envs->n;
  const sparc_env_kind *kind = envs->kind;
  const bool scratch = !is_external(kind) && kind->scratch_create;
  envs->tiles = scratch ? (n < SLOW_TILES ? n : SLOW_TILES) : (n + QUICK_TILE - 1) / QUICK_TILE;
  if (!scratch) return SPARC_OK;
  envs->scratch = sparc_alloc(envs->tiles * sizeof *envs->scratch);
  for (size_t tile = 0; envs->scratch && tile < envs->tiles; tile++)
    if (!(envs->scratch[tile] = kind->scratch_create(envs->model)))
      return fail(SPARC_NO_MEMORY, "no memory for the scratch of %s", kind->name);
  return envs->scratch ? SPARC_OK : fail(SPARC_NO_MEMORY, "no memory for the scratch of %s", kind->name);
}

/* the kind of a configuration, and the status with which an invalid one is refused; SPARC_OK: built-in */
static sparc_status find_kind(sparc_envs *envs, const sparc_envs_config *config, sparc_status *refusal) {
  *refusal = SPARC_OK;
  if (config->kind) {
    *refusal = SPARC_INVALID;
    envs->kind = config->kind;
    return kind_check(config->kind, "the kind", *refusal);
  }
  if (!is_plugin(config->name)) return env_find(config->name, &envs->kind);
  *refusal = SPARC_FORMAT;
  sparc_status status = plugin_load(config->name, &envs->plugin, &envs->kind);
  return status == SPARC_OK ? kind_check(envs->kind, config->name, *refusal) : status;
}

static sparc_status set_up(sparc_envs *envs, const sparc_envs_config *config, int first) {
  sparc_status refusal, status = find_kind(envs, config, &refusal);
  if (status != SPARC_OK) return status;
  const sparc_env_kind *kind = envs->kind;
  /* default message, if the kind sets none or uses another copy of the library */
  if (refusal != SPARC_OK)
    fail(refusal, "%s refuses the options '%s'", kind->name, config->options ? config->options : "");
  if ((status = kind->open(config->options ? config->options : "", &envs->shape, &envs->model)) != SPARC_OK)
    return status;
  envs->n = config->n;
  envs->threads = thread_count(config->threads);
  const bool external = is_external(kind);
  const size_t state_bytes = external ? 0 : kind->state_bytes(envs->model);
  if (refusal != SPARC_OK) {
    const char *who = config->kind ? kind->name : config->name;
    status = shape_check(&envs->shape, state_bytes, who, refusal);
    if (status == SPARC_OK && !external) status = kind_test(kind, envs->model, &envs->shape, who, refusal);
    if (status != SPARC_OK) return status;
  }
  status = make_block(envs, config, first, state_bytes);
  return status == SPARC_OK ? make_scratch(envs) : status;
}

sparc_status sparc_envs_create(const sparc_envs_config *config, sparc_envs **out) {
  return envs_create_from(config, 0, out);
}

sparc_status envs_create_from(const sparc_envs_config *config, int first, sparc_envs **out) {
  if (!out) return fail(SPARC_INVALID, "out is NULL, expected where to put the environments");
  *out = NULL;
  if (!config) return fail(SPARC_INVALID, "config is NULL, expected a name or a kind");
  if (!config->name == !config->kind)
    return fail(SPARC_INVALID, "%s given, expected one of them",
                config->name ? "name and kind are" : "no name or kind is");
  if (config->n < 1 || config->n > MAX_ENVIRONMENTS)
    return fail(SPARC_INVALID, "n is %d, expected 1 to %d", config->n, (int)MAX_ENVIRONMENTS);
  sparc_envs *envs = sparc_alloc(sizeof *envs);
  if (!envs) return fail(SPARC_NO_MEMORY, "no memory for environments");
  sparc_status status = set_up(envs, config, first);
  if (status != SPARC_OK) {
    sparc_envs_free(envs);
    return status;
  }
  *out = envs;
  return SPARC_OK;
}

void sparc_envs_free(sparc_envs *envs) {
  if (!envs) return;
  for (size_t tile = 0; envs->scratch && tile < envs->tiles; tile++)
    if (envs->scratch[tile] && envs->kind->scratch_free) envs->kind->scratch_free(envs->scratch[tile]);
  sparc_free(envs->scratch);
  if (envs->model && envs->kind->close) envs->kind->close(envs->model);
  sparc_free(envs->block);
  plugin_unload(envs->plugin);
  sparc_free(envs);
}

static long count_faults(const sparc_envs *envs) {
  int64_t total = 0;
  for (int i = 0; i < envs->n; i++) total += envs->faults[i];
  return (long)total;
}

sparc_envs_info sparc_envs_info_of(const sparc_envs *envs) {
  if (!envs) return (sparc_envs_info){.n = 0};
  return (sparc_envs_info){.kind = envs->kind,
                           .shape = envs->shape,
                           .n = envs->n,
                           .faults = count_faults(envs),
                           .state_bytes = envs->block_bytes};
}

/* ---- stepping ---------------------------------------------------------------------------------- */

typedef struct call {
  sparc_envs *envs;
  const float *actions;
  float *observations, *rewards, *masks;
  double *returns;
  int *lengths;
  float *oracle; /* actions of the oracle */
} call;

static int tile_start(const sparc_envs *envs, size_t tile) { return (int)((size_t)envs->n * tile / envs->tiles); }

static void *tile_scratch(const sparc_envs *envs, size_t tile) { return envs->scratch ? envs->scratch[tile] : NULL; }

static void *state_of(const sparc_envs *envs, int i) { return envs->states + (size_t)i * envs->stride; }

/* compares exponents as integers; the loop has no branches and is vectorised */
static int all_finite(const float *values, int count) {
  const int32_t infinity = 0x7f800000;
  int32_t largest = 0;
  for (int i = 0; i < count; i++) {
    int32_t bits;
    memcpy(&bits, &values[i], sizeof bits);
    bits &= INT32_MAX;
    largest = bits > largest ? bits : largest;
  }
  return largest < infinity;
}

static void begin_episode(sparc_envs *envs, void *scratch, int i, float *observation) {
  envs->returns[i] = 0;
  envs->lengths[i] = 0;
  envs->kind->reset(envs->model, scratch, state_of(envs, i), &envs->random[i], observation);
  if (all_finite(observation, envs->shape.observation)) return;
  memset(observation, 0, (size_t)envs->shape.observation * sizeof *observation);
  envs->faults[i]++;
}

static void reset_tile(void *context, size_t tile) {
  const call *c = context;
  sparc_envs *envs = c->envs;
  void *scratch = tile_scratch(envs, tile);
  for (int i = tile_start(envs, tile); i < tile_start(envs, tile + 1); i++)
    begin_episode(envs, scratch, i, c->observations + (size_t)i * (size_t)envs->shape.observation);
}

static void step_one(const call *c, void *scratch, int i) {
  sparc_envs *envs = c->envs;
  float *observation = c->observations + (size_t)i * (size_t)envs->shape.observation;
  float reward = 0;
  int done = 0;
  envs->kind->step(envs->model, scratch, state_of(envs, i), &envs->random[i],
                   c->actions + (size_t)i * (size_t)envs->shape.action, observation, &reward, &done);
  if (!all_finite(&reward, 1) || (!done && !all_finite(observation, envs->shape.observation))) {
    reward = 0;
    done = 1;
    envs->faults[i]++;
  }
  envs->returns[i] += (double)reward;
  envs->lengths[i]++;
  done = done || envs->lengths[i] >= envs->shape.horizon;
  c->rewards[i] = reward;
  c->masks[i] = (float)!done;
  if (!done) return;
  if (c->returns) c->returns[i] = envs->returns[i];
  if (c->lengths) c->lengths[i] = envs->lengths[i];
  begin_episode(envs, scratch, i, observation);
}

static void step_tile(void *context, size_t tile) {
  const call *c = context;
  void *scratch = tile_scratch(c->envs, tile);
  for (int i = tile_start(c->envs, tile); i < tile_start(c->envs, tile + 1); i++) step_one(c, scratch, i);
}

/* ---- environments outside the library ------------------------------------------------------------ */

/* external episodes cannot be ended here, so non-finite numbers are an error of the call */
static sparc_status check_finite(const sparc_envs *envs, const float *observations, const float *rewards) {
  const size_t width = (size_t)envs->shape.observation;
  for (int i = 0; i < envs->n; i++) {
    const char *what = rewards && !all_finite(&rewards[i], 1)                                   ? "reward"
                       : !all_finite(observations + (size_t)i * width, envs->shape.observation) ? "observation"
                                                                                                : NULL;
    if (what) return fail(SPARC_NOT_FINITE, "%s %d: the %s is not finite", envs->kind->name, i, what);
  }
  return SPARC_OK;
}

static sparc_status reset_external(sparc_envs *envs, float *observations) {
  fail(SPARC_INVALID, "%s fails to reset", envs->kind->name); /* default message */
  const sparc_status status = envs->kind->reset_all(envs->model, envs->n, observations);
  for (int i = 0; i < envs->n; i++) {
    envs->returns[i] = 0;
    envs->lengths[i] = 0;
  }
  return status == SPARC_OK ? check_finite(envs, observations, NULL) : status;
}

static sparc_status step_external(const call *c) {
  sparc_envs *envs = c->envs;
  fail(SPARC_INVALID, "%s fails to step", envs->kind->name);
  sparc_status status = envs->kind->step_all(envs->model, envs->n, c->actions, c->observations, c->rewards, c->masks);
  if (status == SPARC_OK) status = check_finite(envs, c->observations, c->rewards);
  if (status != SPARC_OK) return status;
  for (int i = 0; i < envs->n; i++) {
    c->masks[i] = (float)((c->masks[i] != 0) == (envs->kind->version >= 4)); /* version 3 writes 1 - mask */
    envs->returns[i] += (double)c->rewards[i];
    envs->lengths[i] += envs->lengths[i] < INT_MAX;
    if (c->masks[i] != 0) continue;
    if (c->returns) c->returns[i] = envs->returns[i];
    if (c->lengths) c->lengths[i] = envs->lengths[i];
    envs->returns[i] = 0;
    envs->lengths[i] = 0;
  }
  return SPARC_OK;
}

/* ---- calls --------------------------------------------------------------------------------------- */

static sparc_status check_choices(const sparc_envs *envs, const float *actions) {
  const float choices = (float)envs->shape.choices;
  for (int i = 0; i < envs->n; i++)
    if (!(actions[i] >= 0 && actions[i] < choices && (float)(int)actions[i] == actions[i]))
      return fail(SPARC_INVALID, "actions[%d] is %g, expected a whole number from 0 to %d", i, (double)actions[i],
                  envs->shape.choices - 1);
  return SPARC_OK;
}

static sparc_status check_begun(const sparc_envs *envs) {
  if (envs->header->begun) return SPARC_OK;
  return fail(SPARC_INVALID, "no episode has started, call sparc_envs_reset first");
}

sparc_status sparc_envs_reset(sparc_envs *envs, float *observations) {
  if (!envs || !observations) return fail(SPARC_INVALID, "%s is NULL", envs ? "observations" : "envs");
  call c = {.envs = envs, .observations = observations};
  const sparc_status status = is_external(envs->kind) ? reset_external(envs, observations) : SPARC_OK;
  if (status != SPARC_OK) return status;
  if (!is_external(envs->kind)) parallel_for(envs->threads, envs->tiles, reset_tile, &c);
  envs->header->begun = 1;
  return SPARC_OK;
}

sparc_status sparc_envs_step(sparc_envs *envs, const float *actions, float *observations, float *rewards, float *masks,
                             double *returns, int *lengths) {
  if (!envs || !actions || !observations || !rewards || !masks)
    return fail(SPARC_INVALID, "%s is NULL",
                !envs           ? "envs"
                : !actions      ? "actions"
                : !observations ? "observations"
                : !rewards      ? "rewards"
                                : "masks");
  sparc_status status = check_begun(envs);
  if (status == SPARC_OK && envs->shape.choices > 0) status = check_choices(envs, actions);
  if (status != SPARC_OK) return status;
  call c = {envs, actions, observations, rewards, masks, returns, lengths, NULL};
  if (is_external(envs->kind)) return step_external(&c);
  parallel_for(envs->threads, envs->tiles, step_tile, &c);
  return SPARC_OK;
}

/* ---- saving ------------------------------------------------------------------------------------ */

void sparc_envs_save(const sparc_envs *envs, void *state) {
  if (envs && state) memcpy(state, envs->block, envs->block_bytes);
}

size_t envs_saved_bytes(const sparc_envs *envs, int n) {
  sparc_envs other = *envs;
  other.n = n;
  return carve(&other, arena_measure());
}

bool envs_begun(const sparc_envs *envs) { return envs->header->begun != 0; }

static sparc_status check_header(const sparc_envs *envs, const void *state, size_t bytes) {
  header saved, expected = *envs->header;
  if (bytes < sizeof saved) return fail(SPARC_FORMAT, "the saved environments are %zu bytes, too few", bytes);
  memcpy(&saved, state, sizeof saved);
  if (memcmp(saved.format, expected.format, sizeof expected.format) != 0)
    return fail(SPARC_FORMAT, "these bytes are not saved environments");
  if (strncmp(saved.name, expected.name, sizeof expected.name) != 0) {
    saved.name[sizeof saved.name - 1] = '\0';
    return fail(SPARC_FORMAT, "the saved environments are %s, expected %s", quote(saved.name).text, expected.name);
  }
  if (saved.n != expected.n)
    return fail(SPARC_FORMAT, "there are %d saved environments, expected %d", saved.n, expected.n);
  expected.begun = saved.begun;
  if (memcmp(&saved, &expected, sizeof expected) != 0 || bytes != envs->block_bytes)
    return fail(SPARC_FORMAT, "the saved environments are %s with other options", expected.name);
  if (saved.begun != 0 && saved.begun != 1)
    return fail(SPARC_FORMAT, "the start flag of the saved environments is %d, expected 0 or 1", saved.begun);
  return SPARC_OK;
}

/* the cached words of a stream are a function of its position */
static bool is_stream(const sparc_random *random) {
  sparc_random again = *random;
  random_seek(&again, random->position);
  return random->position <= UINT64_MAX / 2 && memcmp(again.words, random->words, sizeof again.words) == 0;
}

static bool is_state(const sparc_envs *saved, int i) {
  const sparc_env_kind *kind = saved->kind;
  if (is_external(kind) || kind->version < 2 || !kind->state_valid) return true;
  return kind->state_valid(saved->model, state_of(saved, i), saved->lengths[i]) != 0;
}

/* the invalid part of the saved environment i; NULL: none. There is no episode before the first reset. */
static const char *invalid_part(const sparc_envs *saved, int i) {
  const bool begun = saved->header->begun != 0;
  if (!is_stream(&saved->random[i])) return "random stream";
  if (saved->faults[i] < 0 || saved->faults[i] > INT64_MAX / MAX_ENVIRONMENTS) return "number of faults";
  const int horizon = is_external(saved->kind) ? INT_MAX : saved->shape.horizon;
  if (saved->lengths[i] < 0 || saved->lengths[i] >= horizon) return "length of an episode";
  if (!isfinite(saved->returns[i])) return "return";
  return !begun || is_state(saved, i) ? NULL : "state";
}

static sparc_status check_environments(const sparc_envs *saved) {
  for (int i = 0; i < saved->n; i++) {
    const char *part = invalid_part(saved, i);
    if (part) return fail(SPARC_FORMAT, "saved environment %d: %s has an invalid %s", i, saved->kind->name, part);
  }
  return SPARC_OK;
}

sparc_status sparc_envs_restore(sparc_envs *envs, const void *state, size_t bytes) {
  if (!envs || !state) return fail(SPARC_INVALID, "%s is NULL", envs ? "state" : "envs");
  sparc_status status = check_header(envs, state, bytes);
  if (status != SPARC_OK) return status;
  /* an aligned copy */
  sparc_envs saved = *envs;
  saved.block = sparc_alloc(bytes);
  if (!saved.block) return fail(SPARC_NO_MEMORY, "no memory for a copy of %zu bytes of environments", bytes);
  memcpy(saved.block, state, bytes);
  carve(&saved, arena_over(saved.block, bytes));
  status = check_environments(&saved);
  if (status == SPARC_OK) memcpy(envs->block, saved.block, bytes);
  if (status == SPARC_OK && is_external(envs->kind)) envs->header->begun = 0;
  sparc_free(saved.block);
  return status;
}

/* ---- optional functions of a kind ---------------------------------------------------------------- */

static void oracle_tile(void *context, size_t tile) {
  const call *c = context;
  const sparc_envs *envs = c->envs;
  void *scratch = tile_scratch(envs, tile);
  for (int i = tile_start(envs, tile); i < tile_start(envs, tile + 1); i++)
    envs->kind->oracle(envs->model, scratch, state_of(envs, i), c->oracle + (size_t)i * (size_t)envs->shape.action);
}

sparc_status sparc_envs_oracle(sparc_envs *envs, float *actions) {
  if (!envs || !actions) return fail(SPARC_INVALID, "%s is NULL", envs ? "actions" : "envs");
  if (is_external(envs->kind) || !envs->kind->oracle)
    return fail(SPARC_UNSUPPORTED, "%s has no oracle", envs->kind->name);
  sparc_status status = check_begun(envs);
  if (status != SPARC_OK) return status;
  call c = {.envs = envs, .oracle = actions};
  parallel_for(envs->threads, envs->tiles, oracle_tile, &c);
  return SPARC_OK;
}

int envs_segments(sparc_envs *envs, int i, double (*segment)[5], int most) {
  if (is_external(envs->kind) || !envs->kind->segments || !envs->header->begun || i < 0 || i >= envs->n) return 0;
  return envs->kind->segments(envs->model, tile_scratch(envs, 0), state_of(envs, i), segment, most);
}
