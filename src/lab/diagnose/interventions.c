/* SPDX-License-Identifier: MIT */
/* interventions.c: the same network with another variant of its cell, run on the same recording. */
#include "lab/diagnose/interventions.h"

#include "base/error.h"
#include "cells/cell.h"
#include "nn/network.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- which --------------------------------------------------------------------------------------- */

static const char *const *variants_of(const sparc_cell *cell) {
  const sparc_option *option = cell_about(sparc_cell_config_of(cell).kind)->kind.options;
  for (; option->name; option++)
    if (strcmp(option->name, "variant") == 0) return option->choices;
  return NULL;
}

/* frozen-gain only affects training; the forward computation is that of the full cell */
static const char *computes_as(const char *variant) { return strcmp(variant, "frozen-gain") == 0 ? "full" : variant; }

static sparc_network_config with_variant(const sparc_network *network, const char *variant,
                                         char options[CELL_OPTIONS_SIZE]) {
  sparc_network_config config = sparc_network_config_of(network);
  snprintf(options, CELL_OPTIONS_SIZE, "%s,variant=%s", sparc_cell_config_of(network_cell(network)).options, variant);
  config.cell_options = options;
  return config;
}

static bool same_layout(const sparc_network *a, const sparc_network *b) {
  size_t n, m;
  const sparc_block *x = sparc_network_blocks(a, &n), *y = sparc_network_blocks(b, &m);
  for (size_t i = 0; i < n && n == m; i++)
    if (strcmp(x[i].name, y[i].name) != 0 || x[i].offset != y[i].offset || x[i].size != y[i].size) return false;
  return n == m;
}

static bool fits(const replay *r, const char *variant) {
  char options[CELL_OPTIONS_SIZE];
  const sparc_network_config config = with_variant(r->network, variant, options);
  sparc_network *changed;
  const bool same = sparc_network_create(&config, &changed) == SPARC_OK && same_layout(r->network, changed);
  sparc_network_free(changed);
  return same;
}

int intervention_names(const replay *r, const char *names[MAX_INTERVENTIONS]) {
  const sparc_cell *cell = network_cell(r->network);
  char own[64];
  int count = 0;
  if (!cell_variant(sparc_cell_config_of(cell).options, own, sizeof own)) return 0;
  for (const char *const *name = variants_of(cell); name && *name && count < MAX_INTERVENTIONS; name++)
    if (computes_as(*name) == *name && strcmp(*name, computes_as(own)) != 0 && fits(r, *name)) names[count++] = *name;
  return count;
}

/* ---- divergences --------------------------------------------------------------------------------- */

/* log of the sum of exp(logits), n >= 1; the maximum contributes 1 to the scaled sum */
static double log_sum_exp(size_t n, const float *logits) {
  size_t max = 0;
  double others = 0;
  for (size_t k = 1; k < n; k++)
    if (logits[k] > logits[max]) max = k;
  for (size_t k = 0; k < n; k++)
    if (k != max) others += exp((double)logits[k] - (double)logits[max]);
  return (double)logits[max] + log1p(others);
}

double divergence_of_classes(size_t classes, const float *original, const float *changed) {
  const double norm = log_sum_exp(classes, original), changed_norm = log_sum_exp(classes, changed);
  double sum = 0;
  for (size_t k = 0; k < classes; k++) {
    const double log_p = (double)original[k] - norm, log_q = (double)changed[k] - changed_norm;
    sum += exp(log_p) * (log_p - log_q);
  }
  return fmax(sum, 0);
}

double divergence_of_normals(size_t n, const float *mean, const float *log_stddev, const float *changed_mean,
                             const float *changed_log_stddev) {
  double sum = 0;
  for (size_t d = 0; d < n; d++) {
    const double off = (double)mean[d] - (double)changed_mean[d];
    const double widening = (double)changed_log_stddev[d] - (double)log_stddev[d];
    const double precision = exp(-2 * (double)changed_log_stddev[d]);
    sum += widening + (exp(-2 * widening) - 1 + off * off * precision) / 2;
  }
  return fmax(sum, 0);
}

/* ---- running ------------------------------------------------------------------------------------- */

static sparc_status run(const sparc_network *network, const float *params, const recording *from,
                        const replay_outputs *outputs) {
  const sparc_network_sizes n = sparc_network_sizes_of(network);
  sparc_network_plan *plan;
  sparc_status status = sparc_network_plan_create(network, 1, from->T, 0, &plan);
  if (status != SPARC_OK) return status;
  float *prepared = sparc_alloc(n.prepared * sizeof *prepared);
  void *work = sparc_alloc(sparc_network_plan_work_bytes(plan, SPARC_FLOAT32));
  const sparc_network_sequence sequence = replay_sequence(from, outputs);
  if (!prepared || !work) status = fail(SPARC_NO_MEMORY, "no memory to run %d steps", from->T);
  if (status == SPARC_OK) status = sparc_network_prepare(network, params, prepared);
  if (status == SPARC_OK) status = sparc_network_forward(plan, prepared, &sequence, work);
  sparc_free(work);
  sparc_free(prepared);
  sparc_network_plan_free(plan);
  return status;
}

static void add_change(const replay *r, const replay_outputs *original, const replay_outputs *changed,
                       intervention_sums *sums) {
  const sparc_network_config config = sparc_network_config_of(r->network);
  const size_t width = (size_t)config.head[0].outputs, rows = original->size[0] / width;
  const int last = config.heads - 1;
  for (size_t i = 0; i < rows; i++) {
    const float *a = original->head[0] + i * width, *b = changed->head[0] + i * width;
    switch (r->distribution) {
      case DISTRIBUTION_CLASSES:
        sums->change += divergence_of_classes(width, a, b);
        sums->scale++;
        break;
      case DISTRIBUTION_NORMAL:
        sums->change += divergence_of_normals(width, a, original->head[last], b, changed->head[last]);
        sums->scale++;
        break;
      case DISTRIBUTION_NONE:
        for (size_t k = 0; k < width; k++) {
          sums->change += ((double)b[k] - (double)a[k]) * ((double)b[k] - (double)a[k]);
          sums->scale += (double)a[k] * (double)a[k];
        }
        break;
    }
  }
}

sparc_status intervene(const replay *r, const char *variant, const recording *from, const replay_outputs *original,
                       intervention_sums *sums) {
  char options[CELL_OPTIONS_SIZE];
  const sparc_network_config config = with_variant(r->network, variant, options);
  sparc_network *changed;
  replay_outputs after = {.memory = NULL};
  *sums = (intervention_sums){0, 0};
  sparc_status status = sparc_network_create(&config, &changed);
  if (status == SPARC_OK) status = replay_outputs_create(r, from, &after);
  if (status == SPARC_OK) status = run(changed, r->params, from, &after);
  if (status == SPARC_OK) add_change(r, original, &after, sums);
  replay_outputs_free(&after);
  sparc_network_free(changed);
  return status;
}
