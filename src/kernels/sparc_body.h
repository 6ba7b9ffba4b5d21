/* SPDX-License-Identifier: MIT */
/* sparc_body.h: the fused kernels of SPARC, once; included by kernels_body.h for every instruction set.
 *
 * Equations as in src/cells/sparc.c. Coefficients depend on no state, so a few tokens of the same modes are worked on
 * together, operation by operation (vlanes.h): the long chains of one fill the gaps of the other, and constants, state
 * and sums are read and written once for all of them. They are copied into blocks of one register of modes, where they
 * lie side by side and are padded, so that the end of a row needs care only where rows are read and written. The rules
 * are literal constants in every instance, so that the branches on them vanish.
 */
#ifndef SPARC_KERNELS_SPARC_BODY_H
#define SPARC_KERNELS_SPARC_BODY_H

#include "kernels/controls_body.h"
#include "kernels/kernels.h"
#include "kernels/vlanes.h"

enum {
  SPARC_TILE = 64, /* modes that decide together how much arithmetic a token needs */
  SPARC_TILES = KERNEL_TILE / SPARC_TILE,
  SPARC_BLOCKS = KERNEL_TILE / LANES,
};

/* ---- constants and controls ---------------------------------------------------------------------- */

/* constants of one register of modes, and what the kernels carry through time for them */
typedef struct mode_block {
  lanes nu, cos, sin, gate_p, gate_r;
  lanes gain;      /* all factors of the write that depend on the mode alone */
  lanes root_gain; /* the same times sqrt(nu) */
  lanes carried_re, carried_im;
  lanes sum[SUM_COUNT];
  lanes rho, clock, clock_rate; /* only for some rules */
} mode_block;

VMATH lanes load_some(const float *from, size_t n) { return n >= LANES ? load_lanes(from) : load_rest(from, n); }
VMATH void store_some(float *to, lanes v, size_t n) {
  if (n >= LANES)
    store_lanes(to, v);
  else
    store_rest(to, v, n);
}

/* constants of the modes from first + i on; none beyond the last one: no decay, no gain, a transition of zero */
VMATH void load_block(sparc_rules rules, const sparc_rows *rows, size_t i, mode_block *b) {
  const float *k = rows->constants + rows->first + i;
  const size_t H = rows->H, left = rows->n - i;
  lanes unused;
  b->nu = load_some(k + K_NU * H, left);
  b->cos = load_some(k + K_COS * H, left);
  b->sin = load_some(k + K_SIN * H, left);
  b->gate_p = load_some(k + K_GATE_P * H, left);
  b->gate_r = load_some(k + K_GATE_R * H, left);
  b->gain = load_some(k + (rules.adaptive_norm ? K_GAIN_NORM : K_GAIN) * H, left) * (rules.gate ? 2.f : 1.f);
  roots_of(b->nu, &b->root_gain, &unused);
  b->root_gain *= b->gain;
  if (!rules.adaptive_decay) b->rho = load_some(k + K_RHO * H, left);
  if (!rules.adaptive_decay || rules.clock == CLOCK_STATIC) b->clock = load_some(k + K_CLOCK * H, left);
  if (rules.clock == CLOCK_STATIC) b->clock_rate = load_some(k + K_CLOCK_RATE * H, left);
}

/* one token, as all modes see it */
typedef struct token_control {
  float scale, root_scale;      /* exp(kappa_r r) and its root */
  float phase;                  /* kappa_p p */
  float r, p, power_r, power_p; /* as in block_controls */
  bool fresh;                   /* nothing is carried over from the token before */
} token_control;

/* a token and its rows at their first mode; re | im, or r | p of per-mode controls, are H apart */
typedef struct token_row {
  token_control control;
  const float *content, *own;
  float *states;                               /* forward */
  const float *before_re, *before_im, *direct; /* backward: the state before, the gradient of the state itself */
  float *dcontent, *d_own;
} token_row;

/* the controls of one register of modes: shared ones, or their own */
typedef struct block_controls {
  lanes scale[WAYS], root_scale[WAYS], phase[WAYS], r[WAYS], p[WAYS];
  lanes power_r[WAYS], power_p[WAYS]; /* -r and -p in powers of two, as the gate wants them */
} block_controls;

VMATH void controls_at(sparc_rules rules, size_t ways, const sparc_rows *rows, const token_row *token, size_t i,
                       block_controls *c) {
  if (rules.controls == CONTROLS_SHARED) {
    EACH_WAY(k) c->scale[k] = every_lane(token[k].control.scale);
    EACH_WAY(k) c->root_scale[k] = every_lane(token[k].control.root_scale);
    EACH_WAY(k) c->phase[k] = every_lane(token[k].control.phase);
    EACH_WAY(k) c->r[k] = every_lane(token[k].control.r);
    EACH_WAY(k) c->p[k] = every_lane(token[k].control.p);
    EACH_WAY(k) c->power_r[k] = every_lane(token[k].control.power_r);
    EACH_WAY(k) c->power_p[k] = every_lane(token[k].control.power_p);
    return;
  }
  const size_t left = rows->n - i;
  lanes x[WAYS];
  EACH_WAY(k) c->r[k] = load_some(token[k].own + i, left);
  EACH_WAY(k) c->p[k] = load_some(token[k].own + rows->H + i, left);
  EACH_WAY(k) c->power_r[k] = -LOG2E * c->r[k];
  EACH_WAY(k) c->power_p[k] = -LOG2E * c->p[k];
  EACH_WAY(k) c->phase[k] = rows->kappa_p * c->p[k];
  EACH_WAY(k) x[k] = -rows->kappa_r * c->power_r[k];
  power_lanes(ways, 0, x, c->scale);
}

/* ---- one register of modes at some tokens -------------------------------------------------------- */

/* what of it is not asked for is not computed: everything is inlined */
typedef struct block_values {
  lanes e[WAYS], rho[WAYS], clock[WAYS];
  lanes lambda_re[WAYS], lambda_im[WAYS];
  lanes write_re[WAYS], write_im[WAYS]; /* b = amplitude u */
  lanes amplitude[WAYS], u_re[WAYS], u_im[WAYS];
  lanes gate_slope[WAYS]; /* 1 - q */
  lanes psi[WAYS];        /* write_decay / (exp(2 write_decay) - 1) */
} block_values;

VMATH void decay_at(bool small, size_t ways, const lanes *e, lanes *rho, lanes *one_minus) {
  if (small) {
    small_decay_lanes(ways, e, rho, one_minus);
    return;
  }
  const lanes lowest = every_lane(-127);
  lanes x[WAYS];
  EACH_WAY(k) x[k] = max_lanes(lowest, e[k] * -LOG2E);
  decay_lanes(ways, x, rho, one_minus);
}

VMATH void transition_at(sparc_rules rules, bool floor, bool small, size_t ways, const mode_block *b,
                         const block_controls *c, block_values *v) {
  const lanes lowest = every_lane(DECAY_FLOOR_F32);
  lanes one_minus[WAYS], angle[WAYS], cos[WAYS], sin[WAYS], re[WAYS], im[WAYS];
  if (rules.adaptive_decay) {
    EACH_WAY(k) v->e[k] = b->nu * c->scale[k];
    if (floor) EACH_WAY(k) v->e[k] = max_lanes(lowest, v->e[k]);
    decay_at(small, ways, v->e, v->rho, one_minus);
  } else {
    EACH_WAY(k) v->e[k] = b->nu;
    EACH_WAY(k) v->rho[k] = b->rho;
    EACH_WAY(k) one_minus[k] = b->clock;
  }
  EACH_WAY(k) re[k] = v->rho[k] * b->cos;
  EACH_WAY(k) im[k] = v->rho[k] * b->sin;
  if (rules.clock == CLOCK_OFF) {
    EACH_WAY(k) v->clock[k] = every_lane(0);
    EACH_WAY(k) v->lambda_re[k] = re[k];
    EACH_WAY(k) v->lambda_im[k] = im[k];
    return;
  }
  EACH_WAY(k)
  v->clock[k] = rules.clock == CLOCK_LIVE ? one_minus[k] : rules.clock == CLOCK_STATIC ? b->clock : every_lane(1);
  EACH_WAY(k) angle[k] = v->clock[k] * c->phase[k];
  if (small && rules.adaptive_decay && rules.clock == CLOCK_LIVE)
    small_turn_lanes(ways, angle, cos, sin);
  else
    turn_lanes(ways, angle, cos, sin);
  EACH_WAY(k) v->lambda_re[k] = im[k] * sin[k];
  EACH_WAY(k) v->lambda_im[k] = im[k] * cos[k];
  EACH_WAY(k) v->lambda_re[k] = re[k] * cos[k] - v->lambda_re[k];
  EACH_WAY(k) v->lambda_im[k] = re[k] * sin[k] + v->lambda_im[k];
}

/* the gain and, with an adaptive one, the norm sqrt(1 - exp(-2 e)) at the decay that knows no floor */
VMATH void norm_at(sparc_rules rules, bool small, size_t ways, const mode_block *b, const block_controls *c,
                   block_values *v, lanes *gain) {
  lanes e[WAYS], rho[WAYS], one_minus[WAYS], root[WAYS], inverse[WAYS];
  if (!rules.adaptive_norm) {
    EACH_WAY(k) gain[k] = b->gain;
    EACH_WAY(k) v->psi[k] = every_lane(0);
    return;
  }
  EACH_WAY(k) e[k] = b->nu * c->scale[k];
  if (small) {
    /* sqrt(e) is a factor that modes and tokens share */
    small_polynomial_lanes(ways, SMALL_NORM, e, root);
    small_polynomial_lanes(ways, SMALL_PSI, e, v->psi);
    EACH_WAY(k) gain[k] = b->root_gain * c->root_scale[k];
    EACH_WAY(k) gain[k] = gain[k] * root[k];
    return;
  }
  decay_at(small, ways, e, rho, one_minus);
  EACH_WAY(k) roots_of(one_minus[k] * (1 + rho[k]), &root[k], &inverse[k]);
  EACH_WAY(k) gain[k] = b->gain * root[k];
  EACH_WAY(k) inverse[k] = inverse[k] * rho[k];
  EACH_WAY(k) v->psi[k] = e[k] * inverse[k] * inverse[k];
}

/* Content and gate; all quotients share one division. A gate closes no further than to 2^-64, lest the product of the
 * denominators overflows. */
VMATH void write_at(sparc_rules rules, bool small, size_t ways, const mode_block *b, const block_controls *c,
                    const lanes *z_re, const lanes *z_im, const lanes *gain, block_values *v) {
  const lanes one = every_lane(1), lowest = every_lane(-126), highest = every_lane(64);
  lanes over_re[WAYS], over_im[WAYS], under_re[WAYS], under_im[WAYS], content[WAYS], gate[WAYS], inverse[WAYS], x[WAYS];
  EACH_WAY(k) over_re[k] = z_re[k];
  EACH_WAY(k) over_im[k] = z_im[k];
  EACH_WAY(k) content[k] = gate[k] = inverse[k] = one;
  if (!rules.linear) {
    tanh_lanes(ways, z_re, over_re, under_re);
    tanh_lanes(ways, z_im, over_im, under_im);
    EACH_WAY(k) over_re[k] = over_re[k] * under_im[k];
    EACH_WAY(k) over_im[k] = over_im[k] * under_re[k];
    EACH_WAY(k) inverse[k] = content[k] = under_re[k] * under_im[k];
  }
  if (rules.gate) {
    EACH_WAY(k) x[k] = b->gate_p * c->power_p[k];
    EACH_WAY(k) x[k] = b->gate_r * c->power_r[k] + x[k];
    if (!small) EACH_WAY(k) x[k] = max_lanes(lowest, min_lanes(highest, x[k]));
    power_lanes(ways, 1, x, gate);
    EACH_WAY(k) inverse[k] = rules.linear ? gate[k] : content[k] * gate[k];
  }
  if (rules.gate || !rules.linear) EACH_WAY(k) inverse[k] = inverse_of(inverse[k]);

  lanes factor[WAYS], q[WAYS];
  EACH_WAY(k) factor[k] = gain[k] * inverse[k];
  EACH_WAY(k) v->write_re[k] = over_re[k] * factor[k];
  EACH_WAY(k) v->write_im[k] = over_im[k] * factor[k];
  EACH_WAY(k) v->u_re[k] = rules.linear ? over_re[k] : over_re[k] * (rules.gate ? inverse[k] * gate[k] : inverse[k]);
  EACH_WAY(k) v->u_im[k] = rules.linear ? over_im[k] : over_im[k] * (rules.gate ? inverse[k] * gate[k] : inverse[k]);
  EACH_WAY(k) q[k] = rules.linear ? inverse[k] : inverse[k] * content[k];
  EACH_WAY(k) v->amplitude[k] = rules.gate ? gain[k] * q[k] : gain[k];
  EACH_WAY(k) v->gate_slope[k] = rules.gate ? 1 - q[k] : every_lane(0);
}

VMATH void values_at(sparc_rules rules, bool floor, bool small, size_t ways, const mode_block *b,
                     const block_controls *c, const lanes *z_re, const lanes *z_im, block_values *v) {
  lanes gain[WAYS];
  norm_at(rules, small, ways, b, c, v, gain);
  write_at(rules, small, ways, b, c, z_re, z_im, gain, v);
  transition_at(rules, floor, small, ways, b, c, v);
}

/* ---- tiles and groups of tokens ------------------------------------------------------------------ */

/* The largest decay of each tile, and infinity where a gate is so wide open or shut that its exponent could leave the
 * range of floats: such tiles never take the short way. */
typedef struct tile_limits {
  float decay[SPARC_TILES];
} tile_limits;

static void limits_of(const sparc_rows *rows, tile_limits *out) {
  const float *k = rows->constants + rows->first;
  const float *nu = k + K_NU * rows->H, *gate_p = k + K_GATE_P * rows->H, *gate_r = k + K_GATE_R * rows->H;
  for (size_t begin = 0; begin < rows->n; begin += SPARC_TILE) {
    const size_t end = begin + SPARC_TILE < rows->n ? begin + SPARC_TILE : rows->n;
    float decay = 0, gate = 0;
#pragma omp simd reduction(max : decay, gate)
    for (size_t i = begin; i < end; i++) {
      const float bound = fabsf(gate_p[i]) + fabsf(gate_r[i]);
      decay = nu[i] > decay ? nu[i] : decay;
      gate = bound > gate ? bound : gate;
    }
    out->decay[begin / SPARC_TILE] = gate <= 40 ? decay : INFINITY;
  }
}

/* the controls of n <= SCAN_TOKENS tokens from `from` on; where modes have their own, they are in their rows */
static void tokens_of(const sparc_rows *rows, bool shared, size_t from, size_t n, token_control *out) {
  scan_controls c = {{0}, {0}};
  if (shared) controls_of(rows->shared + 2 * from, rows->kappa_r, rows->kappa_p, n, &c);
  for (size_t i = 0; i < n; i++) {
    const float r = shared ? rows->shared[2 * (from + i)] : 0, p = shared ? rows->shared[2 * (from + i) + 1] : 0;
    const bool fresh = rows->mask && rows->mask[from + i] == 0;
    out[i] = (token_control){c.scale[i], sqrtf(c.scale[i]), c.phase[i], r, p, -LOG2E * r, -LOG2E * p, fresh};
  }
}

VMATH void place_token(sparc_rules rules, const sparc_rows *rows, size_t t, token_row *out) {
  out->content = rows->content + t * rows->content_stride + rows->first;
  out->own = rules.controls == CONTROLS_SHARED ? NULL : rows->own + t * rows->own_stride + rows->first;
}

/* How many of some tokens meet small decays in a tile. A token's arithmetic depends on nothing but itself and its tile,
 * so that its bits do not depend on its neighbours. A scale that is not a number does not compare. */
VMATH size_t small_tokens(sparc_rules rules, size_t ways, const token_row *token, float decay) {
  size_t small = 0;
  EACH_WAY(k) small += rules.controls == CONTROLS_SHARED && decay * token[k].control.scale < SMALL_DECAY;
  return small;
}

VMATH size_t tile_end(const sparc_rows *rows, size_t begin) {
  return begin + SPARC_TILE < rows->n ? begin + SPARC_TILE : rows->n;
}

static void forget(const sparc_rows *rows, mode_block *blocks) {
  for (size_t i = 0; i < rows->n; i += LANES)
    blocks[i / LANES].carried_re = blocks[i / LANES].carried_im = every_lane(0);
}

/* Asks for n modes of a row re | im before they are needed: rows are apart by more than the hardware looks ahead. Into
 * the second-level cache, since the first one holds the constants and sums of the tile. */
VMATH void fetch_row(const float *row, size_t H, size_t n) {
  enum { LINE = 64 / sizeof(float) };
  for (size_t i = 0; i < n; i += LINE) {
    __builtin_prefetch(row + i, 0, 2);
    __builtin_prefetch(row + H + i, 0, 2);
  }
}

/* ---- forward ------------------------------------------------------------------------------------- */

/* the modes [begin, end) of one tile */
VMATH void scan_tile_of(sparc_rules rules, bool floor, bool small, size_t ways, const sparc_rows *rows,
                        const token_row *token, size_t begin, size_t end, mode_block *blocks) {
  const size_t H = rows->H;
  for (size_t i = begin; i < end; i += LANES) {
    const size_t left = rows->n - i;
    mode_block *b = blocks + i / LANES;
    block_controls c;
    block_values v;
    lanes z_re[WAYS], z_im[WAYS], re[WAYS], im[WAYS];
    EACH_WAY(k) z_re[k] = load_some(token[k].content + i, left);
    EACH_WAY(k) z_im[k] = load_some(token[k].content + H + i, left);
    controls_at(rules, ways, rows, token, i, &c);
    values_at(rules, floor, small, ways, b, &c, z_re, z_im, &v);
    lanes h_re = b->carried_re, h_im = b->carried_im;
    EACH_WAY(k) {
      re[k] = v.write_re[k] - v.lambda_im[k] * h_im;
      im[k] = v.write_im[k] + v.lambda_im[k] * h_re;
      h_re = re[k] = v.lambda_re[k] * h_re + re[k];
      h_im = im[k] = v.lambda_re[k] * h_im + im[k];
    }
    b->carried_re = h_re;
    b->carried_im = h_im;
    EACH_WAY(k) store_some(token[k].states + i, re[k], left);
    EACH_WAY(k) store_some(token[k].states + H + i, im[k], left);
  }
}

/* tokens t, ..., t + ways - 1, of which only the first one may be fresh */
VMATH void scan_tokens(sparc_rules rules, bool floor, size_t ways, const sparc_scan_rows *s, const tile_limits *limits,
                       const token_control *control, size_t t, mode_block *blocks) {
  const sparc_rows *rows = &s->rows;
  token_row token[WAYS];
  EACH_WAY(k) token[k].control = control[k];
  EACH_WAY(k) place_token(rules, rows, t + k, &token[k]);
  EACH_WAY(k) token[k].states = s->states + (t + k) * 2 * rows->H + rows->first;
  if (control->fresh) forget(rows, blocks);
  for (size_t begin = 0, end; begin < rows->n; begin = end) {
    end = tile_end(rows, begin);
    for (size_t k = 0; k < ways && t + ways + k < rows->tokens; k++)
      fetch_row(token[k].content + ways * rows->content_stride + begin, rows->H, end - begin);
    const size_t small = small_tokens(rules, ways, token, limits->decay[begin / SPARC_TILE]);
    if (ways > 1 && small == ways)
      scan_tile_of(rules, floor, true, ways, rows, token, begin, end, blocks);
    else if (ways > 1 && small == 0)
      scan_tile_of(rules, floor, false, ways, rows, token, begin, end, blocks);
    else
      for (size_t k = 0; k < ways; k++)
        if (small_tokens(rules, 1, token + k, limits->decay[begin / SPARC_TILE]))
          scan_tile_of(rules, floor, true, 1, rows, token + k, begin, end, blocks);
        else
          scan_tile_of(rules, floor, false, 1, rows, token + k, begin, end, blocks);
  }
}

VMATH void scan_rows(const sparc_scan_rows *s, sparc_rules rules, bool floor) {
  const sparc_rows *rows = &s->rows;
  mode_block blocks[SPARC_BLOCKS];
  token_control controls[SCAN_TOKENS];
  tile_limits limits;
  limits_of(rows, &limits);
  for (size_t i = 0; i < rows->n; i += LANES) {
    mode_block *b = blocks + i / LANES;
    load_block(rules, rows, i, b);
    b->carried_re = load_some(s->h_re + i, rows->n - i);
    b->carried_im = load_some(s->h_im + i, rows->n - i);
  }
  for (size_t from = 0, to; from < rows->tokens; from = to) {
    to = from + SCAN_TOKENS < rows->tokens ? from + SCAN_TOKENS : rows->tokens;
    tokens_of(rows, rules.controls == CONTROLS_SHARED, from, to - from, controls);
    for (size_t t = from, ways; t < to; t += ways) {
      ways = t + 1 < to && !controls[t + 1 - from].fresh ? 2 : 1;
      if (ways == 2)
        scan_tokens(rules, floor, 2, s, &limits, controls + (t - from), t, blocks);
      else
        scan_tokens(rules, floor, 1, s, &limits, controls + (t - from), t, blocks);
    }
  }
  for (size_t i = 0; i < rows->n; i += LANES) {
    store_some(s->h_re + i, blocks[i / LANES].carried_re, rows->n - i);
    store_some(s->h_im + i, blocks[i / LANES].carried_im, rows->n - i);
  }
}

/* ---- backward ------------------------------------------------------------------------------------ */

/* what the controls of a token get, summed over modes */
typedef struct control_lanes {
  lanes dr, dp;
} control_lanes;

/* c = conj(lambda) mu is the cotangent of the kept state; w = conj(lambda kept) mu = conj(kept) c */
VMATH void adjoint_block(sparc_rules rules, bool floor, bool small, size_t ways, const sparc_rows *rows,
                         const token_row *token, size_t i, mode_block *b, control_lanes *sums) {
  const size_t H = rows->H, left = rows->n - i;
  block_controls c;
  block_values v;
  lanes z_re[WAYS], z_im[WAYS], mu_re[WAYS], mu_im[WAYS], h_re[WAYS], h_im[WAYS], w_re[WAYS], w_im[WAYS];
  EACH_WAY(k) z_re[k] = load_some(token[k].content + i, left);
  EACH_WAY(k) z_im[k] = load_some(token[k].content + H + i, left);
  EACH_WAY(k) mu_re[k] = load_some(token[k].direct + i, left);
  EACH_WAY(k) mu_im[k] = load_some(token[k].direct + H + i, left);
  EACH_WAY(k) h_re[k] = load_some(token[k].before_re + i, left);
  EACH_WAY(k) h_im[k] = load_some(token[k].before_im + i, left);
  controls_at(rules, ways, rows, token, i, &c);
  values_at(rules, floor, small, ways, b, &c, z_re, z_im, &v);

  /* through time */
  lanes c_re = b->carried_re, c_im = b->carried_im;
  EACH_WAY(k) {
    mu_re[k] += c_re;
    mu_im[k] += c_im;
    c_re = v.lambda_re[k] * mu_re[k] + v.lambda_im[k] * mu_im[k];
    c_im = v.lambda_re[k] * mu_im[k] - v.lambda_im[k] * mu_re[k];
    w_re[k] = h_re[k] * c_re + h_im[k] * c_im;
    w_im[k] = h_re[k] * c_im - h_im[k] * c_re;
  }
  b->carried_re = c_re;
  b->carried_im = c_im;

  /* content and write energy */
  lanes t_re[WAYS], t_im[WAYS], energy[WAYS], slope[WAYS], by_norm[WAYS], by_decay[WAYS];
  EACH_WAY(k) mu_re[k] *= v.amplitude[k];
  EACH_WAY(k) mu_im[k] *= v.amplitude[k];
  EACH_WAY(k) t_re[k] = v.u_re[k] * mu_re[k];
  EACH_WAY(k) t_im[k] = v.u_im[k] * mu_im[k];
  EACH_WAY(k) energy[k] = t_re[k] + t_im[k];
  if (!rules.linear) EACH_WAY(k) mu_re[k] -= v.u_re[k] * t_re[k];
  if (!rules.linear) EACH_WAY(k) mu_im[k] -= v.u_im[k] * t_im[k];
  EACH_WAY(k) store_some(token[k].dcontent + i, mu_re[k], left);
  EACH_WAY(k) store_some(token[k].dcontent + H + i, mu_im[k], left);

  /* by the logarithm of the effective decay, then by the controls */
  lanes dr[WAYS], dp[WAYS], by_log[WAYS];
  EACH_WAY(k) slope[k] = v.gate_slope[k] * energy[k];
  EACH_WAY(k) by_norm[k] = v.psi[k] * energy[k];
  EACH_WAY(k) by_decay[k] = rules.clock == CLOCK_LIVE ? (v.rho[k] * c.phase[k]) * w_im[k] - w_re[k] : -w_re[k];
  EACH_WAY(k) by_log[k] = v.e[k] * by_decay[k] + by_norm[k];
  EACH_WAY(k) dr[k] = rows->kappa_r * (rules.adaptive_decay ? by_log[k] : by_norm[k]) + b->gate_r * slope[k];
  EACH_WAY(k) dp[k] = rows->kappa_p * (v.clock[k] * w_im[k]) + b->gate_p * slope[k];
  if (rules.controls == CONTROLS_SHARED) {
    EACH_WAY(k) sums[k].dr += dr[k];
    EACH_WAY(k) sums[k].dp += dp[k];
  } else {
    EACH_WAY(k) store_some(token[k].d_own + i, dr[k], left);
    EACH_WAY(k) store_some(token[k].d_own + H + i, dp[k], left);
  }

  /* what the mode alone contributes is put in at the end */
  if (rules.clock == CLOCK_STATIC) EACH_WAY(k) by_log[k] += b->clock_rate * c.phase[k] * w_im[k];
  EACH_WAY(k) b->sum[SUM_DECAY] += by_log[k];
  EACH_WAY(k) b->sum[SUM_FREQ] += w_im[k];
  EACH_WAY(k) b->sum[SUM_GAIN] += energy[k];
  if (!rules.gate) return;
  EACH_WAY(k) b->sum[SUM_GATE_P] += slope[k] * c.p[k];
  EACH_WAY(k) b->sum[SUM_GATE_R] += slope[k] * c.r[k];
}

/* what the adjoint of token t reads of some modes */
VMATH void fetch_token(const sparc_adjoint_rows *s, size_t t, size_t begin, size_t n) {
  const sparc_rows *rows = &s->rows;
  const size_t H = rows->H, at = rows->first + begin;
  fetch_row(rows->content + t * rows->content_stride + at, H, n);
  fetch_row(s->dstates + t * 2 * H + at, H, n);
  if (t > 0) fetch_row(s->states + (t - 1) * 2 * H + at, H, n);
}

VMATH void place_adjoint(sparc_rules rules, const sparc_adjoint_rows *s, size_t t, token_row *out) {
  const sparc_rows *rows = &s->rows;
  const size_t H = rows->H, first = rows->first;
  const bool shared = rules.controls == CONTROLS_SHARED, fresh = out->control.fresh;
  place_token(rules, rows, t, out);
  out->before_re = fresh ? zero_row : t > 0 ? s->states + (t - 1) * 2 * H + first : s->before_re;
  out->before_im = fresh ? zero_row : t > 0 ? out->before_re + H : s->before_im;
  out->direct = s->dstates + t * 2 * H + first;
  out->dcontent = s->dcontent + t * s->dcontent_stride + first;
  out->d_own = shared ? NULL : s->d_own + t * rows->own_stride + first;
}

VMATH void adjoint_tile_of(sparc_rules rules, bool floor, bool small, size_t ways, const sparc_rows *rows,
                           const token_row *token, size_t begin, size_t end, mode_block *blocks, control_lanes *sums) {
  for (size_t i = begin; i < end; i += LANES)
    adjoint_block(rules, floor, small, ways, rows, token, i, blocks + i / LANES, sums);
}

/* tokens last, last - 1, ..., of which a fresh one is alone; control is that of the last one */
VMATH void adjoint_tokens_of(sparc_rules rules, bool floor, size_t ways, const sparc_adjoint_rows *s,
                             const tile_limits *limits, const token_control *control, size_t last, mode_block *blocks) {
  const sparc_rows *rows = &s->rows;
  token_row token[WAYS];
  control_lanes sums[WAYS];
  EACH_WAY(k) sums[k].dr = sums[k].dp = every_lane(0);
  EACH_WAY(k) token[k].control = *(control - k);
  EACH_WAY(k) place_adjoint(rules, s, last - k, &token[k]);
  for (size_t begin = 0, end; begin < rows->n; begin = end) {
    end = tile_end(rows, begin);
    for (size_t k = 0; k < ways && ways + k <= last; k++) fetch_token(s, last - ways - k, begin, end - begin);
    const size_t small = small_tokens(rules, ways, token, limits->decay[begin / SPARC_TILE]);
    if (ways > 1 && small == ways)
      adjoint_tile_of(rules, floor, true, ways, rows, token, begin, end, blocks, sums);
    else if (ways > 1 && small == 0)
      adjoint_tile_of(rules, floor, false, ways, rows, token, begin, end, blocks, sums);
    else
      for (size_t k = 0; k < ways; k++)
        if (small_tokens(rules, 1, token + k, limits->decay[begin / SPARC_TILE]))
          adjoint_tile_of(rules, floor, true, 1, rows, token + k, begin, end, blocks, sums + k);
        else
          adjoint_tile_of(rules, floor, false, 1, rows, token + k, begin, end, blocks, sums + k);
  }
  if (control->fresh) forget(rows, blocks);
  for (size_t k = 0; rules.controls == CONTROLS_SHARED && k < ways; k++) {
    s->dshared[2 * (last - k)] = sum_lanes(sums[k].dr);
    s->dshared[2 * (last - k) + 1] = sum_lanes(sums[k].dp);
  }
}

/* adds the sums of a block, with the factors that depend on the mode alone, to those of the caller */
VMATH void leave_sums(sparc_rules rules, const sparc_adjoint_rows *s, size_t i, const mode_block *b) {
  const sparc_rows *rows = &s->rows;
  const size_t n = rows->n, left = n - i;
  const float *k = rows->constants + rows->first + i;
  lanes sum[SUM_COUNT];
  for (size_t j = 0; j < SUM_COUNT; j++) sum[j] = b->sum[j];
  if (rules.adaptive_norm) sum[SUM_DECAY] -= load_some(k + K_PSI * rows->H, left) * sum[SUM_GAIN];
  sum[SUM_FREQ] *= load_some(k + K_THETA * rows->H, left);
  for (size_t j = 0; j < SUM_COUNT; j++)
    store_some(s->sums + j * n + i, load_some(s->sums + j * n + i, left) + sum[j], left);
}

VMATH void adjoint_rows(const sparc_adjoint_rows *s, sparc_rules rules, bool floor) {
  const sparc_rows *rows = &s->rows;
  mode_block blocks[SPARC_BLOCKS];
  token_control controls[SCAN_TOKENS];
  tile_limits limits;
  limits_of(rows, &limits);
  for (size_t i = 0; i < rows->n; i += LANES) {
    mode_block *b = blocks + i / LANES;
    load_block(rules, rows, i, b);
    b->carried_re = load_some(s->g_re + i, rows->n - i);
    b->carried_im = load_some(s->g_im + i, rows->n - i);
    for (size_t j = 0; j < SUM_COUNT; j++) b->sum[j] = every_lane(0);
  }
  for (size_t to = rows->tokens, from; to > 0; to = from) {
    from = to > SCAN_TOKENS ? to - SCAN_TOKENS : 0;
    tokens_of(rows, rules.controls == CONTROLS_SHARED, from, to - from, controls);
    for (size_t t = to, ways; t > from; t -= ways) {
      const token_control *control = controls + (t - 1 - from);
      ways = t - 1 > from && !control->fresh && !(control - 1)->fresh ? 2 : 1;
      if (ways == 2)
        adjoint_tokens_of(rules, floor, 2, s, &limits, control, t - 1, blocks);
      else
        adjoint_tokens_of(rules, floor, 1, s, &limits, control, t - 1, blocks);
    }
  }
  for (size_t i = 0; i < rows->n; i += LANES) {
    const mode_block *b = blocks + i / LANES;
    store_some(s->g_re + i, b->carried_re, rows->n - i);
    store_some(s->g_im + i, b->carried_im, rows->n - i);
    leave_sums(rules, s, i, b);
  }
}

#endif
