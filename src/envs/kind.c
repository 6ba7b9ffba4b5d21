/* SPDX-License-Identifier: MIT */
/* kind.c: tests of plugins and custom kinds. A kind that writes beyond its sizes corrupts other environments, and one with
 * hidden state cannot be continued; both would fail much later. Therefore every kind first runs some steps alone: between
 * guard bytes, with a marked observation, and twice from a copied state.
 */
#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/random.h"
#include "envs/envs.h"

#include <stdio.h>
#include <string.h>

enum { LARGEST_WIDTH = 1 << 20, LARGEST_STATE = 1 << 30, GUARD_BYTE = 0xa5, TRIAL = 24 };
static const size_t guard = 4096;

/* a NaN that no computation produces: numbers with these bits were not written */
static const uint32_t unwritten = 0x7fed5a5a;

void random_action(const sparc_env_shape *shape, sparc_random *random, float *action) {
  if (shape->choices > 0)
    action[0] = (float)sparc_random_below(random, (uint32_t)shape->choices);
  else
    random_fill_normal(random, action, (size_t)shape->action, 1);
}

/* ---- the table --------------------------------------------------------------------------------- */

bool is_external(const sparc_env_kind *kind) { return kind->version >= 3 && (kind->reset_all || kind->step_all); }

/* the first missing function; NULL: none */
static const char *missing_function(const sparc_env_kind *kind) {
  if (!kind->open) return "open";
  if (is_external(kind)) return !kind->reset_all ? "reset_all" : !kind->step_all ? "step_all" : NULL;
  return !kind->state_bytes ? "state_bytes" : !kind->reset ? "reset" : !kind->step ? "step" : NULL;
}

sparc_status kind_check(const sparc_env_kind *kind, const char *who, sparc_status refusal) {
  if (kind->version < 1 || kind->version > SPARC_ENV_VERSION)
    return fail(refusal, "%s is an environment of version %d, expected 1 to %d", who, kind->version,
                (int)SPARC_ENV_VERSION);
  const char *missing = !kind->name || !*kind->name ? "name" : missing_function(kind);
  if (missing) return fail(refusal, "%s is an environment without '%s'", who, missing);
  return SPARC_OK;
}

sparc_status shape_check(const sparc_env_shape *shape, size_t state_bytes, const char *who, sparc_status refusal) {
  if (shape->observation < 1 || shape->observation > LARGEST_WIDTH)
    return fail(refusal, "%s has observations of %d numbers, expected 1 to %d", who, shape->observation,
                (int)LARGEST_WIDTH);
  if (shape->choices < 0 || shape->choices > LARGEST_WIDTH)
    return fail(refusal, "%s has %d choices, expected 0 to %d", who, shape->choices, (int)LARGEST_WIDTH);
  const int most = shape->choices > 0 ? 1 : LARGEST_WIDTH;
  if (shape->action < 1 || shape->action > most)
    return fail(refusal, "%s has %s actions of %d numbers, expected %s", who,
                shape->choices > 0 ? "discrete" : "continuous", shape->action,
                shape->choices > 0 ? "1" : "1 to 1048576");
  if (shape->horizon < 1) return fail(refusal, "%s has episodes of %d steps, expected 1 or more", who, shape->horizon);
  if (state_bytes > LARGEST_STATE)
    return fail(refusal, "%s has a state of %zu bytes, expected at most %d", who, state_bytes, (int)LARGEST_STATE);
  return SPARC_OK;
}

/* ---- the trial --------------------------------------------------------------------------------- */

/* memory between guard bytes */
typedef struct guarded {
  unsigned char *block, *bytes;
  size_t size;
} guarded;

static int guarded_create(guarded *g, size_t size) {
  g->size = size;
  g->block = sparc_alloc(size + 2 * guard);
  if (!g->block) return 0;
  memset(g->block, GUARD_BYTE, size + 2 * guard);
  g->bytes = g->block + guard;
  memset(g->bytes, 0, size);
  return 1;
}

static int is_guard(const unsigned char *bytes, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (bytes[i] != GUARD_BYTE) return 0;
  return 1;
}

static int guards_hold(const guarded *g) { return is_guard(g->block, guard) && is_guard(g->bytes + g->size, guard); }

typedef struct trial {
  const sparc_env_kind *kind;
  const void *model;
  const sparc_env_shape *shape;
  const char *who;
  sparc_status refusal;
  void *scratch, *copy;
  guarded state, observation, result; /* result: a reward and a done */
  float *action;
  uint64_t digest; /* of the results of the last steps */
} trial;

static void mark(trial *t) {
  for (int i = 0; i < t->shape->observation; i++)
    memcpy(t->observation.bytes + (size_t)i * sizeof(float), &unwritten, sizeof unwritten);
}

static int count_unwritten(const trial *t) {
  int count = 0;
  for (int i = 0; i < t->shape->observation; i++)
    count += memcmp(t->observation.bytes + (size_t)i * sizeof(float), &unwritten, sizeof unwritten) == 0;
  return count;
}

static sparc_status check_writes(const trial *t, const char *function, int done) {
  if (!guards_hold(&t->state))
    return fail(t->refusal, "%s: '%s' writes beyond the %zu bytes of its state", t->who, function, t->state.size);
  if (!guards_hold(&t->observation))
    return fail(t->refusal, "%s: '%s' writes more than the %d numbers of its observation", t->who, function,
                t->shape->observation);
  if (!guards_hold(&t->result)) return fail(t->refusal, "%s: '%s' writes beyond its reward and done", t->who, function);
  const int left = done ? 0 : count_unwritten(t);
  if (left)
    return fail(t->refusal, "%s: '%s' leaves %d of the %d numbers of its observation unwritten", t->who, function, left,
                t->shape->observation);
  return SPARC_OK;
}

static sparc_status test_reset(trial *t, sparc_random *random) {
  mark(t);
  t->kind->reset(t->model, t->scratch, t->state.bytes, random, (float *)(void *)t->observation.bytes);
  return check_writes(t, "reset", 0);
}

static sparc_status test_steps(trial *t, sparc_random *random, int steps) {
  float *reward = (float *)(void *)t->result.bytes;
  int *done = (int *)(void *)(t->result.bytes + sizeof *reward);
  sparc_status status = SPARC_OK;
  t->digest = HASH_START;
  for (int i = 0; i < steps && status == SPARC_OK; i++) {
    random_action(t->shape, random, t->action);
    mark(t);
    *done = 0;
    t->kind->step(t->model, t->scratch, t->state.bytes, random, t->action, (float *)(void *)t->observation.bytes,
                  reward, done);
    t->digest = hash_bytes(t->digest, t->result.bytes, t->result.size);
    if (!*done) t->digest = hash_bytes(t->digest, t->observation.bytes, t->observation.size);
    status = check_writes(t, "step", *done);
    if (status == SPARC_OK && *done) status = test_reset(t, random);
  }
  return status;
}

static sparc_status play_trial(trial *t) {
  sparc_random random;
  sparc_random_init(&random, 0, "env", "trial");
  sparc_status status = test_reset(t, &random);
  if (status == SPARC_OK) status = test_steps(t, &random, TRIAL);
  if (status != SPARC_OK) return status;

  sparc_random again = random;
  memcpy(t->copy, t->state.bytes, t->state.size);
  if ((status = test_steps(t, &random, TRIAL)) != SPARC_OK) return status;
  const uint64_t first = t->digest;
  memcpy(t->state.bytes, t->copy, t->state.size);
  if ((status = test_steps(t, &again, TRIAL)) != SPARC_OK) return status;
  if (first == t->digest) return SPARC_OK;
  return fail(t->refusal, "%s is not reproducible from a copied state: it has mutable data outside its %zu bytes",
              t->who, t->state.size);
}

sparc_status kind_test(const sparc_env_kind *kind, const void *model, const sparc_env_shape *shape, const char *who,
                       sparc_status refusal) {
  const size_t state_bytes = kind->state_bytes(model);
  trial t = {.kind = kind, .model = model, .shape = shape, .who = who, .refusal = refusal};
  t.copy = sparc_alloc(state_bytes);
  t.action = sparc_alloc((size_t)shape->action * sizeof *t.action);
  t.scratch = kind->scratch_create ? kind->scratch_create(model) : NULL;
  sparc_status status = fail(SPARC_NO_MEMORY, "no memory to test %s", who);
  if (guarded_create(&t.state, state_bytes) &&
      guarded_create(&t.observation, (size_t)shape->observation * sizeof(float)) &&
      guarded_create(&t.result, sizeof(float) + sizeof(int)) && t.copy && t.action &&
      (t.scratch || !kind->scratch_create))
    status = play_trial(&t);
  if (t.scratch && kind->scratch_free) kind->scratch_free(t.scratch);
  sparc_free(t.state.block);
  sparc_free(t.observation.block);
  sparc_free(t.result.block);
  sparc_free(t.action);
  sparc_free(t.copy);
  return status;
}
