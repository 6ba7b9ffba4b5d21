/* SPDX-License-Identifier: MIT */
/* gateloop.c: GateLoop in its max-head form in double precision: one complex recurrence per channel with a real
 * key-value write, h_t = a m h_{t-1} + k v, read out as Wo (silu(g) q Re h_t).
 *
 * The transition comes from two projections al and be. `polar`: a = sigmoid(al) exp(i be). `complex`: sigmoid and
 * identity act on the modulus and the argument of al + i be, so |a| is at least 1/2.
 */
#include "cells/reference/reference_cell.h"

/* channel j at one token */
typedef struct channel {
  double complex a, a_al, a_be; /* transition and its derivatives */
  double k, v, q, g;
} channel;

typedef void transition_fn(double al, double be, channel *out);

static void polar_transition(double al, double be, channel *out) {
  out->a = polar(sigmoid(al), be);
  out->a_al = sigmoid(-al) * out->a;
  out->a_be = cartesian(0, 1) * out->a;
}

/* a = S zeta with rho = |al + i be|, zeta = (al + i be) / rho, S = sigmoid(rho) */
static void complex_transition(double al, double be, channel *out) {
  double rho = fmax(hypot(al, be), 1e-12), S = sigmoid(rho), slope = S * sigmoid(-rho);
  double complex zeta = cartesian(al / rho, be / rho);
  out->a = S * zeta;
  out->a_al = zeta * cartesian(slope * al / rho, -S * be / rho / rho);
  out->a_be = zeta * cartesian(slope * be / rho, S * al / rho / rho);
}

/* in the order of the choices of the option `transition` */
static transition_fn *const transitions[] = {polar_transition, complex_transition};

static size_t scratch_count(const sparc_cell *cell) { return (size_t)cell->H; }

static channel evaluate_channel(const reference_input *in, int j) {
  channel out = {
      .k = project(in, "key", j),
      .v = project(in, "value", j),
      .q = project(in, "query", j),
      .g = project(in, "gate", j),
  };
  double al = project_affine(in, "retention", j), be = project_affine(in, "phase", j);
  transitions[(int)cell_option(in->cell, "transition")](al, be, &out);
  return out;
}

static double complex next_state(const reference_input *in, const channel *here, int j) {
  return here->a * (in->mask * get_mode(in->state, in->cell->H, j)) + here->k * here->v;
}

static void step(const reference_input *in, double *state, double *y) {
  const int D = in->cell->D, H = in->cell->H;
  double *read = in->scratch; /* H */
  for (int j = 0; j < H; j++) {
    channel here = evaluate_channel(in, j);
    double complex h = next_state(in, &here, j);
    set_mode(state, H, j, h);
    read[j] = silu(here.g) * here.q * creal(h);
  }
  for (int i = 0; i < D; i++) y[i] = dot(block_of(in->cell, in->params, "output") + row_offset(i, H), read, H);
}

/* everything of channel j after the output projection; dread is the cotangent of silu(g) q Re h */
static void channel_backward(const reference_input *in, int j, double dread, double *dstate, double *dparams,
                             double *dx) {
  const int H = in->cell->H;
  channel here = evaluate_channel(in, j);
  double complex h = next_state(in, &here, j);

  /* only the real part is read, but the imaginary part carries cotangents from later steps */
  double complex mu = get_mode(dstate, H, j) + dread * here.q * silu(here.g);
  double complex da = conj(in->mask * get_mode(in->state, H, j)) * mu;
  set_mode(dstate, H, j, in->mask * conj(here.a) * mu);

  project_backward(in, "key", j, here.v * creal(mu), dparams, dx);
  project_backward(in, "value", j, here.k * creal(mu), dparams, dx);
  project_backward(in, "query", j, dread * creal(h) * silu(here.g), dparams, dx);
  project_backward(in, "gate", j, dread * here.q * creal(h) * silu_derivative(here.g), dparams, dx);
  project_affine_backward(in, "retention", j, inner(here.a_al, da), dparams, dx);
  project_affine_backward(in, "phase", j, inner(here.a_be, da), dparams, dx);
}

static void step_backward(const reference_input *in, const double *dy, double *dstate, double *dparams, double *dx) {
  const int D = in->cell->D, H = in->cell->H;
  const double *output = block_of(in->cell, in->params, "output");
  double *doutput = gradient_of(in->cell, dparams, "output");
  for (int j = 0; j < H; j++) {
    channel here = evaluate_channel(in, j);
    double read = silu(here.g) * here.q * creal(next_state(in, &here, j)), dread = 0;
    for (int i = 0; i < D; i++) {
      size_t at = row_offset(i, H) + (size_t)j;
      doutput[at] += dy[i] * read;
      dread += dy[i] * output[at];
    }
    channel_backward(in, j, dread, dstate, dparams, dx);
  }
}

static void inspect(const reference_input *in, const double *state, sparc_mode *modes) {
  for (int j = 0; j < in->cell->H; j++) {
    const channel here = evaluate_channel(in, j);
    sparc_mode *out = &modes[j];
    *out = complex_mode(in, state, j);
    out->rho = cabs(here.a);
    out->e = -log(out->rho);
    out->angle = carg(here.a);
    set_content(out, here.k * here.v, here.k * here.v);
  }
}

const reference_cell reference_gateloop = {"gateloop", scratch_count, step, step_backward, inspect, NULL, NULL};
