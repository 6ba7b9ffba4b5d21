/* SPDX-License-Identifier: MIT */
/* robots.c: the kinds of robot environments, one row each.
 *
 * NAME-p observes positions only, so velocities must be inferred from memory, NAME-v velocities only, NAME
 * both. cheetah-p keeps one number more than there are positions, the forward velocity, because the experiments of
 * the paper did; cheetah-p8 is strict. The returns of a random policy, N(0, 1) per motor, do not depend on the
 * observation; docs/robots.md has the command that measures them.
 */
#include "envs/robots.h"

#include "base/error.h"
#include "envs/envs.h"

#include <math.h>

/* clang-format off */
#define KINDS(X) \
  /* id         name          robot      first count  random  summary */ \
  X(ant_p,      "ant-p",      "ant",      0,   13,    -282,   "four-legged robot, positions only") \
  X(ant_v,      "ant-v",      "ant",      13,  14,    -282,   "four-legged robot, velocities only") \
  X(ant,        "ant",        "ant",      0,   27,    -282,   "four-legged robot") \
  X(cheetah_p,  "cheetah-p",  "cheetah",  0,   9,     -596,   "planar runner, positions and forward velocity") \
  X(cheetah_p8, "cheetah-p8", "cheetah",  0,   8,     -596,   "planar runner, positions only") \
  X(cheetah_v,  "cheetah-v",  "cheetah",  8,   9,     -596,   "planar runner, velocities only") \
  X(cheetah,    "cheetah",    "cheetah",  0,   17,    -596,   "planar runner") \
  X(hopper_p,   "hopper-p",   "hopper",   0,   5,     15.8,   "planar one-legged robot, positions only") \
  X(hopper_v,   "hopper-v",   "hopper",   5,   6,     15.8,   "planar one-legged robot, velocities only") \
  X(hopper,     "hopper",     "hopper",   0,   11,    15.8,   "planar one-legged robot") \
  X(walker_p,   "walker-p",   "walker",   0,   8,     0.0,    "planar two-legged robot, positions only") \
  X(walker_v,   "walker-v",   "walker",   8,   9,     0.0,    "planar two-legged robot, velocities only") \
  X(walker,     "walker",     "walker",   0,   17,    0.0,    "planar two-legged robot")
/* clang-format on */

#if SPARC_HAVE_MUJOCO
#define HOOKS                                                                                               \
  .close = robot_close, .state_bytes = robot_state_bytes, .scratch_create = robot_scratch_create,           \
  .scratch_free = robot_scratch_free, .reset = robot_reset, .step = robot_step, .segments = robot_segments, \
  .state_valid = robot_state_valid
#else
/* nothing opens, so nothing else is called */
#define HOOKS .close = NULL
sparc_status robots_available(void) {
  return fail(SPARC_UNSUPPORTED,
              "robots need MuJoCo, and this library was built without it: install it (Debian: "
              "libmujoco-dev), then build again");
}
sparc_status robot_open(const robot_task *task, const char *options, sparc_env_shape *shape, void **model) {
  (void)task, (void)options, (void)shape, (void)model;
  return robots_available();
}
#endif

#define DEFINE(id, kind_name, robot_name, first_number, numbers, random_mean, text)          \
  static sparc_status open_##id(const char *options, sparc_env_shape *shape, void **model) { \
    static const robot_task task = {kind_name, robot_name, first_number, numbers};           \
    return robot_open(&task, options, shape, model);                                         \
  }                                                                                          \
  static const sparc_env_kind id = {.version = SPARC_ENV_VERSION,                            \
                                    .name = (kind_name),                                     \
                                    .summary = (text),                                       \
                                    .random_return = (random_mean),                          \
                                    .optimal_return = NAN,                                   \
                                    .open = open_##id,                                       \
                                    HOOKS};
KINDS(DEFINE)

#define ADDRESS(id, ...) &id,
const sparc_env_kind *const robot_kinds[] = {KINDS(ADDRESS) NULL};
