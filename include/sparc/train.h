/* SPDX-License-Identifier: MIT */
/* train.h: training a network on sequences, and checkpoints.
 *
 * A trainer owns a network, its parameters and the state of the optimiser. Batches, dropout masks and initial weights
 * are functions of the seed and the update number, so a trainer loaded from a checkpoint continues bit-exactly, on any
 * number of threads.
 */
#ifndef SPARC_TRAIN_H
#define SPARC_TRAIN_H

#include "sparc/data.h"
#include "sparc/model.h"
#include "sparc/network.h"
#include "sparc/safetensors.h"
#include "sparc/tasks.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- examples ---------------------------------------------------------------------------------- */

SPARC_API sparc_samples sparc_samples_of_dataset(const sparc_dataset *dataset);
SPARC_API sparc_samples sparc_samples_of_task(const sparc_task *task, int evaluation); /* 0: training part */

/* A view of arrays. Nothing is copied: the struct and all that it points to must outlive the view. */
SPARC_API sparc_samples sparc_samples_of_arrays(const sparc_arrays *arrays);

/* ---- training ---------------------------------------------------------------------------------- */

typedef enum sparc_class_weights {
  SPARC_CLASS_WEIGHTS_NONE = 0, /* every example has weight 1 */
  SPARC_CLASS_WEIGHTS_BALANCED  /* n / (K n_c) for an example of class c: n examples, K classes, n_c of them in c */
} sparc_class_weights;

/* How the parameters are fitted. */
typedef enum sparc_readout {
  SPARC_READOUT_GRADIENT = 0, /* all parameters by gradient descent */
  SPARC_READOUT_RIDGE /* The linear classification head only, in closed form: one update draws a filter bank from the
                         samples (layer kind bank) and fits the head by ridge regression. The report holds the
                         leave-one-out loss and accuracy. At most 4096 samples. */
} sparc_readout;

typedef struct sparc_train_config {
  sparc_network_config network;
  uint64_t seed;
  int batch;                 /* examples per update */
  long updates;              /* length of the schedule */
  long warmup;               /* updates from min_learning_rate to learning_rate; unused if cosine == 0 */
  int cosine;                /* 1: warm-up, then cosine decay to min_learning_rate; 0: constant learning rate */
  double learning_rate;      /* peak, for regular parameters */
  double min_learning_rate;  /* at both ends of the schedule */
  double recurrent_lr_scale; /* learning rate of recurrent parameters relative to learning_rate */
  double weight_decay;       /* decoupled, of regular parameters */
  double max_gradient_norm;  /* gradients are clipped to this norm; 0: no clipping */
  int threads;               /* 0: all processors */

  /* not in the paper; 0: off */
  sparc_class_weights class_weights;
  double label_smoothing; /* probability mass spread over all classes */
  double jitter;          /* augmentation: standard deviation of noise added to normalised values */
  double scaling;         /* augmentation: standard deviation of a factor around 1 per channel */
  double crop;            /* augmentation: largest fraction of steps cut off; the rest is stretched to the old length */
  double ema_decay;       /* decay of a moving average of the weights, which is evaluated and saved; 0: none */

  sparc_readout readout;

  int shards; /* A batch is divided into this many shards, whose gradients are summed in a fixed order, so that several
               * processes can compute them (docs/cluster.md). Must divide batch. 0 and 1: not divided */
} sparc_train_config;

/* The paper's settings. task NULL: those for data sets (20,000 updates, batch 32, learning rate 1.95e-3 from and to
 * 1e-6, warm-up 2000, recurrent_lr_scale 1/4, weight decay 0.05); else those of the generated task (constant learning
 * rate 0.01, batch 64, gradient norm at most 1). The network part is zero. */
SPARC_API sparc_train_config sparc_train_defaults(const sparc_task *task);

typedef struct sparc_trainer sparc_trainer;

typedef struct sparc_update_report {
  long update;          /* number of updates done, including this one */
  double loss;          /* mean over the batch, before the update */
  double accuracy;      /* fraction of the batch classified correctly; 0 for a regression head */
  double gradient_norm; /* before clipping */
  double learning_rate; /* of regular parameters */
} sparc_update_report;

/* Create a trainer with randomly initialised parameters. samples is copied as a view; its source must outlive the
 * trainer. */
SPARC_API sparc_status sparc_trainer_create(const sparc_train_config *config, const sparc_samples *samples,
                                            sparc_trainer **out);
SPARC_API void sparc_trainer_free(sparc_trainer *trainer); /* trainer may be NULL */

/* Do one update. report may be NULL. SPARC_NOT_FINITE: the message names the update and the first tensor with a
 * non-finite gradient, or the loss; the parameters are unchanged. */
SPARC_API sparc_status sparc_trainer_update(sparc_trainer *trainer, sparc_update_report *report);

/* Run the network over all samples, without dropout, and compute loss and scores. The trainer's state is unchanged. */
SPARC_API sparc_status sparc_trainer_evaluate(sparc_trainer *trainer, const sparc_samples *samples,
                                              sparc_evaluation *evaluation);

/* All pointers belong to the trainer. */
typedef struct sparc_trainer_info {
  const sparc_train_config *config;
  const sparc_network *network;
  const float *params; /* what is evaluated and saved: the moving average of the weights, or else the weights */
  long updates;        /* done so far */
} sparc_trainer_info;
SPARC_API sparc_trainer_info sparc_trainer_info_of(const sparc_trainer *trainer);

/* ---- files ------------------------------------------------------------------------------------- */

/* Write a checkpoint atomically: weights under their block names, moments as opt.m.NAME and opt.v.NAME; configuration,
 * update number, preprocessing (may be NULL) and extra (may be NULL) as metadata. A checkpoint is also a model file. */
SPARC_API sparc_status sparc_trainer_save(const sparc_trainer *trainer, const sparc_preprocessing *preprocessing,
                                          const sparc_metadata *extra, size_t extra_count, const char *path);

/* Load a checkpoint; training continues bit-exactly. samples must be those of the checkpoint. kinds: NULL-terminated
 * list of the program's own layer kinds (layer.h), which must outlive the result; may be NULL. threads as in
 * sparc_train_config. SPARC_FORMAT: a layer of the file has a kind that is neither the library's nor in kinds. */
SPARC_API sparc_status sparc_trainer_load(const char *path, const sparc_samples *samples,
                                          const struct sparc_layer_kind *const *kinds, int threads,
                                          sparc_trainer **out);

/* sparc_model_load for files with layers of the program's own kinds; kinds as in sparc_trainer_load. */
SPARC_API sparc_status sparc_model_load_kinds(const char *path, const struct sparc_layer_kind *const *kinds,
                                              int threads, sparc_model **out);

/* Write a network with one head and its params as a model file: a checkpoint without the state of the optimiser.
 * preprocessing and extra as in sparc_trainer_save. */
SPARC_API sparc_status sparc_network_save(const sparc_network *network, const float *params,
                                          const sparc_preprocessing *preprocessing, const sparc_metadata *extra,
                                          size_t extra_count, const char *path);

/* Copy the parameters of a model, sparc_model_info.parameters floats. */
SPARC_API sparc_status sparc_model_params(const sparc_model *model, float *params);

#ifdef __cplusplus
}
#endif

#endif
