/* SPDX-License-Identifier: MIT */
/* sparc.c: the SPARC cell in double precision, mode by mode, from the paper's explicit derivatives.
 *
 * evaluate_mode computes lambda_{j,t} [eq:app_expanded_transition], b_{j,t} [eq:implementation_write] and all their
 * local derivatives [eq:app_transition_derivatives] [eq:app_write_derivatives] [eq:app_content_derivatives]; the step
 * uses the two values, its adjoint the derivatives. The shared controls are recomputed for every mode, which makes
 * the unshared variant the same code with another row of weights. The variants of the paper's component table are
 * interventions on these formulas. `frozen-gain` changes none: its gradient is computed and the optimiser ignores it.
 */
#include "cells/reference/reference_cell.h"

#include <string.h>

typedef enum phase_clock {
  CLOCK_ADAPTIVE, /* 1 - rho_{j,t} */
  CLOCK_UNIT,     /* 1 */
  CLOCK_STATIC,   /* 1 - exp(-nu_j) */
  CLOCK_STOPPED   /* 0: the phase is theta_j alone */
} phase_clock;

typedef struct intervention {
  bool no_controls;   /* r_t = p_t = 0 in every pathway */
  bool static_decay;  /* e_{j,t} = nu_j in the transition, its clock included */
  phase_clock clock;  /* what multiplies kappa_p p_t */
  bool constant_gate; /* q_{j,t} = 1/2 */
  bool fixed_norm;    /* sqrt(1 - exp(-2 nu_j)) instead of sqrt(1 - rho_{j,t}^2) */
  bool linear;        /* phi(z) = z */
  bool unshared;      /* one pair of controllers per mode */
} intervention;

/* [tab:component_ablation_definitions] by the names of the option `variant` */
static const struct {
  const char *variant;
  intervention change;
} interventions[] = {
    {"full", {0}},
    {"fixed-controls", {.no_controls = true}},
    {"phase-only", {.static_decay = true}},
    {"retention-only", {.clock = CLOCK_STOPPED}},
    {"no-phase-clock", {.clock = CLOCK_UNIT}},
    {"static-phase-clock", {.clock = CLOCK_STATIC}},
    {"static-transition", {.static_decay = true, .clock = CLOCK_STOPPED}},
    {"neutral-gate", {.constant_gate = true}},
    {"fixed-normalization", {.fixed_norm = true}},
    {"linear-content", {.linear = true}},
    {"unshared-control", {.unshared = true}},
    {"frozen-gain", {0}},
};

/* mode j at one token: two coefficients and their derivatives, z_q meaning dz/dq */
typedef struct mode {
  double complex lambda, lambda_p, lambda_r, lambda_a, lambda_vartheta;
  double complex b, b_p, b_r, b_a, b_beta, b_s, b_v;
  double complex b_content_re, b_content_im; /* with respect to (B^Re x)_j and (B^Im x)_j */
  double p_slope, r_slope;                   /* of the controls, with respect to their pre-activations */
  /* what the coefficients are made of */
  double r, p, e, clock, norm, gate;
  double complex z, u;
} mode;

static const intervention *intervention_of(const sparc_cell *cell) {
  const char *variant = cell_choice(cell, "variant");
  for (size_t i = 0; i < sizeof interventions / sizeof *interventions; i++)
    if (strcmp(interventions[i].variant, variant) == 0) return &interventions[i].change;
  return NULL;
}

static bool supports(const sparc_cell *cell) { return intervention_of(cell); }

/* row of the controllers that mode j sees: that of its group, of which there are H without sharing */
static int controller_row(const sparc_cell *cell, int j) {
  const int groups = intervention_of(cell)->unshared ? cell->H : (int)cell_option(cell, "groups");
  return j / (cell->H / groups);
}

/* e / (exp(2e) - 1), the derivative of log sqrt(1 - exp(-2e)) with respect to log e, without overflow */
static double norm_slope(double e) { return e * exp(-2 * e) / -expm1(-2 * e); }

/* [eq:sara_transition] */
static void evaluate_transition(const sparc_cell *cell, double nu, double theta, double r, double p, mode *out) {
  const intervention *change = intervention_of(cell);
  double kappa_r = cell_option(cell, "kappa_r"), kappa_p = cell_option(cell, "kappa_p");

  /* effective decay and its derivatives in r and a */
  double e = change->static_decay ? nu : nu * bounded_exp(kappa_r * r);
  double e_r = change->static_decay ? 0 : kappa_r * e, e_a = e;
  double rho = exp(-e);

  /* phase clock */
  double clock = 0, clock_r = 0, clock_a = 0;
  switch (change->clock) {
    case CLOCK_ADAPTIVE:
      clock = -expm1(-e);
      clock_r = rho * e_r;
      clock_a = rho * e_a;
      break;
    case CLOCK_STATIC:
      clock = -expm1(-nu);
      clock_a = exp(-nu) * nu;
      break;
    case CLOCK_UNIT:
      clock = 1;
      break;
    case CLOCK_STOPPED:
      break;
  }

  /* [eq:app_transition_derivatives] */
  out->e = e;
  out->clock = clock;
  out->lambda = polar(rho, theta + clock * kappa_p * p);
  out->lambda_p = cartesian(0, kappa_p * clock) * out->lambda;
  out->lambda_r = cartesian(-e_r, clock_r * kappa_p * p) * out->lambda;
  out->lambda_a = cartesian(-e_a, clock_a * kappa_p * p) * out->lambda;
  out->lambda_vartheta = cartesian(0, theta) * out->lambda;
}

/* [eq:implementation_write]; z is B x before the activation, s and v the coefficients of the gate */
static void evaluate_write(const sparc_cell *cell, double nu, double beta, double s, double v, double complex z,
                           double r, double p, mode *out) {
  const intervention *change = intervention_of(cell);
  double kappa_r = cell_option(cell, "kappa_r");

  /* content [eq:sara_content] */
  bool linear = change->linear || cell_option(cell, "content") != 0;
  double complex u = linear ? z : cartesian(tanh(creal(z)), tanh(cimag(z)));
  double u_re = linear ? 1 : 1 - creal(u) * creal(u), u_im = linear ? 1 : 1 - cimag(u) * cimag(u);

  /* normalisation relative to the reference gain, with the derivatives of its logarithm */
  double norm = 1, log_norm_r = 0, log_norm_a = 0;
  if (!change->fixed_norm) {
    double e = nu * bounded_exp(kappa_r * r);
    norm = sqrt(expm1(-2 * e) / expm1(-2 * nu));
    log_norm_r = kappa_r * norm_slope(e);
    log_norm_a = norm_slope(e) - norm_slope(nu);
  }

  /* gate [eq:app_write_gate]; closed = 1 - q is d log q / d(its pre-activation) */
  double q = change->constant_gate ? 0.5 : sigmoid(s * p + v * r);
  double closed = change->constant_gate ? 0 : sigmoid(-(s * p + v * r));

  /* [eq:app_write_derivatives] and [eq:app_content_derivatives] */
  out->u = u;
  out->norm = norm;
  out->gate = 2 * q;
  double amplitude = bounded_exp(beta) * norm * 2 * q;
  out->b = amplitude * u;
  out->b_p = out->b * closed * s;
  out->b_r = out->b * (log_norm_r + closed * v);
  out->b_a = out->b * log_norm_a;
  out->b_beta = out->b;
  out->b_s = out->b * closed * p;
  out->b_v = out->b * closed * r;
  out->b_content_re = cartesian(amplitude * u_re, 0);
  out->b_content_im = cartesian(0, amplitude * u_im);
}

/* projection=none: the input is the content */
static bool has_content(const sparc_cell *cell) { return cell_option(cell, "projection") == 0; }

static double complex content_before_activation(const reference_input *in, int j) {
  if (!has_content(in->cell)) return get_mode(in->x, in->cell->H, j);
  return cartesian(project(in, "content_re", j), project(in, "content_im", j));
}

static void content_backward(const reference_input *in, int j, double d_re, double d_im, double *dparams, double *dx) {
  if (has_content(in->cell)) {
    project_backward(in, "content_re", j, d_re, dparams, dx);
    project_backward(in, "content_im", j, d_im, dparams, dx);
  } else {
    dx[j] += d_re;
    dx[in->cell->H + j] += d_im;
  }
}

/* ---- controllers: of the input, or of the SiLU of a hidden layer */

static int hidden_units(const sparc_cell *cell) { return (int)cell_option(cell, "hidden"); }

static double control_sum(const reference_input *in, const char *controller, int j) {
  const int m = hidden_units(in->cell);
  if (m == 0) return project_affine(in, controller, controller_row(in->cell, j));
  const double *w = block_of(in->cell, in->params, controller);
  double sum = w[m];
  for (int k = 0; k < m; k++) {
    double a = project_affine(in, "ctrl_hidden", k);
    sum += w[k] * a * sigmoid(a);
  }
  return sum;
}

static void control_sum_backward(const reference_input *in, const char *controller, int j, double d, double *dparams,
                                 double *dx) {
  const int m = hidden_units(in->cell);
  if (m == 0) {
    project_affine_backward(in, controller, controller_row(in->cell, j), d, dparams, dx);
    return;
  }
  const double *w = block_of(in->cell, in->params, controller);
  double *dw = gradient_of(in->cell, dparams, controller);
  dw[m] += d;
  for (int k = 0; k < m; k++) {
    double a = project_affine(in, "ctrl_hidden", k), open = sigmoid(a);
    dw[k] += d * a * open;
    project_affine_backward(in, "ctrl_hidden", k, d * w[k] * open * (1 + a * (1 - open)), dparams, dx);
  }
}

static mode evaluate_mode(const reference_input *in, int j) {
  const sparc_cell *cell = in->cell;
  double nu = bounded_exp(block_of(cell, in->params, "log_decay")[j]);
  double theta = bounded_exp(block_of(cell, in->params, "log_freq")[j]);
  double beta = block_of(cell, in->params, "log_gain")[j];
  double s = block_of(cell, in->params, "gate_phase")[j];
  double v = block_of(cell, in->params, "gate_retention")[j];

  /* controls [eq:shared_controls] and their slopes [eq:app_controller_jacobians] */
  double r = 0, p = 0, r_slope = 0, p_slope = 0;
  if (!intervention_of(cell)->no_controls) {
    r = tanh(control_sum(in, "ctrl_retention", j));
    p = tanh(control_sum(in, "ctrl_phase", j));
    r_slope = 1 - r * r;
    p_slope = 1 - p * p;
  }

  double complex z = content_before_activation(in, j);
  mode out = {.r_slope = r_slope, .p_slope = p_slope, .r = r, .p = p, .z = z};
  evaluate_transition(cell, nu, theta, r, p, &out);
  evaluate_write(cell, nu, beta, s, v, z, r, p, &out);
  return out;
}

/* h_t = m_t lambda_t h_{t-1} + b_t [eq:app_masked_scan] */
static void step(const reference_input *in, double *state, double *y) {
  const int H = in->cell->H;
  for (int j = 0; j < H; j++) {
    mode here = evaluate_mode(in, j);
    double complex kept = in->mask * get_mode(in->state, H, j);
    double complex h = here.lambda * kept + here.b;
    set_mode(state, H, j, h);
    set_mode(y, H, j, h);
  }
}

static void step_backward(const reference_input *in, const double *dy, double *dstate, double *dparams, double *dx) {
  const sparc_cell *cell = in->cell;
  const int H = cell->H;
  for (int j = 0; j < H; j++) {
    mode here = evaluate_mode(in, j);
    double complex kept = in->mask * get_mode(in->state, H, j);
    double complex db = get_mode(dy, H, j) + get_mode(dstate, H, j); /* dL/dh_t */
    double complex dlambda = conj(kept) * db;
    set_mode(dstate, H, j, in->mask * conj(here.lambda) * db);

    /* parameters of the mode */
    gradient_of(cell, dparams, "log_decay")[j] += inner(here.lambda_a, dlambda) + inner(here.b_a, db);
    gradient_of(cell, dparams, "log_freq")[j] += inner(here.lambda_vartheta, dlambda);
    gradient_of(cell, dparams, "log_gain")[j] += inner(here.b_beta, db);
    gradient_of(cell, dparams, "gate_phase")[j] += inner(here.b_s, db);
    gradient_of(cell, dparams, "gate_retention")[j] += inner(here.b_v, db);

    content_backward(in, j, inner(here.b_content_re, db), inner(here.b_content_im, db), dparams, dx);

    /* controllers: both pathways, then tanh */
    double dr = (inner(here.lambda_r, dlambda) + inner(here.b_r, db)) * here.r_slope;
    double dp = (inner(here.lambda_p, dlambda) + inner(here.b_p, db)) * here.p_slope;
    control_sum_backward(in, "ctrl_retention", j, dr, dparams, dx);
    control_sum_backward(in, "ctrl_phase", j, dp, dparams, dx);
  }
}

static void inspect(const reference_input *in, const double *state, sparc_mode *modes) {
  const sparc_cell *cell = in->cell;
  const double kappa_p = cell_option(cell, "kappa_p");
  for (int j = 0; j < cell->H; j++) {
    const mode here = evaluate_mode(in, j);
    sparc_mode *out = &modes[j];
    *out = complex_mode(in, state, j);
    out->r = here.r;
    out->p = here.p;
    out->nu = bounded_exp(block_of(cell, in->params, "log_decay")[j]);
    out->e = here.e;
    out->rho = exp(-here.e);
    out->theta = bounded_exp(block_of(cell, in->params, "log_freq")[j]);
    out->uncoupled = kappa_p * here.p;
    out->offset = here.clock * out->uncoupled;
    out->angle = out->theta + out->offset;
    out->gain = bounded_exp(block_of(cell, in->params, "log_gain")[j]);
    out->norm = here.norm;
    out->gate = here.gate;
    set_content(out, here.z, here.u);
  }
}

const reference_cell reference_sparc = {"sparc", no_scratch, step, step_backward, inspect, NULL, supports};
