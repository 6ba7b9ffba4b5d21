/* SPDX-License-Identifier: MIT */
/* env.h: environments for reinforcement learning: a table of C functions per kind, and vectors of environments.
 *
 * sparc_envs_step advances a vector of environments and starts the next episode by itself (autoreset within the step):
 * an observation with mask 0 is the first of a new episode, and the last observation of the previous episode is not
 * returned. Masks are those of cells and networks: 1 continues, 0 starts a segment. A time limit is an ordinary end of
 * an episode. All mutable data are one block of bytes and one random stream per environment, so a saved vector
 * continues bit-exactly.
 *
 * Custom environments are a sparc_env_kind, given in sparc_envs_config or exported by a shared object as
 * sparc_env_plugin and loaded by its path. See docs/environments.md and examples/env_plugin.c.
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

/* Older versions are accepted: 1 has no state_valid, 2 neither reset_all nor step_all, and step_all of version 3 writes
 * 1 - mask. */
enum { SPARC_ENV_VERSION = 4 };

typedef struct sparc_env_shape {
  int observation; /* numbers of an observation, >= 1 */
  int choices;     /* discrete actions 0 ... choices - 1; 0: actions are continuous */
  int action;      /* numbers of an action; 1 for a discrete one, which is its index as a float */
  int horizon;     /* greatest length of an episode; the library ends longer ones */
} sparc_env_shape;

typedef struct sparc_env_kind {
  int version; /* SPARC_ENV_VERSION */
  const char *name, *summary;
  /* Mean returns with default options; NAN: unknown. Random: uniform discrete actions, or N(0, 1) for every number of a
   * continuous action. Optimal: the best known policy. */
  double random_return, optimal_return;
  /* Parse `options` ("key=value,...", never NULL); write the shape and, optionally, constant data shared by all
   * environments (*model, may stay NULL). Returns SPARC_INVALID with a message (sparc_env_refuse) if an option is
   * unknown or out of range. */
  sparc_status (*open)(const char *options, sparc_env_shape *shape, void **model);
  void (*close)(void *model); /* NULL: nothing to free */
  /* Size of the mutable state: plain data without pointers, saved by copying. Aligned to 64 bytes, initially zero. */
  size_t (*state_bytes)(const void *model);
  /* Scratch memory of one thread, whose contents do not persist between calls (MuJoCo's mjData). Both may be NULL.
   * scratch_create returns NULL if memory is exhausted. Kinds with scratch memory are assumed to be slow: each
   * environment may be stepped by its own thread. */
  void *(*scratch_create)(const void *model);
  void (*scratch_free)(void *scratch);
  /* Start an episode and write its first observation. The result must not depend on the previous contents of state. */
  void (*reset)(const void *model, void *scratch, void *state, sparc_random *random, float *observation);
  /* Advance by one step, without autoreset. *done is 0 before the call; 1 ends the episode, the observation is then
   * ignored and the library calls reset. Discrete actions are in range. Continuous actions are neither clipped nor
   * checked for NaN. A non-finite reward or observation ends the episode; set *reward to NAN to report any other
   * failure of an episode. */
  void (*step)(const void *model, void *scratch, void *state, sparc_random *random, const float *action,
               float *observation, float *reward, int *done);
  /* Write the action of a good policy, which may read the state. NULL: none. */
  void (*oracle)(const void *model, void *scratch, const void *state, float *action);
  /* Write up to `most` segments (x0, z0, x1, z1, radius) of a side view for drawing; return their number. NULL: none. */
  int (*segments)(const void *model, void *scratch, const void *state, double (*segment)[5], int most);
  /* Return 1 if `state` is a possible state of an episode after `steps` steps (0 ... horizon - 1), else 0.
   * sparc_envs_restore() calls it for every state, because saved environments come from untrusted files. Check
   * everything `step`, `oracle` and `segments` rely on: every index, count and enumeration. NULL: any bytes are
   * accepted, and these functions must be safe for them. */
  int (*state_valid)(const void *model, const void *state, int steps);
  /* Environments that live outside the library (in an interpreter or another process) and cannot be copied: these two
   * functions replace state_bytes, reset, step and everything above that may be NULL. The calling thread runs them once
   * for all n environments. reset_all starts every episode. step_all advances every environment; masks[i] = 0: the
   * reward ended the episode and observations[i] is the first of the next one, else 1. A status other than SPARC_OK
   * (with a message by sparc_env_refuse) is returned by sparc_envs_reset() or sparc_envs_step(). Such kinds are not
   * tested when they are opened, their horizon is not enforced, only their counts are saved, and a loaded run starts
   * new episodes. Both NULL: none. */
  sparc_status (*reset_all)(void *model, int n, float *observations /* n, observation */);
  sparc_status (*step_all)(void *model, int n, const float *actions /* n, action */, float *observations,
                           float *rewards /* n */, float *masks /* n */);
} sparc_env_kind;

/* The function that a plugin exports: const sparc_env_kind *sparc_env_plugin(void). */
typedef const sparc_env_kind *(*sparc_env_plugin_fn)(void);

/* Set the message of sparc_error() and return SPARC_INVALID. For `open`, `reset_all` and `step_all`. */
#if defined(__GNUC__)
__attribute__((format(printf, 1, 2)))
#endif
SPARC_API sparc_status
sparc_env_refuse(const char *format, ...);

/* Names of the built-in kinds, terminated by NULL. */
SPARC_API const char *const *sparc_env_names(void);

/* ---- n environments of one kind ---- */

typedef struct sparc_envs sparc_envs; /* opaque; used by one thread at a time */

typedef struct sparc_envs_config {
  const char *name;           /* a built-in kind, or the path of a plugin (with a slash) */
  const sparc_env_kind *kind; /* instead of a name: a custom kind */
  const char *options;        /* NULL: none */
  int n;
  uint64_t seed; /* environment i draws from the stream (seed, "env", "i") */
  int threads;   /* 0: all that are available. Results do not depend on it. */
} sparc_envs_config;

/* Open the kind and n environments. Plugins and custom kinds are tested for some steps first; one that writes beyond
 * its sizes, or is not reproducible from a copied state, is refused (a plugin with SPARC_FORMAT, a kind with
 * SPARC_INVALID). The kind, its model and the code of a plugin live until sparc_envs_free. */
SPARC_API sparc_status sparc_envs_create(const sparc_envs_config *config, sparc_envs **out);
SPARC_API void sparc_envs_free(sparc_envs *envs); /* envs may be NULL */

typedef struct sparc_envs_info {
  const sparc_env_kind *kind;
  sparc_env_shape shape;
  int n;
  long faults;        /* episodes ended by non-finite numbers, since the creation */
  size_t state_bytes; /* size of the buffer of sparc_envs_save */
} sparc_envs_info;

SPARC_API sparc_envs_info sparc_envs_info_of(const sparc_envs *envs); /* zero for NULL */

/* Start an episode in every environment; random streams continue. Required once before the first step. */
SPARC_API sparc_status sparc_envs_reset(sparc_envs *envs, float *observations /* n, observation */);

/* Advance every environment by one step. masks[i] = 1: the episode continues. masks[i] = 0: it has ended,
 * observations[i] is the first of the next episode, and returns[i] (sum of rewards) and lengths[i] describe the one that
 * ended; they are not written otherwise. Non-finite numbers end their episode with reward 0 and are counted as faults.
 * Returns SPARC_INVALID, and steps no environment, if a discrete action is out of range. */
SPARC_API sparc_status sparc_envs_step(sparc_envs *envs, const float *actions /* n, action */,
                                       float *observations /* n, observation */, float *rewards /* n */,
                                       float *masks /* n */, double *returns /* n or NULL */,
                                       int *lengths /* n or NULL */);

/* Save or restore the complete state: current episodes, random streams and counts. sparc_envs_restore accepts what
 * sparc_envs_save wrote for the same kind, options and n on the same type of machine. It checks all counts, and every
 * state by the kind's state_valid; if it returns SPARC_FORMAT, nothing has changed. Kinds with step_all then require
 * sparc_envs_reset(). */
SPARC_API void sparc_envs_save(const sparc_envs *envs, void *state /* state_bytes of sparc_envs_info */);
SPARC_API sparc_status sparc_envs_restore(sparc_envs *envs, const void *state, size_t bytes);

/* Write the action of the kind's oracle for every environment. SPARC_UNSUPPORTED: the kind has none. */
SPARC_API sparc_status sparc_envs_oracle(sparc_envs *envs, float *actions /* n, action */);

#ifdef __cplusplus
}
#endif

#endif
