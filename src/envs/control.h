/* SPDX-License-Identifier: MIT */
/* control.h: the states of the control tasks, for tests that set them. */
#ifndef SPARC_ENVS_CONTROL_H
#define SPARC_ENVS_CONTROL_H

typedef struct pendulum_state {
  double angle, speed; /* 0 is upright; not wrapped */
} pendulum_state;

typedef struct cartpole_state {
  double place, speed, angle, spin;
} cartpole_state;

#endif
