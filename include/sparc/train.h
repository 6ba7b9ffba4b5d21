/* SPDX-License-Identifier: MIT */
/* train.h: training a network on sequences, checkpoints, and using what was trained.
 *
 * A trainer owns a network, its parameters and everything that an update needs. Batches, dropout and initial weights
 * are functions of the seed and the update's number, so a trainer restored from a checkpoint continues to the bit as if
 * it had never stopped, on any number of threads.
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

typedef struct sparc_train_config {
  sparc_network_config network;
  uint64_t seed;
  int batch;             /* examples per update */
  long updates;          /* length of the schedule */
  long warmup;           /* updates from floor to rate; with cosine == 0 the rate is constant */
  int cosine;            /* 1: warm-up and cosine decay to floor; 0: constant rate */
  double rate, floor;    /* learning rate of regular parameters */
  double recurrent_rate; /* rate of recurrent parameters relative to it */
  double decay;          /* decoupled weight decay of regular parameters */
  double clip;           /* greatest norm of the gradient; 0: no limit */
  int threads;           /* 0: as many as there are processors */

  /* beyond the paper, all 0 there */
  int class_weights; /* a sparc_class_weights */
  double smoothing;  /* part of a label that is spread over all classes */
  double jitter;     /* of every example of a batch: deviation of noise on normalised values, */
  double scaling;    /* deviation of a factor about 1 for each channel, */
  double window;     /* most of the steps that is left out, the rest stretched to the old length */
  double average;    /* the weights that are evaluated and saved are a moving average with this decay; 0: the last */

  int readout; /* a sparc_readout */

  int shards; /* a batch is divided into so many shards, whose gradients are summed in a fixed order, so that several
               * processes can compute them (docs/cluster.md); it must divide batch. 0 and 1: it is not divided */
} sparc_train_config;

typedef enum sparc_class_weights {
  SPARC_CLASS_WEIGHTS_NONE = 0, /* every example counts alike */
  SPARC_CLASS_WEIGHTS_BALANCED  /* every class does: n examples in K classes, n_c of this one, count n / (K n_c) */
} sparc_class_weights;

/* How a network is trained. */
typedef enum sparc_readout {
  SPARC_READOUT_GRADIENT = 0, /* all parameters by gradients */
  SPARC_READOUT_RIDGE /* the head alone, which is linear and of classes, in closed form: one update draws a filter
                                 bank in front for the samples (layer kind bank) and fits the head by ridge regression;
                                 its report has the leave-one-out loss and accuracy. At most 4096 samples. */
} sparc_readout;

/* The paper's settings: classification (20,000 updates, batch 32, rate 1.95e-3 from and to 1e-6, warm-up 2000,
 * recurrent rate 1/4, decay 0.05) and the generated tasks (constant rate 0.01, batch 64, clip 1). The network part is
 * zero. */
SPARC_API sparc_train_config sparc_train_classification(void);
SPARC_API sparc_train_config sparc_train_task(const sparc_task *task);

typedef struct sparc_trainer sparc_trainer;

typedef struct sparc_update_report {
  long update;          /* number of updates done, this one included */
  double loss;          /* mean over the batch, before the update */
  double accuracy;      /* fraction right in the batch; 0 for a head of numbers */
  double gradient_norm; /* before clipping */
  double rate;          /* of regular parameters */
} sparc_update_report;

/* sparc_trainer_create makes a trainer with freshly drawn parameters. samples is copied as a view and must outlive it.
 */
SPARC_API sparc_status sparc_trainer_create(const sparc_train_config *config, const sparc_samples *samples,
                                            sparc_trainer **out);
SPARC_API void sparc_trainer_free(sparc_trainer *trainer); /* trainer may be NULL */

/* sparc_trainer_update does one update. SPARC_NOT_FINITE names the first tensor with a non-finite gradient (or the
 * loss) and the update; the parameters are then as before the call. */
SPARC_API sparc_status sparc_trainer_update(sparc_trainer *trainer, sparc_update_report *report);

/* sparc_trainer_evaluate runs the network without dropout over all samples. It changes nothing. */
SPARC_API sparc_status sparc_trainer_evaluate(sparc_trainer *trainer, const sparc_samples *samples,
                                              sparc_evaluation *evaluation);

SPARC_API const sparc_network *sparc_trainer_network(const sparc_trainer *trainer);
SPARC_API const float *sparc_trainer_params(const sparc_trainer *trainer);
SPARC_API long sparc_trainer_updates_done(const sparc_trainer *trainer);
SPARC_API const sparc_train_config *sparc_trainer_config_of(const sparc_trainer *trainer);

/* ---- files ------------------------------------------------------------------------------------- */

/* sparc_trainer_save writes a checkpoint atomically: weights under their block names, moments as opt.m.NAME and
 * opt.v.NAME, configuration, update, preprocessing and extra (pairs of strings, NULL-terminated keys; NULL: none) as
 * metadata. A checkpoint is a model file too. */
SPARC_API sparc_status sparc_trainer_save(const sparc_trainer *trainer, const sparc_preprocessing *preprocessing,
                                          const sparc_metadata *extra, size_t extra_count, const char *path);

/* sparc_trainer_restore makes a trainer from a checkpoint; it continues to the bit. threads: as in the configuration.
 */
SPARC_API sparc_status sparc_trainer_restore(const char *path, const sparc_samples *samples, int threads,
                                             sparc_trainer **out);

/* Files store the kinds of layers and their options. Kinds of the program's own are given when such a file is read:
 * kinds is NULL-terminated and outlives what is returned. SPARC_FORMAT: a layer of the file is of a kind that
 * neither the library nor kinds has; so it is for the calls without kinds. */
SPARC_API sparc_status sparc_trainer_restore_kinds(const char *path, const sparc_samples *samples,
                                                   const struct sparc_layer_kind *const *kinds, int threads,
                                                   sparc_trainer **out);
SPARC_API sparc_status sparc_model_load_kinds(const char *path, const struct sparc_layer_kind *const *kinds,
                                              int threads, sparc_model **out);

/* sparc_network_save writes a network with one head and its params, wherever they were trained, as a model file: what
 * sparc_trainer_save writes, without what only training needs. preprocessing and extra as there. */
SPARC_API sparc_status sparc_network_save(const sparc_network *network, const float *params,
                                          const sparc_preprocessing *preprocessing, const sparc_metadata *extra,
                                          size_t extra_count, const char *path);

/* sparc_model_network is the network of a loaded model; NULL for NULL. sparc_model_params copies its parameters,
 * sparc_network_sizes.params of them. */
SPARC_API const sparc_network *sparc_model_network(const sparc_model *model);
SPARC_API sparc_status sparc_model_params(const sparc_model *model, float *params);

#ifdef __cplusplus
}
#endif

#endif
