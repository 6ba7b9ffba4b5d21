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
#include "kernels/transition_body.h"

enum {
  SPARC_TILE = 64,                            /* modes that decide together how much arithmetic a token needs */
  SPARC_TILES = KERNEL_TILE / SPARC_TILE + 1, /* of a run that need not start with one */
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

/* constants of the modes from first + i on, of which `left` are there; none beyond the last one: no decay, no gain, a
 * transition of zero */
VMATH void load_block(sparc_rules rules, const sparc_rows *rows, size_t i, size_t left, mode_block *b) {
  const float *k = rows->constants + rows->first + i;
  const size_t H = rows->H;
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

/* blocks for all modes, with what they carry into the first token; sums are zero */
VMATH void open_blocks(sparc_rules rules, const sparc_rows *rows, const float *re, const float *im,
                       mode_block *blocks) {
  for (size_t i = 0; i < rows->n; i += LANES) {
    mode_block *b = blocks + i / LANES;
    load_block(rules, rows, i, rows->n - i, b);
    b->carried_re = load_some(re + i, rows->n - i);
    b->carried_im = load_some(im + i, rows->n - i);
    for (size_t j = 0; j < SUM_COUNT; j++) b->sum[j] = every_lane(0);
  }
}

/* what they carry out of the last one */
VMATH void close_blocks(const sparc_rows *rows, const mode_block *blocks, float *re, float *im) {
  for (size_t i = 0; i < rows->n; i += LANES) {
    store_some(re + i, blocks[i / LANES].carried_re, rows->n - i);
    store_some(im + i, blocks[i / LANES].carried_im, rows->n - i);
  }
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
  lanes power_r[WAYS], power_p[WAYS]; /* -r and -p in powers of two, as the gate needs them */
} block_controls;

VMATH void controls_at(sparc_rules rules, size_t ways, const sparc_rows *rows, const token_row *token, size_t i,
                       size_t left, block_controls *c) {
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

/* what of it is not used is not computed: everything is inlined */
typedef struct block_values {
  lanes e[WAYS];
  transition lambda;
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
  const lanes floor_decay = every_lane(DECAY_FLOOR_F32), lowest = every_lane(-127);
  transition_terms in;
  EACH_WAY(k) v->e[k] = rules.adaptive_decay ? b->nu * c->scale[k] : b->nu;
  if (rules.adaptive_decay && floor) EACH_WAY(k) v->e[k] = max_lanes(floor_decay, v->e[k]);
  EACH_WAY(k) in.decay[k] = small ? v->e[k] : max_lanes(lowest, v->e[k] * -LOG2E);
  EACH_WAY(k) in.cos[k] = b->cos;
  EACH_WAY(k) in.sin[k] = b->sin;
  EACH_WAY(k) in.phase[k] = c->phase[k];
  if (!rules.adaptive_decay) EACH_WAY(k) v->lambda.rho[k] = b->rho;
  if (!rules.adaptive_decay || rules.clock == CLOCK_STATIC) EACH_WAY(k) v->lambda.clock[k] = b->clock;
  transition_of(small ? RANGE_SMALL : RANGE_GENERAL, rules.adaptive_decay, rules.clock, ways, &in, &v->lambda);
}

/* the gain and, with an adaptive one, the norm sqrt(1 - exp(-2 e)) at the decay without a floor */
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

/* Content and gate; all quotients share one division. A gate closes no further than to 2^-64, so that the product of the
 * denominators overflows. */
VMATH void write_at(sparc_rules rules, bool small, size_t ways, const mode_block *b, const block_controls *c,
                    const lanes *z_re, const lanes *z_im, const lanes *gain, block_values *v) {
  const lanes one = every_lane(1), lowest = every_lane(-126), highest = every_lane(64);
  lanes over_re[WAYS], over_im[WAYS], under_re[WAYS], under_im[WAYS], content[WAYS], gate[WAYS], inverse[WAYS], x[WAYS];
  EACH_WAY(k) over_re[k] = z_re[k];
  EACH_WAY(k) over_im[k] = z_im[k];
  EACH_WAY(k) content[k] = gate[k] = inverse[k] = one;
  if (!rules.linear) {
    lanes z[2 * WAYS], over[2 * WAYS], under[2 * WAYS];
    EACH_WAY(k) z[k] = z_re[k];
    EACH_WAY(k) z[ways + k] = z_im[k];
    tanh_lanes(2 * ways, z, over, under);
    EACH_WAY(k) over_re[k] = over[k];
    EACH_WAY(k) over_im[k] = over[ways + k];
    EACH_WAY(k) under_re[k] = under[k];
    EACH_WAY(k) under_im[k] = under[ways + k];
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
 * range of floats: such tiles never take the short path. */
typedef struct tile_limits {
  float decay[SPARC_TILES];
} tile_limits;

VMATH lanes magnitude_of(lanes x) { return (lanes)((lane_bits)x & UINT32_C(0x7fffffff)); }

VMATH float largest_lane(lanes v) {
  float part[LANES], largest = 0;
  store_lanes(part, v);
  for (size_t i = 0; i < LANES; i++) largest = part[i] > largest ? part[i] : largest;
  return largest;
}

/* tiles are counted from mode 0, so that it does not matter which run of modes a mode is in */
static size_t first_tile(const sparc_rows *rows) { return rows->first / SPARC_TILE; }

static void limits_of(const sparc_rows *rows, tile_limits *out) {
  const float *k = rows->constants;
  const size_t H = rows->H;
  for (size_t tile = first_tile(rows); tile * SPARC_TILE < rows->first + rows->n; tile++) {
    lanes decay = every_lane(0), gate = decay;
    for (size_t j = tile * SPARC_TILE; j < (tile + 1) * SPARC_TILE && j < H; j += LANES) {
      const size_t left = H - j;
      const lanes p = load_some(k + K_GATE_P * H + j, left), r = load_some(k + K_GATE_R * H + j, left);
      decay = max_lanes(decay, load_some(k + K_NU * H + j, left));
      gate = max_lanes(gate, magnitude_of(p) + magnitude_of(r));
    }
    out->decay[tile - first_tile(rows)] = largest_lane(gate) <= 40 ? largest_lane(decay) : INFINITY;
  }
}

/* the largest decay of the tile of mode first + i */
VMATH float limit_at(const sparc_rows *rows, const tile_limits *limits, size_t i) {
  return limits->decay[(rows->first + i) / SPARC_TILE - first_tile(rows)];
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
  const size_t end = ((rows->first + begin) / SPARC_TILE + 1) * SPARC_TILE - rows->first;
  return end < rows->n ? end : rows->n;
}

static void forget(const sparc_rows *rows, mode_block *blocks) {
  for (size_t i = 0; i < rows->n; i += LANES)
    blocks[i / LANES].carried_re = blocks[i / LANES].carried_im = every_lane(0);
}

/* Rows are apart by more than the hardware's prefetcher looks ahead. Rows that will be written are prefetched, too: a
 * store waits for its line. A few lines with every block that is worked on, for many at once would wait for each other;
 * into the second-level cache, since the first one holds the blocks. */
VMATH void prefetch_line(const float *row, size_t H) {
  __builtin_prefetch(row, 0, 2);
  __builtin_prefetch(row + H, 0, 2);
}

/* ---- forward ------------------------------------------------------------------------------------- */

/* the modes [begin, end) of one tile */
VMATH void scan_tile_of(sparc_rules rules, bool floor, bool small, size_t ways, const sparc_rows *rows,
                        const token_row *token, size_t ahead, size_t begin, size_t end, mode_block *blocks) {
  const size_t H = rows->H;
  for (size_t i = begin; i < end; i += LANES) {
    if (ahead && i % CACHE_LINE_FLOATS == 0) {
      EACH_WAY(k) prefetch_line(token[k].content + ahead * rows->content_stride + i, H);
      EACH_WAY(k) prefetch_line(token[k].states + ahead * 2 * H + i, H);
    }
    const size_t left = rows->n - i;
    mode_block *b = blocks + i / LANES;
    block_controls c;
    block_values v;
    lanes z_re[WAYS], z_im[WAYS], re[WAYS], im[WAYS];
    EACH_WAY(k) z_re[k] = load_some(token[k].content + i, left);
    EACH_WAY(k) z_im[k] = load_some(token[k].content + H + i, left);
    controls_at(rules, ways, rows, token, i, left, &c);
    values_at(rules, floor, small, ways, b, &c, z_re, z_im, &v);
    lanes h_re = b->carried_re, h_im = b->carried_im;
    EACH_WAY(k) {
      re[k] = v.write_re[k] - v.lambda.im[k] * h_im;
      im[k] = v.write_im[k] + v.lambda.im[k] * h_re;
      h_re = re[k] = v.lambda.re[k] * h_re + re[k];
      h_im = im[k] = v.lambda.re[k] * h_im + im[k];
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
  const size_t ahead = t + 2 * ways <= rows->tokens ? ways : 0;
  if (control->fresh) forget(rows, blocks);
  for (size_t begin = 0, end; begin < rows->n; begin = end) {
    end = tile_end(rows, begin);
    const float decay = limit_at(rows, limits, begin);
    const size_t small = small_tokens(rules, ways, token, decay);
    if (ways > 1 && small == ways)
      scan_tile_of(rules, floor, true, ways, rows, token, ahead, begin, end, blocks);
    else if (ways > 1 && small == 0)
      scan_tile_of(rules, floor, false, ways, rows, token, ahead, begin, end, blocks);
    else
      for (size_t k = 0; k < ways; k++)
        if (small_tokens(rules, 1, token + k, decay))
          scan_tile_of(rules, floor, true, 1, rows, token + k, ahead, begin, end, blocks);
        else
          scan_tile_of(rules, floor, false, 1, rows, token + k, ahead, begin, end, blocks);
  }
}

VMATH void scan_rows(const sparc_scan_rows *s, sparc_rules rules, bool floor) {
  const sparc_rows *rows = &s->rows;
  mode_block blocks[SPARC_BLOCKS];
  token_control controls[SCAN_TOKENS];
  tile_limits limits;
  limits_of(rows, &limits);
  open_blocks(rules, rows, s->h_re, s->h_im, blocks);
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
  close_blocks(rows, blocks, s->h_re, s->h_im);
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
  controls_at(rules, ways, rows, token, i, left, &c);
  values_at(rules, floor, small, ways, b, &c, z_re, z_im, &v);

  /* through time */
  lanes c_re = b->carried_re, c_im = b->carried_im;
  EACH_WAY(k) {
    mu_re[k] += c_re;
    mu_im[k] += c_im;
    c_re = v.lambda.re[k] * mu_re[k] + v.lambda.im[k] * mu_im[k];
    c_im = v.lambda.re[k] * mu_im[k] - v.lambda.im[k] * mu_re[k];
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
  EACH_WAY(k) by_decay[k] = rules.clock == CLOCK_LIVE ? (v.lambda.rho[k] * c.phase[k]) * w_im[k] - w_re[k] : -w_re[k];
  EACH_WAY(k) by_log[k] = v.e[k] * by_decay[k] + by_norm[k];
  EACH_WAY(k) dr[k] = rows->kappa_r * (rules.adaptive_decay ? by_log[k] : by_norm[k]) + b->gate_r * slope[k];
  EACH_WAY(k) dp[k] = rows->kappa_p * (v.lambda.clock[k] * w_im[k]) + b->gate_p * slope[k];
  if (rules.controls == CONTROLS_SHARED && !token->d_own) {
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

/* what the adjoint of the token `ahead` tokens before this one needs of a block */
VMATH void prefetch_earlier(const sparc_adjoint_rows *s, const token_row *token, size_t t, size_t ahead, size_t i) {
  const size_t H = s->rows.H, at = s->rows.first + i;
  const float *states = s->states + at + t * 2 * H;
  prefetch_line(token->content - ahead * s->rows.content_stride + i, H);
  prefetch_line(token->direct - ahead * 2 * H + i, H);
  prefetch_line(states - (ahead + 1) * 2 * H, H);
  prefetch_line(token->dcontent - ahead * s->dcontent_stride + i, H);
}

VMATH void place_adjoint(sparc_rules rules, const sparc_adjoint_rows *s, size_t t, token_row *out) {
  const sparc_rows *rows = &s->rows;
  const size_t H = rows->H, first = rows->first;
  const bool fresh = out->control.fresh;
  place_token(rules, rows, t, out);
  out->before_re = fresh ? zero_row : t > 0 ? s->states + (t - 1) * 2 * H + first : s->before_re;
  out->before_im = fresh ? zero_row : t > 0 ? out->before_re + H : s->before_im;
  out->direct = s->dstates + t * 2 * H + first;
  out->dcontent = s->dcontent + t * s->dcontent_stride + first;
  out->d_own = s->d_own ? s->d_own + t * s->d_own_stride + first : NULL;
}

VMATH void adjoint_tile_of(sparc_rules rules, bool floor, bool small, size_t ways, const sparc_adjoint_rows *s,
                           const token_row *token, size_t last, size_t ahead, size_t begin, size_t end,
                           mode_block *blocks, control_lanes *sums) {
  for (size_t i = begin; i < end; i += LANES) {
    if (ahead && i % CACHE_LINE_FLOATS == 0) EACH_WAY(k) prefetch_earlier(s, token + k, last - k, ahead, i);
    adjoint_block(rules, floor, small, ways, &s->rows, token, i, blocks + i / LANES, sums);
  }
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
  const size_t ahead = last + s->earlier >= 2 * ways ? ways : 0;
  for (size_t begin = 0, end; begin < rows->n; begin = end) {
    end = tile_end(rows, begin);
    const float decay = limit_at(rows, limits, begin);
    const size_t small = small_tokens(rules, ways, token, decay);
    if (ways > 1 && small == ways)
      adjoint_tile_of(rules, floor, true, ways, s, token, last, ahead, begin, end, blocks, sums);
    else if (ways > 1 && small == 0)
      adjoint_tile_of(rules, floor, false, ways, s, token, last, ahead, begin, end, blocks, sums);
    else
      for (size_t k = 0; k < ways; k++)
        if (small_tokens(rules, 1, token + k, decay))
          adjoint_tile_of(rules, floor, true, 1, s, token + k, last - k, ahead, begin, end, blocks, sums + k);
        else
          adjoint_tile_of(rules, floor, false, 1, s, token + k, last - k, ahead, begin, end, blocks, sums + k);
  }
  if (control->fresh) forget(rows, blocks);
  for (size_t k = 0; rules.controls == CONTROLS_SHARED && !token->d_own && k < ways; k++) {
    s->dshared[2 * (last - k)] = sum_lanes(sums[k].dr);
    s->dshared[2 * (last - k) + 1] = sum_lanes(sums[k].dp);
  }
}

/* the sums over modes that adjoint_rows leaves out when it is given d_own, in the same order */
static void control_sums(const sparc_control_rows *s) {
  for (size_t t = 0; t < s->tokens; t++) {
    const float *row = s->d_own + t * 2 * s->H + s->first;
    lanes dr = every_lane(0), dp = every_lane(0);
    for (size_t i = 0; i < s->n; i += LANES) {
      dr += load_some(row + i, s->n - i);
      dp += load_some(row + s->H + i, s->n - i);
    }
    s->dshared[2 * t] = sum_lanes(dr);
    s->dshared[2 * t + 1] = sum_lanes(dp);
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
  open_blocks(rules, rows, s->g_re, s->g_im, blocks);
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
  close_blocks(rows, blocks, s->g_re, s->g_im);
  for (size_t i = 0; i < rows->n; i += LANES) leave_sums(rules, s, i, blocks + i / LANES);
}

/* ---- one token ----------------------------------------------------------------------------------- */

/* the block i of one slot of an array (slots, 2, H); of its modes `left` are there, LANES being the literal of a whole
 * block, which needs no test at every load and store */
VMATH void put_block(const sparc_rows *rows, float *array, size_t slot, size_t i, size_t left, lanes re, lanes im) {
  store_some(array + 2 * slot * rows->H + i, re, left);
  store_some(array + (2 * slot + 1) * rows->H + i, im, left);
}

/* [eq:app_transition_derivatives, eq:app_write_derivatives, eq:app_content_derivatives] times the kept state */
VMATH void drivers_of(sparc_rules rules, bool content_rows, const sparc_token_rows *s, size_t i, size_t left,
                      const mode_block *b, const block_controls *c, const block_values *v) {
  const sparc_rows *rows = &s->rows;
  const size_t H = rows->H;
  const float *constants = rows->constants + i, kappa_decay = rules.adaptive_decay ? rows->kappa_r : 0;
  const lanes none = every_lane(0), theta = load_some(constants + K_THETA * H, left);
  const lanes kept_re = load_some(s->kept + i, left), kept_im = load_some(s->kept + H + i, left);
  const lanes w_re = v->lambda.re[0] * kept_re - v->lambda.im[0] * kept_im;
  const lanes w_im = v->lambda.re[0] * kept_im + v->lambda.im[0] * kept_re;
  const lanes write_re = v->write_re[0], write_im = v->write_im[0], e = v->e[0], slope = v->gate_slope[0];

  /* by the logarithm of the effective decay: e (-1 + i rho kappa_p p) lambda kept */
  const lanes turn_e = rules.clock == CLOCK_LIVE ? e * v->lambda.rho[0] * c->phase[0] : none;
  const lanes by_e_re = -e * w_re - turn_e * w_im, by_e_im = -e * w_im + turn_e * w_re;
  const lanes turn_static = rules.clock == CLOCK_STATIC ? b->clock_rate * c->phase[0] : none;
  const lanes by_norm = rules.adaptive_norm ? v->psi[0] - load_some(constants + K_PSI * H, left) : none;
  put_block(rows, s->scalar, SUM_DECAY, i, left, by_e_re - turn_static * w_im + by_norm * write_re,
            by_e_im + turn_static * w_re + by_norm * write_im);
  put_block(rows, s->scalar, SUM_FREQ, i, left, -theta * w_im, theta * w_re);
  put_block(rows, s->scalar, SUM_GAIN, i, left, write_re, write_im);
  put_block(rows, s->scalar, SUM_GATE_P, i, left, slope * c->p[0] * write_re, slope * c->p[0] * write_im);
  put_block(rows, s->scalar, SUM_GATE_R, i, left, slope * c->r[0] * write_re, slope * c->r[0] * write_im);

  const lanes slope_r = 1 - c->r[0] * c->r[0], slope_p = 1 - c->p[0] * c->p[0];
  const lanes write_r = rows->kappa_r * v->psi[0] + slope * b->gate_r, write_p = slope * b->gate_p;
  const lanes turn_p = rows->kappa_p * v->lambda.clock[0];
  const lanes r_re = slope_r * (kappa_decay * by_e_re + write_r * write_re);
  const lanes r_im = slope_r * (kappa_decay * by_e_im + write_r * write_im);
  const lanes p_re = slope_p * (write_p * write_re - turn_p * w_im);
  const lanes p_im = slope_p * (write_p * write_im + turn_p * w_re);
  if (content_rows) {
    const lanes bend_re = rules.linear ? every_lane(1) : 1 - v->u_re[0] * v->u_re[0];
    const lanes bend_im = rules.linear ? every_lane(1) : 1 - v->u_im[0] * v->u_im[0];
    put_block(rows, s->outer, OUTER_RE, i, left, v->amplitude[0] * bend_re, none);
    put_block(rows, s->outer, OUTER_IM, i, left, none, v->amplitude[0] * bend_im);
  }
  put_block(rows, s->outer, content_rows ? OUTER_R : 0, i, left, r_re, r_im);
  put_block(rows, s->outer, content_rows ? OUTER_P : OUTER_P - OUTER_R, i, left, p_re, p_im);
  put_block(rows, s->scalar, SLOT_BIAS_R, i, left, r_re, r_im);
  put_block(rows, s->scalar, SLOT_BIAS_P, i, left, p_re, p_im);
}

VMATH void token_block(const sparc_token_rows *s, sparc_rules rules, bool floor, bool drivers, bool content_rows,
                       const token_row *token, size_t i, size_t left) {
  const sparc_rows *rows = &s->rows;
  const lanes z_re = load_some(token->content + i, left), z_im = load_some(token->content + rows->H + i, left);
  mode_block b;
  block_controls c;
  block_values v;
  load_block(rules, rows, i, left, &b);
  controls_at(rules, 1, rows, token, i, left, &c);
  values_at(rules, floor, false, 1, &b, &c, &z_re, &z_im, &v);
  put_block(rows, s->a, 0, i, left, v.lambda.re[0], v.lambda.im[0]);
  put_block(rows, s->b, 0, i, left, v.write_re[0], v.write_im[0]);
  if (drivers) drivers_of(rules, content_rows, s, i, left, &b, &c, &v);
}

VMATH void token_rows(const sparc_token_rows *s, sparc_rules rules, bool floor, bool drivers, bool content_rows) {
  const sparc_rows *rows = &s->rows;
  const size_t H = rows->H;
  token_row token;
  size_t i = 0;
  tokens_of(rows, rules.controls == CONTROLS_SHARED, 0, 1, &token.control);
  place_token(rules, rows, 0, &token);
  for (; i + LANES <= H; i += LANES) token_block(s, rules, floor, drivers, content_rows, &token, i, LANES);
  if (i < H) token_block(s, rules, floor, drivers, content_rows, &token, i, H - i);
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

#endif
