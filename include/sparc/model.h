/* SPDX-License-Identifier: MIT */
/* model.h: use what was trained.
 *
 * A model is a checkpoint of `sparc train`: weights, the normalisation of its inputs and the names of its classes in
 * one file. It takes raw values and gives probabilities or numbers, for whole sequences or one input at a time. This
 * header and base.h are all that a build with -DSPARC_INFERENCE=ON has.
 *
 *   sparc_model *model;
 *   if (sparc_model_load("model.safetensors", 1, &model) != SPARC_OK) return report(sparc_error());
 *   float *state = sparc_alloc(sparc_model_state_size(model) * sizeof *state);
 *   while (next(x)) sparc_model_step(model, state, x, outputs);
 */
#ifndef SPARC_MODEL_H
#define SPARC_MODEL_H

#include "sparc/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- examples ---------------------------------------------------------------------------------- */

typedef struct sparc_sample {
  const float *x;      /* [length][channels] */
  int length;          /* steps, >= 1 */
  int label;           /* class, for a head of classes; -1: unknown */
  const float *target; /* [length][outputs], for a head on every step; [outputs] for another one that learns numbers */
  const int *labels;   /* [length]: classes, for a head of classes on every step; else NULL */
  int context;    /* steps in front that only prepare the state, for a head on every step: they have no loss and are
                          not measured; less than length */
  const char *id; /* of the example in its data set; NULL: none */
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

typedef struct sparc_evaluation {
  long examples;
  double loss;     /* mean cross-entropy per label, or mean squared error per number */
  double accuracy; /* fraction of labels that are right; 0 for a head of numbers */
  double nmse;     /* summed squared error over summed squared target; 0 for a head of classes */
  double mse;      /* mean squared error per number, in the units of the targets; 0 for a head of classes */
  double r2;       /* 1 less the squared error over that of each target's mean, mean over the outputs; likewise */
} sparc_evaluation;

/* What the columns of a table are called. Texts are UTF-8, not empty, and have at most SPARC_COLUMN_NAME bytes. */
enum { SPARC_COLUMN_NAME = 255 };
typedef struct sparc_columns {
  int channels;                  /* length of channel; 0: channels have no names */
  const char *const *channel;    /* no two alike */
  int ignored;                   /* length of ignore */
  const char *const *ignore;     /* columns that hold nothing to learn from */
  const char *label, *id, *time; /* NULL: there is no such column, or it has no name */
  int steps;                     /* 1: a row is one step, 0: a series */
  int values;                    /* length of value; 0: values have no names of their own, or channels have */
  const char *const *value;      /* of the values of a row that is a series, step by step; no two alike */
} sparc_columns;

/* What a model needs besides weights to be used on raw data; every part may be absent. */
typedef struct sparc_preprocessing {
  int channels; /* length of mean and deviation; 0: no normalisation */
  const double *mean, *deviation;
  int classes;               /* length of labels; 0: none */
  const char *const *labels; /* as they stood in the data */
  int targets;               /* length of target_mean and target_deviation; 0: outputs are classes, or as they are */
  const double *target_mean, *target_deviation;
  int change;       /* 1: the network is given what the channels have changed by and says what they will have
                       changed by; inputs and outputs of a model are values all the same */
  const char *data; /* name of the data set or task; NULL: unknown */
  const sparc_columns *columns; /* names of the columns of the training data; NULL: unknown */
} sparc_preprocessing;

/* ---- models ------------------------------------------------------------------------------------ */

typedef struct sparc_model sparc_model;

/* sparc_model_load reads the weights, configuration and preprocessing of a checkpoint; sparc_model_parse does so with
 * `size` bytes of memory, which it copies: `name` stands for the file in sentences. threads: of sparc_model_predict and
 * sparc_model_evaluate, 0 for as many as there are processors. On failure *out is NULL. */
SPARC_API sparc_status sparc_model_load(const char *path, int threads, sparc_model **out);
SPARC_API sparc_status sparc_model_parse(const void *data, size_t size, const char *name, int threads,
                                         sparc_model **out);
SPARC_API void sparc_model_free(sparc_model *model);         /* model may be NULL */
SPARC_API int sparc_model_inputs(const sparc_model *model);  /* channels of a step; 0 for NULL, as below */
SPARC_API int sparc_model_outputs(const sparc_model *model); /* classes, or numbers of a target */
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
 * in one thread at a time. Nothing is allocated. SPARC_NOT_FINITE: x holds a NaN or an infinity; state and outputs stay
 * as they were. See sparc_network_step for what rounding does to a mean over time. */
SPARC_API size_t sparc_model_state_size(const sparc_model *model);
SPARC_API sparc_status sparc_model_step(sparc_model *model, float *state, const float *x, float *outputs);

/* sparc_model_evaluate compares the predictions for raw samples with their labels or targets; of a model of changes
 * they are those of sparc_dataset_forecast. */
SPARC_API sparc_status sparc_model_evaluate(sparc_model *model, const sparc_samples *samples,
                                            sparc_evaluation *evaluation);

#ifdef __cplusplus
}
#endif

#endif
