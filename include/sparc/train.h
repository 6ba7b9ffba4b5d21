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
#include "sparc/network.h"
#include "sparc/safetensors.h"
#include "sparc/tasks.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- examples ---------------------------------------------------------------------------------- */

typedef struct sparc_sample {
  const float *x;      /* [length][channels] */
  int length;          /* steps, >= 1 */
  int label;           /* class, for a head of classes; -1: unknown */
  const float *target; /* [length][outputs], for a head on every step; [outputs] for another one that learns numbers */
} sparc_sample;

/* A view of examples wherever they are stored; what it points to must outlive it. */
typedef struct sparc_samples {
  int count, channels;
  int longest; /* greatest length */
  const void *source;
  sparc_sample (*at)(const void *source, int index);
  int targets;      /* numbers of a target that is to be learned in the place of a class; 0: labels, or the head says */
  int target_steps; /* 1: every step has its own */
  const double *target_mean, *target_deviation; /* [targets]: the network learns (target - mean) / deviation; NULL: the
                                                   target itself */
} sparc_samples;

SPARC_API sparc_samples sparc_samples_of_dataset(const sparc_dataset *dataset);
SPARC_API sparc_samples sparc_samples_of_task(const sparc_task *task, int evaluation); /* 0: training part */

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
} sparc_train_config;

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

typedef struct sparc_evaluation {
  long examples;
  double loss;     /* mean cross-entropy per example, or mean squared error per number */
  double accuracy; /* fraction right; 0 for a head of numbers */
  double nmse;     /* summed squared error over summed squared target; 0 for a head of classes */
  double mse;      /* mean squared error per number, in the units of the targets; 0 for a head of classes */
  double r2;       /* 1 less the squared error over that of each target's mean, mean over the outputs; likewise */
} sparc_evaluation;

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

/* What a model needs besides weights to be used on raw data; every part may be absent. */
typedef struct sparc_preprocessing {
  int channels; /* length of mean and deviation; 0: no normalisation */
  const double *mean, *deviation;
  int classes;               /* length of labels; 0: none */
  const char *const *labels; /* as they stood in the data */
  int targets;               /* length of target_mean and target_deviation; 0: outputs are classes, or as they are */
  const double *target_mean, *target_deviation;
  const char *data; /* name of the data set or task; NULL: unknown */
} sparc_preprocessing;

/* sparc_trainer_save writes a checkpoint atomically: weights under their block names, moments as opt.m.NAME and
 * opt.v.NAME, configuration, update, preprocessing and extra (pairs of strings, NULL-terminated keys; NULL: none) as
 * metadata. A checkpoint is a model file too. */
SPARC_API sparc_status sparc_trainer_save(const sparc_trainer *trainer, const sparc_preprocessing *preprocessing,
                                          const sparc_metadata *extra, size_t extra_count, const char *path);

/* sparc_trainer_restore makes a trainer from a checkpoint; it continues to the bit. threads: as in the configuration.
 */
SPARC_API sparc_status sparc_trainer_restore(const char *path, const sparc_samples *samples, int threads,
                                             sparc_trainer **out);

/* ---- using a model ------------------------------------------------------------------------------ */

typedef struct sparc_model sparc_model;

/* sparc_model_load reads the weights, configuration and preprocessing of a checkpoint. */
SPARC_API sparc_status sparc_model_load(const char *path, int threads, sparc_model **out);
SPARC_API void sparc_model_free(sparc_model *model); /* model may be NULL */
SPARC_API const sparc_network *sparc_model_network(const sparc_model *model);
SPARC_API const sparc_preprocessing *sparc_model_preprocessing(const sparc_model *model);
SPARC_API const char *sparc_model_metadata(const sparc_model *model, const char *key); /* NULL: absent */

/* sparc_model_predict runs count sequences in batches; samples hold raw values, the stored normalisation is applied.
 * outputs[count][outputs]: probabilities, or the numbers of a model of targets, in their units. For a head on every
 * step [count][longest][outputs]. Sequences of more than SPARC_MODEL_WHOLE steps go through in pieces with the state
 * carried, one sequence at a time: what that takes does not grow with them. */
enum { SPARC_MODEL_WHOLE = 1 << 14 };
SPARC_API sparc_status sparc_model_predict(sparc_model *model, const sparc_samples *samples, float *outputs);

/* sparc_model_step feeds one input and tells what the model says of the sequence so far, as sparc_model_predict would
 * if it ended here: outputs[outputs], probabilities or numbers. x[inputs] holds raw values. A stream's whole memory is
 * state, sparc_model_state_size numbers that are zero before its first input; one model serves any number of streams,
 * in one thread at a time. Nothing is allocated. See sparc_network_step for what rounding does to a mean over time. */
SPARC_API size_t sparc_model_state_size(const sparc_model *model);
SPARC_API sparc_status sparc_model_step(sparc_model *model, float *state, const float *x, float *outputs);

/* sparc_model_evaluate compares the predictions for raw samples with their labels or targets. */
SPARC_API sparc_status sparc_model_evaluate(sparc_model *model, const sparc_samples *samples,
                                            sparc_evaluation *evaluation);

#ifdef __cplusplus
}
#endif

#endif
