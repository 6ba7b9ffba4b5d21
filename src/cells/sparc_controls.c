/* SPDX-License-Identifier: MIT */
/* sparc_controls.c: the controllers of the SPARC cell: from inputs to the controls r and p of a token, and back.
 *
 *   r, p = tanh(w_r . [x; 1]), tanh(w_p . [x; 1])                                   [eq:shared_controls]
 *
 * With groups=G there are G pairs of them. With hidden=m they read m units of a SiLU layer in the place of x, the
 * Linear-SiLU pathway that the paper's overview figure shows: s = silu(V [x; 1]), r = tanh(w_r . [s; 1]), and p alike.
 */
#include "cells/sparc_controls_impl.h"
#include "cells/tiles.h"
#include "kernels/kernels.h"

#include <string.h>

/* ---- controllers that read the input ------------------------------------------------------------ */

/* Sums and tanh in double: a rounding error in a control would move every mode of the token at once. */
static void shared_controls(const sparc_cell *cell, const real *constants, size_t n, const real *x, real *shared) {
  const size_t D = (size_t)cell->D;
  const real *w_r = constants + controller_constants(cell), *w_p = w_r + D + 1;
#ifndef SPARC_DOUBLE
  if (cell->kernels->diagonal.controls) {
    cell->kernels->diagonal.controls(n, D, x, w_r, w_p, shared);
    return;
  }
#endif
  for (size_t t = 0; t < n; t++, x += D) {
    double r = (double)w_r[D], p = (double)w_p[D];
    for (size_t d = 0; d < D; d++) {
      r += (double)w_r[d] * (double)x[d];
      p += (double)w_p[d] * (double)x[d];
    }
    shared[2 * t] = (real)tanh(r);
    shared[2 * t + 1] = (real)tanh(p);
  }
}

/* ---- a hidden layer before the controllers -------------------------------------------------- */

/* SiLU of a pre-activation, and its slope */
typedef struct unit {
  real value, slope;
} unit;

/* a pre-activation that has overflowed counts as this: the unit and the controls after it stay finite */
static const real UNIT_MAX = (real)1e30;

static inline unit hidden_unit(real a) {
  a = a > UNIT_MAX ? UNIT_MAX : a < -UNIT_MAX ? -UNIT_MAX : a; /* a NaN stays one */
  const real open = r_sigmoid(a);
  return (unit){a * open, open * (1 + a * (1 - open))};
}

static void hidden_controls(const sparc_cell *cell, const real *constants, size_t n, const real *pre, real *shared) {
  const size_t m = (size_t)hidden_of(cell), width = (size_t)cell->pre;
  const real *w_r = constants + controller_constants(cell), *w_p = w_r + m + 1;
  pre += group_controls(cell);
  for (size_t t = 0; t < n; t++, pre += width) {
    double r = (double)w_r[m], p = (double)w_p[m];
    for (size_t k = 0; k < m; k++) {
      const double s = (double)hidden_unit(pre[k]).value;
      r += (double)w_r[k] * s;
      p += (double)w_p[k] * s;
    }
    shared[2 * t] = (real)tanh(r);
    shared[2 * t + 1] = (real)tanh(p);
  }
}

static void hidden_backward(const sparc_cell *cell, const real *constants, size_t n, const real *pre,
                            const real *dshared, real *dpre) {
  const size_t m = (size_t)hidden_of(cell), width = (size_t)cell->pre, first = group_controls(cell);
  const real *w_r = constants + controller_constants(cell), *w_p = w_r + m + 1;
  for (size_t t = 0; t < n; t++, pre += width, dpre += width)
    for (size_t k = 0; k < m; k++)
      dpre[first + k] = hidden_unit(pre[first + k]).slope * (dshared[2 * t] * w_r[k] + dshared[2 * t + 1] * w_p[k]);
}

/* Z <- ... of [eq:app_controller_traces] by the chain rule: from the drivers by_r, by_p of the two pre-activations (2, H
 * each, re | im) to those of hidden rows (m), hidden biases (m), and the weights of both controllers (m each) */
void TYPED(hidden_drivers)(const sparc_cell *cell, const real *constants, const real *pre, const real *by_r,
                           const real *by_p, real *rows, real *biases, real *of_r, real *of_p) {
  const size_t m = (size_t)hidden_of(cell), S = cell->sizes.state;
  const real *w_r = constants + controller_constants(cell), *w_p = w_r + m + 1;
  pre += group_controls(cell);
  for (size_t k = 0; k < m; k++) {
    const unit s = hidden_unit(pre[k]);
    for (size_t i = 0; i < S; i++) {
      rows[k * S + i] = biases[k * S + i] = s.slope * (w_r[k] * by_r[i] + w_p[k] * by_p[i]);
      of_r[k * S + i] = s.value * by_r[i];
      of_p[k * S + i] = s.value * by_p[i];
    }
  }
}

/* ---- groups of modes ----------------------------------------------------------------------------- */

/* the controls of the groups (2, G) of one token, and their copies (2, H) */
static void group_activate(const sparc_cell *cell, real *pre) {
  const size_t G = (size_t)cell_groups_of(cell), H = (size_t)cell->H, width = H / G;
  real *controls = pre + group_controls(cell), *own = pre + own_controls(cell);
  for (size_t c = 0; c < 2 * G; c++) controls[c] = r_tanh(controls[c]);
  for (size_t j = 0; j < 2 * H && own != controls; j++) own[j] = controls[j / width];
}

static void group_activate_backward(const sparc_cell *cell, const real *pre, real *dpre) {
  const size_t G = (size_t)cell_groups_of(cell), width = (size_t)cell->H / G, first = group_controls(cell);
  const real *controls = pre + first, *down = dpre + own_controls(cell);
  for (size_t c = 0; c < 2 * G; c++) {
    double sum = 0;
    for (size_t j = c * width; j < (c + 1) * width; j++) sum += (double)down[j];
    dpre[first + c] = (real)sum * (1 - controls[c] * controls[c]);
  }
}

/* ---- all of them ----------------------------------------------------------------------------------- */

void TYPED(controls_activate)(const sparc_cell *cell, const real *constants, size_t n, const real *x, real *pre,
                              real *shared) {
  switch (cell_rules_of(cell).controls) {
    case CONTROLS_SHARED:
      if (hidden_of(cell))
        hidden_controls(cell, constants, n, pre, shared);
      else
        shared_controls(cell, constants, n, x, shared);
      break;
    case CONTROLS_PER_MODE:
      for (size_t t = 0; t < n; t++) group_activate(cell, pre + t * (size_t)cell->pre);
      break;
    case CONTROLS_ZERO:
      memset(shared, 0, 2 * n * sizeof(real));
      break;
  }
}

/* through tanh [eq:app_controller_jacobians] */
void TYPED(controls_activate_backward)(const sparc_cell *cell, const real *constants, size_t n, const real *pre,
                                       const real *shared, real *dpre, real *dshared, real *dx) {
  (void)dx;
  const size_t width = (size_t)cell->pre;
  switch (cell_rules_of(cell).controls) {
    case CONTROLS_SHARED:
      for (size_t c = 0; c < 2 * n; c++) dshared[c] *= 1 - shared[c] * shared[c];
      if (hidden_of(cell)) hidden_backward(cell, constants, n, pre, dshared, dpre);
      break;
    case CONTROLS_PER_MODE:
      for (size_t t = 0; t < n; t++) group_activate_backward(cell, pre + t * width, dpre + t * width);
      break;
    case CONTROLS_ZERO:
      memset(dshared, 0, 2 * n * sizeof(real));
      break;
  }
}

/* through the dot products to dx */
void TYPED(controls_input_backward)(const sparc_cell *cell, const real *constants, size_t n, const real *dshared,
                                    real *dx) {
  const size_t D = (size_t)cell->D;
  const real *w_r = constants + controller_constants(cell), *w_p = w_r + D + 1;
  if (cell_rules_of(cell).controls != CONTROLS_SHARED || hidden_of(cell)) return; /* the hidden units are projections */
#ifndef SPARC_DOUBLE
  if (cell->kernels->diagonal.controls_adjoint) {
    cell->kernels->diagonal.controls_adjoint(n, D, dshared, w_r, w_p, dx);
    return;
  }
#endif
  for (size_t t = 0; t < n; t++)
    for (size_t d = 0; d < D; d++) dx[t * D + d] += dshared[2 * t] * w_r[d] + dshared[2 * t + 1] * w_p[d];
}

/* the gradient of the shared controllers: runs of their columns, the biases with the last */
enum { CONTROL_COLUMNS = 64 };

size_t TYPED(controls_weight_parts)(const sparc_cell *cell) {
  return cell->shared == 0 ? 0 : tiles_of((size_t)controller_inputs(cell), CONTROL_COLUMNS);
}

/* by_r, by_p (n) += dshared^T x over some tokens */
static void add_controller_products(const sparc_cell *cell, size_t tokens, size_t n, const real *dshared, const real *x,
                                    real *by_r, real *by_p) {
  const size_t D = (size_t)cell->D;
#ifndef SPARC_DOUBLE
  if (cell->kernels->diagonal.control_weights) {
    cell->kernels->diagonal.control_weights(tokens, n, dshared, x, D, by_r, by_p);
    return;
  }
#else
  (void)cell;
#endif
  for (size_t t = 0; t < tokens; t++) {
    for (size_t i = 0; i < n; i++) {
      by_r[i] += dshared[2 * t] * x[t * D + i];
      by_p[i] += dshared[2 * t + 1] * x[t * D + i];
    }
  }
}

/* the same of hidden units, in double */
static void hidden_weight_gradient(const sparc_cell *cell, size_t n, const real *pre, const real *dshared,
                                   real *dcontrollers) {
  const size_t m = (size_t)hidden_of(cell), width = (size_t)cell->pre;
  double sums[2][MAX_HIDDEN] = {{0}};
  pre += group_controls(cell);
  for (size_t t = 0; t < n; t++, pre += width)
    for (size_t k = 0; k < m; k++)
      for (size_t c = 0; c < 2; c++) sums[c][k] += (double)dshared[2 * t + c] * (double)hidden_unit(pre[k]).value;
  for (size_t c = 0; c < 2; c++)
    for (size_t k = 0; k < m; k++) dcontrollers[c * (m + 1) + k] += (real)sums[c][k];
}

static void bias_gradient(size_t n, const real *dshared, size_t row, real *dcontrollers) {
  double bias[2] = {0, 0};
  for (size_t t = 0; t < n; t++)
    for (size_t c = 0; c < 2; c++) bias[c] += (double)dshared[2 * t + c];
  for (size_t c = 0; c < 2; c++) dcontrollers[(c + 1) * row - 1] += (real)bias[c];
}

void TYPED(controls_weight_gradient)(const sparc_cell *cell, size_t part, size_t n, const real *x, const real *pre,
                                     const real *dpre, const real *dshared, const real *dy, real *dparams) {
  (void)dpre, (void)dy;
  enum { BLOCK = 256 };
  const size_t D = (size_t)cell->D;
  const range columns = range_of((size_t)controller_inputs(cell), CONTROL_COLUMNS, part);
  real *dcontrollers = dparams + cell->block[control_block(cell, CTRL_RETENTION)].offset; /* (2, inputs + 1) */
  if (part + 1 == TYPED(controls_weight_parts)(cell))
    bias_gradient(n, dshared, (size_t)controller_inputs(cell) + 1, dcontrollers);
  if (hidden_of(cell)) {
    hidden_weight_gradient(cell, n, pre, dshared, dcontrollers);
    return;
  }
  double sums[2][CONTROL_COLUMNS] = {{0}};
  for (size_t first = 0; first < n; first += BLOCK) {
    const size_t tokens = n - first < BLOCK ? n - first : BLOCK;
    real block[2][CONTROL_COLUMNS] = {{0}};
    add_controller_products(cell, tokens, columns.n, dshared + 2 * first, x + first * D + columns.first, block[0],
                            block[1]);
    for (size_t c = 0; c < 2; c++)
      for (size_t i = 0; i < columns.n; i++) sums[c][i] += (double)block[c][i];
  }
  for (size_t c = 0; c < 2; c++)
    for (size_t i = 0; i < columns.n; i++) dcontrollers[c * (D + 1) + columns.first + i] += (real)sums[c][i];
}
