/* SPDX-License-Identifier: MIT */
/* bank.c: the description of a filter bank, and its initialisation from sample signals.
 *
 * A bank is not trained; a readout on top of it is fitted in closed form (train/ridge.h). It has random
 * filters whose time scales cover those of the signals, and thresholds within the range of the signals.
 */
#include "nn/bank.h"

#include "base/error.h"
#include "base/memory.h"
#include "nn/stages.h"
#include "sparc/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const sparc_option options[] = {
    {.name = "modes", .type = SPARC_OPTION_INT, .fallback = 256, .low = 1, .high = 1 << 16, .help = "Filters"},
    {.name = "thresholds", .type = SPARC_OPTION_INT, .fallback = 8, .low = 1, .high = 1024, .help = "Of each filter"},
    {.name = NULL}};

static sparc_status layout(sparc_layer *layer, sparc_layer_sizes *sizes) {
  const int C = sparc_layer_inputs(layer);
  const int M = (int)sparc_layer_option(layer, "modes"), P = (int)sparc_layer_option(layer, "thresholds");
  bank *at = sparc_alloc(sizeof *at);
  if (!at) return fail(SPARC_NO_MEMORY, "no memory for a filter bank");
  layer->own = at;
  at->C = (size_t)C;
  at->M = (size_t)M;
  at->P = (size_t)P;
  at->decay = sparc_layer_add_block(layer, "decay", SPARC_RECURRENT, M, 0, SPARC_START_NORMAL, 1);
  at->angle = sparc_layer_add_block(layer, "angle", SPARC_RECURRENT, M, 0, SPARC_START_NORMAL, 1);
  at->input = sparc_layer_add_block(layer, "input", SPARC_REGULAR, M, 2 * C, SPARC_START_LECUN, 0);
  at->re = sparc_layer_add_block(layer, "re", SPARC_REGULAR, P, M, SPARC_START_NORMAL, 1);
  at->im = sparc_layer_add_block(layer, "im", SPARC_REGULAR, P, M, SPARC_START_NORMAL, 1);
  at->bias = sparc_layer_add_block(layer, "bias", SPARC_REGULAR, P, M, SPARC_START_NORMAL, 1);
  sizes->outputs = at->P * at->M;
  sizes->prepared = 2 * at->M;
  sizes->state = 2 * at->M + at->C;
  return SPARC_OK;
}

const sparc_layer_kind layer_bank = {.name = "bank",
                                     .summary = "fixed spectral filters with soft thresholds",
                                     .options = options,
                                     .layout = layout,
                                     .ops = &bank_ops_f32,
                                     .ops_f64 = IN_DOUBLE(&bank_ops_f64)};

/* ---- initialisation ------------------------------------------------------------------------------ */

static const double pi = 3.14159265358979323846;
static const size_t max_samples = 1024; /* states of a mode whose quantiles are taken */
static const double slope = 10;         /* of a threshold, per standard deviation of its feature */
static const double margin = 0.02;      /* quantiles are from here to 1 - margin */

typedef struct calibration {
  const bank *at;
  const bank_signal *signal;
  size_t signals, steps; /* of all signals */
  float *params;
  double *change;  /* (C): standard deviation of differences over that of values */
  double *re, *im; /* (max_samples): states of the current mode */
  double *value;   /* (max_samples): of the current feature */
} calibration;

static int longest_of(const calibration *k) {
  int longest = 1;
  for (size_t i = 0; i < k->signals; i++)
    if (k->signal[i].length > longest) longest = k->signal[i].length;
  return longest;
}

/* differences are weighted to have the variance of values */
static void measure_changes(calibration *k) {
  const size_t C = k->at->C;
  for (size_t c = 0; c < C; c++) {
    double values = 0, changes = 0;
    for (size_t i = 0; i < k->signals; i++)
      for (size_t t = 0; t < (size_t)k->signal[i].length; t++) {
        const double x = (double)k->signal[i].x[t * C + c], last = t ? (double)k->signal[i].x[(t - 1) * C + c] : x;
        values += x * x;
        changes += (x - last) * (x - last);
      }
    k->change[c] = changes > 0 && values > 0 ? sqrt(changes / values) : 1;
  }
}

/* a mode reads one channel or its differences; with several channels, a second one, too */
static void draw_mode(const calibration *k, sparc_random *stream, size_t m, double longest) {
  const bank *at = k->at;
  const double log_tau = sparc_random_uniform(stream) * log(longest);
  const double turns = sparc_random_uniform(stream), theta = 2 * pi * turns * exp(-log_tau);
  k->params[at->decay + m] = (float)-log_tau;
  k->params[at->angle + m] = (float)(theta < pi ? theta : pi);
  float *input = k->params + at->input + m * 2 * at->C;
  memset(input, 0, 2 * at->C * sizeof *input);
  for (int i = 0; i < (at->C > 1 ? 2 : 1); i++) {
    const size_t from = sparc_random_below(stream, 2 * (uint32_t)at->C);
    const double weight = i ? sparc_random_normal(stream) : 1;
    input[from] += (float)(from < at->C ? weight : weight / k->change[from - at->C]);
  }
}

/* the states of a mode at evenly spaced steps of all signals */
static size_t sample_states(const calibration *k, size_t m) {
  const bank *at = k->at;
  const size_t C = at->C, every = (k->steps + max_samples - 1) / max_samples;
  const double radius = exp(-exp((double)k->params[at->decay + m])), theta = (double)k->params[at->angle + m];
  const double lambda_re = radius * cos(theta), lambda_im = radius * sin(theta);
  const float *a = k->params + at->input + m * 2 * C;
  size_t step = 0, n = 0;
  for (size_t i = 0; i < k->signals; i++) {
    double re = 0, im = 0;
    const float *x = k->signal[i].x;
    for (int t = 0; t < k->signal[i].length; t++, x += C, step++) {
      double u = 0;
      for (size_t c = 0; c < C; c++)
        u += (double)a[c] * (double)x[c] + (double)a[C + c] * ((double)x[c] - (t ? (double)*(x + c - C) : 0));
      const double old = re;
      re = lambda_re * re - lambda_im * im + u;
      im = lambda_re * im + lambda_im * old;
      if (step % every != 0) continue;
      k->re[n] = re;
      k->im[n++] = im;
    }
  }
  return n;
}

static int by_value(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void draw_threshold(const calibration *k, sparc_random *stream, size_t n, size_t feature) {
  const double re = sparc_random_normal(stream), im = sparc_random_normal(stream);
  const double quantile = margin + (1 - 2 * margin) * sparc_random_uniform(stream);
  double sum = 0, square = 0;
  for (size_t i = 0; i < n; i++) {
    k->value[i] = re * k->re[i] + im * k->im[i];
    sum += k->value[i];
  }
  for (size_t i = 0; i < n; i++) square += (k->value[i] - sum / (double)n) * (k->value[i] - sum / (double)n);
  qsort(k->value, n, sizeof *k->value, by_value);
  const double stddev = sqrt(square / (double)n), scale = stddev > 0 ? slope / stddev : 0;
  k->params[k->at->re + feature] = (float)(re * scale);
  k->params[k->at->im + feature] = (float)(im * scale);
  k->params[k->at->bias + feature] = (float)(-k->value[(size_t)(quantile * (double)n)] * scale);
}

sparc_status bank_calibrate(const sparc_layer *layer, uint64_t seed, size_t signals, const bank_signal *signal,
                            float *params) {
  const bank *at = bank_of(layer);
  double *memory = sparc_alloc((3 * max_samples + at->C) * sizeof *memory);
  if (!memory) return fail(SPARC_NO_MEMORY, "no memory to draw a filter bank");
  calibration k = {.at = at,
                   .signal = signal,
                   .signals = signals,
                   .params = params,
                   .re = memory,
                   .im = memory + max_samples,
                   .value = memory + 2 * max_samples,
                   .change = memory + 3 * max_samples};
  for (size_t i = 0; i < signals; i++) k.steps += (size_t)signal[i].length;
  measure_changes(&k);
  const double longest = fmax(2, longest_of(&k) / 4.0);
  sparc_random stream;
  sparc_random_init(&stream, seed, "bank", layer->prefix);
  for (size_t m = 0; m < at->M; m++) {
    draw_mode(&k, &stream, m, longest);
    const size_t n = sample_states(&k, m);
    for (size_t p = 0; p < at->P; p++) draw_threshold(&k, &stream, n, p * at->M + m);
  }
  sparc_free(memory);
  return SPARC_OK;
}
