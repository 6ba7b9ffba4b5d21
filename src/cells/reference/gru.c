/* SPDX-License-Identifier: MIT */
/* gru.c: the gated recurrent unit in double precision, with the reset gate after the recurrent product.
 *
 * With hp = m h_{t-1}:
 *   r = sigmoid(Wr x + br + Ur hp),   z = sigmoid(Wz x + bz + Uz hp),   s = Un hp + cn,
 *   n = tanh(Wn x + bn + r s),        h_t = (1 - z) n + z hp.
 */
#include "cells/reference/reference_cell.h"

#include <string.h>

/* names of one gate's input, recurrent and bias blocks */
typedef struct gate_names {
  const char *input, *recurrent, *bias;
} gate_names;

static const gate_names RESET = {"input_reset", "recurrent_reset", "bias_reset"};
static const gate_names UPDATE = {"input_update", "recurrent_update", "bias_update"};
static const gate_names NEW = {"input_new", "recurrent_new", "bias_new"};

/* unit j at one token */
typedef struct unit {
  double r, z, s, n;
} unit;

static size_t scratch_count(const sparc_cell *cell) { return 2 * (size_t)cell->H; }

static double input_part(const reference_input *in, gate_names gate, int j) {
  return project(in, gate.input, j) + block_of(in->cell, in->params, gate.bias)[j];
}

static void input_part_backward(const reference_input *in, gate_names gate, int j, double d, double *dparams,
                                double *dx) {
  project_backward(in, gate.input, j, d, dparams, dx);
  gradient_of(in->cell, dparams, gate.bias)[j] += d;
}

static double recurrent_part(const reference_input *in, gate_names gate, int j, const double *hp) {
  const int H = in->cell->H;
  return dot(block_of(in->cell, in->params, gate.recurrent) + row_offset(j, H), hp, H);
}

static void recurrent_part_backward(const reference_input *in, gate_names gate, int j, const double *hp, double d,
                                    double *dparams, double *dhp) {
  const int H = in->cell->H;
  size_t row = row_offset(j, H);
  dot_backward(d, block_of(in->cell, in->params, gate.recurrent) + row, hp, H,
               gradient_of(in->cell, dparams, gate.recurrent) + row, dhp);
}

static unit evaluate_unit(const reference_input *in, const double *hp, int j) {
  unit out = {
      .r = sigmoid(input_part(in, RESET, j) + recurrent_part(in, RESET, j, hp)),
      .z = sigmoid(input_part(in, UPDATE, j) + recurrent_part(in, UPDATE, j, hp)),
      .s = recurrent_part(in, NEW, j, hp) + block_of(in->cell, in->params, "recurrent_bias_new")[j],
  };
  out.n = tanh(input_part(in, NEW, j) + out.r * out.s);
  return out;
}

static void keep_state(const reference_input *in, double *hp) {
  for (int j = 0; j < in->cell->H; j++) hp[j] = in->mask * in->state[j];
}

static void step(const reference_input *in, double *state, double *y) {
  double *hp = in->scratch;
  keep_state(in, hp);
  for (int j = 0; j < in->cell->H; j++) {
    unit here = evaluate_unit(in, hp, j);
    y[j] = state[j] = (1 - here.z) * here.n + here.z * hp[j];
  }
}

static void step_backward(const reference_input *in, const double *dy, double *dstate, double *dparams, double *dx) {
  const int H = in->cell->H;
  double *hp = in->scratch, *dhp = hp + H;
  keep_state(in, hp);
  memset(dhp, 0, (size_t)H * sizeof *dhp);
  for (int j = 0; j < H; j++) {
    unit here = evaluate_unit(in, hp, j);
    double mu = dy[j] + dstate[j];

    /* cotangents of the pre-activations, and of s */
    double dn = mu * (1 - here.z) * (1 - here.n * here.n);
    double dz = mu * (hp[j] - here.n) * here.z * (1 - here.z);
    double dr = dn * here.s * here.r * (1 - here.r);
    double ds = dn * here.r;

    input_part_backward(in, RESET, j, dr, dparams, dx);
    input_part_backward(in, UPDATE, j, dz, dparams, dx);
    input_part_backward(in, NEW, j, dn, dparams, dx);
    recurrent_part_backward(in, RESET, j, hp, dr, dparams, dhp);
    recurrent_part_backward(in, UPDATE, j, hp, dz, dparams, dhp);
    recurrent_part_backward(in, NEW, j, hp, ds, dparams, dhp);
    gradient_of(in->cell, dparams, "recurrent_bias_new")[j] += ds;
    dhp[j] += here.z * mu;
  }
  for (int j = 0; j < H; j++) dstate[j] = in->mask * dhp[j];
}

/* no rho: what a unit keeps of the past is z of it and what goes through the recurrent products */
static void inspect(const reference_input *in, const double *state, sparc_mode *modes) {
  double *hp = in->scratch;
  keep_state(in, hp);
  for (int j = 0; j < in->cell->H; j++) {
    const unit here = evaluate_unit(in, hp, j);
    modes[j] = real_mode(in, state, j);
    modes[j].gate = 1 - here.z;
    modes[j].z_re = input_part(in, NEW, j) + here.r * here.s;
    modes[j].u_re = here.n;
  }
}

const reference_cell reference_gru = {"gru", scratch_count, step, step_backward, inspect, NULL, NULL};
