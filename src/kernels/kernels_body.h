/* SPDX-License-Identifier: MIT */
/* kernels_body.h: the kernels, once. Included by one small file per instruction set, which defines KERNEL_TABLE.
 *
 * Time runs in the outer loop, modes in the inner one: modes are independent, so the inner loop vectorises and its
 * iterations overlap, while state, constants and sums of a tile stay in the first-level cache. The rules are literal
 * constants in every instance, so that the branches on them vanish. Equations as in src/cells/sparc.c.
 */
#include "kernels/bf16_body.h"
#include "kernels/diagonal_body.h"
#include "kernels/gru_body.h"
#include "kernels/kernels.h"
#include "kernels/online_body.h"
#include "kernels/pointwise_body.h"
#include "kernels/product_body.h"
#include "kernels/scan_body.h"
#include "kernels/sparc_body.h"
#include "kernels/vmath.h"

/* one mode at one token, and what its adjoint needs of it */
typedef struct mode_values {
  float e, rho, clock, lambda_re, lambda_im;
  float u_re, u_im; /* content */
  float amplitude;  /* b = amplitude u */
  float gate_slope; /* 1 - q */
  float psi;        /* write_decay / (exp(2 write_decay) - 1) */
} mode_values;

/* constants of one tile as pointers to its first mode */
typedef struct tile_constants {
  const float *nu, *cos, *sin, *theta, *gain, *gain_norm, *psi, *rho, *clock, *clock_rate, *gate_p, *gate_r;
} tile_constants;

VMATH tile_constants constants_of(const sparc_rows *rows) {
  const float *k = rows->constants + rows->first;
  const size_t H = rows->H;
  return (tile_constants){k + K_NU * H,    k + K_COS * H,        k + K_SIN * H,    k + K_THETA * H,
                          k + K_GAIN * H,  k + K_GAIN_NORM * H,  k + K_PSI * H,    k + K_RHO * H,
                          k + K_CLOCK * H, k + K_CLOCK_RATE * H, k + K_GATE_P * H, k + K_GATE_R * H};
}

/* the controls of one mode: shared ones, or its own */
typedef struct mode_control {
  float r, p;
  float scale, phase; /* exp(kappa_r r), kappa_p p */
} mode_control;

VMATH mode_control shared_control(const sparc_rows *rows, size_t t) {
  const float r = rows->shared[2 * t], p = rows->shared[2 * t + 1];
  return (mode_control){r, p, expf(rows->kappa_r * r), rows->kappa_p * p};
}

VMATH mode_control own_control(const sparc_rows *rows, const float *r_mode, const float *p_mode, size_t i) {
  /* exp(kappa_r r) from the pair for a negative exponent, turned over where r > 0 */
  const float r = r_mode[i], p = p_mode[i], below = decay_of(-LOG2E * rows->kappa_r * fabsf(r)).rho;
  return (mode_control){r, p, select_float(r > 0, 1 / below, below), rows->kappa_p * p};
}

VMATH mode_values mode_at(sparc_rules rules, bool floor, bool backward, const tile_constants *k, size_t i,
                          mode_control c, float z_re, float z_im) {
  mode_values m;
  const float write_decay = k->nu[i] * c.scale;

  /* transition */
  decay_pair d = {k->rho[i], k->clock[i]};
  m.e = k->nu[i];
  if (rules.adaptive_decay) {
    m.e = floor ? larger(write_decay, DECAY_FLOOR_F32) : write_decay;
    d = decay_of(-LOG2E * m.e);
  }
  m.rho = d.rho;
  m.clock = rules.clock == CLOCK_LIVE     ? d.one_minus
            : rules.clock == CLOCK_FULL   ? 1
            : rules.clock == CLOCK_STATIC ? k->clock[i]
                                          : 0;
  m.lambda_re = d.rho * k->cos[i];
  m.lambda_im = d.rho * k->sin[i];
  if (rules.clock != CLOCK_OFF) {
    const turn t = turn_of(m.clock * c.phase);
    const float re = m.lambda_re * t.re - m.lambda_im * t.im;
    m.lambda_im = m.lambda_re * t.im + m.lambda_im * t.re;
    m.lambda_re = re;
  }

  /* write: all quotients share one division */
  const fraction c_re = tanh_fraction(z_re), c_im = tanh_fraction(z_im);
  const fraction q = sigmoid_fraction(k->gate_p[i] * c.p + k->gate_r[i] * c.r);
  const decay_pair w = rules.adaptive_decay && !floor ? d : decay_of(-LOG2E * write_decay);
  const float norm_square = w.one_minus * (1 + w.rho);
  const float content = rules.linear ? 1 : c_re.under * c_im.under;
  const float gate = rules.gate ? q.under : 1;
  const float norm = backward && rules.adaptive_norm ? norm_square : 1;
  const float inverse = 1 / (content * gate * norm);

  m.u_re = rules.linear ? z_re : c_re.over * c_im.under * (inverse * gate * norm);
  m.u_im = rules.linear ? z_im : c_im.over * c_re.under * (inverse * gate * norm);
  m.amplitude = rules.adaptive_norm ? k->gain_norm[i] * sqrtf(norm_square) : k->gain[i];
  m.psi = rules.adaptive_norm ? write_decay * w.rho * w.rho * (inverse * content * gate) : 0;
  m.gate_slope = 0;
  if (rules.gate) {
    const float value = q.over * (inverse * content * norm);
    m.amplitude *= 2 * value;
    m.gate_slope = 1 - value;
  }
  return m;
}

/* ---- one token ----------------------------------------------------------------------------------- */

/* entry i of one slot of an array (slots, 2, H) */
VMATH void put(float *array, size_t H, size_t slot, size_t i, float re, float im) {
  array[2 * slot * H + i] = re;
  array[(2 * slot + 1) * H + i] = im;
}

/* [eq:app_transition_derivatives, eq:app_write_derivatives, eq:app_content_derivatives] times the kept state */
VMATH void token_rows(const sparc_token_rows *s, sparc_rules rules, bool floor, bool drivers, bool content_rows) {
  const sparc_rows *rows = &s->rows;
  const tile_constants k = constants_of(rows);
  const size_t H = rows->H;
  const bool shared = rules.controls == CONTROLS_SHARED;
  const mode_control one_control = shared ? shared_control(rows, 0) : (mode_control){0};
  const float *z_re = rows->content, *z_im = z_re + H, *r_mode = shared ? z_re : rows->own, *p_mode = r_mode + H;
  const float *kept_re = s->kept, *kept_im = kept_re + H;
  float *a_re = s->a, *a_im = a_re + H, *b_re = s->b, *b_im = b_re + H, *outer = s->outer, *scalar = s->scalar;
  const float kappa_decay = rules.adaptive_decay ? rows->kappa_r : 0;
#pragma omp simd
  for (size_t i = 0; i < H; i++) {
    const mode_control c = shared ? one_control : own_control(rows, r_mode, p_mode, i);
    const mode_values m = mode_at(rules, floor, drivers, &k, i, c, z_re[i], z_im[i]);
    const float write_re = m.amplitude * m.u_re, write_im = m.amplitude * m.u_im;
    a_re[i] = m.lambda_re;
    a_im[i] = m.lambda_im;
    b_re[i] = write_re;
    b_im[i] = write_im;
    if (!drivers) continue;

    const float w_re = m.lambda_re * kept_re[i] - m.lambda_im * kept_im[i];
    const float w_im = m.lambda_re * kept_im[i] + m.lambda_im * kept_re[i];
    /* by the logarithm of the effective decay: e (-1 + i rho kappa_p p) lambda kept */
    const float turn_e = rules.clock == CLOCK_LIVE ? m.e * m.rho * c.phase : 0;
    const float by_e_re = -m.e * w_re - turn_e * w_im, by_e_im = -m.e * w_im + turn_e * w_re;
    const float turn_static = rules.clock == CLOCK_STATIC ? k.clock_rate[i] * c.phase : 0;
    const float by_norm = rules.adaptive_norm ? m.psi - k.psi[i] : 0;
    put(scalar, H, SUM_DECAY, i, by_e_re - turn_static * w_im + by_norm * write_re,
        by_e_im + turn_static * w_re + by_norm * write_im);
    put(scalar, H, SUM_FREQ, i, -k.theta[i] * w_im, k.theta[i] * w_re);
    put(scalar, H, SUM_GAIN, i, write_re, write_im);
    put(scalar, H, SUM_GATE_P, i, m.gate_slope * c.p * write_re, m.gate_slope * c.p * write_im);
    put(scalar, H, SUM_GATE_R, i, m.gate_slope * c.r * write_re, m.gate_slope * c.r * write_im);

    const float slope_r = 1 - c.r * c.r, slope_p = 1 - c.p * c.p;
    const float write_r = rows->kappa_r * m.psi + m.gate_slope * k.gate_r[i], write_p = m.gate_slope * k.gate_p[i];
    const float turn_p = rows->kappa_p * m.clock;
    const float r_re = slope_r * (kappa_decay * by_e_re + write_r * write_re);
    const float r_im = slope_r * (kappa_decay * by_e_im + write_r * write_im);
    const float p_re = slope_p * (write_p * write_re - turn_p * w_im);
    const float p_im = slope_p * (write_p * write_im + turn_p * w_re);
    if (content_rows) {
      put(outer, H, OUTER_RE, i, m.amplitude * (rules.linear ? 1 : 1 - m.u_re * m.u_re), 0);
      put(outer, H, OUTER_IM, i, 0, m.amplitude * (rules.linear ? 1 : 1 - m.u_im * m.u_im));
    }
    put(outer, H, content_rows ? OUTER_R : 0, i, r_re, r_im);
    put(outer, H, content_rows ? OUTER_P : OUTER_P - OUTER_R, i, p_re, p_im);
    put(scalar, H, SLOT_BIAS_R, i, r_re, r_im);
    put(scalar, H, SLOT_BIAS_P, i, p_re, p_im);
  }
}

#define RULES(controls, decay, clock, gate, norm, linear) \
  (sparc_rules) { controls, decay, clock, gate, norm, linear }
#define DEFINE_INSTANCE(name, controls, decay, clock, gate, norm, linear, floor)                \
  static void sparc_scan_##name(const sparc_scan_rows *rows) {                                  \
    scan_rows(rows, RULES(controls, decay, clock, gate, norm, linear), floor);                  \
  }                                                                                             \
  static void sparc_adjoint_##name(const sparc_adjoint_rows *rows) {                            \
    adjoint_rows(rows, RULES(controls, decay, clock, gate, norm, linear), floor);               \
  }                                                                                             \
  static void sparc_token_##name(const sparc_token_rows *rows) {                                \
    if (rows->outer && rows->content_rows)                                                      \
      token_rows(rows, RULES(controls, decay, clock, gate, norm, linear), floor, true, true);   \
    else if (rows->outer)                                                                       \
      token_rows(rows, RULES(controls, decay, clock, gate, norm, linear), floor, true, false);  \
    else                                                                                        \
      token_rows(rows, RULES(controls, decay, clock, gate, norm, linear), floor, false, false); \
  }
SPARC_INSTANCES(DEFINE_INSTANCE)

#define SCAN_SLOT(name, ...)    [SPARC_INSTANCE_##name] = sparc_scan_##name,
#define ADJOINT_SLOT(name, ...) [SPARC_INSTANCE_##name] = sparc_adjoint_##name,
#define TOKEN_SLOT(name, ...)   [SPARC_INSTANCE_##name] = sparc_token_##name,

extern const kernels KERNEL_TABLE;
const kernels KERNEL_TABLE = {
    .name = KERNEL_NAME,
    .product = product,
    .sparc_scan = {SPARC_INSTANCES(SCAN_SLOT)},
    .sparc_adjoint = {SPARC_INSTANCES(ADJOINT_SLOT)},
    .sparc_token = {SPARC_INSTANCES(TOKEN_SLOT)},
    .gru = GRU_KERNELS,
    .pointwise = POINTWISE_KERNELS,
    .bf16 = BF16_KERNELS,
    .diagonal = DIAGONAL_KERNELS,
    .online = ONLINE_KERNELS,
    .scan = SCAN_KERNELS,
};
