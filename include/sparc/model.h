/* SPDX-License-Identifier: MIT */
/* model.h: inference with trained models.
 *
 * A model file is a checkpoint of `sparc train`: weights, input normalisation and class names in one file. A model maps
 * raw values to class probabilities or numbers, for whole sequences or one input at a time. A build with
 * -DSPARC_INFERENCE=ON has this header and base.h only.
 *
 *   sparc_model *model;
 *   if (sparc_model_load("model.safetensors", 1, &model) != SPARC_OK) return report(sparc_error());
 *   float *state = sparc_alloc(sparc_model_info_of(model).state_size * sizeof *state);
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
  int label;           /* class, for a classification head; -1: unknown */
  const float *target; /* regression: [length][outputs] for a head on every step, else [outputs] */
  const int *labels;   /* [length]: classes, for a classification head on every step; else NULL */
  int context;         /* first steps, fewer than length, that have no loss and are not scored; for a head on every
                          step */
  const char *id;      /* of the example in its data set; NULL: none */
} sparc_sample;

/* A view of examples; what it points to must outlive it. */
typedef struct sparc_samples {
  int count, channels;
  int longest; /* largest length */
  const void *source;
  sparc_sample (*at)(const void *source, int index);
  int targets;                               /* numbers per regression target; 0: labels, or as the head's kind says */
  int target_steps;                          /* 1: a target for every step */
  const double *target_mean, *target_stddev; /* [targets]: the network learns (target - mean) / stddev; NULL: raw
                                                targets */
} sparc_samples;

typedef struct sparc_evaluation {
  long examples;
  double loss;     /* mean cross-entropy per label, or mean squared error per number */
  double accuracy; /* fraction of labels predicted correctly; 0 for a regression head */
  double nmse;     /* sum of squared errors / sum of squared targets; 0 for a classification head */
  double mse;      /* mean squared error per number, in the units of the targets; 0 for a classification head */
  double r2;       /* coefficient of determination, mean over the outputs; 0 for a classification head */
} sparc_evaluation;

/* Column names of a table: UTF-8, not empty, at most SPARC_COLUMN_NAME bytes. */
enum { SPARC_COLUMN_NAME = 255 };
typedef struct sparc_columns {
  int channels;                  /* length of channel; 0: channels have no names */
  const char *const *channel;    /* distinct */
  int ignored;                   /* length of ignore */
  const char *const *ignore;     /* columns that are not used */
  const char *label, *id, *time; /* NULL: no such column, or it has no name */
  int steps;                     /* 1: a row is one step, 0: a row is a series */
  int values;                    /* length of value; 0: no names, or channels have names */
  const char *const *value;      /* values of a row that is a series, step by step; distinct */
} sparc_columns;

/* Preprocessing of raw data and names of the outputs. Every part may be absent. */
typedef struct sparc_preprocessing {
  int channels; /* length of mean and stddev; 0: no normalisation */
  const double *mean, *stddev;
  int classes;               /* length of labels; 0: none */
  const char *const *labels; /* class names, as in the data */
  int targets;               /* length of target_mean and target_stddev; 0: classification, or raw targets */
  const double *target_mean, *target_stddev;
  int change;                   /* 1: the network's inputs and outputs are differences of the channels; inputs and
                                   outputs of the model are values */
  const char *data;             /* name of the data set or task; NULL: unknown */
  const sparc_columns *columns; /* column names of the training data; NULL: unknown */
} sparc_preprocessing;

/* ---- models ------------------------------------------------------------------------------------ */

typedef struct sparc_model sparc_model;

/* Load a model file. sparc_model_parse reads `size` bytes of memory, which it copies; error messages use `name`.
 * threads: of sparc_model_predict and sparc_model_evaluate; 0: all processors. On failure *out is NULL. */
SPARC_API sparc_status sparc_model_load(const char *path, int threads, sparc_model **out);
SPARC_API sparc_status sparc_model_parse(const void *data, size_t size, const char *name, int threads,
                                         sparc_model **out);
SPARC_API void sparc_model_free(sparc_model *model); /* model may be NULL */

struct sparc_network;

typedef struct sparc_model_info {
  int inputs;        /* channels */
  int outputs;       /* classes, or numbers per target */
  size_t state_size; /* floats of the state of one stream */
  size_t parameters;
  const sparc_preprocessing *preprocessing;
  const struct sparc_network *network; /* for the functions of network.h */
} sparc_model_info;

/* Valid until the model is freed; zero for NULL. */
SPARC_API sparc_model_info sparc_model_info_of(const sparc_model *model);
SPARC_API const char *sparc_model_metadata(const sparc_model *model, const char *key); /* NULL: absent */

/* Predict `count` sequences of raw values. outputs[count][outputs]: class probabilities, or numbers in the units of the
 * targets; [count][longest][outputs] for a head on every step. Sequences of more than SPARC_MODEL_WHOLE steps are
 * processed one at a time in chunks with carried state, so memory does not grow with their length. */
enum { SPARC_MODEL_WHOLE = 1 << 14 };
SPARC_API sparc_status sparc_model_predict(sparc_model *model, const sparc_samples *samples, float *outputs);

/* Advance a stream by one input x[inputs] of raw values. outputs[outputs] is the prediction for the sequence so far, as
 * sparc_model_predict would return it. state holds sparc_model_info.state_size floats per stream, zeros before the first
 * input. A model serves any number of streams, from one thread at a time. No memory is allocated. SPARC_NOT_FINITE: x
 * holds a NaN or an infinity; state and outputs are unchanged. For rounding of a mean over time see
 * sparc_network_step. */
SPARC_API sparc_status sparc_model_step(sparc_model *model, float *state, const float *x, float *outputs);

/* Score the predictions for raw samples against their labels or targets; for a forecasting model the targets are those
 * of sparc_dataset_forecast. */
SPARC_API sparc_status sparc_model_evaluate(sparc_model *model, const sparc_samples *samples,
                                            sparc_evaluation *evaluation);

#ifdef __cplusplus
}
#endif

#endif
