/* SPDX-License-Identifier: MIT */
/* rows.c: dense layers and readouts on rows, forward and backward side by side, and sums over rows. */
#include "base/threads.h"
#include "nn/rows_impl.h"

#include <string.h>

/* ---- prepare ----------------------------------------------------------------------------------- */

void prepare_dense(const kernels *k, const dense_offsets *at, const real *params, real *prepared) {
  dense_prepare(k, at->in, at->out, params + at->weight, prepared + at->weight_in);
}

void prepare_readout(const kernels *k, const readout_offsets *at, const real *params, real *prepared) {
  real *weight = prepared + at->weight, *weight_in = prepared + at->weight_in;
  if (at->has_im) {
    readout_weights(k, at->in / 2, at->out, params + at->re, params + at->im, weight, weight_in);
  } else {
    memcpy(weight, params + at->re, at->out * at->in * sizeof(real));
    dense_prepare(k, at->in, at->out, weight, weight_in);
  }
}

/* ---- rows -------------------------------------------------------------------------------------- */

void dense_rows(const weight_view *w, const dense_offsets *at, size_t n, const real *x, real *y, size_t stride) {
  dense_forward(w->kernels, n, at->in, at->out, x, w->prepared + at->weight_in, w->params + at->bias, y, stride);
}

void dense_rows_backward(const weight_view *w, const dense_offsets *at, size_t n, const real *dy, size_t stride,
                         int accumulate, real *dx) {
  dense_backward_input(w->kernels, n, at->in, at->out, dy, stride, w->params + at->weight, accumulate, dx);
}

void readout_rows(const weight_view *w, const readout_offsets *at, size_t n, const real *y, real *r) {
  dense_forward(w->kernels, n, at->in, at->out, y, w->prepared + at->weight_in, NULL, r, at->out);
}

void readout_rows_backward(const weight_view *w, const readout_offsets *at, size_t n, const real *dr, real *dy) {
  dense_backward_input(w->kernels, n, at->in, at->out, dr, at->out, w->prepared + at->weight, 0, dy);
}

/* ---- gradients of weights ---------------------------------------------------------------------- */

/* Rows of a weight that are summed together: few enough for about sixteen threads if the weight is large, in multiples
 * of the row tile of a product. The sum of an element does not depend on this number. */
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

void add_weight_gradients(const kernels *k, int threads, const weight_job *jobs, size_t count, real *dparams) {
  weight_jobs all = {k, jobs, dparams};
  size_t tiles = 0;
  for (size_t i = 0; i < count; i++) tiles += tiles_of(jobs[i].dense->out, weight_tile(&jobs[i]));
  parallel_for(threads, tiles, add_weight_tile, &all);
}
