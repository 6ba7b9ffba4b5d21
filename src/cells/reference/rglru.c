/* SPDX-License-Identifier: MIT */
/* rglru.c: RG-LRU in double precision: a real diagonal recurrence with block-diagonal gates over the content
 * u = Wx x + bx, or u = x with projection=none.
 *
 * With c = 8, r and q the retention and input gates and la = -c r softplus(Lam):
 *   h_t = m a h_{t-1} + n q u,   a = exp(la),   n = m sqrt(1 - a^2) + (1 - m).
 * The derivative of the square root is bounded by 1000; that bound is part of the cell's definition, not of this
 * implementation. The option `proj_trace` concerns RTRL and has no meaning here.
 */
#include "cells/reference/reference_cell.h"

#include <string.h>

static const double DECAY_SCALE = 8;
static const double SMALLEST_SQUARE = 2.5e-7; /* (2 sqrt(v))^-1 <= 1000 */

/* coordinate j at one token, with the local derivatives of h_t */
typedef struct coordinate {
  double a, write;                         /* h_t = m a h_{t-1} + write */
  double norm, gate;                       /* write = norm gate u */
  double to_retention, to_input, to_decay; /* dh/d(gate pre-activations), dh/dLam */
  double to_content;                       /* dh/du_j at fixed gates */
} coordinate;

static size_t scratch_count(const sparc_cell *cell) { return 2 * (size_t)cell->H; }

static bool has_content(const sparc_cell *cell) { return cell_option(cell, "projection") == 0; }

static void evaluate_content(const reference_input *in, double *u /* H */) {
  if (!has_content(in->cell)) {
    memcpy(u, in->x, (size_t)in->cell->H * sizeof *u);
    return;
  }
  const double *bias = block_of(in->cell, in->params, "content_bias");
  for (int j = 0; j < in->cell->H; j++) u[j] = project(in, "content", j) + bias[j];
}

static coordinate evaluate_coordinate(const reference_input *in, const double *u, int j) {
  const sparc_cell *cell = in->cell;
  const int k = (int)cell_option(cell, "block"), first = j / k * k;
  size_t row = row_offset(j, k);

  /* gates see the contents of their own block */
  double r = sigmoid(dot(block_of(cell, in->params, "gate_retention") + row, u + first, k) +
                     block_of(cell, in->params, "gate_retention_bias")[j]);
  double q = sigmoid(dot(block_of(cell, in->params, "gate_input") + row, u + first, k) +
                     block_of(cell, in->params, "gate_input_bias")[j]);

  /* transition and normaliser */
  double decay_logit = block_of(cell, in->params, "decay_logit")[j], rate = softplus(decay_logit);
  double log_a = -DECAY_SCALE * r * rate, a = exp(log_a), square = -expm1(2 * log_a);
  double m = in->mask, n = m * sqrt(square) + (1 - m);

  /* dh/d(log a), then each of its causes */
  double e = m * a * in->state[j] - m * a * a / sqrt(fmax(square, SMALLEST_SQUARE)) * q * u[j];
  return (coordinate){
      .a = a,
      .write = n * q * u[j],
      .norm = n,
      .gate = q,
      .to_retention = e * -DECAY_SCALE * rate * r * (1 - r),
      .to_input = n * u[j] * q * (1 - q),
      .to_decay = e * -DECAY_SCALE * r * sigmoid(decay_logit),
      .to_content = n * q,
  };
}

static void step(const reference_input *in, double *state, double *y) {
  double *u = in->scratch;
  evaluate_content(in, u);
  for (int j = 0; j < in->cell->H; j++) {
    coordinate here = evaluate_coordinate(in, u, j);
    y[j] = state[j] = in->mask * here.a * in->state[j] + here.write;
  }
}

static void step_backward(const reference_input *in, const double *dy, double *dstate, double *dparams, double *dx) {
  const sparc_cell *cell = in->cell;
  const int H = cell->H, k = (int)cell_option(cell, "block");
  double *u = in->scratch, *du = u + H;
  evaluate_content(in, u);
  memset(du, 0, (size_t)H * sizeof *du);

  for (int j = 0; j < H; j++) {
    coordinate here = evaluate_coordinate(in, u, j);
    double mu = dy[j] + dstate[j], dretention = mu * here.to_retention, dinput = mu * here.to_input;
    dstate[j] = in->mask * here.a * mu;
    gradient_of(cell, dparams, "decay_logit")[j] += mu * here.to_decay;
    gradient_of(cell, dparams, "gate_retention_bias")[j] += dretention;
    gradient_of(cell, dparams, "gate_input_bias")[j] += dinput;

    /* content: directly, and through both gates of every coordinate in the block */
    size_t row = row_offset(j, k);
    int first = j / k * k;
    du[j] += mu * here.to_content;
    dot_backward(dretention, block_of(cell, in->params, "gate_retention") + row, u + first, k,
                 gradient_of(cell, dparams, "gate_retention") + row, du + first);
    dot_backward(dinput, block_of(cell, in->params, "gate_input") + row, u + first, k,
                 gradient_of(cell, dparams, "gate_input") + row, du + first);
  }

  if (!has_content(cell)) {
    add_scaled(dx, 1, du, H);
    return;
  }
  for (int j = 0; j < H; j++) {
    gradient_of(cell, dparams, "content_bias")[j] += du[j];
    project_backward(in, "content", j, du[j], dparams, dx);
  }
}

static void inspect(const reference_input *in, const double *state, sparc_mode *modes) {
  double *u = in->scratch;
  evaluate_content(in, u);
  for (int j = 0; j < in->cell->H; j++) {
    const coordinate here = evaluate_coordinate(in, u, j);
    sparc_mode *out = &modes[j];
    *out = real_mode(in, state, j);
    out->e = -log(here.a);
    out->rho = here.a;
    out->angle = 0;
    out->norm = here.norm;
    out->gate = here.gate;
    out->z_re = out->u_re = u[j];
  }
}

const reference_cell reference_rglru = {"rglru", scratch_count, step, step_backward, inspect, NULL, NULL};
