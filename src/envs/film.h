/* SPDX-License-Identifier: MIT */
/* film.h: an episode of one environment kept step by step, then written as a picture or as a table.
 *
 *   film_look(f, envs, 0, observation);        before a step
 *   film_take(f, action, reward);              after it
 *   film_write_svg(f, "hopper.svg", title);    at the end
 */
#ifndef SPARC_ENVS_FILM_H
#define SPARC_ENVS_FILM_H

#include "sparc/env.h"

typedef struct film film;

sparc_status film_create(const sparc_envs *envs, film **out);
void film_free(film *f); /* NULL: nothing to do */

/* film_look begins a step: what environment i shows and looks like; film_take ends it with what was done and paid. Once
 * the environment has been stepped, its former look is gone. */
sparc_status film_look(film *f, sparc_envs *envs, int i, const float *observation);
void film_take(film *f, const float *action, float reward);

/* film_write_svg draws moments of the episode side by side, seen from the side, from the first to the last. No window
 * system, no fonts, nothing beside it. SPARC_UNSUPPORTED: the kind has no side view. */
sparc_status film_write_svg(const film *f, const char *path, const char *title);

/* film_write_csv writes a row per step: step, reward, return so far, where the environment has a side view x and z of
 * its first part, then action and observation. */
sparc_status film_write_csv(const film *f, const char *path);

#endif
