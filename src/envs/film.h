/* SPDX-License-Identifier: MIT */
/* film.h: recording of an episode of one environment, written as a picture or as a table.
 *
 *   film_begin_step(f, envs, 0, observation);  before a step
 *   film_end_step(f, action, reward);          after it
 *   film_write_svg(f, "hopper.svg", title);    at the end
 */
#ifndef SPARC_ENVS_FILM_H
#define SPARC_ENVS_FILM_H

#include "sparc/env.h"

typedef struct film film;

sparc_status film_create(const sparc_envs *envs, film **out);
void film_free(film *f); /* f may be NULL */

/* film_begin_step records observation and side view of environment i before a step, film_end_step action and reward after
 * it. */
sparc_status film_begin_step(film *f, sparc_envs *envs, int i, const float *observation);
void film_end_step(film *f, const float *action, float reward);

/* Draw side views of the episode from its first to its last step, next to each other, as a self-contained SVG.
 * SPARC_UNSUPPORTED: the kind has no side view. */
sparc_status film_write_svg(const film *f, const char *path, const char *title);

/* Write a row per step: step, reward, return so far, x and z of the first part if there is a side view, action and
 * observation. */
sparc_status film_write_csv(const film *f, const char *path);

#endif
