/* SPDX-License-Identifier: MIT */
/* bank_run.c: the arithmetic of a filter bank. M complex one-pole filters run over channels and their first
 * differences, and every mode has P soft thresholds in random directions:
 *
 *   u_t = A [x_t; x_t - x_{t-1}]                      x before a segment is 0
 *   h_t = lambda h_{t-1} + u_t                        lambda = exp(-exp(nu) + i theta)
 *   y_t = w_t tanh(re . Re h_t + im . Im h_t + bias)  P M features
 *   w_t = max(0, 1 - ((t - center) focus)^2)^2        with windows, for t below the span; from there on, rest
 *
 * The mean of y over time is then the fraction of steps that a filter spends above its threshold, in the window. A state
 * is Re h, Im h, the last input and, with windows, the number of steps since the start of the segment. Rows of a stream
 * go to the tanh kernel at once, so steps and sequences are bit-identical.
 */
#include "base/threads.h"
#include "nn/bank.h"
#include "nn/layer_impl.h"
#include "nn/layers_impl.h"

#include <string.h>

/* the layer's weights, by name */
typedef struct bank_view {
  size_t C, M, P, state;
  const real *input, *re, *im, *bias;
  const real *center, *focus, *rest; /* NULL: no windows */
  real span;
  const real *lambda_re, *lambda_im; /* (M) */
} bank_view;

static bank_view view_of(const bank *at, const real *params, const real *prepared) {
  return (bank_view){.C = at->C,
                     .M = at->M,
                     .P = at->P,
                     .state = bank_state(at),
                     .input = params + at->input,
                     .re = params + at->re,
                     .im = params + at->im,
                     .bias = params + at->bias,
                     .center = at->windows ? params + at->center : NULL,
                     .focus = at->windows ? params + at->focus : NULL,
                     .rest = at->windows ? params + at->rest : NULL,
                     .span = at->windows ? prepared[2 * at->M] : 0,
                     .lambda_re = prepared,
                     .lambda_im = prepared + at->M};
}

static void prepare(const sparc_layer *layer, const real *params, real *prepared) {
  const bank *at = bank_of(layer);
  for (size_t m = 0; m < at->M; m++) {
    const real radius = r_exp(-r_exp(params[at->decay + m])), theta = params[at->angle + m];
    prepared[m] = radius * r_cos(theta);
    prepared[at->M + m] = radius * r_sin(theta);
  }
  if (at->windows) prepared[2 * at->M] = r_exp(params[at->span]);
}

/* ---- forward ------------------------------------------------------------------------------------- */

/* one step of one stream */
static void advance(const bank_view *v, const real *x, real *state) {
  const size_t C = v->C, M = v->M;
  real *const h = state, *const last = state + 2 * M;
  for (size_t m = 0; m < M; m++) {
    const real *a = v->input + m * 2 * C;
    real u = 0;
    for (size_t c = 0; c < C; c++) u += a[c] * x[c] + a[C + c] * (x[c] - last[c]);
    const real re = h[m], im = h[M + m];
    h[m] = v->lambda_re[m] * re - v->lambda_im[m] * im + u;
    h[M + m] = v->lambda_re[m] * im + v->lambda_im[m] * re;
  }
  memcpy(last, x, C * sizeof *last);
  if (v->center) last[C] += 1;
}

static void read_thresholds(const bank_view *v, const kernels *k, const real *h, real *y) {
  const size_t M = v->M, F = v->P * M;
  for (size_t first = 0; first < F; first += M)
    for (size_t m = 0; m < M; m++)
      y[first + m] = v->re[first + m] * h[m] + v->im[first + m] * h[M + m] + v->bias[first + m];
  tanh_forward(k, F, y, y);
}

/* the number of the step that led to a state */
static inline real time_of(const bank_view *v, const real *state) { return state[v->state - 1] - 1; }

/* 1 - u^2 of feature j, 0 outside the window */
static inline real in_window(const bank_view *v, real t, size_t j) {
  const real u = (t - v->center[j]) * v->focus[j], inside = 1 - u * u;
  return inside > 0 ? inside : 0;
}

static void read_features(const bank_view *v, const kernels *k, const real *state, real *y) {
  read_thresholds(v, k, state, y);
  if (!v->center) return;
  const real t = time_of(v, state);
  for (size_t j = 0; j < v->P * v->M; j++) {
    const real inside = in_window(v, t, j);
    y[j] *= t < v->span ? inside * inside : v->rest[j];
  }
}

typedef struct bank_job {
  const sparc_layer *layer;
  const TYPED(layer_sequence) * s;
  bank_view view;
} bank_job;

static void forward_sequence(void *context, size_t b) {
  const bank_job *job = context;
  const bank_view *v = &job->view;
  const TYPED(layer_sequence) *s = job->s;
  const size_t T = (size_t)s->T, C = v->C, S = v->state;
  const real *state0 = s->state0 ? s->state0 + b * s->stride : NULL;
  real *kept = (real *)s->saved + b * (T + 1) * S; /* (T + 1, S): state0, and the state after every step */
  for (size_t i = 0; i < S; i++) kept[i] = state0 ? state0[i] : 0;
  for (size_t t = 0; t < T; t++, kept += S) {
    if (s->mask && s->mask[b * T + t] == 0)
      memset(kept + S, 0, S * sizeof *kept);
    else
      memcpy(kept + S, kept, S * sizeof *kept);
    advance(v, s->x + (b * T + t) * C, kept + S);
    read_features(v, job->layer->kernels, kept + S, s->y + (b * T + t) * v->P * v->M);
  }
  if (s->state_last) memcpy(s->state_last + b * s->stride, kept, S * sizeof *kept);
}

static void forward(const sparc_layer *layer, const TYPED(layer_sequence) * s) {
  bank_job job = {layer, s, view_of(bank_of(layer), s->params, s->prepared)};
  parallel_for(s->threads, (size_t)s->B, forward_sequence, &job);
}

static void step(const sparc_layer *layer, const TYPED(layer_step) * s) {
  const bank_view v = view_of(bank_of(layer), s->params, s->prepared);
  for (size_t i = (size_t)s->first; i < (size_t)(s->first + s->count); i++) {
    real *state = s->states + i * s->stride;
    if (s->masks && s->masks[i] == 0) memset(state, 0, v.state * sizeof *state);
    advance(&v, s->x + i * v.C, state);
    read_features(&v, layer->kernels, state, s->y + i * v.P * v.M);
  }
}

/* ---- backward ------------------------------------------------------------------------------------ */

/* gradients of weights, and scratch */
typedef struct bank_gradient {
  real *dinput, *dre, *dim, *dbias, *dcenter, *dfocus, *drest;
  real *dlambda; /* (2, M) */
  real *dh;      /* (2, M): of the state after the current step */
  real dcount;   /* of its number of steps */
  real *zeros;   /* (state): the state before a segment */
  real *feature; /* (P, M): thresholds without windows, computed again */
} bank_gradient;

/* returns the window of feature j; dw is its cotangent */
static inline real window_backward(const bank_view *v, real t, size_t j, real dw, bank_gradient *g) {
  if (!(t < v->span)) {
    g->drest[j] += dw;
    return v->rest[j];
  }
  const real distance = t - v->center[j], inside = in_window(v, t, j);
  const real du = -4 * dw * inside * distance * v->focus[j];
  g->dcenter[j] -= du * v->focus[j];
  g->dfocus[j] += du * distance;
  g->dcount += du * v->focus[j];
  return inside * inside;
}

static void features_backward(const bank_view *v, const kernels *k, const real *h, const real *y, const real *dy,
                              bank_gradient *g) {
  const size_t M = v->M, F = v->P * M;
  const real *value = v->center ? g->feature : y;
  const real t = v->center ? time_of(v, h) : 0;
  if (v->center) read_thresholds(v, k, h, g->feature);
  for (size_t first = 0; first < F; first += M)
    for (size_t m = 0; m < M; m++) {
      const size_t j = first + m;
      const real window = v->center ? window_backward(v, t, j, dy[j] * value[j], g) : 1;
      const real dz = dy[j] * window * (1 - value[j] * value[j]);
      g->dre[j] += dz * h[m];
      g->dim[j] += dz * h[M + m];
      g->dbias[j] += dz;
      g->dh[m] += dz * v->re[j];
      g->dh[M + m] += dz * v->im[j];
    }
}

/* from dh of the state after a step to that of the state before it; dx and dlast, of the input before, are added
 * to where they are not NULL */
static void advance_backward(const bank_view *v, const real *x, const real *before, bank_gradient *g, real *dx,
                             real *dlast) {
  const size_t C = v->C, M = v->M;
  const real *last = before + 2 * M;
  for (size_t m = 0; m < M; m++) {
    const real dre = g->dh[m], dim = g->dh[M + m], *a = v->input + m * 2 * C;
    real *da = g->dinput + m * 2 * C;
    for (size_t c = 0; c < C; c++) {
      da[c] += dre * x[c];
      da[C + c] += dre * (x[c] - last[c]);
      if (dx) dx[c] += dre * (a[c] + a[C + c]);
      if (dlast) dlast[c] -= dre * a[C + c];
    }
    g->dlambda[m] += dre * before[m] + dim * before[M + m];
    g->dlambda[M + m] += dim * before[m] - dre * before[M + m];
    g->dh[m] = v->lambda_re[m] * dre + v->lambda_im[m] * dim;
    g->dh[M + m] = v->lambda_re[m] * dim - v->lambda_im[m] * dre;
  }
}

static void backward_sequence(const bank_view *v, const kernels *k, const TYPED(layer_sequence) * s,
                              const TYPED(layer_gradient) * to, size_t b, bank_gradient *g) {
  const size_t T = (size_t)s->T, C = v->C, M = v->M, S = v->state, F = v->P * M;
  const real *last = to->dstate_last ? to->dstate_last + b * s->stride : NULL;
  const real *kept = (const real *)s->saved + b * (T + 1) * S;
  real *dstate0 = to->dstate0 ? to->dstate0 + b * s->stride : NULL, *dx = to->dx ? to->dx + b * T * C : NULL;
  for (size_t i = 0; i < 2 * M; i++) g->dh[i] = last ? last[i] : 0;
  g->dcount = last && v->center ? last[S - 1] : 0;
  for (size_t i = 0; dstate0 && i < S; i++) dstate0[i] = 0;
  for (size_t i = 0; dx && i < T * C; i++) dx[i] = last && i >= (T - 1) * C ? last[2 * M + i - (T - 1) * C] : 0;
  for (size_t t = T; t-- > 0;) {
    const size_t token = b * T + t;
    const bool starts = s->mask && s->mask[token] == 0;
    real *dlast = starts ? NULL : t == 0 ? dstate0 ? dstate0 + 2 * M : NULL : dx ? dx + (t - 1) * C : NULL;
    features_backward(v, k, kept + (t + 1) * S, s->y + token * F, to->dy + token * F, g);
    advance_backward(v, s->x + token * C, starts ? g->zeros : kept + t * S, g, dx ? dx + t * C : NULL, dlast);
    if (!starts) continue;
    memset(g->dh, 0, 2 * M * sizeof *g->dh);
    g->dcount = 0;
  }
  for (size_t i = 0; dstate0 && i < 2 * M; i++) dstate0[i] = g->dh[i];
  if (dstate0 && v->center) dstate0[S - 1] = g->dcount;
}

static void backward(const sparc_layer *layer, const TYPED(layer_sequence) * s, const TYPED(layer_gradient) * to) {
  const bank *at = bank_of(layer);
  const bank_view v = view_of(at, s->params, s->prepared);
  const size_t M = v.M;
  real *scratch = s->work, *d = to->dparams;
  bank_gradient g = {.dinput = d + at->input,
                     .dre = d + at->re,
                     .dim = d + at->im,
                     .dbias = d + at->bias,
                     .dcenter = d + at->center,
                     .dfocus = d + at->focus,
                     .drest = d + at->rest,
                     .dlambda = scratch,
                     .dh = scratch + 2 * M,
                     .zeros = scratch + 4 * M,
                     .feature = scratch + 4 * M + v.state};
  memset(g.dlambda, 0, 2 * M * sizeof *g.dlambda);
  memset(g.zeros, 0, v.state * sizeof *g.zeros);
  for (size_t b = 0; b < (size_t)s->B; b++) backward_sequence(&v, layer->kernels, s, to, b, &g);
  for (size_t m = 0; m < M; m++) {
    const real re = g.dlambda[m], im = g.dlambda[M + m], lambda_re = v.lambda_re[m], lambda_im = v.lambda_im[m];
    d[at->decay + m] -= r_exp(s->params[at->decay + m]) * (re * lambda_re + im * lambda_im);
    d[at->angle + m] += im * lambda_re - re * lambda_im;
  }
}

static size_t saved_bytes(const sparc_layer *layer, int B, int T, const void *plan) {
  (void)plan;
  return (size_t)B * ((size_t)T + 1) * layer->sizes.state * sizeof(real);
}

static size_t work_bytes(const sparc_layer *layer, int B, int T, const void *plan) {
  (void)B, (void)T, (void)plan;
  const bank *at = bank_of(layer);
  return (4 * at->M + bank_state(at) + (at->windows ? at->P * at->M : 0)) * sizeof(real);
}

const TYPED(layer_ops) TYPED(bank_ops) = {.prepare = prepare,
                                          .saved = saved_bytes,
                                          .work = work_bytes,
                                          .forward = forward,
                                          .backward = LEARNING(backward),
                                          .step = step};
