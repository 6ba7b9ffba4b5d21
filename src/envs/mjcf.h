/* SPDX-License-Identifier: MIT */
/* mjcf.h: the robots' models (MuJoCo's XML, src/envs/mjcf) as bytes inside the library; the build makes the source. */
#ifndef SPARC_ENVS_MJCF_H
#define SPARC_ENVS_MJCF_H

#include <stddef.h>

typedef struct mjcf_file {
  const char *name; /* "ant.xml" */
  const unsigned char *bytes;
  size_t size;
} mjcf_file;

extern const mjcf_file mjcf_ant, mjcf_cheetah, mjcf_hopper, mjcf_walker;

#endif
