/* SPDX-License-Identifier: MIT */
/* conv.c: a short causal convolution as a layer kind outside the library: channel by channel over the last `taps` steps
 * of the segment, added to the input: y_t = x_t + b + sum_k w_k x_{t-k}. Compile it twice, the second time with
 * SPARC_DOUBLE, and list &conv_kind in sparc_network_config.kinds. */
#include "sparc/layer.h"

#include <string.h>

#ifdef SPARC_DOUBLE
typedef double real;
#define TYPED(name) name##_f64
#else
typedef float real;
#define TYPED(name) name
#endif

/* the layer in one precision; blocks are weight (taps, C) and bias (C); a state is the last taps - 1 inputs */
typedef struct conv {
  size_t C, taps, weight, bias;
} conv;

static conv conv_of(const sparc_layer *layer) {
  const sparc_block *block = sparc_layer_blocks(layer, NULL);
  return (conv){(size_t)sparc_layer_inputs(layer), (size_t)sparc_layer_option(layer, "taps"), block[0].offset,
                block[1].offset};
}

/* whether the input k steps earlier belongs to the segment of step t */
static int sees(const real *mask, size_t t, size_t k) {
  for (size_t i = 0; mask && i < k && i <= t; i++)
    if (mask[t - i] == 0) return 0;
  return 1;
}

/* the row of that input, in x or in the state before it; NULL: none */
static size_t place_of(const conv *v, size_t t, size_t k) { return (k <= t ? t - k : v->taps - 1 + t - k) * v->C; }
static real *row_of(const conv *v, real *x, real *state, size_t t, size_t k) {
  real *base = k <= t ? x : state;
  return base ? base + place_of(v, t, k) : NULL;
}
static const real *input_of(const conv *v, const real *x, const real *state, size_t t, size_t k) {
  return row_of(v, (real *)x, (real *)state, t, k);
}

static void convolve(const conv *v, const real *params, const real *x, const real *mask, const real *state, size_t t,
                     real *y) {
  for (size_t c = 0; c < v->C; c++) y[c] = x[t * v->C + c] + params[v->bias + c];
  for (size_t k = 0; k < v->taps && sees(mask, t, k); k++) {
    const real *w = params + v->weight + k * v->C, *from = input_of(v, x, state, t, k);
    for (size_t c = 0; from && c < v->C; c++) y[c] += w[c] * from[c];
  }
}

static void forward(const sparc_layer *layer, const TYPED(sparc_layer_sequence) * s) {
  const conv v = conv_of(layer);
  const size_t T = (size_t)s->T, C = v.C;
  for (size_t b = 0; b < (size_t)s->B; b++) {
    const real *x = s->x + b * T * C, *mask = s->mask ? s->mask + b * T : NULL;
    const real *state = s->state0 ? s->state0 + b * s->stride : NULL;
    for (size_t t = 0; t < T; t++) convolve(&v, s->params, x, mask, state, t, s->y + (b * T + t) * C);
    for (size_t k = 0; s->state_last && k + 1 < v.taps; k++) { /* the input k steps before the last one */
      real *to = s->state_last + b * s->stride + (v.taps - 2 - k) * C;
      const real *from = sees(mask, T - 1, k) ? input_of(&v, x, state, T - 1, k) : NULL;
      for (size_t c = 0; c < C; c++) to[c] = from ? from[c] : 0;
    }
  }
}

/* one sequence; dx and dstate0 may be NULL */
static void add_gradients(const conv *v, const real *params, size_t T, const real *x, const real *mask,
                          const real *state, const real *dy, const real *dlast, real *dx, real *dstate0,
                          real *dparams) {
  const size_t C = v->C;
  for (size_t t = 0; t < T; t++, dy += C) {
    for (size_t c = 0; c < C; c++) dparams[v->bias + c] += dy[c];
    for (size_t k = 0; k < v->taps && sees(mask, t, k); k++) {
      const real *w = params + v->weight + k * C, *from = input_of(v, x, state, t, k);
      real *dw = dparams + v->weight + k * C, *to = row_of(v, dx, dstate0, t, k);
      for (size_t c = 0; from && c < C; c++) dw[c] += dy[c] * from[c];
      for (size_t c = 0; to && c < C; c++) to[c] += w[c] * dy[c];
    }
  }
  for (size_t k = 0; dlast && k + 1 < v->taps && sees(mask, T - 1, k); k++) {
    real *to = row_of(v, dx, dstate0, T - 1, k);
    for (size_t c = 0; to && c < C; c++) to[c] += dlast[(v->taps - 2 - k) * C + c];
  }
}

static void backward(const sparc_layer *layer, const TYPED(sparc_layer_sequence) * s,
                     const TYPED(sparc_layer_gradient) * g) {
  const conv v = conv_of(layer);
  const size_t T = (size_t)s->T, row = T * v.C, S = (v.taps - 1) * v.C;
  if (g->dx) memcpy(g->dx, g->dy, (size_t)s->B * row * sizeof *g->dx);
  for (size_t b = 0; b < (size_t)s->B; b++) {
    real *dstate0 = g->dstate0 ? g->dstate0 + b * s->stride : NULL;
    if (dstate0) memset(dstate0, 0, S * sizeof *dstate0);
    add_gradients(&v, s->params, T, s->x + b * row, s->mask ? s->mask + b * T : NULL,
                  s->state0 ? s->state0 + b * s->stride : NULL, g->dy + b * row,
                  g->dstate_last ? g->dstate_last + b * s->stride : NULL, g->dx ? g->dx + b * row : NULL, dstate0,
                  g->dparams);
  }
}

static void step(const sparc_layer *layer, const TYPED(sparc_layer_step) * s) {
  const conv v = conv_of(layer);
  const size_t S = (v.taps - 1) * v.C;
  for (size_t i = (size_t)s->first; i < (size_t)(s->first + s->count); i++) {
    real *state = s->states + i * s->stride;
    const real *x = s->x + i * v.C;
    if (s->masks && s->masks[i] == 0) memset(state, 0, S * sizeof *state);
    convolve(&v, s->params, x, NULL, state, 0, s->y + i * v.C);
    if (!S) continue;
    memmove(state, state + v.C, (S - v.C) * sizeof *state);
    memcpy(state + S - v.C, x, v.C * sizeof *state);
  }
}

extern const TYPED(sparc_layer_ops) TYPED(conv_ops);
const TYPED(sparc_layer_ops) TYPED(conv_ops) = {.forward = forward, .backward = backward, .step = step};

#ifndef SPARC_DOUBLE
static sparc_status layout(sparc_layer *layer, sparc_layer_sizes *sizes) {
  const int C = sparc_layer_inputs(layer), taps = (int)sparc_layer_option(layer, "taps");
  sparc_layer_add_block(layer, "weight", SPARC_REGULAR, taps, C, SPARC_START_NORMAL, 0.5);
  sparc_layer_add_block(layer, "bias", SPARC_REGULAR, C, 0, SPARC_START_ZEROS, 0);
  sizes->state = (size_t)(taps - 1) * (size_t)C; /* the output is as wide as the input */
  return SPARC_OK;
}

static const sparc_option options[] = {
    {.name = "taps", .type = SPARC_OPTION_INT, .fallback = 3, .low = 1, .high = 64, .help = "Steps that it sees"},
    {.name = NULL}};

extern const sparc_layer_ops_f64 conv_ops_f64;
extern const sparc_layer_kind conv_kind;
const sparc_layer_kind conv_kind = {.name = "conv",
                                    .summary = "a short causal convolution",
                                    .options = options,
                                    .layout = layout,
                                    .ops = &conv_ops,
                                    .ops_f64 = &conv_ops_f64};
#endif
