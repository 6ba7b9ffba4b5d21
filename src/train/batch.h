/* SPDX-License-Identifier: MIT */
/* batch.h: memory for batches of examples, forward passes and the loss. Trainers and loaded models share it, so both
 * compute bit-identical results for the same examples. */
#ifndef SPARC_TRAIN_BATCH_H
#define SPARC_TRAIN_BATCH_H

#include "sparc/train.h"

#include <stdbool.h>

/* source of examples and their preprocessing */
typedef struct example_source {
  const sparc_samples *samples;
  const double *mean, *stddev;               /* (channels); NULL: no normalisation */
  bool change;                               /* inputs are differences of successive steps */
  bool has_targets;                          /* labels or targets are required */
  bool numbers;                              /* targets are numbers, not classes */
  const double *target_mean, *target_stddev; /* (outputs); NULL: targets are not normalised */
} example_source;

/* source_of is the source of a trainer */
example_source source_of(const sparc_samples *samples);

/* source_inputs writes the preprocessed steps [first, first + n) of an example to x (n, channels) */
void source_inputs(const example_source *source, const sparc_sample *e, int first, int n, float *x);

/* restore_targets converts values (rows, outputs) to the units of the targets */
void restore_targets(const example_source *source, size_t rows, size_t outputs, float *values);

typedef struct batch {
  const sparc_network *network;
  sparc_network_plan *plan;
  size_t B, T, C, K;          /* examples, steps, channels, outputs */
  bool steps;                 /* a head on every step */
  bool numbers;               /* regression, else classification; of the examples loaded last */
  int *index;                 /* (B): indices of the examples */
  int *length;                /* (B) */
  int *context;               /* (B): first steps without loss; 0 unless the head is on every step */
  int *label;                 /* (B), or (sum of length - context) for a classification head on every step */
  float *x;                   /* (B, T, C), zeros after the end of a sequence */
  float *target;              /* (sum of length - context, K), or (B, K); unused by a classification head */
  float *output;              /* (B, K), or (B, T, K) */
  float *doutput;             /* likewise */
  float *probability;         /* (B, K), or (B, T, K), of a classification head */
  const double *class_weight; /* (K), of a loss with gradient; NULL: 1 for all */
  double smoothing;           /* of labels, likewise */
  double *errors;             /* (3, K): of an evaluation, see target_errors */
  void *work, *memory;
} batch;

/* check_samples checks the shape of the samples against the network, check_examples each example: length, label or
 * target, finite values */
sparc_status check_samples(const sparc_network *network, const sparc_samples *samples);
sparc_status check_examples(const sparc_network *network, const example_source *source);

sparc_status batch_create(const sparc_network *network, size_t B, size_t T, int threads, batch **out);
void batch_free(batch *b); /* b may be NULL */

/* batch_fit makes *b a batch for passes over all samples, at most `max` at a time; an existing one of this shape is kept.
 * The shape depends on the samples and `max` only. */
sparc_status batch_fit(batch **b, const sparc_network *network, const sparc_samples *samples, int max, int threads);
bool batch_fits(const batch *b, const sparc_samples *samples, int max);

/* batch_load loads the examples of b->index */
sparc_status batch_load(batch *b, const example_source *source);

/* batch_sequence is the loaded batch as an argument of the network's calls; outputs are written to b->output */
sparc_network_sequence batch_sequence(const batch *b, const sparc_dropout *dropout);

/* batch_check_outputs checks that the outputs of the first n examples are finite */
sparc_status batch_check_outputs(const batch *b, size_t n);

/* batch_loss is the mean loss of the first n examples after a forward pass: cross-entropy per label, or squared error per
 * number. With gradient, doutput receives its derivative, and class weights and label smoothing are applied. It
 * rearranges b->output. */
double batch_loss(batch *b, size_t n, bool gradient);
/* batch_correct counts the labels of the first n examples that equal the argmax of the outputs */
size_t batch_correct(const batch *b, size_t n);

/* batch_evaluate and batch_predict process all samples, without dropout. A partial last batch is filled with copies of
 * the last example, which counts once. */
sparc_status batch_evaluate(batch *b, const float *prepared, const example_source *source, sparc_evaluation *out);
sparc_status batch_predict(batch *b, const float *prepared, const example_source *source, float *outputs);

/* batch_features computes the features (count, features of the network) that a head on one row per sequence reads */
sparc_status batch_features(batch *b, const float *prepared, const example_source *source, float *features);

#endif
