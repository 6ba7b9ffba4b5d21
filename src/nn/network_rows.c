/* SPDX-License-Identifier: MIT */
/* network_rows.c: the parts of a network outside its cells, forward and backward side by side
 * (docs/training.md has the formulas of residual layers), and the weights as products read them. */
#include "base/error.h"
#include "base/threads.h"
#include "cells/cell_impl.h"
#include "cells/tiles.h"
#include "nn/network_rows_impl.h"
#include "sparc/double.h"

#include <string.h>

/* ---- prepare ----------------------------------------------------------------------------------- */

/* no way out of the loop, so that it becomes vector code */
static bool is_finite(size_t n, const real *values) {
  int wrong = 0;
  for (size_t i = 0; i < n; i++) wrong |= !isfinite(values[i]);
  return !wrong;
}

static sparc_status check_finite(const sparc_network *net, const real *params) {
  if (is_finite(net->sizes.params, params)) return SPARC_OK;
  for (size_t b = 0; b < net->blocks; b++)
    for (size_t i = net->block[b].offset; i < net->block[b].offset + net->block[b].size; i++)
      if (!isfinite(params[i]))
        return fail(SPARC_NOT_FINITE, "params: element %zu of %s is %g, expected a finite number",
                    i - net->block[b].offset, net->block[b].name, (double)params[i]);
  return SPARC_OK;
}

static void prepare_dense(const sparc_network *net, const dense_offsets *at, const real *params, real *prepared) {
  dense_prepare(net->cell->kernels, at->in, at->out, params + at->weight, prepared + at->weight_in);
}

static void prepare_readout(const sparc_network *net, const readout_offsets *at, const real *params, real *prepared) {
  const kernels *k = net->cell->kernels;
  real *weight = prepared + at->weight, *weight_in = prepared + at->weight_in;
  if (at->has_im) {
    readout_weights(k, at->in / 2, at->out, params + at->re, params + at->im, weight, weight_in);
  } else {
    memcpy(weight, params + at->re, at->out * at->in * sizeof(real));
    dense_prepare(k, at->in, at->out, weight, weight_in);
  }
}

sparc_status PUBLIC(sparc_network_prepare)(const sparc_network *net, const real *params, real *prepared) {
  if (!net || !params || !prepared)
    return fail(SPARC_INVALID, "%s is NULL", !net ? "network" : !params ? "params" : "prepared");
  const sparc_status status = check_finite(net, params);
  if (status != SPARC_OK) return status;
  memcpy(prepared, params, net->sizes.params * sizeof(real));
  prepare_dense(net, &net->embed, params, prepared);
  prepare_readout(net, &net->readout, params, prepared);
  for (size_t i = 0; i < cells_of(net); i++) {
    const layer_offsets *at = &net->layer[i];
    TYPED(ops_of)(net->cell)->prepare(net->cell, params + at->cell, prepared + at->cell_prepared);
    prepare_readout(net, &at->readout, params, prepared);
    prepare_dense(net, &at->glu, params, prepared);
  }
  for (int i = 0; i < net->config.heads; i++) {
    prepare_dense(net, &net->head[i].hidden, params, prepared);
    prepare_dense(net, &net->head[i].linear, params, prepared);
  }
  return SPARC_OK;
}

/* ---- dense layers ------------------------------------------------------------------------------ */

static void dense_rows(const sparc_network *net, const real *prepared, const dense_offsets *at, size_t n, const real *x,
                       real *y, size_t stride) {
  dense_forward(net->cell->kernels, n, at->in, at->out, x, prepared + at->weight_in, prepared + at->bias, y, stride);
}

static void dense_rows_backward(const sparc_network *net, const real *prepared, const dense_offsets *at, size_t n,
                                const real *dy, size_t stride, int accumulate, real *dx) {
  dense_backward_input(net->cell->kernels, n, at->in, at->out, dy, stride, prepared + at->weight, accumulate, dx);
}

static void readout_rows(const sparc_network *net, const real *prepared, const readout_offsets *at, size_t n,
                         const real *y, real *r) {
  dense_forward(net->cell->kernels, n, at->in, at->out, y, prepared + at->weight_in, NULL, r, at->out);
}

static void readout_rows_backward(const sparc_network *net, const real *prepared, const readout_offsets *at, size_t n,
                                  const real *dr, real *dy) {
  dense_backward_input(net->cell->kernels, n, at->in, at->out, dr, at->out, prepared + at->weight, 0, dy);
}

/* ---- embedding --------------------------------------------------------------------------------- */

void embed_rows(const sparc_network *net, const real *prepared, size_t n, const real *x, real *e) {
  dense_rows(net, prepared, &net->embed, n, x, e, net->embed.out);
  if (net->config.embedding == SPARC_EMBED_TANH) tanh_forward(net->cell->kernels, n * net->embed.out, e, e);
}

void embed_rows_backward(const sparc_network *net, const real *prepared, size_t n, const real *e, real *de, real *dx) {
  if (net->config.embedding == SPARC_EMBED_TANH) tanh_backward(n * net->embed.out, e, de, de);
  if (dx) dense_rows_backward(net, prepared, &net->embed, n, de, net->embed.out, 0, dx);
}

/* ---- residual layer ---------------------------------------------------------------------------- */

void before_cell_rows(const sparc_network *net, const real *prepared, const layer_offsets *at, size_t n,
                      const layer_rows *a) {
  layer_norm_forward(net->cell->kernels, n, (size_t)net->config.width, a->u, prepared + at->norm_scale,
                     prepared + at->norm_bias, a->x, a->mean, a->rstd);
}

void behind_cell_rows(const sparc_network *net, const real *prepared, const layer_offsets *at, size_t n,
                      const layer_rows *a) {
  const kernels *k = net->cell->kernels;
  const size_t width = (size_t)net->config.width;
  if (at->readout.in) {
    readout_rows(net, prepared, &at->readout, n, a->y, a->r);
    skip_forward(n, width, a->x, prepared + at->skip, a->r);
  }
  gelu_forward(k, n, width, a->r, a->drop_g, a->g);
  dense_rows(net, prepared, &at->glu, n, a->g, a->o, 2 * width);
  glu_forward(k, n, width, a->o, a->drop_v, a->u, a->out);
}

void behind_cell_rows_backward(const sparc_network *net, const real *prepared, const layer_offsets *at, size_t n,
                               const layer_rows *a, const layer_cotangents *d) {
  const kernels *k = net->cell->kernels;
  const size_t width = (size_t)net->config.width;
  glu_backward(k, n, width, a->o, a->drop_v, d->du, d->d_o);
  dense_rows_backward(net, prepared, &at->glu, n, d->d_o, 2 * width, 0, d->dg);
  gelu_backward(k, n, width, a->r, a->drop_g, d->dg, d->dr);
  if (at->readout.in) readout_rows_backward(net, prepared, &at->readout, n, d->dr, d->dy);
}

void before_cell_rows_backward(const sparc_network *net, const real *prepared, const layer_offsets *at, size_t n,
                               const layer_rows *a, const layer_cotangents *d, double *dscale, double *dbias,
                               double *dskip) {
  const size_t width = (size_t)net->config.width;
  if (at->readout.in) skip_backward(n, width, a->x, prepared + at->skip, d->dr, d->dx, dskip);
  layer_norm_backward(net->cell->kernels, n, width, a->u, a->mean, a->rstd, prepared + at->norm_scale, d->dx, d->du,
                      dscale, dbias);
}

/* ---- features of a bare cell ------------------------------------------------------------------- */

void feature_rows(const sparc_network *net, const real *prepared, size_t n, const real *y, real *z) {
  if (net->reads == SPARC_POLICY_READOUT)
    readout_rows(net, prepared, &net->readout, n, y, z);
  else
    relu_forward(n, net->features, y, z);
}

void feature_rows_backward(const sparc_network *net, const real *prepared, size_t n, const real *y, const real *dz,
                           real *dy) {
  if (net->reads == SPARC_POLICY_READOUT)
    readout_rows_backward(net, prepared, &net->readout, n, dz, dy);
  else
    relu_backward(n, net->features, y, dz, dy);
}

/* ---- heads ------------------------------------------------------------------------------------- */

void head_rows(const sparc_network *net, const real *prepared, const network_head *head, size_t n, const real *z,
               real *hidden, real *out, size_t stride) {
  const size_t width = head->hidden.out;
  if (head->input == SPARC_HEAD_CONSTANT) {
    for (size_t t = 0; t < n; t++)
      memcpy(out + t * stride, prepared + head->linear.bias, head->linear.out * sizeof *out);
    return;
  }
  if (width) {
    dense_rows(net, prepared, &head->hidden, n, z, hidden, width);
    tanh_forward(net->cell->kernels, n * width, hidden, hidden);
  }
  dense_rows(net, prepared, &head->linear, n, width ? hidden : z, out, stride);
}

void head_rows_backward(const sparc_network *net, const real *prepared, const network_head *head, size_t n,
                        const real *dout, size_t stride, const real *hidden, real *dhidden, int accumulate, real *dz) {
  const size_t width = head->hidden.out;
  if (!width) {
    dense_rows_backward(net, prepared, &head->linear, n, dout, stride, accumulate, dz);
    return;
  }
  dense_rows_backward(net, prepared, &head->linear, n, dout, stride, 0, dhidden);
  tanh_backward(n * width, hidden, dhidden, dhidden);
  dense_rows_backward(net, prepared, &head->hidden, n, dhidden, width, accumulate, dz);
}

/* ---- gradients of weights ---------------------------------------------------------------------- */

size_t head_weight_jobs(const network_head *head, size_t n, const real *z, const real *hidden, const real *dhidden,
                        const real *dout, size_t stride, weight_job *jobs) {
  const size_t width = head->hidden.out;
  jobs[0] = (weight_job){&head->linear, n, width ? hidden : z, dout, stride};
  if (width) jobs[1] = (weight_job){&head->hidden, n, z, dhidden, width};
  return width ? 2 : 1;
}

/* Rows of a weight that are summed together: of a weight that is worth it so few that some sixteen threads have work,
 * in multiples of what a product takes at a time. An element's sum does not depend on the cut. */
static size_t weight_tile(const weight_job *job) {
  enum { AT_A_TIME = 6, SHARES = 16, SMALL = 1 << 16 };
  const size_t out = job->dense->out;
  if (job->n * out * (job->dense->in + 1) <= SMALL) return out;
  const size_t share = tiles_of(tiles_of(out, SHARES), AT_A_TIME) * AT_A_TIME;
  return share < ROW_TILE ? share : ROW_TILE;
}

typedef struct weight_jobs {
  const kernels *kernels;
  const weight_job *job;
  real *dparams;
} weight_jobs;

static void add_weight_tile(void *context, size_t tile) {
  const weight_jobs *all = context;
  const weight_job *job = all->job;
  for (size_t tiles; tile >= (tiles = tiles_of(job->dense->out, weight_tile(job))); job++) tile -= tiles;
  const dense_offsets *at = job->dense;
  const range rows = range_of(at->out, weight_tile(job), tile);
  if (at->in)
    dense_backward_weight(all->kernels, job->n, at->in, rows.first, rows.n, job->dy, job->stride, job->x,
                          all->dparams + at->weight, all->dparams + at->bias);
  else
    TYPED(ordered_add)(all->dparams + at->bias + rows.first, job->dy + rows.first, job->n, job->stride, rows.n);
}

void add_weight_gradients(const sparc_network *net, int threads, const weight_job *jobs, size_t count, real *dparams) {
  weight_jobs all = {net->cell->kernels, jobs, dparams};
  size_t tiles = 0;
  for (size_t i = 0; i < count; i++) tiles += tiles_of(jobs[i].dense->out, weight_tile(&jobs[i]));
  parallel_for(threads, tiles, add_weight_tile, &all);
}
