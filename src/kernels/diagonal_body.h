/* SPDX-License-Identifier: MIT */
/* diagonal_body.h: the kernels of diagonal.h, once; included by kernels_body.h. */
#include "kernels/kernels.h"
#include "kernels/vmath.h"

/* what came before a new segment: nothing, even where the state was not finite */
static const float zero_row[KERNEL_TILE];

VMATH float larger(float a, float b) { return a > b ? a : b; }
VMATH float smaller(float a, float b) { return a < b ? a : b; }

/* the state before token t of a tile; states are rows of 2 H */
typedef struct complex_row {
  const float *re, *im;
} complex_row;

VMATH complex_row row_before(const complex_adjoint *s, size_t H, size_t first, size_t t, float mask) {
  const float *row = t > 0 ? s->states + (t - 1) * 2 * H + first : NULL;
  if (mask == 0) return (complex_row){zero_row, zero_row};
  return row ? (complex_row){row, row + H} : (complex_row){s->before_re, s->before_im};
}

/* no gradient crosses the start of a segment, not even one that is not finite */
VMATH void cut_carried(float mask, size_t n, float *g) {
  if (mask == 0) memset(g, 0, n * sizeof *g);
}

/* ---- fixed spectrum ------------------------------------------------------------------------------ */

static void spectrum_scan(const spectrum_rows *rows, const complex_scan *s) {
  const size_t H = rows->H, n = rows->n, first = rows->first;
  const float *l_re = rows->lambda_re + first, *l_im = rows->lambda_im + first, *gain = rows->gain + first;
  float *h_re = s->h_re, *h_im = s->h_im;
  for (size_t t = 0; t < rows->tokens; t++) {
    const bool fresh = rows->mask && rows->mask[t] == 0;
    const float *u_re = rows->pre + t * 2 * H + first, *u_im = u_re + H;
    const float *past_re = fresh ? zero_row : h_re, *past_im = fresh ? zero_row : h_im;
    float *out_re = s->states + t * 2 * H + first, *out_im = out_re + H;
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
      const float kept_re = past_re[i], kept_im = past_im[i];
      const float re = l_re[i] * kept_re - l_im[i] * kept_im + gain[i] * u_re[i];
      const float im = l_re[i] * kept_im + l_im[i] * kept_re + gain[i] * u_im[i];
      h_re[i] = out_re[i] = re;
      h_im[i] = out_im[i] = im;
    }
  }
}

static void spectrum_adjoint(const spectrum_rows *rows, const complex_adjoint *s, float *dpre, float *sums) {
  const size_t H = rows->H, n = rows->n, first = rows->first;
  const float *l_re = rows->lambda_re + first, *l_im = rows->lambda_im + first, *gain = rows->gain + first;
  float *g_re = s->g_re, *g_im = s->g_im;
  float *sum_re = sums + SPECTRUM_LAMBDA_RE * n, *sum_im = sums + SPECTRUM_LAMBDA_IM * n;
  float *sum_gain = sums + SPECTRUM_GAIN * n;
  for (size_t t = rows->tokens; t-- > 0;) {
    const float mask = rows->mask ? rows->mask[t] : 1;
    const float *u_re = rows->pre + t * 2 * H + first, *u_im = u_re + H;
    const float *direct_re = s->dstates + t * 2 * H + first, *direct_im = direct_re + H;
    const complex_row kept = row_before(s, H, first, t, mask);
    float *du_re = dpre + t * 2 * H + first, *du_im = du_re + H;
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
      const float mu_re = direct_re[i] + g_re[i], mu_im = direct_im[i] + g_im[i];
      du_re[i] = gain[i] * mu_re;
      du_im[i] = gain[i] * mu_im;
      sum_re[i] += kept.re[i] * mu_re + kept.im[i] * mu_im;
      sum_im[i] += kept.re[i] * mu_im - kept.im[i] * mu_re;
      sum_gain[i] += u_re[i] * mu_re + u_im[i] * mu_im;
      g_re[i] = l_re[i] * mu_re + l_im[i] * mu_im;
      g_im[i] = l_re[i] * mu_im - l_im[i] * mu_re;
    }
    cut_carried(mask, n, g_re);
    cut_carried(mask, n, g_im);
  }
}

/* ---- GateLoop ------------------------------------------------------------------------------------ */

/* sigma(v) and 1 - sigma(v) */
typedef struct gate_pair {
  float open, shut;
} gate_pair;

VMATH gate_pair gate_of(float v) {
  const float small = decay_of(-LOG2E * fabsf(v)).rho, inverse = 1 / (1 + small);
  return (gate_pair){select_float(v < 0, small, 1) * inverse, select_float(v < 0, 1, small) * inverse};
}

/* |a| stays below 1 after rounding: see RETENTION_MAX in src/cells/gateloop.c */
#define LOOP_RETENTION_MAX (1 - 0x1p-22f)
/* where squares stay inside float; beyond, the C library */
#define LOOP_MODULUS_MAX 1e18f
#define LOOP_MODULUS_MIN 1e-12f

/* a, and d log a = (rate + i turn) of each of its pre-activations */
typedef struct loop_transition {
  float re, im, rate_al, turn_al, rate_be, turn_be;
} loop_transition;

VMATH loop_transition polar_of(float al, turn be) {
  const gate_pair s = gate_of(al);
  const float magnitude = smaller(s.open, LOOP_RETENTION_MAX);
  return (loop_transition){.re = magnitude * be.re, .im = magnitude * be.im, .rate_al = s.shut, .turn_be = 1};
}

VMATH loop_transition complex_of(float al, float be, float rho) {
  const float inverse = 1 / rho, unit_re = al * inverse, unit_im = be * inverse;
  const gate_pair s = gate_of(rho);
  const float magnitude = smaller(s.open, LOOP_RETENTION_MAX);
  return (loop_transition){.re = magnitude * unit_re,
                           .im = magnitude * unit_im,
                           .rate_al = s.shut * unit_re,
                           .turn_al = -unit_im * inverse,
                           .rate_be = s.shut * unit_im,
                           .turn_be = unit_re * inverse};
}

/* What the transitions of one row need of functions with a wide range: cos and sin of be, or the modulus of al + i be.
 * Vector code does all entries; a huge one is done again by the C library. */
typedef struct loop_scratch {
  float first[KERNEL_TILE], second[KERNEL_TILE];
} loop_scratch;

VMATH float largest_of(size_t n, const float *x) {
  float largest = 0;
#pragma omp simd reduction(max : largest)
  for (size_t i = 0; i < n; i++) largest = larger(fabsf(x[i]), largest);
  return largest;
}

static void phases_of(size_t n, const float *be, loop_scratch *out) {
#pragma omp simd
  for (size_t i = 0; i < n; i++) {
    const turn t = wide_turn_of(be[i]);
    out->first[i] = t.re;
    out->second[i] = t.im;
  }
  if (largest_of(n, be) <= WIDE_TURN_MAX) return;
  for (size_t i = 0; i < n; i++) {
    if (fabsf(be[i]) <= WIDE_TURN_MAX) continue;
    out->first[i] = cosf(be[i]);
    out->second[i] = sinf(be[i]);
  }
}

static void moduli_of(size_t n, const float *al, const float *be, loop_scratch *out) {
#pragma omp simd
  for (size_t i = 0; i < n; i++) out->first[i] = larger(sqrtf(al[i] * al[i] + be[i] * be[i]), LOOP_MODULUS_MIN);
  if (larger(largest_of(n, al), largest_of(n, be)) <= LOOP_MODULUS_MAX) return;
  for (size_t i = 0; i < n; i++)
    if (larger(fabsf(al[i]), fabsf(be[i])) > LOOP_MODULUS_MAX)
      out->first[i] = larger(hypotf(al[i], be[i]), LOOP_MODULUS_MIN);
}

VMATH void prepare_row(const loop_rows *rows, bool polar, const float *al, const float *be, loop_scratch *scratch) {
  if (polar)
    phases_of(rows->n, be, scratch);
  else
    moduli_of(rows->n, al, be, scratch);
}

VMATH loop_transition loop_transition_at(bool polar, const float *al, const float *be, const loop_scratch *scratch,
                                         size_t i) {
  if (polar) return polar_of(al[i], (turn){scratch->first[i], scratch->second[i]});
  return complex_of(al[i], be[i], scratch->first[i]);
}

VMATH void loop_scan_rows(const loop_rows *rows, const complex_scan *s, bool polar) {
  const size_t H = rows->H, n = rows->n, first = rows->first;
  float *h_re = s->h_re, *h_im = s->h_im;
  loop_scratch scratch;
  for (size_t t = 0; t < rows->tokens; t++) {
    const bool fresh = rows->mask && rows->mask[t] == 0;
    const float *al = rows->pre + t * LOOP_COLUMNS * H + first, *be = al + H, *k = be + H, *v = k + H;
    const float *past_re = fresh ? zero_row : h_re, *past_im = fresh ? zero_row : h_im;
    float *out_re = s->states + t * 2 * H + first, *out_im = out_re + H;
    prepare_row(rows, polar, al, be, &scratch);
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
      const loop_transition a = loop_transition_at(polar, al, be, &scratch, i);
      const float kept_re = past_re[i], kept_im = past_im[i];
      const float re = a.re * kept_re - a.im * kept_im + k[i] * v[i], im = a.re * kept_im + a.im * kept_re;
      h_re[i] = out_re[i] = re;
      h_im[i] = out_im[i] = im;
    }
  }
}

static void loop_scan(const loop_rows *rows, const complex_scan *s) {
  if (rows->polar)
    loop_scan_rows(rows, s, true);
  else
    loop_scan_rows(rows, s, false);
}

VMATH void loop_adjoint_rows(const loop_rows *rows, const complex_adjoint *s, float *dpre, bool polar) {
  const size_t H = rows->H, n = rows->n, first = rows->first;
  float *g_re = s->g_re, *g_im = s->g_im;
  loop_scratch scratch;
  for (size_t t = rows->tokens; t-- > 0;) {
    const float mask = rows->mask ? rows->mask[t] : 1;
    const float *al = rows->pre + t * LOOP_COLUMNS * H + first, *be = al + H, *k = be + H, *v = k + H;
    float *dal = dpre + t * LOOP_COLUMNS * H + first, *dbe = dal + H, *dk = dbe + H, *dv = dk + H;
    const float *direct_re = s->dstates + t * 2 * H + first, *direct_im = direct_re + H;
    const complex_row kept = row_before(s, H, first, t, mask);
    prepare_row(rows, polar, al, be, &scratch);
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
      const loop_transition a = loop_transition_at(polar, al, be, &scratch, i);
      const float mu_re = direct_re[i] + g_re[i], mu_im = direct_im[i] + g_im[i];
      /* c = conj(a) mu is the cotangent of the kept state; w = conj(a kept) mu = conj(kept) c */
      const float c_re = a.re * mu_re + a.im * mu_im, c_im = a.re * mu_im - a.im * mu_re;
      const float w_re = kept.re[i] * c_re + kept.im[i] * c_im, w_im = kept.re[i] * c_im - kept.im[i] * c_re;
      dal[i] = a.rate_al * w_re + a.turn_al * w_im;
      dbe[i] = a.rate_be * w_re + a.turn_be * w_im;
      dk[i] = v[i] * mu_re;
      dv[i] = k[i] * mu_re;
      g_re[i] = c_re;
      g_im[i] = c_im;
    }
    cut_carried(mask, n, g_re);
    cut_carried(mask, n, g_im);
  }
}

static void loop_adjoint(const loop_rows *rows, const complex_adjoint *s, float *dpre) {
  if (rows->polar)
    loop_adjoint_rows(rows, s, dpre, true);
  else
    loop_adjoint_rows(rows, s, dpre, false);
}

/* one entry of an array (slots, 2, H) */
VMATH void put_pair(float *array, size_t H, size_t slot, size_t j, float re, float im) {
  array[2 * slot * H + j] = re;
  array[(2 * slot + 1) * H + j] = im;
}

VMATH void loop_token_rows(const loop_rows *rows, const float *kept, float *a, float *b, float *outer, bool polar,
                           bool drivers) {
  const size_t H = rows->H, first = rows->first;
  const float *al = rows->pre + first, *be = al + H, *k = be + H, *v = k + H;
  loop_scratch scratch;
  prepare_row(rows, polar, al, be, &scratch);
#pragma omp simd
  for (size_t i = 0; i < rows->n; i++) {
    const size_t j = first + i;
    const loop_transition t = loop_transition_at(polar, al, be, &scratch, i);
    put_pair(a, H, 0, j, t.re, t.im);
    put_pair(b, H, 0, j, k[i] * v[i], 0);
    if (!drivers) continue;
    const float w_re = t.re * kept[j] - t.im * kept[H + j], w_im = t.re * kept[H + j] + t.im * kept[j];
    put_pair(outer, H, LOOP_AL, j, t.rate_al * w_re - t.turn_al * w_im, t.rate_al * w_im + t.turn_al * w_re);
    put_pair(outer, H, LOOP_BE, j, t.rate_be * w_re - t.turn_be * w_im, t.rate_be * w_im + t.turn_be * w_re);
    put_pair(outer, H, LOOP_K, j, v[i], 0);
    put_pair(outer, H, LOOP_V, j, k[i], 0);
  }
}

static void loop_token(const loop_rows *rows, const float *kept, float *a, float *b, float *outer) {
  /* without drivers nothing is written there */
  float *slots = outer ? outer : a;
  if (rows->polar && outer)
    loop_token_rows(rows, kept, a, b, slots, true, true);
  else if (rows->polar)
    loop_token_rows(rows, kept, a, b, slots, true, false);
  else if (outer)
    loop_token_rows(rows, kept, a, b, slots, false, true);
  else
    loop_token_rows(rows, kept, a, b, slots, false, false);
}

/* a NaN stays a NaN */
VMATH float limited(float value, float limit) {
  value = value > limit ? limit : value;
  return value < -limit ? -limit : value;
}

static void loop_read(size_t n, size_t H, float limit, const float *states, float *pre) {
  for (size_t t = 0; t < n; t++) {
    const float *re = states + t * 2 * H;
    float *row = pre + t * LOOP_COLUMNS * H, *q = row + LOOP_Q * H, *g = row + LOOP_G * H, *e = row + LOOP_E * H;
#pragma omp simd
    for (size_t i = 0; i < H; i++) e[i] = limited(g[i] * gate_of(g[i]).open * q[i] * re[i], limit);
  }
}

static void loop_read_adjoint(size_t n, size_t H, float limit, const float *states, const float *pre, float *dstates,
                              float *dpre) {
  for (size_t t = 0; t < n; t++) {
    const float *re = states + t * 2 * H, *q = pre + t * LOOP_COLUMNS * H + LOOP_Q * H, *g = q + H;
    float *dre = dstates + t * 2 * H, *dim = dre + H;
    float *dq = dpre + t * LOOP_COLUMNS * H + LOOP_Q * H, *dg = dq + H, *e = dg + H;
#pragma omp simd
    for (size_t i = 0; i < H; i++) {
      const gate_pair s = gate_of(g[i]);
      const float gain = g[i] * s.open, slope = s.open * (1 + g[i] * s.shut), de = e[i];
      dre[i] = de * q[i] * gain;
      dim[i] = 0;
      dq[i] = de * re[i] * gain;
      dg[i] = de * re[i] * q[i] * slope;
      e[i] = limited(gain * q[i] * re[i], limit);
    }
  }
}

/* ---- RG-LRU -------------------------------------------------------------------------------------- */

static bool open_gates(size_t n, const float *bias, float *x) {
  int lost = 0;
#pragma omp simd reduction(| : lost)
  for (size_t i = 0; i < n; i++) {
    const float z = x[i] + bias[i];
    const fraction f = sigmoid_fraction(z);
    lost |= !(fabsf(z) <= 0x1.fffffep127f);
    x[i] = f.over / f.under;
  }
  return !lost;
}

/* a = exp(-rate r), 1 - a^2 = (1 - a)(1 + a), and the scale of the write: full on the first step of a segment */
typedef struct gated {
  float log_a, a, root, scale;
} gated;

VMATH gated gated_at(float rate, float r, float mask) {
  gated v;
  v.log_a = -rate * r;
  const decay_pair d = decay_of(LOG2E * v.log_a);
  v.a = d.rho;
  v.root = sqrtf(d.one_minus * (1 + d.rho));
  v.scale = mask * v.root + (1 - mask);
  return v;
}

static void rglru_scan(const rglru_rows *rows, float *h, float *states) {
  const size_t H = rows->H, n = rows->n;
  const float *rate = rows->rate + rows->first;
  for (size_t t = 0; t < rows->tokens; t++) {
    const float mask = rows->mask ? rows->mask[t] : 1;
    const float *u = rows->content + t * rows->content_stride + rows->first;
    const float *r = rows->gates + t * rows->gate_stride + rows->first, *q = r + H;
    const float *past = mask == 0 ? zero_row : h;
    float *out = states + t * H + rows->first;
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
      const gated v = gated_at(rate[i], r[i], mask);
      h[i] = out[i] = v.a * past[i] + v.scale * (q[i] * u[i]);
    }
  }
}

static void rglru_token(const rglru_rows *rows, float *a, float *b) {
  const float mask = rows->mask ? *rows->mask : 1;
  const float *u = rows->content, *r = rows->gates, *q = r + rows->H, *rate = rows->rate;
#pragma omp simd
  for (size_t i = 0; i < rows->H; i++) {
    const gated v = gated_at(rate[i], r[i], mask);
    a[i] = v.a;
    b[i] = v.scale * (q[i] * u[i]);
  }
}

static void rglru_adjoint(const rglru_adjoint_rows *s) {
  const rglru_rows *rows = &s->rows;
  const size_t H = rows->H, n = rows->n, first = rows->first;
  const float *rate = rows->rate + first, *rate_slope = rows->rate_slope + first;
  float *g = s->g, *sum_decay = s->sums + RGLRU_DECAY * n, *sum_retention = s->sums + RGLRU_RETENTION * n;
  float *sum_input = s->sums + RGLRU_INPUT * n;
  for (size_t t = rows->tokens; t-- > 0;) {
    const float mask = rows->mask ? rows->mask[t] : 1;
    const float *u = rows->content + t * rows->content_stride + first;
    const float *r = rows->gates + t * rows->gate_stride + first, *q = r + H;
    const float *before = mask == 0 ? zero_row : t > 0 ? s->states + (t - 1) * H + first : s->before;
    const float *direct = s->dstates + t * H + first;
    float *du = s->dcontent + t * s->dcontent_stride + first;
    float *dr = s->dgates + t * rows->gate_stride + first, *dq = dr + H;
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
      const gated v = gated_at(rate[i], r[i], mask);
      const float mu = direct[i] + g[i], write = q[i] * u[i];
      /* by log a; d sqrt(v) / dv is bounded by 1000, so the root counts as at least 5e-4 */
      const float by_log_a = mask * v.a * (before[i] - v.a * write / larger(v.root, 5e-4f));
      const float retention = mu * by_log_a * v.log_a * (1 - r[i]), input = mu * v.scale * write * (1 - q[i]);
      du[i] = mu * v.scale * q[i];
      dr[i] = retention;
      dq[i] = input;
      sum_decay[i] -= mu * by_log_a * r[i] * rate_slope[i];
      sum_retention[i] += retention;
      sum_input[i] += input;
      g[i] = v.a * mu;
    }
    cut_carried(mask, n, g);
  }
}

/* ---- Mamba-3 ------------------------------------------------------------------------------------- */

static void silu_gate(size_t n, size_t width, float limit, const float *o, const float *z, size_t z_stride,
                      float *out) {
  for (size_t t = 0; t < n; t++, o += width, out += width, z += z_stride) {
#pragma omp simd
    for (size_t i = 0; i < width; i++) out[i] = limited(o[i], limit) * (z[i] * gate_of(z[i]).open);
  }
}

static void silu_gate_adjoint(size_t n, size_t width, float limit, const float *o, const float *z, size_t z_stride,
                              float *d, float *dz, float *out) {
  for (size_t t = 0; t < n; t++, o += width, d += width, out += width, z += z_stride, dz += z_stride) {
#pragma omp simd
    for (size_t i = 0; i < width; i++) {
      const gate_pair s = gate_of(z[i]);
      const float gain = z[i] * s.open;
      dz[i] = d[i] * o[i] * (s.open * (1 + z[i] * s.shut));
      d[i] *= gain;
      out[i] = limited(o[i], limit) * gain;
    }
  }
}

/* ---- SPARC's shared controls --------------------------------------------------------------------- */

/* x . w_r and x . w_p of one token */
VMATH void control_sum(size_t D, const float *x, const float *w_r, const float *w_p, double *sums) {
  double r = 0, p = 0;
#pragma omp simd reduction(+ : r, p)
  for (size_t d = 0; d < D; d++) {
    r += (double)w_r[d] * (double)x[d];
    p += (double)w_p[d] * (double)x[d];
  }
  sums[0] = r;
  sums[1] = p;
}

/* of four: the weights are loaded and widened once */
VMATH void four_control_sums(size_t D, const float *x, const float *w_r, const float *w_p, double *sums) {
  const float *x1 = x + D, *x2 = x1 + D, *x3 = x2 + D;
  double r0 = 0, r1 = 0, r2 = 0, r3 = 0, p0 = 0, p1 = 0, p2 = 0, p3 = 0;
#pragma omp simd reduction(+ : r0, r1, r2, r3, p0, p1, p2, p3)
  for (size_t d = 0; d < D; d++) {
    const double r = (double)w_r[d], p = (double)w_p[d];
    r0 += r * (double)x[d];
    p0 += p * (double)x[d];
    r1 += r * (double)x1[d];
    p1 += p * (double)x1[d];
    r2 += r * (double)x2[d];
    p2 += p * (double)x2[d];
    r3 += r * (double)x3[d];
    p3 += p * (double)x3[d];
  }
  const double all[] = {r0, p0, r1, p1, r2, p2, r3, p3};
  memcpy(sums, all, sizeof all);
}

static void shared_controls(size_t n, size_t D, const float *x, const float *w_r, const float *w_p, float *controls) {
  enum { RUN = 64 };
  const double bias[] = {(double)w_r[D], (double)w_p[D]};
  for (size_t first = 0; first < n; first += RUN) {
    const size_t count = n - first < RUN ? n - first : RUN;
    const float *rows = x + first * D;
    float *out = controls + 2 * first;
    double sums[2 * RUN] = {0};
    size_t t = 0;
    for (; t + 4 <= count; t += 4) four_control_sums(D, rows + t * D, w_r, w_p, sums + 2 * t);
    for (; t < count; t++) control_sum(D, rows + t * D, w_r, w_p, sums + 2 * t);
#pragma omp simd
    for (size_t i = 0; i < 2 * count; i++) out[i] = (float)tanh_of(sums[i] + bias[i % 2]);
  }
}

static void controls_adjoint(size_t n, size_t D, const float *dcontrols, const float *w_r, const float *w_p,
                             float *dx) {
  for (size_t t = 0; t < n; t++, dx += D) {
    const float dr = dcontrols[2 * t], dp = dcontrols[2 * t + 1];
#pragma omp simd
    for (size_t d = 0; d < D; d++) dx[d] += dr * w_r[d] + dp * w_p[d];
  }
}

/* four tokens at a time, so that the sums are loaded and stored once for four rows of x */
static void control_weights(size_t n, size_t width, const float *dcontrols, const float *x, size_t x_stride,
                            float *by_r, float *by_p) {
  size_t t = 0;
  for (; t + 4 <= n; t += 4) {
    const float *d = dcontrols + 2 * t, *x0 = x + t * x_stride, *x1 = x0 + x_stride, *x2 = x1 + x_stride;
    const float *x3 = x2 + x_stride;
#pragma omp simd
    for (size_t i = 0; i < width; i++) {
      by_r[i] += (d[0] * x0[i] + d[2] * x1[i]) + (d[4] * x2[i] + d[6] * x3[i]);
      by_p[i] += (d[1] * x0[i] + d[3] * x1[i]) + (d[5] * x2[i] + d[7] * x3[i]);
    }
  }
  for (; t < n; t++) {
    const float r = dcontrols[2 * t], p = dcontrols[2 * t + 1], *row = x + t * x_stride;
#pragma omp simd
    for (size_t i = 0; i < width; i++) {
      by_r[i] += r * row[i];
      by_p[i] += p * row[i];
    }
  }
}

#define DIAGONAL_KERNELS                                                                                            \
  {                                                                                                                 \
    .spectrum_scan = spectrum_scan, .spectrum_adjoint = spectrum_adjoint, .loop_scan = loop_scan,                   \
    .loop_adjoint = loop_adjoint, .loop_read = loop_read, .loop_read_adjoint = loop_read_adjoint,                   \
    .loop_token = loop_token, .rglru_token = rglru_token, .rglru_scan = rglru_scan, .rglru_adjoint = rglru_adjoint, \
    .gate = open_gates, .controls = shared_controls, .controls_adjoint = controls_adjoint,                          \
    .control_weights = control_weights, .silu_gate = silu_gate, .silu_gate_adjoint = silu_gate_adjoint              \
  }
