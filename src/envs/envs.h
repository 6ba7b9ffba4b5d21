/* SPDX-License-Identifier: MIT */
/* envs.h: what the files of this folder share: the families of kinds, and how a kind of somebody else's is let in. */
#ifndef SPARC_ENVS_ENVS_H
#define SPARC_ENVS_ENVS_H

#include "sparc/env.h"

#include <stdbool.h>

/* the families, each ending with NULL; registry.c has the list */
extern const sparc_env_kind *const card_kinds[];    /* cards.c */
extern const sparc_env_kind *const control_kinds[]; /* control.c */
extern const sparc_env_kind *const search_kinds[];  /* search.c */
extern const sparc_env_kind *const robot_kinds[];   /* robots.c */

/* plugin_load opens the shared object at path and finds its kind. *handle is for plugin_unload. */
sparc_status plugin_load(const char *path, void **handle, const sparc_env_kind **out);
void plugin_unload(void *handle); /* NULL: nothing to do */

/* is_plugin says whether the name of an environment is the path of a plugin; name may be NULL. */
bool is_plugin(const char *name);

/* plugin_permit decides about the environment that a file, here `where`, names: loading a plugin runs its code, so one
 * is refused (SPARC_INVALID) unless the user has named it, too. allowed: what the user named, ending with NULL; NULL:
 * nothing. */
sparc_status plugin_permit(const char *name, const char *where, const char *const *allowed);

/* kind_check looks at the table itself: version, name, functions that must be there; shape_check at what open returned.
 * `refusal` is the status of a failure, `who` names the kind in it. */
sparc_status kind_check(const sparc_env_kind *kind, const char *who, sparc_status refusal);
sparc_status shape_check(const sparc_env_shape *shape, size_t state_bytes, const char *who, sparc_status refusal);

/* is_external says whether the environments of a kind live outside of the library: it steps them all by one call. */
bool is_external(const sparc_env_kind *kind);

/* kind_try plays some steps between guard bytes, and some of them twice from a copied state. */
sparc_status kind_try(const sparc_env_kind *kind, const void *model, const sparc_env_shape *shape, const char *who,
                      sparc_status refusal);

/* envs_saved_bytes is sparc_envs_state_bytes of n environments like these; envs_begun says whether there was a reset */
size_t envs_saved_bytes(const sparc_envs *envs, int n);
bool envs_begun(const sparc_envs *envs);

/* envs_create_from is sparc_envs_create for environments that are counted from `first` on: environment i draws from the
 * stream (seed, "env", "first + i") */
sparc_status envs_create_from(const sparc_envs_config *config, int first, sparc_envs **out);

/* random_action draws what sparc_env_kind.random_return is the return of */
void random_action(const sparc_env_shape *shape, sparc_random *random, float *action);

#endif
