/* SPDX-License-Identifier: MIT */
/* support_layers_impl.h: the runners of support_layers.h in one precision. */
#include "nn/layers_impl.h"
#include "support_layers.h"

/* one call: values v and gradients d of the inputs in their order, d NULL for a forward alone */
typedef struct call {
  const layer_problem *p;
  const kernels *k;
  real *const *v;
  real *y;
  const real *dy;
  real *const *d;
} call;

static void *scratch(size_t count, size_t size) { return sparc_alloc(count * size); }

/* functions with double partial sums, seen through an array of reals */
static double *sums_from(const real *start, size_t count) {
  double *sums = scratch(count, sizeof *sums);
  for (size_t i = 0; i < count; i++) sums[i] = (double)start[i];
  return sums;
}

static void sums_into(double *sums, real *out, size_t count) {
  for (size_t i = 0; i < count; i++) out[i] = (real)sums[i];
  sparc_free(sums);
}

/* rows of a weight in two calls, as callers that cut by rows do */
static void weight_gradient(const call *c, size_t in, size_t out, const real *x, real *dweight, real *dbias) {
  const size_t first = out / 2;
  dense_backward_weight(c->k, c->p->n, in, 0, first, c->dy, out, x, dweight, dbias);
  dense_backward_weight(c->k, c->p->n, in, first, out - first, c->dy, out, x, dweight, dbias);
}

static void run_dense(const call *c) {
  const size_t n = c->p->n, in = c->p->in, out = c->p->out;
  const bool adds = c->p->kind == LAYER_DENSE_ADDS;
  real *weight_in = scratch(in * out, sizeof *weight_in);
  dense_prepare(c->k, in, out, c->v[1], weight_in);
  dense_forward(c->k, n, in, out, c->v[0], weight_in, adds ? NULL : c->v[2], c->y, out);
  sparc_free(weight_in);
  if (!c->d) return;
  dense_backward_input(c->k, n, in, out, c->dy, out, c->v[1], adds, c->d[0]);
  weight_gradient(c, in, out, c->v[0], c->d[1], adds ? NULL : c->d[2]);
}

static void run_norm(const call *c) {
  const size_t n = c->p->n, width = c->p->out;
  real *mean = scratch(n, sizeof *mean), *rstd = scratch(n, sizeof *rstd);
  layer_norm_forward(c->k, n, width, c->v[0], c->v[1], c->v[2], c->y, mean, rstd);
  if (c->d) {
    double *dscale = sums_from(c->d[1], width), *dbias = sums_from(c->d[2], width);
    layer_norm_backward(c->k, n, width, c->v[0], mean, rstd, c->v[1], c->dy, c->d[0], dscale, dbias);
    sums_into(dscale, c->d[1], width);
    sums_into(dbias, c->d[2], width);
  }
  sparc_free(mean);
  sparc_free(rstd);
}

static void run_gelu(const call *c) {
  const real *mask = c->p->kind == LAYER_GELU_MASKED ? c->v[1] : NULL;
  gelu_forward(c->k, c->p->n, c->p->out, c->v[0], mask, c->y);
  if (c->d) gelu_backward(c->k, c->p->n, c->p->out, c->v[0], mask, c->dy, c->d[0]);
}

static void run_glu(const call *c) {
  const real *mask = c->p->kind == LAYER_GLU_MASKED ? c->v[2] : NULL;
  glu_forward(c->k, c->p->n, c->p->out, c->v[0], mask, c->v[1], c->y);
  if (c->d) glu_backward(c->k, c->p->n, c->p->out, c->v[0], mask, c->dy, c->d[0]);
}

static void run_readout(const call *c) {
  const size_t n = c->p->n, H = c->p->in, out = c->p->out;
  real *weight = scratch(out * 2 * H, sizeof *weight), *weight_in = scratch(out * 2 * H, sizeof *weight);
  real *dweight = scratch(out * 2 * H, sizeof *weight);
  readout_weights(c->k, H, out, c->v[1], c->v[2], weight, weight_in);
  dense_forward(c->k, n, 2 * H, out, c->v[0], weight_in, NULL, c->y, out);
  skip_forward(n, out, c->v[3], c->v[4], c->y);
  if (c->d) {
    double *dskip = sums_from(c->d[4], out);
    dense_backward_input(c->k, n, 2 * H, out, c->dy, out, weight, 0, c->d[0]);
    weight_gradient(c, 2 * H, out, c->v[0], dweight, NULL);
    readout_weights_backward(H, 0, out / 2, dweight, c->d[1], c->d[2]);
    readout_weights_backward(H, out / 2, out - out / 2, dweight, c->d[1], c->d[2]);
    skip_backward(n, out, c->v[3], c->v[4], c->dy, c->d[3], dskip);
    sums_into(dskip, c->d[4], out);
  }
  sparc_free(weight);
  sparc_free(weight_in);
  sparc_free(dweight);
}

static void run_relu(const call *c) {
  relu_forward(c->p->n, c->p->out, c->v[0], c->y);
  if (c->d) relu_backward(c->p->n, c->p->out, c->v[0], c->dy, c->d[0]);
}

static void run_tanh(const call *c) {
  tanh_forward(c->k, c->p->n * c->p->out, c->v[0], c->y);
  if (c->d) tanh_backward(c->p->n * c->p->out, c->y, c->dy, c->d[0]);
}

static void run_pool(const call *c) {
  const size_t n = c->p->n, out = c->p->out, count = c->p->before + n;
  mean_pool_forward(n, out, c->v[0], c->v[1], count, c->y, c->y + out);
  if (!c->d) return;
  mean_pool_backward(n, out, c->dy, count, c->dy + out, 0, c->d[0]);
  mean_pool_backward(1, out, c->dy, count, c->dy + out, 1, c->d[1]);
}

/* losses give their gradient with the value: dy is a factor */
static void scale_gradient(const call *c) {
  for (size_t i = 0; c->d && i < c->p->input[0].count; i++) c->d[0][i] *= c->dy[0];
}

static void run_cross_entropy(const call *c) {
  real *probabilities = scratch(c->p->n * c->p->out, sizeof *probabilities);
  *c->y = (real)cross_entropy(c->p->n, c->p->out, c->v[0], c->p->labels, probabilities, c->d ? c->d[0] : NULL);
  scale_gradient(c);
  sparc_free(probabilities);
}

static void run_squared_error(const call *c) {
  *c->y = (real)mean_squared_error(c->p->n * c->p->out, c->v[0], c->v[1], c->d ? c->d[0] : NULL);
  scale_gradient(c);
}

static void (*const runners[LAYER_KINDS])(const call *c) = {
    [LAYER_DENSE] = run_dense,
    [LAYER_DENSE_ADDS] = run_dense,
    [LAYER_NORM] = run_norm,
    [LAYER_GELU] = run_gelu,
    [LAYER_GELU_MASKED] = run_gelu,
    [LAYER_GLU] = run_glu,
    [LAYER_GLU_MASKED] = run_glu,
    [LAYER_TANH] = run_tanh,
    [LAYER_READOUT] = run_readout,
    [LAYER_RELU] = run_relu,
    [LAYER_POOL] = run_pool,
    [LAYER_CROSS_ENTROPY] = run_cross_entropy,
    [LAYER_SQUARED_ERROR] = run_squared_error,
};

static real *narrow(const double *values, size_t count) {
  real *out = scratch(count, sizeof *out);
  for (size_t i = 0; i < count; i++) out[i] = (real)values[i];
  return out;
}

static real *gradient_start(const layer_input *input) {
  real *out = scratch(input->count, sizeof *out);
  for (size_t i = 0; i < input->count; i++) out[i] = input->rule == GRADIENT_ADDED ? (real)0.5 : (real)NAN;
  return out;
}

void TYPED(run_layer)(const layer_problem *p, const kernels *k, double *y, double *const *gradient) {
  real *v[LAYER_INPUTS] = {0}, *d[LAYER_INPUTS] = {0};
  for (size_t i = 0; i < p->inputs; i++) {
    v[i] = narrow(p->input[i].value, p->input[i].count);
    d[i] = gradient_start(&p->input[i]);
  }
  real *out = scratch(p->outputs, sizeof *out), *dy = narrow(p->dy, p->outputs);
  runners[p->kind](&(call){p, k, v, out, dy, gradient ? d : NULL});
  for (size_t i = 0; i < p->outputs; i++) y[i] = (double)out[i];
  for (size_t i = 0; i < p->inputs; i++) {
    const double start = p->input[i].rule == GRADIENT_ADDED ? 0.5 : 0;
    for (size_t j = 0; gradient && j < p->input[i].count; j++) gradient[i][j] = (double)d[i][j] - start;
    sparc_free(v[i]);
    sparc_free(d[i]);
  }
  sparc_free(out);
  sparc_free(dy);
}
