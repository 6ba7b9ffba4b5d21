/* SPDX-License-Identifier: MIT */
/* checkpoint.h: trained networks as safetensors files.
 *
 * Tensors, all F32: every block of the network under its name and, in a file that training can continue from, its
 * moments as opt.m.NAME and opt.v.NAME; where the blocks are moving averages, the last weights, too, as opt.w.NAME.
 * Further tensors of a learner are learner.NAME, which models ignore. Everything else is metadata: format and
 * version, each field of the configuration under its own key (numbers with 17 digits, which are exact),
 * the update, preprocessing. The number of threads is not stored: results do not depend on it.
 */
#ifndef SPARC_TRAIN_CHECKPOINT_H
#define SPARC_TRAIN_CHECKPOINT_H

#include "io/stored_blocks.h"
#include "sparc/layer.h"
#include "sparc/train.h"
#include "train/preprocessing.h"

#include <stdbool.h>

#define CHECKPOINT_FORMAT "sparc-checkpoint"
#define LEARNER_PREFIX    "learner." /* of tensors and keys that only a learner needs, see online */

/* files are written in the first format that can describe the network: the second; the third for symbols or a head
 * whose kind is given; the fourth for layers of several kinds */
enum { CHECKPOINT_VERSION = 4 };

/* the kind and the options of layer N are network.layer.N.kind and network.layer.N.options, which may be missing */
#define LAYER_PREFIX "network.layer."
enum { LAYER_KEY = 48 };

/* the numbers of a network in a file that training can continue from */
typedef struct checkpoint_numbers {
  float *params, *moments; /* (params), (2, params); moments NULL: a model, from which no training can continue */
  float *raw;              /* (params): the last weights, where params are an average; NULL: they are not */
} checkpoint_numbers;

/* checkpoint_arrays lists them, with the last weights only where blocks are averages, and returns how many there are */
enum { RAW = 1 + STORED_MOMENTS, MAX_ARRAYS };
size_t checkpoint_arrays(const checkpoint_numbers *numbers, size_t params, bool averages,
                         block_array array[MAX_ARRAYS]);

/* the training state in a checkpoint */
typedef struct training_state {
  sparc_train_config config;
  sparc_head_config head; /* the network's only one */
  long update;            /* updates done */
  int examples;           /* number of training examples: batches depend on it */
} training_state;

/* checkpoint_binding binds a state to everything that a checkpoint of a format stores of it; not every row has a key */
settings_binding checkpoint_binding(training_state *state, int format);

typedef struct checkpoint_content {
  const sparc_network *network;
  training_state state;
  checkpoint_numbers numbers;
  const sparc_preprocessing *preprocessing; /* may be NULL */
  const sparc_tensor_source *tensors;       /* further ones, whose names begin with LEARNER_PREFIX */
  size_t tensor_count;
  const sparc_metadata *extra;
  size_t extra_count;
} checkpoint_content;

sparc_status checkpoint_write(const char *path, const checkpoint_content *content);

/* a file whose metadata and tensor shapes are all in order */
typedef struct checkpoint {
  const char *path;                     /* the caller's */
  const sparc_layer_kind *const *kinds; /* of the caller, beside the library's; NULL: none */
  sparc_tensors *file;
  int format;
  sparc_network *network;
  training_state state; /* the strings of its network's part are those of `network` */
  stored_preprocessing preprocessing;
} checkpoint;

/* checkpoint_open checks a file; with resumable the moments must be there, too. checkpoint_parse checks a model in
 * memory, of which it takes a copy. On failure there is nothing to close. */
sparc_status checkpoint_open(const char *path, bool resumable, checkpoint *out);
/* the same for networks that may have layers of the caller's kinds, which outlive it */
sparc_status checkpoint_open_kinds(const char *path, const sparc_layer_kind *const *kinds, bool resumable,
                                   checkpoint *out);
sparc_status checkpoint_parse(const void *data, size_t size, const char *name, checkpoint *out);
void checkpoint_close(checkpoint *c);

/* checkpoint_read fetches the numbers; moments may be NULL. SPARC_FORMAT names a tensor with an invalid number. */
sparc_status checkpoint_read(const checkpoint *c, float *params, float *moments);

/* checkpoint_load_weights fetches the weights of another network with the blocks of this file, its head only if
 * requested */
sparc_status checkpoint_load_weights(const checkpoint *c, const sparc_network *network, bool head, float *params);

/* checkpoint_read_raw fetches the last weights, of a file whose params are an average */
sparc_status checkpoint_read_raw(const checkpoint *c, float *raw);

#endif
