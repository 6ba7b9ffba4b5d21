/* SPDX-License-Identifier: MIT */
/* reference_cell.h: what one cell's file gives the driver in reference.c, and the few formulas they all need.
 *
 * A cell is a step and the adjoint of that step. Both start from the state before the step, so nothing is kept
 * from forward to backward except the states themselves. Complex cotangents follow the convention
 * zbar = dL/dRe z + i dL/dIm z: w = f z gives zbar = conj(f) wbar, and a real p with complex dw/dp gets
 * Re(conj(dw/dp) wbar) [eq:online_loss_gradient].
 */
#ifndef SPARC_CELLS_REFERENCE_REFERENCE_CELL_H
#define SPARC_CELLS_REFERENCE_REFERENCE_CELL_H

#include "cells/cell.h"
#include "sparc/inspect.h"

#include <assert.h>
#include <complex.h>
#include <math.h>
#include <stddef.h>

/* everything a step depends on */
typedef struct reference_input {
  const sparc_cell *cell;
  const double *params; /* (P) */
  const double *state;  /* (S), before the step and before the mask */
  const double *x;      /* (D) */
  double mask;          /* m_t */
  double *scratch;      /* (scratch_count), contents arbitrary */
} reference_input;

typedef struct reference_cell {
  const char *kind;
  size_t (*scratch_count)(const sparc_cell *cell);
  void (*step)(const reference_input *in, double *state /* S */, double *y /* O */);
  /* dstate is the cotangent of the state after the step without dy, and becomes that of the state before it */
  void (*step_backward)(const reference_input *in, const double *dy, double *dstate, double *dparams /* += */,
                        double *dx /* += */);
  /* what the step does, mode by mode; `state` is what it has left */
  void (*inspect)(const reference_input *in, const double *state, sparc_mode *modes);
  size_t (*modes)(const sparc_cell *cell);  /* NULL: H */
  bool (*supports)(const sparc_cell *cell); /* a cell with these options; NULL: all of them */
} reference_cell;

extern const reference_cell reference_sparc, reference_rtu, reference_lru, reference_rglru, reference_gateloop,
    reference_mamba3, reference_gru;

/* ---- parameters -------------------------------------------------------------------------------- */

/* data of a named block in params */
static inline const double *block_of(const sparc_cell *cell, const double *params, const char *name) {
  int index = cell_block_index(cell, name);
  assert(index >= 0);
  return params + cell->block[index].offset;
}

/* the same place in dparams */
static inline double *gradient_of(const sparc_cell *cell, double *dparams, const char *name) {
  int index = cell_block_index(cell, name);
  assert(index >= 0);
  return dparams + cell->block[index].offset;
}

/* ---- scalar functions -------------------------------------------------------------------------- */

static const double PI = 3.14159265358979323846;

/* exp of a stored logarithm. The limit keeps squares of the result and their products finite; at exp(+-300) the
 * decay e^-nu has long been 0 or 1 in every digit and no ratio of the formulas changes any more. */
static inline double bounded_exp(double v) { return exp(fmin(fmax(v, -300), 300)); }

static inline double sigmoid(double v) {
  double t = exp(-fabs(v));
  return v < 0 ? t / (1 + t) : 1 / (1 + t);
}

static inline double softplus(double v) { return fmax(v, 0) + log1p(exp(-fabs(v))); }

static inline double silu(double v) { return v * sigmoid(v); }
static inline double silu_derivative(double v) { return sigmoid(v) * (1 + v * sigmoid(-v)); }

/* ---- complex numbers in planar arrays ---------------------------------------------------------- */

/* C11 has CMPLX for this, but not every compiler does */
static inline double complex cartesian(double re, double im) { return re + im * I; }

static inline double complex polar(double radius, double angle) {
  return cartesian(radius * cos(angle), radius * sin(angle));
}

/* mode j of an array [re | im] with H modes */
static inline double complex get_mode(const double *planar, int H, int j) {
  return cartesian(planar[j], planar[H + j]);
}

static inline void set_mode(double *planar, int H, int j, double complex z) {
  planar[j] = creal(z);
  planar[H + j] = cimag(z);
}

/* Re(conj(u) v): how a real quantity with derivative u receives the cotangent v */
static inline double inner(double complex u, double complex v) { return creal(u) * creal(v) + cimag(u) * cimag(v); }

/* ---- inspection -------------------------------------------------------------------------------- */

/* a mode of which nothing is known but its state before and after the step */
static inline sparc_mode mode_between(double kept_re, double kept_im, double h_re, double h_im) {
  return (sparc_mode){.r = NAN,
                      .p = NAN,
                      .nu = NAN,
                      .e = NAN,
                      .rho = NAN,
                      .theta = NAN,
                      .offset = NAN,
                      .uncoupled = NAN,
                      .angle = NAN,
                      .gain = NAN,
                      .norm = NAN,
                      .gate = NAN,
                      .z_re = NAN,
                      .z_im = NAN,
                      .u_re = NAN,
                      .u_im = NAN,
                      .kept_re = kept_re,
                      .kept_im = kept_im,
                      .h_re = h_re,
                      .h_im = h_im};
}

static inline sparc_mode complex_mode(const reference_input *in, const double *state, int j) {
  const int H = in->cell->H;
  return mode_between(in->mask * in->state[j], in->mask * in->state[H + j], state[j], state[H + j]);
}

static inline sparc_mode real_mode(const reference_input *in, const double *state, int j) {
  return mode_between(in->mask * in->state[j], NAN, state[j], NAN);
}

static inline void set_content(sparc_mode *out, double complex z, double complex u) {
  out->z_re = creal(z);
  out->z_im = cimag(z);
  out->u_re = creal(u);
  out->u_im = cimag(u);
}

/* ---- matrices and vectors ----------------------------------------------------------------------------------- */

/* first element of a row of a matrix with `width` columns */
static inline size_t row_offset(int row, int width) { return (size_t)row * (size_t)width; }

static inline double dot(const double *u, const double *v, int n) {
  double sum = 0;
  for (int i = 0; i < n; i++) sum += u[i] * v[i];
  return sum;
}

/* y += a x */
static inline void add_scaled(double *y, double a, const double *x, int n) {
  for (int i = 0; i < n; i++) y[i] += a * x[i];
}

/* adjoint of w . x with cotangent d */
static inline void dot_backward(double d, const double *w, const double *x, int n, double *dw, double *dx) {
  add_scaled(dw, d, x, n);
  add_scaled(dx, d, w, n);
}

/* ---- projections of the input ------------------------------------------------------------------ */

/* row j of a block [.][D], times x */
static inline double project(const reference_input *in, const char *block, int j) {
  const int D = in->cell->D;
  return dot(block_of(in->cell, in->params, block) + row_offset(j, D), in->x, D);
}

static inline void project_backward(const reference_input *in, const char *block, int j, double d, double *dparams,
                                    double *dx) {
  const int D = in->cell->D;
  size_t row = row_offset(j, D);
  dot_backward(d, block_of(in->cell, in->params, block) + row, in->x, D, gradient_of(in->cell, dparams, block) + row,
               dx);
}

/* row j of a block [.][D + 1] with the bias last, times [x; 1] */
static inline double project_affine(const reference_input *in, const char *block, int j) {
  const int D = in->cell->D;
  const double *w = block_of(in->cell, in->params, block) + row_offset(j, D + 1);
  return dot(w, in->x, D) + w[D];
}

static inline void project_affine_backward(const reference_input *in, const char *block, int j, double d,
                                           double *dparams, double *dx) {
  const int D = in->cell->D;
  size_t row = row_offset(j, D + 1);
  double *dw = gradient_of(in->cell, dparams, block) + row;
  dot_backward(d, block_of(in->cell, in->params, block) + row, in->x, D, dw, dx);
  dw[D] += d;
}

/* for cells that work mode by mode */
static inline size_t no_scratch(const sparc_cell *cell) {
  (void)cell;
  return 0;
}

#endif
