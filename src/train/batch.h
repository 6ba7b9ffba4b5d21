/* SPDX-License-Identifier: MIT */
/* batch.h: the memory to run batches of examples through a network, and the loss. What a trainer and a loaded model
 * share, so that both give the same bits for the same examples. */
#ifndef SPARC_TRAIN_BATCH_H
#define SPARC_TRAIN_BATCH_H

#include "sparc/train.h"

#include <stdbool.h>

/* where examples come from and what is done to their values first */
typedef struct example_source {
  const sparc_samples *samples;
  const double *mean, *deviation; /* (channels); NULL: the values are used as they are */
  bool change;                    /* the network is given what a channel has changed by since the last step */
  bool answers;                   /* labels or targets are needed */
  bool numbers;                   /* examples have targets that are numbers */
  const double *target_mean, *target_deviation; /* (outputs); NULL: targets are used as they are */
} example_source;

/* source_of is where a trainer takes its examples from */
example_source source_of(const sparc_samples *samples);

/* source_inputs puts steps [first, first + n) of an example to x (n, channels), as the network is given them */
void source_inputs(const example_source *source, const sparc_sample *e, int first, int n, float *x);

/* restore_targets brings rows of outputs (rows, outputs) to the units of the targets */
void restore_targets(const example_source *source, size_t rows, size_t outputs, float *values);

typedef struct batch {
  const sparc_network *network;
  sparc_network_plan *plan;
  size_t B, T, C, K;          /* examples, steps, channels, outputs */
  bool steps;                 /* a head on every step */
  bool numbers;               /* of numbers, else of classes; as the examples that were loaded last */
  int *index;                 /* (B): which examples these are */
  int *length;                /* (B) */
  int *context;               /* (B): steps in front that have no loss; 0 unless the head is on every step */
  int *label;                 /* (B), or (sum of length - context) of a head of classes on every step */
  float *x;                   /* (B, T, C), zeros behind the end of a sequence */
  float *target;              /* (sum of length - context, K), or (B, K); unused by a head of classes */
  float *output;              /* (B, K), or (B, T, K) */
  float *doutput;             /* likewise */
  float *probability;         /* (B, K), or (B, T, K), of a head of classes */
  const double *class_weight; /* (K), of a loss with gradient; NULL: 1 for all */
  double smoothing;           /* of labels, likewise */
  double *errors;             /* (3, K): of an evaluation, see target_errors */
  void *work, *memory;
} batch;

/* check_samples and check_examples say whether a network can use the samples at all, and each of them: lengths, labels
 * or targets, finite values */
sparc_status check_samples(const sparc_network *network, const sparc_samples *samples);
sparc_status check_examples(const sparc_network *network, const example_source *source);

sparc_status batch_create(const sparc_network *network, size_t B, size_t T, int threads, batch **out);
void batch_free(batch *b); /* b may be NULL */

/* batch_fit makes *b the batch for going through all samples, at most `most` at a time; what it has is kept if it has
 * this shape. The shape depends on the samples and `most` alone. */
sparc_status batch_fit(batch **b, const sparc_network *network, const sparc_samples *samples, int most, int threads);
bool batch_fits(const batch *b, const sparc_samples *samples, int most);

/* batch_load fetches the examples that b->index names */
sparc_status batch_load(batch *b, const example_source *source);

/* batch_sequence is the loaded batch as the network's calls take it; its outputs go to b->output */
sparc_network_sequence batch_sequence(const batch *b, const sparc_dropout *dropout);

/* batch_check_outputs demands finite outputs of the first n examples of the batch just run */
sparc_status batch_check_outputs(const batch *b, size_t n);

/* batch_loss is the mean loss of the first n examples of the batch just run: cross-entropy per label, or squared
 * error per number of a step that exists. With gradient, doutput holds its derivative, and weights of
 * classes and smoothing of labels count. It rearranges b->output. */
double batch_loss(batch *b, size_t n, bool gradient);
/* how many labels of the first n examples are where the outputs are greatest, the first among equals */
size_t batch_right(const batch *b, size_t n);

/* batch_evaluate and batch_predict go through all samples, without dropout. A last batch that is not full repeats the
 * last example, which counts once. */
sparc_status batch_evaluate(batch *b, const float *prepared, const example_source *source, sparc_evaluation *out);
sparc_status batch_predict(batch *b, const float *prepared, const example_source *source, float *outputs);

/* batch_features goes through all samples likewise; features (count, features of the network) get what a head on one row
 * of a sequence reads */
sparc_status batch_features(batch *b, const float *prepared, const example_source *source, float *features);

#endif
