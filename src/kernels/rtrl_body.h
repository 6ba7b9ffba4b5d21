/* SPDX-License-Identifier: MIT */
/* rtrl_body.h: the rows of RTRL traces. Included by kernels_body.h.
 *
 * Sums stay in registers: a tile of rows and vectors of columns is loaded once, takes up all terms, and is stored once.
 * Literal tile sizes are unrolled away.
 */
#include "kernels/lanes.h"
#include "kernels/rtrl.h"

/* rows of two registers that fit beside their operands */
enum { RANK_ROWS = REGISTERS / 4 };

/* columns that several registers hold */
enum { TWO_LANES = 2 * LANES, FOUR_LANES = 4 * LANES };

/* the first `width` numbers of a vector; LANES is the literal of a whole one */
VMATH lanes load_part(const float *from, size_t width) {
  if (width == LANES) return load_lanes(from);
  lanes v = {0};
  for (size_t i = 0; i < width; i++) v[i] = from[i];
  return v;
}

VMATH void store_part(float *to, lanes v, size_t width) {
  if (width == LANES) {
    store_lanes(to, v);
    return;
  }
  for (size_t i = 0; i < width; i++) to[i] = v[i];
}

/* ---- one step of a trace ------------------------------------------------------------------------- */

/* what one row of a mode needs, in every lane: transition, driver and weights */
typedef struct trace_row {
  lanes a_re, a_im, c_re, c_im, w_re, w_im;
} trace_row;

/* Z <- a Z + c x over some columns. Five or six multiply-adds for two numbers are what the units can do at most, so
 * every operand is loaded once and a part of c that is zero costs nothing. */
VMATH void advance_lanes(driver_part part, bool contract, size_t vectors, size_t width, const trace_row *k,
                         const float *x, const float *before_re, const float *before_im, float *z_re, float *z_im,
                         float *out) {
#pragma GCC unroll 4
  for (size_t l = 0; l < vectors; l++) {
    const size_t d = l * LANES;
    lanes in = load_part(x + d, width), re = load_part(before_re + d, width), im = load_part(before_im + d, width);
    PIN(in);
    PIN(re);
    PIN(im);
    lanes z = k->a_re * re, turned = k->a_re * im;
    if (part != DRIVER_IMAGINARY) z += k->c_re * in;
    if (part != DRIVER_REAL) turned += k->c_im * in;
    z -= k->a_im * im;
    turned += k->a_im * re;
    store_part(z_re + d, z, width);
    store_part(z_im + d, turned, width);
    if (contract) store_part(out + d, load_part(out + d, width) + k->w_re * z + k->w_im * turned, width);
  }
}

/* `whole` is a literal: D is a multiple of four vectors, which leaves registers for the rest */
VMATH void advance_row(driver_part part, bool contract, bool whole, size_t D, const trace_row *k, const float *x,
                       const float *before, float *z, float *out) {
  size_t d = 0;
  for (; d + FOUR_LANES <= D; d += FOUR_LANES)
    advance_lanes(part, contract, 4, LANES, k, x + d, before + d, before + D + d, z + d, z + D + d, out + d);
  if (whole) return;
  for (; d + LANES <= D; d += LANES)
    advance_lanes(part, contract, 1, LANES, k, x + d, before + d, before + D + d, z + d, z + D + d, out + d);
  if (d < D) advance_lanes(part, contract, 1, D - d, k, x + d, before + d, before + D + d, z + d, z + D + d, out + d);
}

/* A row is some twenty cycles of arithmetic, so what is done for each counts: the fields are copied, because a store to
 * Z might change them, and the transition goes into its registers once for all rows of a mode. */
VMATH void advance_trace_rows(const trace_rows *t, bool contract, bool whole) {
  const size_t D = t->D, H = t->H, rows = t->rows, first = t->first, n = t->n;
  const float *restrict a = t->a, *restrict c = t->c, *restrict weights = t->weights, *x = t->x, mask = t->mask;
  const driver_part *restrict part = t->part;
  float *const *restrict outs = t->out;
  const size_t *restrict strides = t->out_stride;
  const float *before = t->before + first * rows * 2 * D;
  float *z = t->Z + first * rows * 2 * D;
  for (size_t j = first; j < first + n; j++) {
    trace_row k = {.a_re = every_lane(mask * a[j]), .a_im = every_lane(mask * a[H + j])};
    PIN(k.a_re);
    PIN(k.a_im);
    for (size_t row = 0, re = j; row < rows; row++, re += 2 * H, before += 2 * D, z += 2 * D) {
      k.c_re = every_lane(c[re]);
      k.c_im = every_lane(c[re + H]);
      if (contract) {
        k.w_re = every_lane(weights[re]);
        k.w_im = every_lane(weights[re + H]);
      }
      float *out = contract ? outs[row] + j * strides[row] : z; /* a place that nothing is written to */
      switch (driver_part_of(part, row)) {
        case DRIVER_REAL:
          advance_row(DRIVER_REAL, contract, whole, D, &k, x, before, z, out);
          break;
        case DRIVER_IMAGINARY:
          advance_row(DRIVER_IMAGINARY, contract, whole, D, &k, x, before, z, out);
          break;
        case DRIVER_COMPLEX:
          advance_row(DRIVER_COMPLEX, contract, whole, D, &k, x, before, z, out);
      }
    }
  }
}

/* not inline: beside each other the compiler finds too few registers for them */
static __attribute__((noinline)) void trace_alone(const trace_rows *t) { advance_trace_rows(t, false, false); }
static __attribute__((noinline)) void trace_alone_whole(const trace_rows *t) { advance_trace_rows(t, false, true); }
static __attribute__((noinline)) void trace_contracted(const trace_rows *t) { advance_trace_rows(t, true, false); }
static __attribute__((noinline)) void trace_contracted_whole(const trace_rows *t) { advance_trace_rows(t, true, true); }

static void trace(const trace_rows *t) {
  const bool whole = t->D % FOUR_LANES == 0;
  if (t->weights)
    (whole ? trace_contracted_whole : trace_contracted)(t);
  else
    (whole ? trace_alone_whole : trace_alone)(t);
}

static void entries(const entry_rows *t) {
  const size_t H = t->H;
  const float *a_re = t->a, *a_im = t->a + H, mask = t->mask;
  for (size_t e = 0; e < t->entries; e++) {
    float *re = t->z + e * t->parts * H, *im = re + H;
    const float *c_re = t->c + e * t->parts * H, *c_im = c_re + H;
    if (t->parts == 1) {
#pragma omp simd
      for (size_t j = 0; j < H; j++) re[j] = mask * a_re[j] * re[j] + c_re[j];
      continue;
    }
#pragma omp simd
    for (size_t j = 0; j < H; j++) {
      const float b_re = mask * a_re[j], b_im = mask * a_im[j], was_re = re[j], was_im = im[j];
      re[j] = b_re * was_re - b_im * was_im + c_re[j];
      im[j] = b_re * was_im + b_im * was_re + c_im[j];
    }
  }
}

/* a vector of modes at a time, whose weights stay in registers */
VMATH void add_entry_vectors(size_t H, size_t rows, bool complex, size_t j, size_t width, const float *w,
                             const float *z, float *out) {
  const size_t stride = complex ? 2 * H : H;
  const lanes w_re = load_part(w + j, width), w_im = complex ? load_part(w + H + j, width) : every_lane(0);
  for (size_t row = 0; row < rows; row++) {
    lanes sum = load_part(out + row * H + j, width) + w_re * load_part(z + row * stride + j, width);
    if (complex) sum += w_im * load_part(z + row * stride + H + j, width);
    store_part(out + row * H + j, sum, width);
  }
}

VMATH void all_entry_vectors(size_t H, size_t rows, bool complex, const float *w, const float *z, float *out) {
  size_t j = 0;
  for (; j + LANES <= H; j += LANES) add_entry_vectors(H, rows, complex, j, LANES, w, z, out);
  if (j < H) add_entry_vectors(H, rows, complex, j, H - j, w, z, out);
}

static void entry_vectors(size_t H, size_t rows, size_t parts, const float *w, const float *z, float *out) {
  if (parts == 2)
    all_entry_vectors(H, rows, true, w, z, out);
  else
    all_entry_vectors(H, rows, false, w, z, out);
}

static double entry_number(size_t n, const float *w, const float *z) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (size_t i = 0; i < n; i++) sum += (double)w[i] * (double)z[i];
  return sum;
}

/* ---- a chunk of steps ---------------------------------------------------------------------------- */

/* modes whose coefficients are made together, and steps that are taken up together: what a tile needs of both stays
 * in the first-level cache */
enum { LAZY_TILE = 16, LAZY_BLOCK = 32 };

/* modes [first, first + n), steps [from, from + steps) */
typedef struct lazy_tile {
  size_t first, n, from, steps;
} lazy_tile;

typedef float lazy_weights[LAZY_TILE];

/* g_s <- A_s = g_s + conj(a_{s+1}) A_{s+1} */
VMATH void reverse_cotangents(const lazy_rows *r, bool complex) {
  const size_t H = r->H, S = r->parts * H, width = r->channels * S;
  for (size_t s = r->steps; s-- > 1;) {
    const float *a_re = r->a + s * S, *a_im = a_re + H;
    for (size_t channel = 0; channel < r->channels; channel++) {
      const float *after_re = r->g + s * width + channel * S, *after_im = after_re + H;
      float *re = r->g + (s - 1) * width + channel * S, *im = re + H;
#pragma omp simd
      for (size_t j = 0; j < H; j++) {
        re[j] += a_re[j] * after_re[j] + (complex ? a_im[j] * after_im[j] : 0);
        if (complex) im[j] += a_re[j] * after_im[j] - a_im[j] * after_re[j];
      }
    }
  }
}

/* weights of the old Z: conj(a_0) A_0, or -i times it */
VMATH void start_weights(const lazy_rows *r, const lazy_sink *sink, const lazy_tile *tile, bool complex, float *w_re,
                         float *w_im) {
  const size_t H = r->H;
  const float *a_re = r->a + tile->first, *a_im = a_re + H;
  const float *A_re = r->g + sink->channel * r->parts * H + tile->first, *A_im = A_re + H;
  for (size_t i = 0; i < tile->n; i++) {
    const float re = a_re[i] * A_re[i] + (complex ? a_im[i] * A_im[i] : 0);
    const float im = complex ? a_re[i] * A_im[i] - a_im[i] * A_re[i] : 0;
    w_re[i] = sink->turned ? im : re;
    w_im[i] = sink->turned ? -re : im;
  }
}

/* weights of the inputs: Re(conj(A_s) c_s), or with i c_s */
VMATH void input_weights(const lazy_rows *r, const lazy_sink *sink, const lazy_tile *tile, bool complex,
                         lazy_weights *w) {
  const size_t H = r->H, S = r->parts * H;
  const lazy_slot part = r->slot[sink->slot];
  const bool has_re = part.re != NO_PART, has_im = complex && part.im != NO_PART;
  for (size_t s = 0; s < tile->steps; s++) {
    const size_t t = tile->from + s;
    const float *A_re = r->g + (t * r->channels + sink->channel) * S + tile->first, *A_im = A_re + H;
    const float *c = r->c + t * r->drivers * H + tile->first;
    const float *c_re = c + (has_re ? part.re * H : 0), *c_im = c + (has_im ? part.im * H : 0);
    const float *by_re = sink->turned ? A_im : A_re, *by_im = sink->turned ? A_re : A_im;
    const float sign = sink->turned ? -1 : 1;
    for (size_t i = 0; i < tile->n; i++) {
      float sum = has_re ? by_re[i] * c_re[i] : 0;
      if (has_im) sum += sign * by_im[i] * c_im[i];
      w[s][i] = sum;
    }
  }
}

/* one row of a gradient: out += w_re z_re + w_im z_im + sum_s w_s x_s */
typedef struct gradient_term {
  const float *w; /* (steps), LAZY_TILE or 1 apart */
  float *out;
  const float *z_re, *z_im; /* NULL: no such part */
  float w_re, w_im;
} gradient_term;

VMATH lanes gradient_start(const gradient_term *g, size_t d, size_t width) {
  lanes sum = load_part(g->out + d, width);
  if (g->z_re) sum += g->w_re * load_part(g->z_re + d, width);
  if (g->z_im) sum += g->w_im * load_part(g->z_im + d, width);
  return sum;
}

/* one row over some vectors of columns; two chains of sums hide the latency of the additions */
VMATH void gradient_lanes(const lazy_rows *r, size_t vectors, size_t width, size_t d, size_t steps, size_t w_stride,
                          const float *x, const gradient_term *g) {
  lanes even[4], odd[4];
#pragma GCC unroll 4
  for (size_t l = 0; l < vectors; l++) {
    even[l] = gradient_start(g, d + l * LANES, width);
    odd[l] = (lanes){0};
  }
  size_t s = 0;
  for (; s + 2 <= steps; s += 2) {
    const float *row = x + s * r->x_stride + d, *next = row + r->x_stride;
    const float w = g->w[s * w_stride], w_next = g->w[(s + 1) * w_stride];
#pragma GCC unroll 4
    for (size_t l = 0; l < vectors; l++) even[l] += w * load_lanes(row + l * LANES);
#pragma GCC unroll 4
    for (size_t l = 0; l < vectors; l++) odd[l] += w_next * load_lanes(next + l * LANES);
  }
  if (s < steps) {
#pragma GCC unroll 4
    for (size_t l = 0; l < vectors; l++)
      even[l] += g->w[s * w_stride] * load_lanes(x + s * r->x_stride + d + l * LANES);
  }
#pragma GCC unroll 4
  for (size_t l = 0; l < vectors; l++) store_part(g->out + d + l * LANES, even[l] + odd[l], width);
}

VMATH void gradient_row(const lazy_rows *r, size_t steps, size_t w_stride, const float *x, const gradient_term *g) {
  size_t d = 0;
  for (; d + FOUR_LANES <= r->D; d += FOUR_LANES) gradient_lanes(r, 4, LANES, d, steps, w_stride, x, g);
  for (; d + LANES <= r->D; d += LANES) gradient_lanes(r, 1, LANES, d, steps, w_stride, x, g);
  if (d < r->D) gradient_lanes(r, 1, r->D - d, d, steps, w_stride, x, g);
}

/* two rows of the same mode share the loads of the inputs */
VMATH void gradient_pair(const lazy_rows *r, size_t steps, const float *x, const gradient_term *g,
                         const gradient_term *h) {
  size_t d = 0;
  for (; d + FOUR_LANES <= r->D; d += FOUR_LANES) {
    lanes first[4], second[4];
#pragma GCC unroll 4
    for (size_t l = 0; l < 4; l++) {
      first[l] = gradient_start(g, d + l * LANES, LANES);
      second[l] = gradient_start(h, d + l * LANES, LANES);
    }
    for (size_t s = 0; s < steps; s++) {
      const float *row = x + s * r->x_stride + d, w = g->w[s * LAZY_TILE], v = h->w[s * LAZY_TILE];
#pragma GCC unroll 4
      for (size_t l = 0; l < 4; l++) {
        lanes in = load_lanes(row + l * LANES);
        PIN(in);
        first[l] += w * in;
        second[l] += v * in;
      }
    }
#pragma GCC unroll 4
    for (size_t l = 0; l < 4; l++) {
      store_lanes(g->out + d + l * LANES, first[l]);
      store_lanes(h->out + d + l * LANES, second[l]);
    }
  }
  for (; d + LANES <= r->D; d += LANES) {
    gradient_lanes(r, 1, LANES, d, steps, LAZY_TILE, x, g);
    gradient_lanes(r, 1, LANES, d, steps, LAZY_TILE, x, h);
  }
  if (d == r->D) return;
  gradient_lanes(r, 1, r->D - d, d, steps, LAZY_TILE, x, g);
  gradient_lanes(r, 1, r->D - d, d, steps, LAZY_TILE, x, h);
}

/* sinks whose weights are made together, so that the modes of a tile are walked through in the order of Z */
enum { LAZY_SINKS = 4 };

/* the weights of a tile's modes for some sinks */
typedef struct tile_weights {
  lazy_weights w[LAZY_SINKS][LAZY_BLOCK];
  float w_re[LAZY_SINKS][LAZY_TILE], w_im[LAZY_SINKS][LAZY_TILE];
} tile_weights;

VMATH gradient_term term_of(const lazy_rows *r, const lazy_sink *sink, const lazy_tile *tile, const tile_weights *t,
                            size_t k, size_t i, bool complex) {
  const size_t j = tile->first + i;
  gradient_term g = {.w = &t->w[k][0][i], .out = sink->out + j / sink->group * sink->stride};
  if (tile->from > 0 || r->severed) return g;
  g.z_re = r->Z + (j * r->rows + sink->slot) * r->parts * r->D;
  g.w_re = t->w_re[k][i];
  g.z_im = complex ? g.z_re + r->D : NULL;
  g.w_im = complex ? t->w_im[k][i] : 0;
  return g;
}

/* what one mode gives to `count` sinks; to shared ones only what comes from the old Z */
VMATH void mode_gradient(const lazy_rows *r, const lazy_sink *sink, size_t count, const lazy_tile *tile,
                         const tile_weights *t, size_t i, bool complex) {
  const float *x = r->x + tile->from * r->x_stride;
  for (size_t k = 0; k < count; k++) {
    const gradient_term g = term_of(r, &sink[k], tile, t, k, i, complex);
    if (sink[k].stride == 0) {
      if (g.z_re) gradient_row(r, 0, 1, x, &g);
      continue;
    }
    if (k + 1 == count || sink[k + 1].stride == 0) {
      gradient_row(r, tile->steps, LAZY_TILE, x, &g);
      continue;
    }
    const gradient_term h = term_of(r, &sink[k + 1], tile, t, k + 1, i, complex);
    gradient_pair(r, tile->steps, x, &g, &h);
    k++;
  }
}

/* all modes see the same inputs: their weights are added first */
VMATH void shared_gradient(const lazy_rows *r, const lazy_sink *sink, const lazy_tile *tile, lazy_weights *w) {
  float total[LAZY_BLOCK];
  for (size_t s = 0; s < tile->steps; s++) {
    double sum = 0;
    for (size_t i = 0; i < tile->n; i++) sum += (double)w[s][i];
    total[s] = (float)sum;
  }
  gradient_row(r, tile->steps, 1, r->x + tile->from * r->x_stride, &(gradient_term){.w = total, .out = sink->out});
}

VMATH void lazy_gradient(const lazy_rows *r, const lazy_sink *sink, size_t count, const lazy_tile *tile, bool complex) {
  tile_weights t;
  for (size_t k = 0; k < count; k++) {
    /* cppcheck-suppress uninitvar; this fills it */
    input_weights(r, &sink[k], tile, complex, t.w[k]);
    start_weights(r, &sink[k], tile, complex, t.w_re[k], t.w_im[k]);
    if (sink[k].stride == 0) shared_gradient(r, &sink[k], tile, t.w[k]);
  }
  for (size_t i = 0; i < tile->n; i++) mode_gradient(r, sink, count, tile, &t, i, complex);
}

/* coefficients of the rows of slots [slot, slot + slots) for the steps from `live` on: C (steps, slots * parts,
 * LAZY_TILE) = P_s c_s; p: all of P */
VMATH void lazy_coefficients(const lazy_rows *r, const lazy_tile *tile, size_t live, size_t slot, size_t slots,
                             bool complex, lazy_weights *C, float *p_re, float *p_im) {
  const size_t H = r->H, S = r->parts * H, n = tile->n;
  for (size_t i = 0; i < LAZY_TILE; i++) p_re[i] = 1, p_im[i] = 0;
  for (size_t s = tile->steps; s-- > live;) {
    const size_t t = tile->from + s;
    lazy_weights *row = C + s * slots * r->parts;
    for (size_t k = 0; k < slots; k++, row += r->parts) {
      const lazy_slot part = r->slot[slot + k];
      const bool has_re = part.re != NO_PART, has_im = complex && part.im != NO_PART;
      const float *c = r->c + t * r->drivers * H + tile->first;
      const float *c_re = c + (has_re ? part.re * H : 0), *c_im = c + (has_im ? part.im * H : 0);
      for (size_t i = 0; i < n; i++) {
        const float re = has_re ? c_re[i] : 0, im = has_im ? c_im[i] : 0;
        row[0][i] = p_re[i] * re - (complex ? p_im[i] * im : 0);
        if (complex) row[1][i] = p_re[i] * im + p_im[i] * re;
      }
    }
    const float *a_re = r->a + t * S + tile->first, *a_im = a_re + H;
    for (size_t i = 0; i < n; i++) {
      const float re = p_re[i], im = p_im[i];
      p_re[i] = re * a_re[i] - (complex ? im * a_im[i] : 0);
      if (complex) p_im[i] = re * a_im[i] + im * a_re[i];
    }
  }
}

/* z (rows, D) <- p z + sum_s c_s x_s^T for one mode and some vectors of columns; the rows are pairs of parts */
VMATH void rank_tile(size_t rows, size_t vectors, size_t width, bool complex, bool fresh, size_t D, size_t steps,
                     const float *c, const float *x, size_t x_stride, float p_re, float p_im, float *z) {
  lanes sum[8][2];
#pragma GCC unroll 8
  for (size_t k = 0; k < rows; k++)
#pragma GCC unroll 2
    for (size_t l = 0; l < vectors; l++) {
      sum[k][l] = (lanes){0};
      if (fresh) continue;
      const size_t other = complex ? k ^ 1 : k;
      const lanes own = load_part(z + k * D + l * LANES, width), mate = load_part(z + other * D + l * LANES, width);
      sum[k][l] = complex ? p_re * own + (k & 1 ? p_im : -p_im) * mate : p_re * own;
    }
  for (size_t s = 0; s < steps; s++) {
    lanes v[2];
#pragma GCC unroll 2
    for (size_t l = 0; l < vectors; l++) {
      v[l] = load_lanes(x + s * x_stride + l * LANES);
      PIN(v[l]); /* else it is loaded anew for every row */
    }
#pragma GCC unroll 8
    for (size_t k = 0; k < rows; k++)
#pragma GCC unroll 2
      for (size_t l = 0; l < vectors; l++) sum[k][l] += c[(s * rows + k) * LAZY_TILE] * v[l];
  }
#pragma GCC unroll 8
  for (size_t k = 0; k < rows; k++)
#pragma GCC unroll 2
    for (size_t l = 0; l < vectors; l++) store_part(z + k * D + l * LANES, sum[k][l], width);
}

VMATH void rank_rows(const lazy_rows *r, size_t rows, bool complex, bool fresh, size_t steps, const float *c,
                     const float *x, float p_re, float p_im, float *z) {
  const size_t D = r->D, x_stride = r->x_stride;
  size_t d = 0;
  for (; d + TWO_LANES <= D; d += TWO_LANES)
    rank_tile(rows, 2, LANES, complex, fresh, D, steps, c, x + d, x_stride, p_re, p_im, z + d);
  for (; d + LANES <= D; d += LANES)
    rank_tile(rows, 1, LANES, complex, fresh, D, steps, c, x + d, x_stride, p_re, p_im, z + d);
  if (d < D) rank_tile(rows, 1, D - d, complex, fresh, D, steps, c, x + d, x_stride, p_re, p_im, z + d);
}

/* The same slots of a mode of the next tile: Z is passed in runs too short for the hardware's prefetcher. */
VMATH void prefetch_mode(const lazy_rows *r, size_t mode, size_t slot, size_t width) {
  if (mode >= r->H) return;
  const float *z = r->Z + (mode * r->rows + slot) * r->parts * r->D;
  for (size_t i = 0; i < width; i += CACHE_LINE_FLOATS) __builtin_prefetch(z + i, 1, 2);
}

/* slots [slot, slot + slots) of a tile */
VMATH void lazy_advance(const lazy_rows *r, const lazy_tile *tile, size_t slot, size_t slots, bool complex) {
  const size_t parts = complex ? 2 : 1, rows = slots * parts;
  /* steps before a reset are left out: their inputs need not be finite */
  const size_t live = r->live > tile->from ? r->live - tile->from : 0, steps = tile->steps - live;
  const float *x = r->x + (tile->from + live) * r->x_stride;
  const bool fresh = r->forgotten && r->live >= tile->from;
  lazy_weights C[LAZY_BLOCK * RANK_ROWS];
  float p_re[LAZY_TILE], p_im[LAZY_TILE];
  lazy_coefficients(r, tile, live, slot, slots, complex, C, p_re, p_im);
  for (size_t i = 0; i < tile->n; i++) {
    float *z = r->Z + ((tile->first + i) * r->rows + slot) * parts * r->D;
    if (tile->from == 0) prefetch_mode(r, tile->first + LAZY_TILE + i, slot, rows * r->D);
    if (fresh)
      rank_rows(r, rows, complex, true, steps, &C[live * rows][i], x, 0, 0, z);
    else
      rank_rows(r, rows, complex, false, steps, &C[live * rows][i], x, p_re[i], p_im[i], z);
  }
}

VMATH void lazy_block(const lazy_rows *r, const lazy_tile *tile, bool complex) {
  enum { PAIRS = RANK_ROWS / 2 };
  for (size_t s = 0; s < r->sinks; s += LAZY_SINKS)
    lazy_gradient(r, r->sink + s, r->sinks - s < LAZY_SINKS ? r->sinks - s : LAZY_SINKS, tile, complex);
  if (tile->from + tile->steps <= r->live) return;
  size_t slot = 0;
  for (; slot + (complex ? PAIRS : RANK_ROWS) <= r->rows; slot += complex ? PAIRS : RANK_ROWS)
    lazy_advance(r, tile, slot, complex ? PAIRS : RANK_ROWS, complex);
  for (; slot < r->rows; slot++) lazy_advance(r, tile, slot, 1, complex);
}

VMATH void lazy_chunk(const lazy_rows *r, bool complex) {
  if (r->sinks > 0) reverse_cotangents(r, complex);
  for (size_t first = 0; first < r->H; first += LAZY_TILE) {
    const size_t n = r->H - first < LAZY_TILE ? r->H - first : LAZY_TILE;
    for (size_t from = 0; from < r->steps; from += LAZY_BLOCK) {
      const size_t steps = r->steps - from < LAZY_BLOCK ? r->steps - from : LAZY_BLOCK;
      if (n == LAZY_TILE)
        lazy_block(r, &(lazy_tile){first, LAZY_TILE, from, steps}, complex);
      else
        lazy_block(r, &(lazy_tile){first, n, from, steps}, complex);
    }
  }
}

static void lazy(const lazy_rows *r) {
  if (r->parts == 2)
    lazy_chunk(r, true);
  else
    lazy_chunk(r, false);
}

/* ---- many traces --------------------------------------------------------------------------------- */

/* items that are taken together: a row of the gradient is loaded and stored once for all of them */
enum { CONTRACT_ITEMS = 4 };

/* one row of `items` items, and what they give to one row of the gradient */
typedef struct contract_row {
  const float *z_re[CONTRACT_ITEMS], *z_im[CONTRACT_ITEMS];
  float w_re[CONTRACT_ITEMS], w_im[CONTRACT_ITEMS];
} contract_row;

VMATH void contract_lanes(const contract_row *k, size_t items, bool complex, size_t vectors, size_t width, size_t d,
                          float *out) {
  lanes sum[4];
#pragma GCC unroll 4
  for (size_t l = 0; l < vectors; l++) sum[l] = load_part(out + d + l * LANES, width);
#pragma GCC unroll 4
  for (size_t i = 0; i < items; i++) {
#pragma GCC unroll 4
    for (size_t l = 0; l < vectors; l++) {
      sum[l] += k->w_re[i] * load_part(k->z_re[i] + d + l * LANES, width);
      if (complex) sum[l] += k->w_im[i] * load_part(k->z_im[i] + d + l * LANES, width);
    }
  }
#pragma GCC unroll 4
  for (size_t l = 0; l < vectors; l++) store_part(out + d + l * LANES, sum[l], width);
}

VMATH contract_row contract_row_of(const batch_rows *r, const lazy_sink *sink, size_t from, size_t items, size_t j,
                                   bool complex) {
  const size_t S = r->parts * r->H, at = (j * r->rows + sink->slot) * r->parts * r->D;
  contract_row k;
  for (size_t i = 0; i < items; i++) {
    const float *g = r->g + ((from + i) * r->channels + sink->channel) * S + j;
    const float re = g[0], im = complex ? g[r->H] : 0;
    k.z_re[i] = r->Z[from + i] + at;
    k.z_im[i] = k.z_re[i] + r->D;
    k.w_re[i] = sink->turned ? im : re;
    k.w_im[i] = sink->turned ? -re : im;
  }
  /* cppcheck-suppress uninitvar; no more items are read */
  return k;
}

/* prefetches a row of the next items: what is read of an item is too short for the hardware prefetcher */
VMATH void prefetch_items(const batch_rows *r, const lazy_sink *sink, size_t from, size_t j) {
  const size_t width = r->parts * r->D, at = (j * r->rows + sink->slot) * width;
  for (size_t i = from; i < from + CONTRACT_ITEMS && i < r->items; i++)
    for (size_t d = 0; d < width; d += CACHE_LINE_FLOATS) __builtin_prefetch(r->Z[i] + at + d, 0, 2);
}

VMATH void contract_items(const batch_rows *r, size_t from, size_t items, bool complex) {
  for (size_t j = r->first; j < r->first + r->n; j++) {
    for (const lazy_sink *sink = r->sink; sink < r->sink + r->sinks; sink++) {
      const contract_row k = contract_row_of(r, sink, from, items, j, complex);
      float *out = sink->out + j / sink->group * sink->stride;
      if (sink == r->sink || sink->slot != sink[-1].slot) prefetch_items(r, sink, from + items, j);
      size_t d = 0;
      for (; d + FOUR_LANES <= r->D; d += FOUR_LANES) contract_lanes(&k, items, complex, 4, LANES, d, out);
      for (; d + LANES <= r->D; d += LANES) contract_lanes(&k, items, complex, 1, LANES, d, out);
      if (d < r->D) contract_lanes(&k, items, complex, 1, r->D - d, d, out);
    }
  }
}

VMATH void contract_all(const batch_rows *r, bool complex) {
  size_t from = 0;
  for (; from + CONTRACT_ITEMS <= r->items; from += CONTRACT_ITEMS) contract_items(r, from, CONTRACT_ITEMS, complex);
  for (; from < r->items; from++) contract_items(r, from, 1, complex);
}

static void contract(const batch_rows *r) {
  if (r->parts == 2)
    contract_all(r, true);
  else
    contract_all(r, false);
}

/* the same rows of `items` items, and what weighs them */
typedef struct vector_items {
  const float *z[CONTRACT_ITEMS], *y[CONTRACT_ITEMS];
} vector_items;

VMATH void contract_vector(const vector_items *k, size_t items, size_t vectors, size_t width, size_t at, size_t j,
                           float *out) {
  lanes sum[4];
#pragma GCC unroll 4
  for (size_t l = 0; l < vectors; l++) sum[l] = load_part(out + at + j + l * LANES, width);
#pragma GCC unroll 4
  for (size_t i = 0; i < items; i++)
#pragma GCC unroll 4
    for (size_t l = 0; l < vectors; l++)
      sum[l] += load_part(k->y[i] + j + l * LANES, width) * load_part(k->z[i] + at + j + l * LANES, width);
#pragma GCC unroll 4
  for (size_t l = 0; l < vectors; l++) store_part(out + at + j + l * LANES, sum[l], width);
}

VMATH void contract_vector_items(const vector_rows *r, size_t from, size_t items) {
  const size_t H = r->H, next = from + items;
  vector_items k;
  for (size_t i = 0; i < items; i++) {
    k.z[i] = r->z[r->item[from + i]] + r->at;
    k.y[i] = r->y + r->item[from + i] * H;
  }
  for (size_t at = 0; at < r->rows * H; at += H) {
    for (size_t i = next; i < next + CONTRACT_ITEMS && i < r->items; i++)
      for (size_t j = 0; j < H; j += CACHE_LINE_FLOATS) __builtin_prefetch(r->z[r->item[i]] + r->at + at + j, 0, 2);
    size_t j = 0;
    for (; j + FOUR_LANES <= H; j += FOUR_LANES) contract_vector(&k, items, 4, LANES, at, j, r->out);
    for (; j + LANES <= H; j += LANES) contract_vector(&k, items, 1, LANES, at, j, r->out);
    if (j < H) contract_vector(&k, items, 1, H - j, at, j, r->out);
  }
}

static void contract_vectors(const vector_rows *r) {
  size_t from = 0;
  for (; from + CONTRACT_ITEMS <= r->items; from += CONTRACT_ITEMS) contract_vector_items(r, from, CONTRACT_ITEMS);
  for (; from < r->items; from++) contract_vector_items(r, from, 1);
}

#define RTRL_KERNELS                                                                                                \
  {                                                                                                                 \
    .trace = trace, .entries = entries, .entry_vectors = entry_vectors, .entry_number = entry_number, .lazy = lazy, \
    .contract = contract, .contract_vectors = contract_vectors                                                      \
  }
