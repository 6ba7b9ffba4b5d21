/* SPDX-License-Identifier: MIT */
/* rtu_lru.c: the two fixed spectra in double precision, h_t = lambda m_t h_{t-1} + gamma (B1 x + i B2 x)
 * [eq:spectral_recurrence] [eq:fixed_spectral_transition].
 *
 * They differ in the normaliser alone: RTU ties gamma to the decay, LRU learns its logarithm. So one function per
 * cell evaluates a mode's constants and the rest is common.
 */
#include "cells/reference/reference_cell.h"

typedef struct spectrum {
  double complex lambda, lambda_alpha, lambda_vartheta;
  double gamma, gamma_alpha, gamma_gain; /* gain is LRU's log gamma */
} spectrum;

static spectrum evaluate_lambda(const reference_input *in, int j) {
  double nu = bounded_exp(block_of(in->cell, in->params, "log_decay")[j]);
  double theta = bounded_exp(block_of(in->cell, in->params, "log_freq")[j]);
  double complex lambda = polar(exp(-nu), theta);
  return (spectrum){.lambda = lambda, .lambda_alpha = -nu * lambda, .lambda_vartheta = cartesian(0, theta) * lambda};
}

/* gamma = sqrt(1 - r^2) + 1e-8 with r = exp(-nu) */
static spectrum evaluate_rtu(const reference_input *in, int j) {
  spectrum out = evaluate_lambda(in, j);
  double nu = bounded_exp(block_of(in->cell, in->params, "log_decay")[j]);
  double root = sqrt(-expm1(-2 * nu));
  out.gamma = root + 1e-8;
  out.gamma_alpha = nu * exp(-2 * nu) / root;
  return out;
}

static spectrum evaluate_lru(const reference_input *in, int j) {
  spectrum out = evaluate_lambda(in, j);
  out.gamma = out.gamma_gain = bounded_exp(block_of(in->cell, in->params, "log_gain")[j]);
  return out;
}

static double complex content(const reference_input *in, int j) {
  return cartesian(project(in, "content_re", j), project(in, "content_im", j));
}

static void mode_step(const reference_input *in, int j, const spectrum *here, double *state, double *y) {
  const int H = in->cell->H;
  double complex kept = in->mask * get_mode(in->state, H, j);
  double complex h = here->lambda * kept + here->gamma * content(in, j);
  set_mode(state, H, j, h);
  set_mode(y, H, j, h);
}

/* returns the cotangent of gamma */
static double mode_backward(const reference_input *in, int j, const spectrum *here, const double *dy, double *dstate,
                            double *dparams, double *dx) {
  const sparc_cell *cell = in->cell;
  const int H = cell->H;
  double complex kept = in->mask * get_mode(in->state, H, j);
  double complex mu = get_mode(dy, H, j) + get_mode(dstate, H, j);
  double complex dlambda = conj(kept) * mu;
  set_mode(dstate, H, j, in->mask * conj(here->lambda) * mu);

  double dgamma = inner(content(in, j), mu);
  gradient_of(cell, dparams, "log_decay")[j] += inner(here->lambda_alpha, dlambda) + here->gamma_alpha * dgamma;
  gradient_of(cell, dparams, "log_freq")[j] += inner(here->lambda_vartheta, dlambda);
  project_backward(in, "content_re", j, here->gamma * creal(mu), dparams, dx);
  project_backward(in, "content_im", j, here->gamma * cimag(mu), dparams, dx);
  return dgamma;
}

static void rtu_step(const reference_input *in, double *state, double *y) {
  for (int j = 0; j < in->cell->H; j++) {
    spectrum here = evaluate_rtu(in, j);
    mode_step(in, j, &here, state, y);
  }
}

static void rtu_step_backward(const reference_input *in, const double *dy, double *dstate, double *dparams,
                              double *dx) {
  for (int j = 0; j < in->cell->H; j++) {
    spectrum here = evaluate_rtu(in, j);
    mode_backward(in, j, &here, dy, dstate, dparams, dx);
  }
}

static void lru_step(const reference_input *in, double *state, double *y) {
  for (int j = 0; j < in->cell->H; j++) {
    spectrum here = evaluate_lru(in, j);
    mode_step(in, j, &here, state, y);
  }
}

static void lru_step_backward(const reference_input *in, const double *dy, double *dstate, double *dparams,
                              double *dx) {
  for (int j = 0; j < in->cell->H; j++) {
    spectrum here = evaluate_lru(in, j);
    double dgamma = mode_backward(in, j, &here, dy, dstate, dparams, dx);
    gradient_of(in->cell, dparams, "log_gain")[j] += here.gamma_gain * dgamma;
  }
}

static sparc_mode fixed_mode(const reference_input *in, const double *state, int j) {
  sparc_mode out = complex_mode(in, state, j);
  out.nu = out.e = bounded_exp(block_of(in->cell, in->params, "log_decay")[j]);
  out.rho = exp(-out.e);
  out.theta = out.angle = bounded_exp(block_of(in->cell, in->params, "log_freq")[j]);
  set_content(&out, content(in, j), content(in, j));
  return out;
}

static void rtu_inspect(const reference_input *in, const double *state, sparc_mode *modes) {
  for (int j = 0; j < in->cell->H; j++) {
    modes[j] = fixed_mode(in, state, j);
    modes[j].norm = evaluate_rtu(in, j).gamma;
  }
}

static void lru_inspect(const reference_input *in, const double *state, sparc_mode *modes) {
  for (int j = 0; j < in->cell->H; j++) {
    modes[j] = fixed_mode(in, state, j);
    modes[j].gain = evaluate_lru(in, j).gamma;
  }
}

const reference_cell reference_rtu = {"rtu", no_scratch, rtu_step, rtu_step_backward, rtu_inspect, NULL, NULL};
const reference_cell reference_lru = {"lru", no_scratch, lru_step, lru_step_backward, lru_inspect, NULL, NULL};
