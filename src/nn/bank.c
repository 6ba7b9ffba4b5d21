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
    {.name = "windows",
     .type = SPARC_OPTION_INT,
     .fallback = 0,
     .low = 0,
     .high = 1,
     .help = "Weight features by time"},
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
  at->windows = sparc_layer_option(layer, "windows") != 0;
  at->decay = sparc_layer_add_block(layer, "decay", SPARC_RECURRENT, M, 0, SPARC_START_NORMAL, 1);
  at->angle = sparc_layer_add_block(layer, "angle", SPARC_RECURRENT, M, 0, SPARC_START_NORMAL, 1);
  at->input = sparc_layer_add_block(layer, "input", SPARC_REGULAR, M, 2 * C, SPARC_START_LECUN, 0);
  at->re = sparc_layer_add_block(layer, "re", SPARC_REGULAR, P, M, SPARC_START_NORMAL, 1);
  at->im = sparc_layer_add_block(layer, "im", SPARC_REGULAR, P, M, SPARC_START_NORMAL, 1);
  at->bias = sparc_layer_add_block(layer, "bias", SPARC_REGULAR, P, M, SPARC_START_NORMAL, 1);
  if (at->windows) {
    at->center = sparc_layer_add_block(layer, "center", SPARC_REGULAR, P, M, SPARC_START_ZEROS, 0);
    at->focus = sparc_layer_add_block(layer, "focus", SPARC_REGULAR, P, M, SPARC_START_ZEROS, 0);
    at->rest = sparc_layer_add_block(layer, "rest", SPARC_REGULAR, P, M, SPARC_START_ONES, 0);
    at->span = sparc_layer_add_block(layer, "span", SPARC_REGULAR, 1, 0, SPARC_START_ZEROS, 0);
  }
  sizes->outputs = at->P * at->M;
  sizes->prepared = 2 * at->M + at->windows;
  sizes->state = bank_state(at);
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
static const size_t max_samples = 1024;               /* states of a mode whose quantiles are taken */
static const double slope = 10;                       /* of a threshold, per standard deviation of its feature */
static const double margin = 0.02;                    /* quantiles are from here to 1 - margin */
static const double widest = 0.66, narrowest = 0.083; /* half-widths of windows, in lengths of the longest signal */

typedef struct calibration {
  const bank *at;
  const bank_signal *signal;
  size_t signals, steps; /* of all signals */
  float *params;
  double *change;  /* (C): standard deviation of differences over that of values */
  double *re, *im; /* (max_samples): states of the current mode */
  double *time;    /* (max_samples): their steps */
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
      k->im[n] = im;
      k->time[n++] = t;
    }
  }
  return n;
}

static int by_value(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double mean_weight(double center, double focus, int length) {
  double sum = 0;
  for (int t = 0; t < length; t++) {
    const double u = (t - center) * focus, rest = fmax(0, 1 - u * u);
    sum += rest * rest;
  }
  return sum / length;
}

/* half of the features get one; later steps have its mean weight, so that the mean over a longer signal stays comparable */
static void draw_window(const calibration *k, sparc_random *stream, int longest, size_t feature) {
  const bool has = sparc_random_uniform(stream) < 0.5;
  const double width = widest * pow(narrowest / widest, sparc_random_uniform(stream)) * longest;
  const double center = sparc_random_uniform(stream) * longest - 0.5, focus = 1 / fmax(width, 1.5);
  if (!has) return;
  k->params[k->at->center + feature] = (float)center;
  k->params[k->at->focus + feature] = (float)focus;
  k->params[k->at->rest + feature] = (float)mean_weight(center, focus, longest);
}

/* values of the feature, first of all samples, then of those where its window is above one half; returns their number */
static size_t values_in_window(const calibration *k, size_t n, double re, double im, size_t feature) {
  enum { LEAST = 8 };
  const double half = 0.54119610014619698; /* (1 - u^2)^2 = 1/2 */
  const double center = (double)k->params[k->at->center + feature], focus = (double)k->params[k->at->focus + feature];
  size_t inside = 0;
  for (size_t i = 0; i < n; i++) inside += fabs((k->time[i] - center) * focus) < half;
  if (inside < LEAST) return n;
  inside = 0;
  for (size_t i = 0; i < n; i++)
    if (fabs((k->time[i] - center) * focus) < half) k->value[inside++] = re * k->re[i] + im * k->im[i];
  return inside;
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
  const double stddev = sqrt(square / (double)n), scale = stddev > 0 ? slope / stddev : 0;
  const size_t count = k->at->windows ? values_in_window(k, n, re, im, feature) : n;
  qsort(k->value, count, sizeof *k->value, by_value);
  k->params[k->at->re + feature] = (float)(re * scale);
  k->params[k->at->im + feature] = (float)(im * scale);
  k->params[k->at->bias + feature] = (float)(-k->value[(size_t)(quantile * (double)count)] * scale);
}

static void draw_windows(const calibration *k, uint64_t seed, const char *prefix, bool windows) {
  const size_t features = k->at->P * k->at->M;
  memset(k->params + k->at->center, 0, features * sizeof *k->params);
  memset(k->params + k->at->focus, 0, features * sizeof *k->params);
  for (size_t j = 0; j < features; j++) k->params[k->at->rest + j] = 1;
  k->params[k->at->span] = (float)log(longest_of(k) - 0.5);
  if (!windows) return;
  sparc_random stream;
  sparc_random_init(&stream, seed, "bank windows", prefix);
  for (size_t j = 0; j < features; j++) draw_window(k, &stream, longest_of(k), j);
}

sparc_status bank_calibrate(const sparc_layer *layer, uint64_t seed, bool windows, size_t signals,
                            const bank_signal *signal, float *params) {
  const bank *at = bank_of(layer);
  double *memory = sparc_alloc((4 * max_samples + at->C) * sizeof *memory);
  if (!memory) return fail(SPARC_NO_MEMORY, "no memory to draw a filter bank");
  calibration k = {.at = at,
                   .signal = signal,
                   .signals = signals,
                   .params = params,
                   .re = memory,
                   .im = memory + max_samples,
                   .time = memory + 2 * max_samples,
                   .value = memory + 3 * max_samples,
                   .change = memory + 4 * max_samples};
  for (size_t i = 0; i < signals; i++) k.steps += (size_t)signal[i].length;
  measure_changes(&k);
  if (at->windows) draw_windows(&k, seed, layer->prefix, windows);
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
