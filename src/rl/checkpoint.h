/* SPDX-License-Identifier: MIT */
/* checkpoint.h: runs and agents as safetensors files.
 *
 * Metadata: the format, every field of the configuration and of the task's shape (numbers with 17 digits, which read
 * back exactly), and the number of rollouts done. Tensors: every block of the network, its moments as opt.m.NAME and
 * opt.v.NAME, the normalisers, and row T of the rollout, from which the next one starts. The number of threads is not
 * stored; results do not depend on it.
 */
#ifndef SPARC_RL_CHECKPOINT_H
#define SPARC_RL_CHECKPOINT_H

#include "io/stored_blocks.h"
#include "rl/normaliser.h"

/* contents of the metadata */
typedef struct stored_run {
  sparc_ppo_config config; /* strings point into the file */
  sparc_env_shape shape;
  long rollouts;
} stored_run;

/* Read and check the metadata of a checkpoint. */
sparc_status stored_run_read(const sparc_tensors *file, const char *path, stored_run *out);
/* The network's blocks, and the arrays stored for each: weights, then both moments, which may be NULL. */
enum { STORED_ARRAYS = 1 + STORED_MOMENTS };
stored_blocks stored_blocks_of(const sparc_network *network);
void stored_arrays_of(const sparc_network *network, float *params, float *moments, block_array array[STORED_ARRAYS]);
/* Check that all tensors of weights and moments are present with their type and shape, and no unknown ones. */
sparc_status stored_network_check(const sparc_tensors *file, const char *path, const sparc_network *network);
/* Read and check `count` rows of moments. */
sparc_status stored_moments_read(const sparc_tensors *file, const char *path, const char *name, size_t count,
                                 running_moments *out);

/* tensor of the observation normaliser: (moments, 3) */
#define STORED_OBSERVATION_MOMENTS "normaliser.observation"

#endif
