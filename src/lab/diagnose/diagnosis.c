/* SPDX-License-Identifier: MIT */
/* diagnosis.c: statistics per layer and recording, averaged over recordings, then over layers
 * [app:component_diagnostics].
 *
 * Recordings, and then pairs of variant and recording, are processed in parallel; their numbers are summed in order
 * afterwards. Threads inside a network would synchronise after every layer and mostly wait.
 */
#include "lab/diagnose/diagnosis.h"

#include "base/error.h"
#include "base/moments.h"
#include "base/threads.h"
#include "nn/network_inspect.h"

#include <math.h>
#include <stdio.h>

sparc_status diagnosis_inspect(const replay *r, int layer, const recording *from, sparc_inspection **out) {
  replay_outputs outputs;
  sparc_status status = replay_outputs_create(r, from, &outputs);
  if (status != SPARC_OK) return status;
  const sparc_network_sequence sequence = replay_sequence(from, &outputs);
  status = sparc_network_inspect(r->network, r->params, layer, 1, from->T, &sequence, out);
  replay_outputs_free(&outputs);
  return status;
}

/* ---- in parallel --------------------------------------------------------------------------------- */

/* status of a tile, with its message, because sparc_error() is per thread */
typedef struct outcome {
  sparc_status status;
  char sentence[512];
} outcome;

typedef struct measuring {
  diagnosis *d;
  outcome *outcome;        /* (tiles) */
  replay_outputs *outputs; /* (recordings) of the network as it is */
  double *values;          /* (layers, STATISTICS, recordings) */
  intervention_sums *sums; /* (interventions, recordings) */
} measuring;

static void note_outcome(const measuring *m, size_t tile, sparc_status status) {
  m->outcome[tile].status = status;
  if (status != SPARC_OK) snprintf(m->outcome[tile].sentence, sizeof m->outcome->sentence, "%s", sparc_error());
}

static sparc_status run_tiles(const measuring *m, int threads, size_t tiles, void (*body)(void *, size_t)) {
  parallel_for(thread_count(threads), tiles, body, (void *)m);
  for (size_t i = 0; i < tiles; i++)
    if (m->outcome[i].status != SPARC_OK) return fail(m->outcome[i].status, "%s", m->outcome[i].sentence);
  return SPARC_OK;
}

/* ---- statistics ---------------------------------------------------------------------------------- */

/* values of a layer's statistic, (recordings) */
static double *values_of(const measuring *m, int layer, int id) {
  return m->values + ((size_t)layer * STATISTICS + (size_t)id) * (size_t)m->d->replay.recordings;
}

typedef struct layer_values {
  const measuring *m;
  size_t recording;
} layer_values;

static void take_statistics(void *user, int layer, sparc_inspection *seen) {
  const layer_values *to = user;
  const fragment f = {.mode = seen->mode, .T = seen->T, .H = seen->H};
  for (int s = 0; s < STATISTICS; s++)
    values_of(to->m, layer, s)[to->recording] = fragment_statistic(&f, (statistic_id)s);
  sparc_inspection_free(seen);
}

static void measure_recording(void *context, size_t i) {
  const measuring *m = context;
  const replay *r = &m->d->replay;
  layer_values to = {m, i};
  sparc_status status = replay_outputs_create(r, &r->recording[i], &m->outputs[i]);
  if (status == SPARC_OK) {
    const sparc_network_sequence sequence = replay_sequence(&r->recording[i], &m->outputs[i]);
    status = network_inspect_layers(r->network, r->params, 0, m->d->layers - 1, 1, r->recording[i].T, &sequence,
                                    take_statistics, &to);
  }
  note_outcome(m, i, status);
}

static void average(const measuring *m) {
  diagnosis *d = m->d;
  for (int s = 0; s < STATISTICS; s++) {
    double sum = 0;
    int count = 0;
    for (int layer = 0; layer < d->layers; layer++) {
      const double mean = sample_summarise((size_t)d->replay.recordings, values_of(m, layer, s)).mean;
      d->layer[layer][s] = mean;
      sum += isnan(mean) ? 0 : mean;
      count += !isnan(mean);
    }
    d->whole[s] = count ? sum / count : NAN;
  }
}

/* ---- interventions ------------------------------------------------------------------------------- */

static void measure_intervention(void *context, size_t tile) {
  const measuring *m = context;
  const replay *r = &m->d->replay;
  const size_t variant = tile / (size_t)r->recordings, i = tile % (size_t)r->recordings;
  note_outcome(m, tile, intervene(r, m->d->intervention[variant], &r->recording[i], &m->outputs[i], &m->sums[tile]));
}

static void total_interventions(const measuring *m) {
  const int recordings = m->d->replay.recordings;
  for (int v = 0; v < m->d->interventions; v++) {
    intervention_sums total = {0, 0};
    for (int i = 0; i < recordings; i++) {
      total.change += m->sums[v * recordings + i].change;
      total.scale += m->sums[v * recordings + i].scale;
    }
    m->d->change[v] = total.scale > 0 ? total.change / total.scale : NAN;
  }
}

/* ---- a run --------------------------------------------------------------------------------------- */

static bool reserve(diagnosis *d, measuring *m) {
  const size_t recordings = (size_t)d->replay.recordings, layers = (size_t)d->layers;
  const size_t tiles = recordings * (d->interventions ? (size_t)d->interventions : 1);
  d->layer = sparc_alloc(layers * sizeof *d->layer);
  *m = (measuring){.d = d,
                   .outcome = sparc_alloc(tiles * sizeof *m->outcome),
                   .outputs = sparc_alloc(recordings * sizeof *m->outputs),
                   .values = sparc_alloc(layers * STATISTICS * recordings * sizeof *m->values),
                   .sums = sparc_alloc(tiles * sizeof *m->sums)};
  return d->layer && m->outcome && m->outputs && m->values && m->sums;
}

static void release(measuring *m) {
  for (int i = 0; m->outputs && i < m->d->replay.recordings; i++) replay_outputs_free(&m->outputs[i]);
  sparc_free(m->outcome);
  sparc_free(m->outputs);
  sparc_free(m->values);
  sparc_free(m->sums);
}

static sparc_status measure(diagnosis *d, int threads) {
  measuring m;
  d->layers = replay_layers(&d->replay);
  d->interventions = intervention_names(&d->replay, d->intervention);
  const size_t recordings = (size_t)d->replay.recordings;
  sparc_status status = reserve(d, &m) ? SPARC_OK : fail(SPARC_NO_MEMORY, "no memory for %d layers", d->layers);
  if (status == SPARC_OK) status = run_tiles(&m, threads, recordings, measure_recording);
  if (status == SPARC_OK) average(&m);
  if (status == SPARC_OK) status = run_tiles(&m, threads, (size_t)d->interventions * recordings, measure_intervention);
  if (status == SPARC_OK) total_interventions(&m);
  release(&m);
  return status;
}

sparc_status diagnose(const char *path, const replay_options *options, diagnosis *out) {
  *out = (diagnosis){.layers = 0};
  sparc_status status = replay_open(path, options, &out->replay);
  if (status == SPARC_OK) status = measure(out, options->threads);
  if (status == SPARC_OK) status = training_log_read(out->replay.folder, &out->log);
  if (status != SPARC_OK) diagnosis_free(out);
  return status;
}

void diagnosis_free(diagnosis *d) {
  replay_close(&d->replay);
  sparc_free(d->layer);
  training_log_free(&d->log);
  json_decref(d->record);
  *d = (diagnosis){.layers = 0};
}
