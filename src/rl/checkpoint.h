/* SPDX-License-Identifier: MIT */
/* checkpoint.h: runs and agents as safetensors files.
 *
 * Metadata: the format, every field of the configuration and of the task's shape under its own key (numbers with 17
 * digits, so that they come back exactly), and the rollouts done. Tensors: every block of the network under its name,
 * its moments as opt.m.NAME and opt.v.NAME, the normalisers, and row T of the rollout: all that the next one starts
 * from. The number of threads is no part of it: it changes nothing.
 */
#ifndef SPARC_RL_CHECKPOINT_H
#define SPARC_RL_CHECKPOINT_H

#include "io/stored_blocks.h"
#include "rl/normaliser.h"

/* what the metadata say */
typedef struct stored_run {
  sparc_ppo_config config; /* its strings live in the file */
  sparc_env_shape shape;
  long rollouts;
} stored_run;

/* reads and checks the metadata of a file of runs */
sparc_status stored_run_read(const sparc_tensors *file, const char *path, stored_run *out);
/* the network's blocks, and of its parameters what is stored of them: weights first, then both moments, which may be
 * NULL */
enum { STORED_ARRAYS = 1 + STORED_MOMENTS };
stored_blocks stored_blocks_of(const sparc_network *network);
void stored_arrays_of(const sparc_network *network, float *params, float *moments, block_array array[STORED_ARRAYS]);
/* whether every tensor of weights and moments is there in its type and shape, and none that is not of a run */
sparc_status stored_network_check(const sparc_tensors *file, const char *path, const sparc_network *network);
/* `count` rows of moments, each of which numbers can have */
sparc_status stored_moments_read(const sparc_tensors *file, const char *path, const char *name, size_t count,
                                 running_moments *out);

/* where the observation normaliser's moments are: (moments, 3) */
#define STORED_OBSERVATION_MOMENTS "normaliser.observation"

#endif
