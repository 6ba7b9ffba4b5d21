/* SPDX-License-Identifier: MIT */
/* env.h: environments for reinforcement learning: a table of C functions per kind, and vectors of them.
 *
 * A vector of environments is advanced by sparc_envs_step, which starts the next episode by itself: the observation
 * that comes with start = 1 is the first of a new episode, and the last one of the episode before is never delivered. A
 * time limit is an ordinary end. Everything that changes lies in one block of bytes and one random stream per
 * environment, so a vector can be saved and continued to the bit.
 *
 * An environment of one's own is a sparc_env_kind: given in sparc_envs_config, or exported by a shared object under the
 * name sparc_env_plugin and loaded by its path. docs/environments.md shows how; examples/env_plugin.c is one.
 */
#ifndef SPARC_ENV_H
#define SPARC_ENV_H

#include "sparc/base.h"
#include "sparc/random.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- one kind of environment ---- */

enum { SPARC_ENV_VERSION = 3 }; /* version 1 has no state_valid, version 2 neither reset_all nor step_all */

typedef struct sparc_env_shape {
  int observation; /* numbers of an observation, >= 1 */
  int choices;     /* discrete actions 0 ... choices - 1; 0: actions are continuous */
  int action;      /* numbers of an action; 1 for a discrete one, which is its index as a float */
  int horizon;     /* most steps of an episode; the library ends an episode that has come so far */
} sparc_env_shape;

typedef struct sparc_env_kind {
  int version; /* SPARC_ENV_VERSION */
  const char *name, *summary;
  /* means per episode with default options; NAN: unknown. Random: uniform choices, or N(0, 1) for every number of a
   * continuous action. Optimal: what the best known policy earns. */
  double random_return, optimal_return;
  /* What `options` ("key=value,...", never NULL) makes of the kind: its shape, and shared constant data (a model; may
   * stay NULL). SPARC_INVALID with a sentence (sparc_env_refuse) for an option that is unknown or out of range. */
  sparc_status (*open)(const char *options, sparc_env_shape *shape, void **model);
  void (*close)(void *model); /* NULL: nothing to free */
  /* bytes of what changes: plain data without pointers, so that saving is copying. Aligned to 64 bytes, first zero. */
  size_t (*state_bytes)(const void *model);
  /* Room that one thread needs besides, with nothing in it that lasts from call to call (MuJoCo's mjData); both may be
   * NULL. scratch_create returns NULL without memory. Kinds with a scratch count as slow: every environment may be
   * stepped by another thread. */
  void *(*scratch_create)(const void *model);
  void (*scratch_free)(void *scratch);
  /* reset draws an episode and writes its first observation. It must not depend on what was in state. */
  void (*reset)(const void *model, void *scratch, void *state, sparc_random *random, float *observation);
  /* One step without auto-reset: *done = 1 ends the episode, the observation is then ignored and the library calls
   * reset. *done is 0 before the call. A discrete action is in range. A continuous one is whatever the policy gave, not
   * clipped, perhaps not finite. A reward or an observation that is not finite ends the episode; to report that an
   * episode broke down in another way, set *reward to NAN. */
  void (*step)(const void *model, void *scratch, void *state, sparc_random *random, const float *action,
               float *observation, float *reward, int *done);
  /* a good policy that may look at the state; NULL: none */
  void (*oracle)(const void *model, void *scratch, const void *state, float *action);
  /* positions for drawing: up to `most` segments (x0, z0, x1, z1, radius) of a side view; NULL: nothing to draw */
  int (*segments)(const void *model, void *scratch, const void *state, double (*segment)[5], int most);
  /* Returns 1 if the bytes of `state` can be the state of an episode after `steps` steps (0 ... horizon - 1), else 0.
   * sparc_envs_restore() calls it for every state: saved environments come from files, and files can be crafted. Check
   * whatever `step`, `oracle` and `segments` rely on: every index, count and enumeration. NULL: all bytes of the right
   * size are accepted, and these functions must be safe for any of them. */
  int (*state_valid)(const void *model, const void *state, int steps);
  /* Environments that live outside of the library (an interpreter, another process) and cannot be copied: these two
   * take the place of state_bytes, reset, step and all that may be NULL above. The calling thread runs them, once for
   * all n environments. reset_all starts every episode. step_all advances every environment; starts[i] = 1: the reward
   * ended its episode and observations[i] opens the next. A status other than SPARC_OK (sparc_env_refuse leaves a
   * sentence) is that of sparc_envs_reset() or sparc_envs_step(). Such kinds are not tried, their horizon is not
   * enforced, saving keeps their counts alone, and a restored run begins with new episodes. Both NULL: none. */
  sparc_status (*reset_all)(void *model, int n, float *observations /* n, observation */);
  sparc_status (*step_all)(void *model, int n, const float *actions /* n, action */, float *observations,
                           float *rewards /* n */, float *starts /* n */);
} sparc_env_kind;

/* what a plugin exports: const sparc_env_kind *sparc_env_plugin(void) */
typedef const sparc_env_kind *(*sparc_env_plugin_fn)(void);

/* sparc_env_refuse is how `open`, `reset_all` and `step_all` refuse: it stores the sentence for sparc_error and returns
 * SPARC_INVALID. */
#if defined(__GNUC__)
__attribute__((format(printf, 1, 2)))
#endif
SPARC_API sparc_status
sparc_env_refuse(const char *format, ...);

/* sparc_env_names lists the built-in kinds and ends with NULL; sparc_env_find gives one, or suggests another. */
SPARC_API const char *const *sparc_env_names(void);
SPARC_API sparc_status sparc_env_find(const char *name, const sparc_env_kind **out);

/* ---- n environments of one kind ---- */

typedef struct sparc_envs sparc_envs; /* opaque; one thread at a time may use it */

typedef struct sparc_envs_config {
  const char *name;           /* a built-in kind, or a path with a slash: a plugin */
  const sparc_env_kind *kind; /* instead of a name: the caller's own */
  const char *options;        /* NULL: none */
  int n;
  uint64_t seed; /* environment i draws from the stream (seed, "env", "i") */
  int threads;   /* 0: all that are available. Results do not depend on it. */
} sparc_envs_config;

/* sparc_envs_create opens the kind and n environments. A plugin, and a kind of the caller's, are tried for some steps
 * first; what does not keep to its sizes, or does not repeat itself from a copied state, is refused (a plugin with
 * SPARC_FORMAT, a kind with SPARC_INVALID). The kind, its model and a plugin's code live until sparc_envs_free. */
SPARC_API sparc_status sparc_envs_create(const sparc_envs_config *config, sparc_envs **out);
SPARC_API void sparc_envs_free(sparc_envs *envs);
SPARC_API const sparc_env_kind *sparc_envs_kind(const sparc_envs *envs);
SPARC_API sparc_env_shape sparc_envs_shape(const sparc_envs *envs);

/* sparc_envs_reset starts an episode everywhere; the random streams go on from where they are. Once before the first
 * step. */
SPARC_API sparc_status sparc_envs_reset(sparc_envs *envs, float *observations /* n, observation */);

/* sparc_envs_step advances every environment. starts[i] = 1: observations[i] opens an episode, and the return (sum of
 * rewards) and length of the one that ended are in returns[i] and lengths[i], which are not written otherwise. Numbers
 * that are not finite end their episode with reward 0 and are counted (sparc_envs_faults). A discrete action that is
 * none is SPARC_INVALID; nothing has moved then. */
SPARC_API sparc_status sparc_envs_step(sparc_envs *envs, const float *actions /* n, action */,
                                       float *observations /* n, observation */, float *rewards /* n */,
                                       float *starts /* n */, double *returns /* n or NULL */,
                                       int *lengths /* n or NULL */);

/* episodes that ended because a number was not finite, since the beginning */
SPARC_API long sparc_envs_faults(const sparc_envs *envs);

/* The whole state: episodes under way, random streams, counts. sparc_envs_restore takes what sparc_envs_save wrote for
 * the same kind, options and n on the same sort of machine. It checks every number that the library keeps and every
 * state by the kind's state_valid, and changes nothing when it refuses (SPARC_FORMAT). A kind with step_all then needs
 * sparc_envs_reset(). */
SPARC_API size_t sparc_envs_state_bytes(const sparc_envs *envs);
SPARC_API void sparc_envs_save(const sparc_envs *envs, void *state);
SPARC_API sparc_status sparc_envs_restore(sparc_envs *envs, const void *state, size_t bytes);

/* sparc_envs_oracle writes the action of the kind's own good policy for each environment. SPARC_UNSUPPORTED: it has
 * none. */
SPARC_API sparc_status sparc_envs_oracle(sparc_envs *envs, float *actions /* n, action */);

/* sparc_envs_segments gives the side view of environment i (see sparc_env_kind.segments) and returns the number of
 * segments; 0 where there is nothing to draw. */
SPARC_API int sparc_envs_segments(sparc_envs *envs, int i, double (*segment)[5], int most);

#ifdef __cplusplus
}
#endif

#endif
