/* SPDX-License-Identifier: MIT */
/* cell_layer_step.c: one step of n streams through a layer around a cell, and its parts before and after the cell with
 * their gradients, for RTRL. */
#include "nn/cell_layer_step_impl.h"
#include "seq/step_f64.h"

#include <string.h>

#define layer_streams TYPED(layer_streams)
#define network_tape  TYPED(network_tape)

/* ---- the tape ---------------------------------------------------------------------------------- */

/* rows from `first` on of an array of `width` numbers a stream */
static real *rows_at(real *base, size_t n, size_t place, size_t first, size_t width) {
  return base + n * place + first * width;
}

/* the cell writes the layer's output itself where nothing is after it */
static real *cell_output(const sparc_layer *layer, const layer_streams *s, size_t first) {
  const cell_layer *at = cell_layer_of(layer);
  const size_t O = layer->cell->sizes.output;
  return at->width || has_features(at) ? rows_at(s->tape, s->n, at->y, first, O) : s->y + first * O;
}

static const real *cell_input(const sparc_layer *layer, const layer_streams *s, size_t first) {
  const cell_layer *at = cell_layer_of(layer);
  return at->width ? rows_at(s->tape, s->n, at->normed, first, at->width) : s->x + first * layer->inputs;
}

static layer_rows layer_at(const sparc_layer *layer, const layer_streams *s, size_t first) {
  const cell_layer *at = cell_layer_of(layer);
  const size_t n = s->n, width = at->width;
  real *y = cell_output(layer, s, first);
  return (layer_rows){.u = s->x + first * width,
                      .mean = rows_at(s->tape, n, at->mean, first, 1),
                      .rstd = rows_at(s->tape, n, at->rstd, first, 1),
                      .x = rows_at(s->tape, n, at->normed, first, width),
                      .y = y,
                      .r = at->readout.in ? rows_at(s->tape, n, at->read, first, width) : y,
                      .g = rows_at(s->tape, n, at->gelu, first, width),
                      .o = rows_at(s->tape, n, at->gated, first, 2 * width),
                      .out = s->y + first * width};
}

static weight_view weights_of(const sparc_layer *layer, const layer_streams *s) {
  return (weight_view){layer->kernels, s->params, s->prepared};
}

static network_tape tape_of(const sparc_layer *layer, const layer_streams *s) {
  const cell_layer *at = cell_layer_of(layer);
  const bool same = !at->width && !has_features(at); /* the layer's output is the cell's */
  return (network_tape){.cell_input = (real *)cell_input(layer, s, 0),
                        .cell_output = cell_output(layer, s, 0),
                        .cell_tapes = rows_at(s->tape, s->n, at->tape, 0, 0),
                        .dcell_output = same ? s->dy : rows_at(s->scratch, s->n, at->dy, 0, 0),
                        .dcell_input = rows_at(s->scratch, s->n, at->dx, 0, 0)};
}

/* ---- forward ----------------------------------------------------------------------------------- */

static void pre_cell(const sparc_layer *layer, const layer_streams *s, range rows) {
  if (!cell_layer_of(layer)->width) return;
  const weight_view w = weights_of(layer, s);
  const layer_rows a = layer_at(layer, s, rows.first);
  pre_cell_rows(&w, cell_layer_of(layer), rows.n, &a);
}

static void post_cell(const sparc_layer *layer, const layer_streams *s, range rows) {
  const cell_layer *at = cell_layer_of(layer);
  const weight_view w = weights_of(layer, s);
  if (at->width) {
    const layer_rows a = layer_at(layer, s, rows.first);
    post_cell_rows(&w, at, rows.n, &a);
  } else if (has_features(at)) {
    feature_rows(&w, at, rows.n, layer->cell->sizes.output, cell_output(layer, s, rows.first),
                 s->y + rows.first * layer->sizes.outputs);
  }
}

/* the cell, from and to the streams' states */
static void step_cell(const sparc_layer *layer, const layer_streams *s, const TYPED(layer_step) * call, range rows) {
  const sparc_cell_sizes *cell = &layer->cell->sizes;
  const cell_layer *at = cell_layer_of(layer);
  const size_t S = cell->state, first = rows.first;
  real *states = rows_at(s->tape, s->n, at->state, first, S), *carried = call->states + first * call->stride;
  for (size_t i = 0; i < rows.n; i++) memcpy(states + i * S, carried + i * call->stride, S * sizeof *states);
  (void)PUBLIC(sparc_step_streams)(layer->cell, call->prepared + layer->cell_prepared, (int)rows.n, states,
                                   cell_input(layer, s, first), call->masks ? call->masks + first : NULL,
                                   cell_output(layer, s, first), rows_at(s->tape, s->n, at->tape, first, cell->tape),
                                   1);
  for (size_t i = 0; i < rows.n; i++) memcpy(carried + i * call->stride, states + i * S, S * sizeof *states);
}

void TYPED(cell_layer_step)(const sparc_layer *layer, const TYPED(layer_step) * call) {
  const layer_streams s = {.params = call->params,
                           .prepared = call->prepared,
                           .n = (size_t)call->n,
                           .x = call->x,
                           .y = call->y,
                           .tape = call->tapes};
  const range rows = {(size_t)call->first, (size_t)call->count};
  pre_cell(layer, &s, rows);
  step_cell(layer, &s, call, rows);
  post_cell(layer, &s, rows);
}

/* ---- gradients --------------------------------------------------------------------------------- */

static layer_cotangents cotangents_at(const sparc_layer *layer, const layer_streams *s, size_t first) {
  const cell_layer *at = cell_layer_of(layer);
  const size_t n = s->n, width = at->width;
  real *dy = rows_at(s->scratch, n, at->dy, first, layer->cell->sizes.output);
  return (layer_cotangents){.du = s->dy + first * width,
                            .d_o = rows_at(s->scratch, n, at->dgated, first, 2 * width),
                            .dg = rows_at(s->scratch, n, at->dgelu, first, width),
                            .dr = at->readout.in ? rows_at(s->scratch, n, at->dread, first, width) : dy,
                            .dy = dy,
                            .dx = rows_at(s->scratch, n, at->dx, first, width)};
}

static void post_cell_backward(const sparc_layer *layer, const layer_streams *s, range rows) {
  const cell_layer *at = cell_layer_of(layer);
  const size_t first = rows.first, O = layer->cell->sizes.output;
  const weight_view w = weights_of(layer, s);
  if (at->width) {
    const layer_rows a = layer_at(layer, s, first);
    const layer_cotangents d = cotangents_at(layer, s, first);
    post_cell_rows_backward(&w, at, rows.n, &a, &d);
  } else if (has_features(at)) {
    feature_rows_backward(&w, at, rows.n, O, cell_output(layer, s, first), s->dy + first * layer->sizes.outputs,
                          rows_at(s->scratch, s->n, at->dy, first, O));
  }
}

static void pre_cell_backward(const sparc_layer *layer, const layer_streams *s, range rows) {
  const cell_layer *at = cell_layer_of(layer);
  if (!at->width) return;
  const weight_view w = weights_of(layer, s);
  const layer_rows a = layer_at(layer, s, rows.first);
  const layer_cotangents d = cotangents_at(layer, s, rows.first);
  pre_cell_rows_backward(&w, at, rows.n, &a, &d, NULL, NULL, NULL);
}

/* dC += dr^T y: the columns of re and im, and the sign of im, go through a copy of y */
static void add_readout_gradient(const sparc_layer *layer, const layer_streams *s, const real *dr, real *dparams) {
  const readout_offsets *at = &cell_layer_of(layer)->readout;
  const kernels *k = layer->kernels;
  const size_t H = at->has_im ? at->in / 2 : at->in;
  const real *y = cell_output(layer, s, 0);
  real *re = rows_at(s->scratch, s->n, cell_layer_of(layer)->split, 0, 0), *im = re + s->n * H;
  for (size_t t = 0; t < s->n; t++) {
    memcpy(re + t * H, y + t * at->in, H * sizeof *re);
    for (size_t j = 0; at->has_im && j < H; j++) im[t * H + j] = -y[t * at->in + H + j];
  }
  dense_backward_weight(k, s->n, H, 0, at->out, dr, at->out, re, dparams + at->re, NULL);
  if (at->has_im) dense_backward_weight(k, s->n, H, 0, at->out, dr, at->out, im, dparams + at->im, NULL);
}

static void post_cell_gradient(const sparc_layer *layer, const layer_streams *s, int threads, real *dparams) {
  const cell_layer *at = cell_layer_of(layer);
  if (!at->width) {
    if (at->readout.in) add_readout_gradient(layer, s, s->dy, dparams);
    return;
  }
  const layer_rows a = layer_at(layer, s, 0);
  const layer_cotangents d = cotangents_at(layer, s, 0);
  const weight_job job = {&at->glu, s->n, a.g, d.d_o, at->glu.out};
  if (at->readout.in) add_readout_gradient(layer, s, d.dr, dparams);
  add_weight_gradients(layer->kernels, threads, &job, 1, dparams);
}

/* out[i] += the sum over rows of a . b, in double; b NULL: of a */
static void add_row_products(size_t n, size_t width, const real *a, const real *b, real *out) {
  enum { COLUMNS = 256 };
  for (size_t first = 0; first < width; first += COLUMNS) {
    const size_t rest = width - first, columns = rest < COLUMNS ? rest : COLUMNS;
    double sum[COLUMNS] = {0};
    for (size_t t = 0; t < n; t++)
      for (size_t i = 0; i < columns; i++) {
        const size_t k = t * width + first + i;
        sum[i] += (double)a[k] * (b ? (double)b[k] : 1);
      }
    for (size_t i = 0; i < columns; i++) out[first + i] += (real)sum[i];
  }
}

/* skip, and scale and bias of the norm */
static void pre_cell_gradient(const sparc_layer *layer, const layer_streams *s, real *dparams) {
  const cell_layer *at = cell_layer_of(layer);
  const size_t width = at->width;
  if (!width) return;
  const layer_rows a = layer_at(layer, s, 0);
  const layer_cotangents d = cotangents_at(layer, s, 0);
  real *normal = d.dg; /* free by now */
  for (size_t t = 0; t < s->n; t++)
    for (size_t i = 0; i < width; i++) normal[t * width + i] = (a.u[t * width + i] - a.mean[t]) * a.rstd[t];
  add_row_products(s->n, width, d.dx, normal, dparams + at->norm_scale);
  add_row_products(s->n, width, d.dx, NULL, dparams + at->norm_bias);
  if (at->readout.in) add_row_products(s->n, width, d.dr, a.x, dparams + at->skip);
}

static const TYPED(layer_cut) cut = {.tape = tape_of,
                                     .pre_cell = pre_cell,
                                     .post_cell = post_cell,
                                     .post_cell_backward = LEARNING(post_cell_backward),
                                     .pre_cell_backward = LEARNING(pre_cell_backward),
                                     .post_cell_gradient = LEARNING(post_cell_gradient),
                                     .pre_cell_gradient = LEARNING(pre_cell_gradient),
                                     .cell_sequence = LEARNING(TYPED(cell_layer_sequence))};
const layer_cut_entry TYPED(cell_layer_cut) = {&cut};
