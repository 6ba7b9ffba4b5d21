/* SPDX-License-Identifier: MIT */
/* sparc.c: the SPARC cell: two shared controls steer the retention and the phase of H complex modes.
 *
 *   r, p   = tanh(w_r . [x; 1]), tanh(w_p . [x; 1])                         [eq:shared_controls]
 *   e      = nu exp(kappa_r r),  rho = exp(-e)                              [eq:app_expanded_transition]
 *   lambda = rho exp(i [theta + (1 - rho) kappa_p p])                       [eq:sara_transition]
 *   b      = exp(beta) sqrt((1 - e^{-2e}) / (1 - e^{-2 nu})) 2 sigma(s p + v r) u   [eq:implementation_write]
 *   u      = phi(B_re x) + i phi(B_im x)                                    [eq:sara_content]
 *            or, with projection=none, phi(x_re) + i phi(x_im) for x = [x_re | x_im]
 *   h_t    = m_t lambda h_{t-1} + b                                         [eq:app_masked_scan]
 *
 * With groups=G the modes are cut into G runs of H / G neighbours, each with controllers of its own: G = 1 is the
 * paper's cell, G = H its variant unshared-control. Between these the controls of a token are spread over the modes, so
 * that everything after them is that of unshared controls. With hidden=m a SiLU layer comes before the
 * controllers (sparc_controls.c).
 *
 * The component-removal variants [tab:component_ablation_definitions] are rows of one table of interventions
 * over this one implementation. Per-mode constants are derived in double when parameters change; 1 - rho and
 * 1 - rho^2 come from expm1. Derived constants are clamped to a range in which no product of a step overflows,
 * and the effective decay has a floor that keeps |lambda| < 1 after rounding (docs/numerics.md).
 */
#include "cells/sparc.h"

#include "base/error.h"
#include "cells/affine/affine_impl.h"
#include "cells/sparc_controls_impl.h"
#include "cells/spectral.h"
#include "cells/tiles.h"
#include "kernels/kernels.h"

#include <string.h>

/* ---- description ------------------------------------------------------------------------------- */

/* a variant: the rules of the cell, and whether beta keeps its initial value */
typedef struct intervention {
  sparc_rules rules;
  bool frozen_gain;
} intervention;

/* name, controls, adaptive_decay, clock, gate, adaptive_norm, linear, frozen_gain */
#define VARIANTS(ROW)                                                                      \
  ROW("full", CONTROLS_SHARED, true, CLOCK_LIVE, true, true, false, false)                 \
  ROW("fixed-controls", CONTROLS_ZERO, true, CLOCK_LIVE, true, true, false, false)         \
  ROW("phase-only", CONTROLS_SHARED, false, CLOCK_LIVE, true, true, false, false)          \
  ROW("retention-only", CONTROLS_SHARED, true, CLOCK_OFF, true, true, false, false)        \
  ROW("no-phase-clock", CONTROLS_SHARED, true, CLOCK_FULL, true, true, false, false)       \
  ROW("static-phase-clock", CONTROLS_SHARED, true, CLOCK_STATIC, true, true, false, false) \
  ROW("static-transition", CONTROLS_SHARED, false, CLOCK_OFF, true, true, false, false)    \
  ROW("neutral-gate", CONTROLS_SHARED, true, CLOCK_LIVE, false, true, false, false)        \
  ROW("fixed-normalization", CONTROLS_SHARED, true, CLOCK_LIVE, true, false, false, false) \
  ROW("linear-content", CONTROLS_SHARED, true, CLOCK_LIVE, true, true, true, false)        \
  ROW("unshared-control", CONTROLS_PER_MODE, true, CLOCK_LIVE, true, true, false, false)   \
  ROW("frozen-gain", CONTROLS_SHARED, true, CLOCK_LIVE, true, true, false, true)

#define VARIANT_NAME(name, ...) name,
#define VARIANT_ROW(name, controls, decay, clock, gate, norm, linear, frozen) \
  {{controls, decay, clock, gate, norm, linear}, frozen},

static const char *const variant_names[] = {VARIANTS(VARIANT_NAME) NULL};
static const intervention variant_table[] = {VARIANTS(VARIANT_ROW)};
static const char *const content_names[] = {"tanh", "linear", NULL};
static const char *const projection_names[] = {"dense", "none", NULL};

static const sparc_option options[] = {
    {.name = "variant",
     .type = SPARC_OPTION_CHOICE,
     .choices = variant_names,
     .help = "component removal of the paper"},
    {.name = "content", .type = SPARC_OPTION_CHOICE, .choices = content_names, .help = "content activation"},
    {.name = "kappa_r",
     .type = SPARC_OPTION_REAL,
     .fallback = 2.772588722239781,
     .low = 0,
     .high = 16,
     .help = "retention range: decay varies by exp(+-kappa_r); log 16 in the paper"},
    {.name = "kappa_p",
     .type = SPARC_OPTION_REAL,
     .fallback = 1.5707963267948966,
     .low = 0,
     .high = 64,
     .help = "phase range in radians; pi/2 in the paper"},
    {.name = "projection",
     .type = SPARC_OPTION_CHOICE,
     .choices = projection_names,
     .help = "content from a matrix, or the input itself as [re | im], which takes D = 2 H"},
    {.name = "groups",
     .type = SPARC_OPTION_INT,
     .fallback = 1,
     .low = 1,
     .high = 1 << 20,
     .help = "groups of H / groups modes, each with its own controllers; 1 in the paper",
     .later = 1},
    {.name = "hidden",
     .type = SPARC_OPTION_INT,
     .fallback = 0,
     .low = 0,
     .high = MAX_HIDDEN,
     .help = "units of a SiLU layer before the controllers, 0 (the paper's) or from 2 on",
     .later = 1},
    {.name = NULL}};

static intervention intervention_of(const sparc_cell *cell) { return variant_table[(int)cell->option[OPTION_VARIANT]]; }

static bool is_unshared(const sparc_cell *cell) { return intervention_of(cell).rules.controls == CONTROLS_PER_MODE; }

#ifndef SPARC_DOUBLE
int cell_groups_of(const sparc_cell *cell) { return is_unshared(cell) ? cell->H : (int)cell->option[OPTION_GROUPS]; }

sparc_rules cell_rules_of(const sparc_cell *cell) {
  sparc_rules rules = intervention_of(cell).rules;
  rules.linear = rules.linear || cell->option[OPTION_CONTENT] == 1;
  if (rules.controls == CONTROLS_SHARED && cell_groups_of(cell) > 1) rules.controls = CONTROLS_PER_MODE;
  return rules;
}
#endif

static bool has_controller_rows(const sparc_cell *cell) { return is_unshared(cell) || cell_groups_of(cell) > 1; }

/* the outer slots of the controllers after those of the content */
static int control_slot(const sparc_cell *cell, int slot) { return has_content(cell) ? slot : slot - OUTER_R; }

/* slots of a hidden layer: its rows in the place of the controllers', after the other scalars its biases, and the
 * weights of the controllers */
enum { HIDDEN_BIAS, HIDDEN_TO_R, HIDDEN_TO_P };
static int hidden_slot(const sparc_cell *cell, int what, int k) { return SCALAR_SLOTS + what * hidden_of(cell) + k; }

static sparc_status add_hidden_sinks(sparc_cell *cell) {
  const int D = cell->D, m = hidden_of(cell), r = control_block(cell, CTRL_RETENTION);
  const int p = control_block(cell, CTRL_PHASE), hidden = control_block(cell, CTRL_HIDDEN);
  sparc_status status = SPARC_OK;
  for (int k = 0; k < m && status == SPARC_OK; k++) {
    const rtrl_sink sinks[] = {
        {.outer = true,
         .slot = control_slot(cell, OUTER_R) + k,
         .block = hidden,
         .column = k * (D + 1),
         .row = ROW_SHARED,
         .weights = hidden_constants(cell) + (size_t)k * (size_t)(D + 1)},
        {.slot = hidden_slot(cell, HIDDEN_BIAS, k), .block = hidden, .column = k * (D + 1) + D, .row = ROW_SHARED},
        {.slot = hidden_slot(cell, HIDDEN_TO_R, k), .block = r, .column = k, .row = ROW_SHARED},
        {.slot = hidden_slot(cell, HIDDEN_TO_P, k), .block = p, .column = k, .row = ROW_SHARED},
    };
    for (size_t i = 0; i < sizeof sinks / sizeof *sinks && status == SPARC_OK; i++) status = add_sink(cell, sinks[i]);
  }
  return status;
}

static sparc_status add_sinks(sparc_cell *cell) {
  const int inputs = controller_inputs(cell), width = cell->H / cell_groups_of(cell);
  const sink_row control_row = !has_controller_rows(cell) ? ROW_SHARED : width > 1 ? ROW_OF_GROUP : ROW_OF_MODE;
  const int retention = control_block(cell, CTRL_RETENTION), phase = control_block(cell, CTRL_PHASE);
  const int r = control_slot(cell, OUTER_R), p = control_slot(cell, OUTER_P);
  const size_t w_r = controller_constants(cell), w_p = w_r + (size_t)inputs + 1;
  const rtrl_sink sinks[] = {
      {.slot = SUM_DECAY, .block = LOG_DECAY},
      {.slot = SUM_FREQ, .block = LOG_FREQ},
      {.slot = SUM_GAIN, .block = LOG_GAIN},
      {.slot = SUM_GATE_P, .block = GATE_PHASE},
      {.slot = SUM_GATE_R, .block = GATE_RETENTION},
      {.outer = true, .slot = r, .block = retention, .row = control_row, .weights = w_r, .width = width, .rows = 1},
      {.slot = SLOT_BIAS_R, .block = retention, .column = inputs, .row = control_row, .width = width, .rows = 1},
      {.outer = true, .slot = p, .block = phase, .row = control_row, .weights = w_p, .width = width, .rows = 1},
      {.slot = SLOT_BIAS_P, .block = phase, .column = inputs, .row = control_row, .width = width, .rows = 1},
      {.outer = true, .slot = OUTER_RE, .block = CONTENT_RE},
      {.outer = true, .slot = OUTER_IM, .block = CONTENT_IM},
  };
  const size_t count = sizeof sinks / sizeof *sinks - (has_content(cell) ? 0 : 2);
  sparc_status status = SPARC_OK;
  for (size_t i = 0; i < count && status == SPARC_OK; i++) {
    const bool reads_input = sinks[i].outer && (sinks[i].block == retention || sinks[i].block == phase);
    if (!reads_input || !hidden_of(cell)) status = add_sink(cell, sinks[i]);
  }
  return status == SPARC_OK ? add_hidden_sinks(cell) : status;
}

static sparc_status check_shape(const sparc_cell *cell) {
  const int D = cell->D, H = cell->H, groups = (int)cell->option[OPTION_GROUPS];
  if (!has_content(cell) && D != 2 * H)
    return fail(SPARC_INVALID, "D is %d, expected %d: with projection=none the input is the content of %d modes", D,
                2 * H, H);
  if (H % groups != 0) return fail(SPARC_INVALID, "groups is %d, expected a divisor of H, which is %d", groups, H);
  if (is_unshared(cell) && groups != 1 && groups != H)
    return fail(SPARC_INVALID, "groups is %d, but variant=unshared-control has a group for each of the %d modes",
                groups, H);
  if (hidden_of(cell) == 1) return fail(SPARC_INVALID, "hidden is 1, expected 0 or from 2 to %d", (int)MAX_HIDDEN);
  if (hidden_of(cell) && cell_rules_of(cell).controls != CONTROLS_SHARED)
    return fail(SPARC_INVALID, "hidden is %d, but only controllers that all modes share can have a hidden layer",
                hidden_of(cell));
  return SPARC_OK;
}

static void add_controllers(sparc_cell *cell) {
  const int columns = controller_inputs(cell) + 1, groups = cell_groups_of(cell);
  const bool rows = has_controller_rows(cell);
  add_block(cell, "ctrl_retention", SPARC_RECURRENT, rows ? groups : columns, rows ? columns : 0);
  add_block(cell, "ctrl_phase", SPARC_RECURRENT, rows ? groups : columns, rows ? columns : 0);
}

static sparc_status layout(sparc_cell *cell) {
  const int D = cell->D, H = cell->H;
  const bool per_mode = cell_rules_of(cell).controls == CONTROLS_PER_MODE;
  const sparc_status status = check_shape(cell);
  if (status != SPARC_OK) return status;
  add_block(cell, "log_decay", SPARC_RECURRENT, H, 0);
  add_block(cell, "log_freq", SPARC_RECURRENT, H, 0);
  add_block(cell, "log_gain", intervention_of(cell).frozen_gain ? SPARC_FROZEN : SPARC_RECURRENT, H, 0);
  add_block(cell, "gate_phase", SPARC_RECURRENT, H, 0);
  add_block(cell, "gate_retention", SPARC_RECURRENT, H, 0);
  if (has_content(cell)) {
    add_projection(cell, add_block(cell, "content_re", SPARC_RECURRENT, H, D), -1);
    add_projection(cell, add_block(cell, "content_im", SPARC_RECURRENT, H, D), -1);
  }
  add_controllers(cell);
  if (per_mode) {
    add_projection(cell, control_block(cell, CTRL_RETENTION), -1);
    add_projection(cell, control_block(cell, CTRL_PHASE), -1);
  }
  if (hidden_of(cell))
    add_projection(cell, add_block(cell, "ctrl_hidden", SPARC_RECURRENT, hidden_of(cell), D + 1), -1);
  cell->direct_input = !has_content(cell);
  cell->parts = 2;
  cell->pre = cell->projected + (spreads_controls(cell) ? 2 * H : 0);
  cell->shared = per_mode ? 0 : 2;
  cell->sums = SUM_COUNT;
  cell->constant_count = instance_constant(cell) + 1;

  cell->outer = (has_content(cell) ? OUTER_R : 0) + (hidden_of(cell) ? hidden_of(cell) : OUTER_SLOTS - OUTER_R);
  if (has_content(cell)) {
    cell->driver[OUTER_RE] = DRIVER_REAL;
    cell->driver[OUTER_IM] = DRIVER_IMAGINARY;
  }
  cell->scalar = SCALAR_SLOTS + 3 * hidden_of(cell);
  return add_sinks(cell);
}

/* a hidden layer with the variance 1 / D, so that the controllers, which start at zero, have something to read */
static void init_hidden(const sparc_cell *cell, uint64_t seed, const char *name, float *weights) {
  sparc_random stream = block_stream(seed, name, "ctrl_hidden");
  for (int k = 0; k < hidden_of(cell); k++, weights += cell->D + 1)
    for (int d = 0; d < cell->D; d++) weights[d] = (float)(sparc_random_normal(&stream) / sqrt(cell->D));
}

/* controllers and gates start at zero [eq:app_reference_write]; the rest is paired with RTU (control) and LRU
 * (classification) through the shared stream names */
static sparc_status init(const sparc_cell *cell, sparc_init_style style, uint64_t seed, const char *name,
                         float *params) {
  const sparc_block *block = cell->block;
  init_spectrum(style, seed, name, cell->H, params + block[LOG_DECAY].offset, params + block[LOG_FREQ].offset);
  init_log_gain(style, cell->H, params + block[LOG_DECAY].offset, params + block[LOG_GAIN].offset);
  if (hidden_of(cell)) init_hidden(cell, seed, name, params + block[control_block(cell, CTRL_HIDDEN)].offset);
  if (!has_content(cell)) return SPARC_OK;
  sparc_status status = init_content(style, seed, name, cell->D, &block[CONTENT_RE], params);
  return status == SPARC_OK ? init_content(style, seed, name, cell->D, &block[CONTENT_IM], params) : status;
}

static const cell_description about = {
    .kind =
        {
            .name = "sparc",
            .summary = "shared phase and retention control over complex modes",
            .features = POLICY_RELU,
            .coordinates = 2,
            .options = options,
        },
    .layout = layout,
    .init = init,
    .mode_flops = {147, 200},
};

/* ---- constants --------------------------------------------------------------------------------- */

/* gates beyond this saturate for every control that is not zero */
static const double GATE_MAX = 1e12;

/* the effective decay never falls below this, so that rho times a rounded rotation stays inside the unit circle */
static const real DECAY_FLOOR = 4 * REAL_EPSILON;

/* e / (exp(2 e) - 1), from 1/2 at e = 0 down to 0; the second argument is 1 - exp(-2 e) */
static double psi_of(double e, double one_minus_square) { return e * (1 - one_minus_square) / one_minus_square; }

/* Which kernel serves this cell, or -1: the phase kernels hold for |kappa_p p| <= pi / 2, and zero controls are shared
 * ones that happen to be zero. floor: some decay can come near the floor; without it the comparison is left out. */
static int kernel_instance(const sparc_cell *cell, bool floor) {
  sparc_rules rules = cell_rules_of(cell);
  if (rules.controls == CONTROLS_ZERO) rules.controls = CONTROLS_SHARED;
  return cell->option[OPTION_KAPPA_P] > 1.5707964 ? -1 : sparc_instance_of(rules, floor);
}

static void derive(const sparc_cell *cell, const real *params, real *constants) {
  const size_t H = (size_t)cell->H;
  const sparc_block *block = cell->block;
  double smallest = INFINITY;
  for (size_t j = 0; j < H; j++) {
    const double nu = decay_of_log((double)params[block[LOG_DECAY].offset + j]);
    const double theta = freq_of_log((double)params[block[LOG_FREQ].offset + j]);
    const double gain = gain_of_log((double)params[block[LOG_GAIN].offset + j]);
    const double one_minus_square = -expm1(-2 * nu);
    if (nu < smallest) smallest = nu;
    const double derived[K_COUNT] = {
        [K_NU] = nu,
        [K_COS] = cos(theta),
        [K_SIN] = sin(theta),
        [K_THETA] = theta,
        [K_GAIN] = gain,
        [K_GAIN_NORM] = gain / sqrt(one_minus_square),
        [K_PSI] = psi_of(nu, one_minus_square),
        [K_RHO] = exp(-fmax(nu, (double)DECAY_FLOOR)),
        [K_CLOCK] = -expm1(-nu),
        [K_CLOCK_RATE] = nu * exp(-nu),
        [K_GATE_P] = bounded((double)params[block[GATE_PHASE].offset + j], GATE_MAX),
        [K_GATE_R] = bounded((double)params[block[GATE_RETENTION].offset + j], GATE_MAX),
    };
    for (size_t k = 0; k < K_COUNT; k++) constants[k * H + j] = (real)derived[k];
  }
  const double least = smallest * exp(-cell->option[OPTION_KAPPA_R]);
  constants[instance_constant(cell)] = (real)kernel_instance(cell, least < 2 * (double)DECAY_FLOOR);
  if (cell->shared == 0) return;
  /* retention, phase and hidden layer lie one after the other, among the parameters as here */
  const real *controllers = params + block[control_block(cell, CTRL_RETENTION)].offset;
  memcpy(constants + controller_constants(cell), controllers,
         (instance_constant(cell) - controller_constants(cell)) * sizeof(real));
}

/* ---- one mode at one token --------------------------------------------------------------------- */

/* the controls a mode sees */
typedef struct control {
  real r, p, scale; /* scale = exp(kappa_r r) */
} control;

typedef struct modal {
  real e, rho; /* effective decay of the transition, exp(-e) */
  real clock;  /* factor of kappa_p p in the phase */
  real lambda_re, lambda_im;
  real amplitude;  /* b = amplitude * u */
  real gate_slope; /* d log gate / d (s p + v r), 0 for a neutral gate */
  real psi;        /* d log norm / d log e of the write, 0 for a fixed normalisation */
} modal;

/* the rules, ranges and constants of a call */
typedef struct modal_context {
  sparc_rules rules;
  real kappa_r, kappa_p;
  const real *k; /* constants */
  size_t H;
  size_t own;        /* first column of the per-mode controls */
  bool direct_input; /* the content is the input */
} modal_context;

static modal_context context_of(const sparc_cell *cell, const real *constants) {
  return (modal_context){cell_rules_of(cell),
                         (real)cell->option[OPTION_KAPPA_R],
                         (real)cell->option[OPTION_KAPPA_P],
                         constants,
                         (size_t)cell->H,
                         own_controls(cell),
                         cell->direct_input};
}

static inline control control_at(const modal_context *context, const TYPED(token) * token, size_t j) {
  const bool per_mode = context->rules.controls == CONTROLS_PER_MODE;
  const real r = per_mode ? token->pre[context->own + j] : token->shared[0];
  const real p = per_mode ? token->pre[context->own + context->H + j] : token->shared[1];
  return (control){r, p, r_exp(context->kappa_r * r)};
}

static inline modal modal_at(const modal_context *context, control c, size_t j) {
  const sparc_rules *rules = &context->rules;
  const size_t H = context->H;
  const real *k = context->k + j;
  const real nu = k[K_NU * H], write_decay = nu * c.scale;
  modal m;

  /* transition [eq:sara_transition] */
  m.e = r_fmax(rules->adaptive_decay ? write_decay : nu, DECAY_FLOOR);
  m.rho = r_exp(-m.e);
  switch (rules->clock) {
    case CLOCK_LIVE:
      m.clock = -r_expm1(-m.e);
      break;
    case CLOCK_FULL:
      m.clock = 1;
      break;
    case CLOCK_STATIC:
      m.clock = k[K_CLOCK * H];
      break;
    default:
      m.clock = 0;
      break;
  }
  const real angle = m.clock * context->kappa_p * c.p, turn_re = r_cos(angle), turn_im = r_sin(angle);
  const real base_re = m.rho * k[K_COS * H], base_im = m.rho * k[K_SIN * H];
  m.lambda_re = base_re * turn_re - base_im * turn_im;
  m.lambda_im = base_re * turn_im + base_im * turn_re;

  /* write [eq:implementation_write] */
  m.amplitude = k[K_GAIN * H];
  m.psi = 0;
  if (rules->adaptive_norm) {
    const real one_minus_square = -r_expm1(-2 * write_decay);
    m.amplitude = k[K_GAIN_NORM * H] * r_sqrt(one_minus_square);
    m.psi = write_decay * (1 - one_minus_square) / one_minus_square;
  }
  m.gate_slope = 0;
  if (rules->gate) {
    const real q = r_sigmoid(k[K_GATE_P * H] * c.p + k[K_GATE_R * H] * c.r);
    m.amplitude *= 2 * q;
    m.gate_slope = 1 - q;
  }
  return m;
}

/* content before its activation, re | im */
static inline const real *content_of(const modal_context *context, const TYPED(token) * token) {
  return context->direct_input ? token->x : token->pre;
}

static inline real content(const modal_context *context, real z) { return context->rules.linear ? z : r_tanh(z); }
static inline real content_slope(const modal_context *context, real u) { return context->rules.linear ? 1 : 1 - u * u; }

static void add_gate(real gate, cell_activity *sums) {
  sums->gates++;
  sums->gate_sum += (double)gate;
  sums->gate_squares += (double)gate * (double)gate;
}

static void activity(const sparc_cell *cell, const real *constants, const TYPED(token) * token, cell_activity *sums) {
  const modal_context context = context_of(cell, constants);
  const real *z = content_of(&context, token), limit = context.rules.linear ? (real)0.95 : (real)1.8317808230648232;
  for (size_t i = 0; i < 2 * context.H; i++) sums->saturated += z[i] > limit || z[i] < -limit; /* tanh(1.83) = 0.95 */
  sums->contents += 2 * (double)context.H;
  for (size_t j = 0; j < context.H && context.rules.gate; j++) {
    const real *k = constants + j;
    const control c = control_at(&context, token, j);
    add_gate(2 * r_sigmoid(k[K_GATE_P * context.H] * c.p + k[K_GATE_R * context.H] * c.r), sums);
  }
}

static void coefficients(const sparc_cell *cell, const real *constants, const TYPED(token) * token, int first, int n,
                         TYPED(coefficients) * out) {
  const modal_context context = context_of(cell, constants);
  const bool per_mode = context.rules.controls == CONTROLS_PER_MODE;
  const real *z = content_of(&context, token);
  control c = control_at(&context, token, (size_t)first);
  for (int i = 0; i < n; i++) {
    const size_t j = (size_t)(first + i);
    if (per_mode) c = control_at(&context, token, j);
    const modal m = modal_at(&context, c, j);
    out->a_re[i] = m.lambda_re;
    out->a_im[i] = m.lambda_im;
    out->b_re[i] = m.amplitude * content(&context, z[j]);
    out->b_im[i] = m.amplitude * content(&context, z[context.H + j]);
  }
}

/* derivatives of log lambda (rate: real part, turn: imaginary part) and of log amplitude by the local quantities
 * [eq:app_transition_derivatives, eq:app_write_derivatives] */
typedef struct modal_slopes {
  real turn_p;                  /* d log lambda / d p = i turn_p */
  real rate_r, turn_r, write_r; /* by r */
  real rate_a, turn_a, write_a; /* by log decay */
  real write_p;                 /* d log amplitude / d p */
} modal_slopes;

static inline modal_slopes slopes_at(const modal_context *context, const modal *m, control c, size_t j) {
  const sparc_rules *rules = &context->rules;
  const size_t H = context->H;
  const real *k = context->k + j;
  const real phase = context->kappa_p * c.p;
  /* d log lambda / d log e = e (-1 + i rho kappa_p p); only a live clock turns with e */
  const real turn_e = rules->clock == CLOCK_LIVE ? m->e * m->rho * phase : 0;
  const real turn_static = rules->clock == CLOCK_STATIC ? k[K_CLOCK_RATE * H] * phase : 0;
  const real kappa = rules->adaptive_decay ? context->kappa_r : 0;
  return (modal_slopes){
      .turn_p = context->kappa_p * m->clock,
      .rate_r = -kappa * m->e,
      .turn_r = kappa * turn_e,
      .write_r = context->kappa_r * m->psi + m->gate_slope * k[K_GATE_R * H],
      .rate_a = -m->e,
      .turn_a = turn_e + turn_static,
      .write_a = rules->adaptive_norm ? m->psi - k[K_PSI * H] : 0,
      .write_p = m->gate_slope * k[K_GATE_P * H],
  };
}

static void adjoint(const sparc_cell *cell, const real *constants, const TYPED(token) * token, int first, int n,
                    const TYPED(cotangent) * cot, TYPED(coefficients) * transition, real *dpre, double *dshared,
                    double (*sums)[MODE_TILE]) {
  const modal_context context = context_of(cell, constants);
  const size_t H = context.H;
  const bool per_mode = context.rules.controls == CONTROLS_PER_MODE;
  const real *z = content_of(&context, token);
  real *dz = context.direct_input ? cot->dx : dpre;
  control c = control_at(&context, token, (size_t)first);
  for (int i = 0; i < n; i++) {
    const size_t j = (size_t)(first + i);
    if (per_mode) c = control_at(&context, token, j);
    const modal m = modal_at(&context, c, j);
    const modal_slopes slope = slopes_at(&context, &m, c, j);
    const real mu_re = cot->mu_re[i], mu_im = cot->mu_im[i];
    transition->a_re[i] = m.lambda_re;
    transition->a_im[i] = m.lambda_im;

    /* w = conj(lambda kept) mu: a parameter with d lambda = (rate + i turn) lambda gets rate Re w + turn Im w */
    const real carried_re = m.lambda_re * cot->kept_re[i] - m.lambda_im * cot->kept_im[i];
    const real carried_im = m.lambda_re * cot->kept_im[i] + m.lambda_im * cot->kept_re[i];
    const real w_re = carried_re * mu_re + carried_im * mu_im, w_im = carried_re * mu_im - carried_im * mu_re;

    /* the write: b = amplitude u, and energy = Re(conj(b) mu) */
    const real u_re = content(&context, z[j]), u_im = content(&context, z[H + j]);
    const real energy = m.amplitude * (u_re * mu_re + u_im * mu_im);
    dz[j] = m.amplitude * mu_re * content_slope(&context, u_re);
    dz[H + j] = m.amplitude * mu_im * content_slope(&context, u_im);

    const real dr = slope.rate_r * w_re + slope.turn_r * w_im + slope.write_r * energy;
    const real dp = slope.turn_p * w_im + slope.write_p * energy;
    if (per_mode) {
      dpre[context.own + j] = dr;
      dpre[context.own + H + j] = dp;
    } else {
      dshared[0] += (double)dr;
      dshared[1] += (double)dp;
    }
    sums[SUM_DECAY][i] += (double)(slope.rate_a * w_re + slope.turn_a * w_im + slope.write_a * energy);
    sums[SUM_FREQ][i] += (double)(constants[K_THETA * H + j] * w_im);
    sums[SUM_GAIN][i] += (double)energy;
    sums[SUM_GATE_P][i] += (double)(m.gate_slope * c.p * energy);
    sums[SUM_GATE_R][i] += (double)(m.gate_slope * c.r * energy);
  }
}

/* the blocks of the per-mode parameters lie one after the other in the order of the sums */
static void sums_gradient(const sparc_cell *cell, const real *constants, const double *sums, real *dparams) {
  (void)constants;
  const size_t H = (size_t)cell->H;
  for (size_t s = 0; s < SUM_COUNT; s++)
    for (size_t j = 0; j < H; j++) dparams[cell->block[s].offset + j] += (real)sums[s * H + j];
}

/* ---- RTRL -------------------------------------------------------------------------------------- */

/* with a hidden layer, the drivers of both controllers, in the outer slots of OUTER_R and OUTER_P, are replaced by those of
 * its rows */
static void expand_hidden(const sparc_cell *cell, const real *constants, const real *pre, real *outer, real *scalar) {
  if (!hidden_of(cell)) return;
  const size_t S = cell->sizes.state;
  TYPED(hidden_drivers)
  (cell, constants, pre, scalar + SLOT_BIAS_R * S, scalar + SLOT_BIAS_P * S,
   outer + (size_t)control_slot(cell, OUTER_R) * S, scalar + (size_t)hidden_slot(cell, HIDDEN_BIAS, 0) * S,
   scalar + (size_t)hidden_slot(cell, HIDDEN_TO_R, 0) * S, scalar + (size_t)hidden_slot(cell, HIDDEN_TO_P, 0) * S);
}

/* (rate + i turn) carried + write b: the driver of a parameter that moves log lambda and log amplitude */
typedef struct pair {
  real re, im;
} pair;

static inline pair driver_of(pair carried, pair b, real rate, real turn, real write) {
  return (pair){rate * carried.re - turn * carried.im + write * b.re,
                rate * carried.im + turn * carried.re + write * b.im};
}

static void drivers(const sparc_cell *cell, const real *constants, const TYPED(token) * token, const real *kept,
                    const real *a, const real *b, real *outer, real *scalar) {
  const modal_context context = context_of(cell, constants);
  const size_t H = context.H;
  const bool controlled = context.rules.controls != CONTROLS_ZERO;
  const real *z = content_of(&context, token);
  const size_t first_slot = context.direct_input ? OUTER_R : 0;
  for (size_t j = 0; j < H; j++) {
    const control c = control_at(&context, token, j);
    const modal m = modal_at(&context, c, j);
    const modal_slopes slope = slopes_at(&context, &m, c, j);
    const pair carried = {a[j] * kept[j] - a[H + j] * kept[H + j], a[j] * kept[H + j] + a[H + j] * kept[j]};
    const pair write = {b[j], b[H + j]};
    const real slope_r = controlled ? 1 - c.r * c.r : 0, slope_p = controlled ? 1 - c.p * c.p : 0;

    /* [eq:app_controller_traces]: by the controller's pre-activation */
    const pair by_r =
        driver_of(carried, write, slope_r * slope.rate_r, slope_r * slope.turn_r, slope_r * slope.write_r);
    const pair by_p = driver_of(carried, write, 0, slope_p * slope.turn_p, slope_p * slope.write_p);

    /* [eq:app_content_derivatives] */
    const real u_re = content(&context, z[j]), u_im = content(&context, z[H + j]);
    const pair rows[OUTER_SLOTS] = {
        [OUTER_RE] = {m.amplitude * content_slope(&context, u_re), 0},
        [OUTER_IM] = {0, m.amplitude * content_slope(&context, u_im)},
        [OUTER_R] = by_r,
        [OUTER_P] = by_p,
    };
    for (size_t s = first_slot; s < OUTER_SLOTS; s++) {
      outer[2 * (s - first_slot) * H + j] = rows[s].re;
      outer[(2 * (s - first_slot) + 1) * H + j] = rows[s].im;
    }

    const pair entries[SCALAR_SLOTS] = {
        [SUM_DECAY] = driver_of(carried, write, slope.rate_a, slope.turn_a, slope.write_a),
        [SUM_FREQ] = driver_of(carried, write, 0, constants[K_THETA * H + j], 0),
        [SUM_GAIN] = write,
        [SUM_GATE_P] = driver_of(carried, write, 0, 0, m.gate_slope * c.p),
        [SUM_GATE_R] = driver_of(carried, write, 0, 0, m.gate_slope * c.r),
        [SLOT_BIAS_R] = by_r,
        [SLOT_BIAS_P] = by_p,
    };
    for (size_t s = 0; s < SCALAR_SLOTS; s++) {
      scalar[2 * s * H + j] = entries[s].re;
      scalar[(2 * s + 1) * H + j] = entries[s].im;
    }
  }
  expand_hidden(cell, constants, token->pre, outer, scalar);
}

/* ---- kernels ----------------------------------------------------------------------------------- */

#ifdef SPARC_DOUBLE
#define FUSED NULL
#else
static int instance_of(const sparc_cell *cell, const float *constants) {
  return (int)constants[instance_constant(cell)];
}

_Static_assert((int)WIDE_TILE <= (int)KERNEL_TILE, "the engine's tiles must fit the kernels");

static sparc_rows rows_of(const sparc_cell *cell, const float *constants, const span_f32 *span) {
  const bool direct = cell->direct_input;
  return (sparc_rows){.H = (size_t)cell->H,
                      .first = span->first,
                      .n = span->n,
                      .tokens = span->tokens,
                      .kappa_r = (float)cell->option[OPTION_KAPPA_R],
                      .kappa_p = (float)cell->option[OPTION_KAPPA_P],
                      .constants = constants,
                      .content = direct ? span->x : span->pre,
                      .content_stride = (size_t)(direct ? cell->D : cell->pre),
                      .own = span->pre + own_controls(cell),
                      .own_stride = (size_t)cell->pre,
                      .shared = span->shared,
                      .mask = span->mask};
}

static void fused_scan(const sparc_cell *cell, const float *constants, const span_f32 *span, float *h, float *states) {
  cell->kernels->sparc_scan[instance_of(cell, constants)](
      &(sparc_scan_rows){.rows = rows_of(cell, constants, span), .h_re = h, .h_im = h + span->n, .states = states});
}

static void fused_adjoint(const sparc_cell *cell, const float *constants, const span_f32 *span, const float *before,
                          const float *states, const float *dstates, float *g, float *dpre, float *dshared,
                          float *sums) {
  const size_t n = span->n;
  cell->kernels->sparc_adjoint[instance_of(cell, constants)](
      &(sparc_adjoint_rows){.rows = rows_of(cell, constants, span),
                            .states = states,
                            .before_re = before,
                            .before_im = before + n,
                            .dstates = dstates,
                            .g_re = g,
                            .g_im = g + n,
                            .dcontent = cell->direct_input ? span->dx : dpre,
                            .dcontent_stride = cell->direct_input ? span->dx_stride : (size_t)cell->pre,
                            .d_own = cell->shared == 0 ? dpre + own_controls(cell) : span->dmodes,
                            .d_own_stride = cell->shared == 0 ? (size_t)cell->pre : 2 * (size_t)cell->H,
                            .dshared = dshared,
                            .sums = sums,
                            .earlier = span->earlier});
}

static void fused_shared_sums(const sparc_cell *cell, size_t tokens, size_t first, size_t n, const float *dmodes,
                              float *dshared) {
  cell->kernels->sparc_control_sums(&(sparc_control_rows){
      .H = (size_t)cell->H, .first = first, .n = n, .tokens = tokens, .d_own = dmodes, .dshared = dshared});
}

static void fused_token(const sparc_cell *cell, const float *constants, const token_f32 *token, const float *kept,
                        float *a, float *b, float *outer, float *scalar) {
  const span_f32 span = {.n = (size_t)cell->H, .tokens = 1, .pre = token->pre, .shared = token->shared, .x = token->x};
  cell->kernels->sparc_token[instance_of(cell, constants)](&(sparc_token_rows){.rows = rows_of(cell, constants, &span),
                                                                               .kept = kept,
                                                                               .a = a,
                                                                               .b = b,
                                                                               .content_rows = has_content(cell),
                                                                               .outer = outer,
                                                                               .scalar = scalar});
}

static void fused_coefficients(const sparc_cell *cell, const float *constants, const token_f32 *token,
                               const float *kept, float *a, float *b) {
  fused_token(cell, constants, token, kept, a, b, NULL, NULL);
}

static void fused_drivers(const sparc_cell *cell, const float *constants, const token_f32 *token, const float *kept,
                          float *a, float *b, float *outer, float *scalar) {
  fused_token(cell, constants, token, kept, a, b, outer, scalar);
  expand_hidden(cell, constants, token->pre, outer, scalar);
  if (cell_rules_of(cell).controls != CONTROLS_ZERO) return;
  /* controls that are held at zero have no past: their drivers vanish */
  const size_t S = cell->sizes.state;
  memset(outer + (size_t)control_slot(cell, OUTER_R) * S, 0, (OUTER_SLOTS - OUTER_R) * S * sizeof(float));
  memset(scalar + SLOT_BIAS_R * S, 0, (SCALAR_SLOTS - SLOT_BIAS_R) * S * sizeof(float));
}

static const fused_ops_f32 *fused(const sparc_cell *cell, const float *constants) {
  static const fused_ops_f32 loops = {.scan = fused_scan,
                                      .scan_adjoint = fused_adjoint,
                                      .shared_sums = fused_shared_sums,
                                      .coefficients = fused_coefficients,
                                      .drivers = fused_drivers};
  const int instance = instance_of(cell, constants);
  return instance >= 0 && cell->kernels->sparc_scan[instance] ? &loops : NULL;
}
#define FUSED fused
#endif

static const TYPED(affine_ops) affine = {
    .derive = derive,
    .activate = TYPED(controls_activate),
    .activate_backward = LEARNING(TYPED(controls_activate_backward)),
    .shared_backward = LEARNING(TYPED(controls_input_backward)),
    .weight_gradient = LEARNING(TYPED(controls_weight_gradient)),
    .weight_parts = TYPED(controls_weight_parts),
    .coefficients = coefficients,
    .adjoint = LEARNING(adjoint),
    .sums_gradient = LEARNING(sums_gradient),
    .fused = FUSED,
    .activity = LEARNING(activity),
    .drivers = LEARNING(drivers),
};

static const TYPED(cell_ops) ops = AFFINE_CELL_OPS(affine);

extern const cell_entry TYPED(cell_sparc);
const cell_entry TYPED(cell_sparc) = {&about, &ops};
