/* SPDX-License-Identifier: MIT */
/* cell_layer_rows.c: before and after a cell, forward and backward side by side. */
#include "nn/cell_layer_impl.h"

/* ---- residual layer ---------------------------------------------------------------------------- */

void pre_cell_rows(const weight_view *w, const cell_layer *at, size_t n, const layer_rows *a) {
  layer_norm_forward(w->kernels, n, at->width, a->u, w->params + at->norm_scale, w->params + at->norm_bias, a->x,
                     a->mean, a->rstd);
}

void post_cell_rows(const weight_view *w, const cell_layer *at, size_t n, const layer_rows *a) {
  const size_t width = at->width;
  if (at->readout.in) {
    readout_rows(w, &at->readout, n, a->y, a->r);
    skip_forward(n, width, a->x, w->params + at->skip, a->r);
  }
  gelu_forward(w->kernels, n, width, a->r, a->drop_g, a->g);
  dense_rows(w, &at->glu, n, a->g, a->o, 2 * width);
  glu_forward(w->kernels, n, width, a->o, a->drop_v, a->u, a->out);
}

void post_cell_rows_backward(const weight_view *w, const cell_layer *at, size_t n, const layer_rows *a,
                             const layer_cotangents *d) {
  const size_t width = at->width;
  glu_backward(w->kernels, n, width, a->o, a->drop_v, d->du, d->d_o);
  dense_rows_backward(w, &at->glu, n, d->d_o, 2 * width, 0, d->dg);
  gelu_backward(w->kernels, n, width, a->r, a->drop_g, d->dg, d->dr);
  if (at->readout.in) readout_rows_backward(w, &at->readout, n, d->dr, d->dy);
}

void pre_cell_rows_backward(const weight_view *w, const cell_layer *at, size_t n, const layer_rows *a,
                            const layer_cotangents *d, double *dscale, double *dbias, double *dskip) {
  const size_t width = at->width;
  if (at->readout.in) skip_backward(n, width, a->x, w->params + at->skip, d->dr, d->dx, dskip);
  layer_norm_backward(w->kernels, n, width, a->u, a->mean, a->rstd, w->params + at->norm_scale, d->dx, d->du, dscale,
                      dbias);
}

/* ---- features of a bare cell ------------------------------------------------------------------- */

void feature_rows(const weight_view *w, const cell_layer *at, size_t n, size_t O, const real *y, real *z) {
  if (at->reads == POLICY_READOUT)
    readout_rows(w, &at->readout, n, y, z);
  else
    relu_forward(n, O, y, z);
}

void feature_rows_backward(const weight_view *w, const cell_layer *at, size_t n, size_t O, const real *y,
                           const real *dz, real *dy) {
  if (at->reads == POLICY_READOUT)
    readout_rows_backward(w, &at->readout, n, dz, dy);
  else
    relu_backward(n, O, y, dz, dy);
}
