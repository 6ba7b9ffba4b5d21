/* SPDX-License-Identifier: MIT */
/* checkpoint.h: trained networks as safetensors files.
 *
 * Tensors, all F32: every block of the network under its name and, in a file that training can continue from, its
 * moments as opt.m.NAME and opt.v.NAME. Everything else is metadata: format and version, each field of the
 * configuration under its own key (numbers with 17 digits, so that they come back exactly), the update, preprocessing.
 * The number of threads is no part of it: it changes nothing.
 */
#ifndef SPARC_LAB_CHECKPOINT_H
#define SPARC_LAB_CHECKPOINT_H

#include "lab/preprocessing.h"
#include "sparc/train.h"

#include <stdbool.h>

/* what a checkpoint says of a training run */
typedef struct training_state {
  sparc_train_config config;
  sparc_head_config head; /* the network's only one */
  long update;            /* updates done */
  int examples;           /* number of training examples: with another one the batches would be others */
} training_state;

typedef struct checkpoint_content {
  const sparc_network *network;
  training_state state;
  const float *params, *moments;            /* (params), (2, params) */
  const sparc_preprocessing *preprocessing; /* may be NULL */
  const sparc_metadata *extra;
  size_t extra_count;
} checkpoint_content;

sparc_status checkpoint_write(const char *path, const checkpoint_content *content);

/* a file whose metadata and tensor shapes are all in order */
typedef struct checkpoint {
  const char *path; /* the caller's */
  sparc_tensors *file;
  int format;
  sparc_network *network;
  training_state state; /* the strings of its network's part are those of `network` */
  stored_preprocessing preprocessing;
} checkpoint;

/* checkpoint_open checks a file; with resumable the moments must be there, too. On failure there is nothing to close.
 */
sparc_status checkpoint_open(const char *path, bool resumable, checkpoint *out);
void checkpoint_close(checkpoint *c);

/* checkpoint_read fetches the numbers; moments may be NULL. SPARC_FORMAT names a tensor with a number that cannot be.
 */
sparc_status checkpoint_read(const checkpoint *c, float *params, float *moments);

#endif
