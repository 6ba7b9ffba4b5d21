/* SPDX-License-Identifier: MIT */
/* mjcf.h: the robots' models (MuJoCo's XML, src/envs/mjcf) inside the library. */
#ifndef SPARC_ENVS_MJCF_H
#define SPARC_ENVS_MJCF_H

#include "io/embedded.h"

extern const embedded_file mjcf_ant, mjcf_cheetah, mjcf_hopper, mjcf_walker;

#endif
