/* SPDX-License-Identifier: MIT */
/* envs.h: families of built-in kinds, and checks of plugins and custom kinds. */
#ifndef SPARC_ENVS_ENVS_H
#define SPARC_ENVS_ENVS_H

#include "sparc/env.h"

#include <stdbool.h>

/* families of kinds, each terminated by NULL; see registry.c */
extern const sparc_env_kind *const card_kinds[];    /* cards.c */
extern const sparc_env_kind *const control_kinds[]; /* control.c */
extern const sparc_env_kind *const search_kinds[];  /* search.c */
extern const sparc_env_kind *const robot_kinds[];   /* robots.c */

/* Find the built-in kind of this name. SPARC_INVALID suggests a similar name. */
sparc_status env_find(const char *name, const sparc_env_kind **out);

/* Write the side view of environment i (sparc_env_kind.segments); return the number of segments, 0: nothing to draw. */
int envs_segments(sparc_envs *envs, int i, double (*segment)[5], int most);

/* Open the shared object at path and find its kind. *handle is for plugin_unload. */
sparc_status plugin_load(const char *path, void **handle, const sparc_env_kind **out);
void plugin_unload(void *handle); /* NULL: nothing to do */

/* Whether the name of an environment is the path of a plugin. name may be NULL. */
bool is_plugin(const char *name);

/* Check an environment named by the file `where`. Loading a plugin runs its code, so it is refused (SPARC_INVALID) unless
 * the user has named it, too. allowed: plugins named by the user, terminated by NULL; NULL: none. */
sparc_status plugin_permit(const char *name, const char *where, const char *const *allowed);

/* kind_check checks version, name and required functions of a kind; shape_check the result of `open`. `refusal` is the
 * status of a failure, `who` the name in its message. */
sparc_status kind_check(const sparc_env_kind *kind, const char *who, sparc_status refusal);
sparc_status shape_check(const sparc_env_shape *shape, size_t state_bytes, const char *who, sparc_status refusal);

/* Whether the environments of a kind live outside the library (step_all). */
bool is_external(const sparc_env_kind *kind);

/* Run some steps between guard bytes, and some of them twice from a copied state. */
sparc_status kind_test(const sparc_env_kind *kind, const void *model, const sparc_env_shape *shape, const char *who,
                       sparc_status refusal);

/* Size of the saved state of n environments of this kind; whether sparc_envs_reset was called. */
size_t envs_saved_bytes(const sparc_envs *envs, int n);
bool envs_begun(const sparc_envs *envs);

/* sparc_envs_create with environments numbered from `first`: environment i draws from the stream
 * (seed, "env", "first + i"). */
sparc_status envs_create_from(const sparc_envs_config *config, int first, sparc_envs **out);

/* Draw an action of the policy of sparc_env_kind.random_return. */
void random_action(const sparc_env_shape *shape, sparc_random *random, float *action);

#endif
