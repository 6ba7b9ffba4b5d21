/* SPDX-License-Identifier: MIT */
/* robots.h: walking robots as environments: the list of kinds (robots.c) and their physics (mujoco.c).
 *
 * The kinds exist in every build, so that a build without MuJoCo can name the package that it lacks.
 */
#ifndef SPARC_ENVS_ROBOTS_H
#define SPARC_ENVS_ROBOTS_H

#include "sparc/env.h"

/* The observation of a kind: `count` numbers from index `first` on of the full observation, which is qpos without the
 * position on the ground, then qvel. */
typedef struct robot_task {
  const char *name;  /* of the kind, for errors */
  const char *robot; /* "ant", "cheetah", "hopper" or "walker" */
  int first, count;
} robot_task;

/* robots_available returns SPARC_OK if a robot can be created; if not, sparc_error() names what is missing. */
sparc_status robots_available(void);

/* The hooks of every kind, in mujoco.c; see sparc_env_kind. */
sparc_status robot_open(const robot_task *task, const char *options, sparc_env_shape *shape, void **model);
void robot_close(void *model);
size_t robot_state_bytes(const void *model);
void *robot_scratch_create(const void *model);
void robot_scratch_free(void *scratch);
void robot_reset(const void *model, void *scratch, void *state, sparc_random *random, float *observation);
void robot_step(const void *model, void *scratch, void *state, sparc_random *random, const float *action,
                float *observation, float *reward, int *done);
int robot_segments(const void *model, void *scratch, const void *state, double (*segment)[5], int most);

int robot_state_valid(const void *model, const void *state, int steps);

/* robot_load copies a state to the scratch, an mjData, and returns the mjModel, for tests */
const void *robot_load(const void *model, void *scratch, const void *state);

#endif
