/* SPDX-License-Identifier: MIT */
/* diagnosis.c: statistics are taken of each layer and recording and averaged over recordings, then over layers, so that
 * a run counts once when runs are compared [app:component_diagnostics]. */
#include "lab/diagnose/diagnosis.h"

#include "base/error.h"

sparc_status diagnosis_inspect(const replay *r, int layer, const recording *from, sparc_inspection **out) {
  replay_outputs outputs;
  sparc_status status = replay_outputs_create(r, from, &outputs);
  if (status != SPARC_OK) return status;
  const sparc_network_sequence sequence = replay_sequence(from, &outputs);
  status = sparc_network_inspect(r->network, r->params, layer, 1, from->T, &sequence, out);
  replay_outputs_free(&outputs);
  return status;
}

/* values (STATISTICS, recordings) */
static sparc_status measure(const replay *r, int layer, double *values) {
  for (int i = 0; i < r->recordings; i++) {
    sparc_inspection *seen;
    const sparc_status status = diagnosis_inspect(r, layer, &r->recording[i], &seen);
    if (status != SPARC_OK) return status;
    const fragment f = {.mode = seen->mode, .T = seen->T, .H = seen->H};
    for (int s = 0; s < STATISTICS; s++) values[s * r->recordings + i] = fragment_statistic(&f, (statistic_id)s);
    sparc_inspection_free(seen);
  }
  return SPARC_OK;
}

/* values has room for the statistics of all recordings, and for the layers */
static sparc_status average(diagnosis *d, double *values) {
  const replay *r = &d->replay;
  for (int layer = 0; layer < d->layers; layer++) {
    const sparc_status status = measure(r, layer, values);
    if (status != SPARC_OK) return status;
    for (size_t s = 0; s < STATISTICS; s++)
      d->layer[layer][s] = summarise(values + s * (size_t)r->recordings, r->recordings).mean;
  }
  for (size_t s = 0; s < STATISTICS; s++) {
    for (int layer = 0; layer < d->layers; layer++) values[layer] = d->layer[layer][s];
    d->whole[s] = summarise(values, d->layers).mean;
  }
  return SPARC_OK;
}

static sparc_status measure_layers(diagnosis *d) {
  const replay *r = &d->replay;
  d->layers = replay_layers(r);
  const size_t most = (size_t)(r->recordings > d->layers ? r->recordings : d->layers);
  d->layer = sparc_alloc((size_t)d->layers * sizeof *d->layer);
  double *values = sparc_alloc(STATISTICS * most * sizeof *values);
  if (!d->layer || !values) {
    sparc_free(values);
    return fail(SPARC_NO_MEMORY, "no memory for %d layers", d->layers);
  }
  const sparc_status status = average(d, values);
  sparc_free(values);
  return status;
}

static sparc_status measure_interventions(diagnosis *d) {
  sparc_status status = SPARC_OK;
  d->interventions = intervention_names(&d->replay, d->intervention);
  for (int i = 0; i < d->interventions && status == SPARC_OK; i++)
    status = intervene(&d->replay, d->intervention[i], &d->change[i]);
  return status;
}

sparc_status diagnose(const char *path, const replay_options *options, diagnosis *out) {
  *out = (diagnosis){.layers = 0};
  sparc_status status = replay_open(path, options, &out->replay);
  if (status == SPARC_OK) status = measure_layers(out);
  if (status == SPARC_OK) status = measure_interventions(out);
  if (status == SPARC_OK) status = training_log_read(out->replay.folder, &out->log);
  if (status != SPARC_OK) diagnosis_free(out);
  return status;
}

void diagnosis_free(diagnosis *d) {
  replay_close(&d->replay);
  sparc_free(d->layer);
  training_log_free(&d->log);
  *d = (diagnosis){.layers = 0};
}
