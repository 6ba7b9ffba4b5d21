/* SPDX-License-Identifier: MIT */
/* closed_form.c: features of all examples, then one regression. */
#include "train/closed_form.h"

#include "base/error.h"
#include "base/memory.h"
#include "nn/bank.h"
#include "nn/head.h"
#include "nn/network.h"
#include "train/ridge.h"

#include <math.h>
#include <string.h>

sparc_status check_closed_form(const sparc_network *network, const sparc_samples *samples) {
  const sparc_head_config *head = network->config.head;
  if (head_has_steps(head) || head_learns_values(head, samples->targets > 0) || head->hidden || head->tied)
    return fail(SPARC_UNSUPPORTED, "readout is ridge, which fits a linear head of classes, one for a sequence");
  if (head->outputs < 2)
    return fail(SPARC_INVALID, "readout is ridge, which needs two classes, and the head has %d", head->outputs);
  if (samples->count > RIDGE_ROWS_MAX)
    return fail(SPARC_INVALID, "readout is ridge, which is for at most %d examples, and there are %d", RIDGE_ROWS_MAX,
                samples->count);
  return SPARC_OK;
}

/* ---- the bank ------------------------------------------------------------------------------------ */

enum { SIGNALS = 64 }; /* examples used to draw thresholds */

/* from evenly spaced examples */
static sparc_status draw_bank(const sparc_network *network, const sparc_samples *samples, uint64_t seed, bool windows,
                              float *weights) {
  const sparc_layer *layer = network->layer[0];
  const size_t count = samples->count < SIGNALS ? (size_t)samples->count : SIGNALS;
  const size_t row = (size_t)samples->longest * (size_t)samples->channels;
  float *values = sparc_alloc(count * row * sizeof *values);
  if (!values) return fail(SPARC_NO_MEMORY, "no memory for the examples that a filter bank is drawn for");
  const example_source source = source_of(samples);
  bank_signal signal[SIGNALS];
  for (size_t i = 0; i < count; i++) {
    const sparc_sample e = samples->at(samples->source, (int)(i * (size_t)samples->count / count));
    signal[i] = (bank_signal){.x = values + i * row, .length = e.length};
    source_inputs(&source, &e, 0, e.length, values + i * row);
  }
  const sparc_status status = bank_calibrate(layer, seed, windows, count, signal, weights + layer->params_at);
  sparc_free(values);
  return status;
}

/* ---- the head ------------------------------------------------------------------------------------ */

typedef struct closed_form {
  const sparc_network *network;
  const sparc_samples *samples;
  uint64_t seed;
  batch *b;
  float *weights, *prepared; /* of the network */
  float *features;           /* (examples, features) */
  float *best;               /* the weights with the smallest error */
  int *label;                /* (examples) */
  double error;              /* of best */
  sparc_update_report *report;
} closed_form;

static sparc_status fit_head(const closed_form *f, ridge_solution *solution) {
  const dense_offsets *at = &f->network->head[0].linear;
  const ridge_problem problem = {
      .rows = (size_t)f->samples->count, .features = at->in, .classes = at->out, .x = f->features, .label = f->label};
  solution->weight = f->weights + at->weight;
  solution->bias = f->weights + at->bias;
  return ridge_solve(&problem, solution);
}

/* fits the head on the features of the current weights, and keeps them if its error is below `share` of that of best */
static sparc_status fit_weights(closed_form *f, double share) {
  const example_source source = source_of(f->samples);
  ridge_solution solution = {.weight = NULL};
  sparc_status status = sparc_network_prepare(f->network, f->weights, f->prepared);
  if (status == SPARC_OK) status = batch_features(f->b, f->prepared, &source, f->features);
  if (status == SPARC_OK) status = fit_head(f, &solution);
  if (status != SPARC_OK || !(solution.error < share * f->error)) return status;
  f->error = solution.error;
  f->report->loss = solution.loss;
  f->report->accuracy = solution.accuracy;
  memcpy(f->best, f->weights, f->network->sizes.params * sizeof *f->best);
  return SPARC_OK;
}

static bool have_one_length(const sparc_samples *samples) {
  for (int i = 0; i < samples->count; i++)
    if (samples->at(samples->source, i).length != samples->longest) return false;
  return true;
}

/* a bank without windows and, where steps of different examples correspond, one with windows, which must be clearly
 * better, as it generalises worse to other lengths */
static sparc_status fit_banks(closed_form *f) {
  const double clearly = 0.9;
  const sparc_layer *layer = f->network->layer[0];
  if (layer->kind != &layer_bank || has_embedding(f->network)) return fit_weights(f, 1);
  sparc_status status = draw_bank(f->network, f->samples, f->seed, false, f->weights);
  if (status == SPARC_OK) status = fit_weights(f, 1);
  if (status != SPARC_OK || !bank_of(layer)->windows || !have_one_length(f->samples)) return status;
  status = draw_bank(f->network, f->samples, f->seed, true, f->weights);
  return status == SPARC_OK ? fit_weights(f, clearly) : status;
}

sparc_status fit_closed_form(const sparc_network *network, const sparc_samples *samples, uint64_t seed, batch *b,
                             float *weights, float *prepared, sparc_update_report *report) {
  const size_t count = (size_t)samples->count;
  closed_form f = {.network = network,
                   .samples = samples,
                   .seed = seed,
                   .b = b,
                   .weights = weights,
                   .prepared = prepared,
                   .features = sparc_alloc(count * network->features * sizeof *f.features),
                   .best = sparc_alloc(network->sizes.params * sizeof *f.best),
                   .label = sparc_alloc(count * sizeof *f.label),
                   .error = INFINITY,
                   .report = report};
  sparc_status status;
  if (f.features && f.best && f.label) {
    for (size_t i = 0; i < count; i++) f.label[i] = samples->at(samples->source, (int)i).label;
    status = fit_banks(&f);
    if (status == SPARC_OK) memcpy(weights, f.best, network->sizes.params * sizeof *weights);
    if (status == SPARC_OK) status = sparc_network_prepare(network, weights, prepared);
  } else {
    status = fail(SPARC_NO_MEMORY, "no memory for the features of %zu examples", count);
  }
  sparc_free(f.label);
  sparc_free(f.best);
  sparc_free(f.features);
  return status;
}
