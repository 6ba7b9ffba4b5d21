/* SPDX-License-Identifier: MIT */
/* model.c: inference: weights, normalisation and labels from one file, applied to raw values. */
#include "base/error.h"
#include "base/memory.h"
#include "data/normalise.h"
#include "nn/head.h"
#include "nn/losses.h"
#include "train/batch.h"
#include "train/checkpoint.h"
#include "train/long_input.h"

#include <math.h>

struct sparc_model {
  checkpoint file; /* stays open: the metadata live in it */
  float *prepared; /* (prepared) of sparc_network_sizes */
  batch *passes;   /* over samples; created when needed */
  float *x, *tape; /* of a single step: (inputs) normalised, (tape) of sparc_network_sizes */
  int threads;
};

/* ---- life cycle -------------------------------------------------------------------------------- */

static sparc_status load_weights(sparc_model *m) {
  const sparc_network *network = m->file.network;
  const sparc_network_sizes sizes = sparc_network_sizes_of(network);
  float *params = sparc_alloc(sizes.params * sizeof *params);
  m->prepared = sparc_alloc(sizes.prepared * sizeof *m->prepared);
  m->tape = sparc_alloc(sizes.tape * sizeof *m->tape);
  m->x = sparc_alloc((size_t)sparc_network_config_of(network).inputs * sizeof *m->x);
  sparc_status status = SPARC_OK;
  if (!params || !m->prepared || !m->tape || !m->x)
    status = fail(SPARC_NO_MEMORY, "no memory for a model of %zu parameters", sizes.params);
  if (status == SPARC_OK) status = checkpoint_read(&m->file, params, NULL);
  if (status == SPARC_OK) status = sparc_network_prepare(network, params, m->prepared);
  sparc_free(params);
  return status;
}

/* shared by load and parse; data NULL: the file `name` */
static sparc_status open_model(const void *data, size_t size, const char *name, const sparc_layer_kind *const *kinds,
                               int threads, sparc_model **out) {
  if (threads < 0) return fail(SPARC_INVALID, "threads is %d, expected 0 or more", threads);
  sparc_model *m = sparc_alloc(sizeof *m);
  if (!m) return fail(SPARC_NO_MEMORY, "no memory for a model");
  m->threads = threads;
  sparc_status status =
      data ? checkpoint_parse(data, size, name, &m->file) : checkpoint_open_kinds(name, kinds, false, &m->file);
  if (status == SPARC_OK) status = load_weights(m);
  if (status != SPARC_OK) {
    sparc_model_free(m);
    return status;
  }
  *out = m;
  return SPARC_OK;
}

sparc_status sparc_model_load(const char *path, int threads, sparc_model **out) {
  if (!out) return fail(SPARC_INVALID, "out is NULL, expected where to put the model");
  *out = NULL;
  if (!path) return fail(SPARC_INVALID, "path is NULL, expected the name of a checkpoint");
  return open_model(NULL, 0, path, NULL, threads, out);
}

sparc_status sparc_model_load_kinds(const char *path, const sparc_layer_kind *const *kinds, int threads,
                                    sparc_model **out) {
  if (!out) return fail(SPARC_INVALID, "out is NULL, expected where to put the model");
  *out = NULL;
  if (!path || !kinds) return fail(SPARC_INVALID, "%s is NULL", path ? "kinds" : "path");
  return open_model(NULL, 0, path, kinds, threads, out);
}

sparc_status sparc_model_parse(const void *data, size_t size, const char *name, int threads, sparc_model **out) {
  if (!out) return fail(SPARC_INVALID, "out is NULL, expected where to put the model");
  *out = NULL;
  if (!data) return fail(SPARC_INVALID, "data is NULL, expected the bytes of a checkpoint");
  if (!name) return fail(SPARC_INVALID, "name is NULL, expected a name of the data for error messages");
  return open_model(data, size, name, NULL, threads, out);
}

void sparc_model_free(sparc_model *m) {
  if (!m) return;
  batch_free(m->passes);
  sparc_free(m->prepared);
  sparc_free(m->tape);
  sparc_free(m->x);
  checkpoint_close(&m->file);
  sparc_free(m);
}

sparc_status sparc_model_params(const sparc_model *m, float *params) {
  if (!m || !params) return fail(SPARC_INVALID, "%s is NULL", m ? "params" : "model");
  return checkpoint_read(&m->file, params, NULL);
}
sparc_model_info sparc_model_info_of(const sparc_model *m) {
  if (!m) return (sparc_model_info){0};
  const sparc_network_config config = sparc_network_config_of(m->file.network);
  const sparc_network_sizes sizes = sparc_network_sizes_of(m->file.network);
  const sparc_preprocessing *p = &m->file.preprocessing.view;
  /* the network's state, a flag that the sequence has started and, for differences, the last input */
  const size_t state_size = sizes.state + 1 + (p->change ? (size_t)config.inputs : 0);
  return (sparc_model_info){.inputs = config.inputs,
                            .outputs = config.head->outputs,
                            .state_size = state_size,
                            .parameters = sizes.params,
                            .preprocessing = p,
                            .network = m->file.network};
}
const char *sparc_model_metadata(const sparc_model *m, const char *key) {
  return m ? sparc_tensors_metadata_find(m->file.file, key) : NULL;
}

/* ---- use --------------------------------------------------------------------------------------- */

/* targets: samples have targets and are preprocessed as in training; else raw values */
static sparc_status start(const sparc_model *m, const sparc_samples *samples, const void *out, bool targets,
                          example_source *source) {
  if (!m || !out) return fail(SPARC_INVALID, "%s is NULL", m ? "the place for results" : "model");
  sparc_status status = check_samples(m->file.network, samples);
  if (status != SPARC_OK) return status;
  const sparc_preprocessing *p = &m->file.preprocessing.view;
  *source = (example_source){.samples = samples,
                             .mean = p->mean,
                             .stddev = p->stddev,
                             .has_targets = targets,
                             .change = p->change && !targets,
                             .numbers = p->targets > 0,
                             .target_mean = p->target_mean,
                             .target_stddev = p->target_stddev};
  return SPARC_OK;
}

static sparc_status fit(sparc_model *m, const sparc_samples *samples) {
  return batch_fit(&m->passes, m->file.network, samples, m->file.state.config.batch, m->threads);
}

/* converts differences, outputs[count][longest][channels], to values */
static void add_current(const sparc_samples *samples, float *outputs) {
  const size_t C = (size_t)samples->channels;
  for (int i = 0; i < samples->count; i++, outputs += (size_t)samples->longest * C) {
    const sparc_sample s = samples->at(samples->source, i);
    for (size_t k = 0; k < (size_t)s.length * C; k++) outputs[k] += s.x[k];
  }
}

sparc_status sparc_model_predict(sparc_model *m, const sparc_samples *samples, float *outputs) {
  example_source source;
  sparc_status status = start(m, samples, outputs, false, &source);
  if (status != SPARC_OK) return status;
  if (samples->longest > SPARC_MODEL_WHOLE) {
    status = long_input_predict(m->file.network, m->prepared, &source, m->threads, outputs);
  } else {
    status = fit(m, samples);
    if (status == SPARC_OK) status = batch_predict(m->passes, m->prepared, &source, outputs);
  }
  if (status == SPARC_OK && m->file.preprocessing.view.change) add_current(samples, outputs);
  return status;
}

sparc_status sparc_model_evaluate(sparc_model *m, const sparc_samples *samples, sparc_evaluation *evaluation) {
  example_source source;
  sparc_status status = start(m, samples, evaluation, true, &source);
  if (status == SPARC_OK) status = fit(m, samples);
  return status == SPARC_OK ? batch_evaluate(m->passes, m->prepared, &source, evaluation) : status;
}

/* ---- one input at a time ----------------------------------------------------------------------- */

sparc_status sparc_model_step(sparc_model *m, float *state, const float *x, float *outputs) {
  if (!m || !state || !x || !outputs)
    return fail(SPARC_INVALID, "%s is NULL", !m ? "model" : !state ? "state" : !x ? "x" : "outputs");
  const sparc_network_config config = sparc_network_config_of(m->file.network);
  const sparc_preprocessing *p = &m->file.preprocessing.view;
  for (int i = 0; i < config.inputs; i++)
    if (!isfinite(x[i]))
      return fail(SPARC_NOT_FINITE, "channel %d of the input is %g, expected a finite number", i, (double)x[i]);
  const float *current = x;
  float *started = state + sparc_network_sizes_of(m->file.network).state, *previous = started + 1; /* (inputs) */
  const float mask = *started != 0; /* 0: the first step of a sequence, as sparc_model_predict marks it */
  *started = 1;
  for (int i = 0; p->change && i < config.inputs; i++) {
    m->x[i] = mask != 0 ? x[i] - previous[i] : 0;
    previous[i] = x[i];
  }
  if (p->change) x = m->x;
  if (p->mean) {
    normalise_rows(x, m->x, 1, config.inputs, p->mean, p->stddev);
    x = m->x;
  }
  const sparc_status status = sparc_network_step(m->file.network, m->prepared, 1, state, x, &mask, outputs, m->tape, 1);
  if (status == SPARC_OK && p->targets)
    restore_targets(&(example_source){.target_mean = p->target_mean, .target_stddev = p->target_stddev}, 1,
                    (size_t)config.head->outputs, outputs);
  else if (status == SPARC_OK && !head_learns_values(config.head, false))
    cross_entropy_f32(1, (size_t)config.head->outputs, outputs, &(int){0}, outputs, NULL);
  for (int k = 0; status == SPARC_OK && p->change && k < config.inputs; k++) outputs[k] += current[k];
  return status;
}
