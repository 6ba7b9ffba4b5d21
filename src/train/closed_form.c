/* SPDX-License-Identifier: MIT */
/* closed_form.c: features of all examples, then one regression. */
#include "train/closed_form.h"

#include "base/error.h"
#include "base/memory.h"
#include "nn/bank.h"
#include "nn/head.h"
#include "nn/network.h"
#include "train/ridge.h"

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

/* evenly spaced examples */
static sparc_status draw_bank(const sparc_network *network, const sparc_samples *samples, uint64_t seed,
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
  const sparc_status status = bank_calibrate(layer, seed, count, signal, weights + layer->params_at);
  sparc_free(values);
  return status;
}

/* ---- the head ------------------------------------------------------------------------------------ */

static sparc_status fit_head(const sparc_network *network, const sparc_samples *samples, const float *features,
                             const int *label, float *weights, sparc_update_report *report) {
  const dense_offsets *at = &network->head[0].linear;
  const ridge_problem problem = {
      .rows = (size_t)samples->count, .features = at->in, .classes = at->out, .x = features, .label = label};
  ridge_solution solution = {.weight = weights + at->weight, .bias = weights + at->bias};
  const sparc_status status = ridge_solve(&problem, &solution);
  report->loss = solution.loss;
  report->accuracy = solution.accuracy;
  return status;
}

sparc_status fit_closed_form(const sparc_network *network, const sparc_samples *samples, uint64_t seed, batch *b,
                             float *weights, float *prepared, sparc_update_report *report) {
  const size_t count = (size_t)samples->count;
  const bool draws = network->layer[0]->kind == &layer_bank && !has_embedding(network);
  sparc_status status = draws ? draw_bank(network, samples, seed, weights) : SPARC_OK;
  if (status == SPARC_OK) status = sparc_network_prepare(network, weights, prepared);
  if (status != SPARC_OK) return status;
  float *features = sparc_alloc(count * network->features * sizeof *features);
  int *label = sparc_alloc(count * sizeof *label);
  const example_source source = source_of(samples);
  status = features && label ? batch_features(b, prepared, &source, features)
                             : fail(SPARC_NO_MEMORY, "no memory for the features of %zu examples", count);
  for (size_t i = 0; label && i < count; i++) label[i] = samples->at(samples->source, (int)i).label;
  if (status == SPARC_OK) status = fit_head(network, samples, features, label, weights, report);
  if (status == SPARC_OK) status = sparc_network_prepare(network, weights, prepared);
  sparc_free(label);
  sparc_free(features);
  return status;
}
