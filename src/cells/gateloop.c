/* SPDX-License-Identifier: MIT */
/* gateloop.c: GateLoop in its max-head form: one complex recurrence per channel, whose magnitude and phase the input
 * controls, a real key-value write, and a gated read-out of the real part.
 *
 *   al, be     = W_al [x; 1], W_be [x; 1];   k, v, q, g = W_k x, W_v x, W_q x, W_g x
 *   polar:   a = sigma(al) exp(i be)
 *   complex: a = sigma(rho) (al + i be) / rho,  rho = |al + i be|, so |a| is at least 1/2
 *   h_t        = m_t a h_{t-1} + k v
 *   E, y       = silu(g) q Re h_t,  W_o E
 *
 * Both transitions hand out d log a / d al and d log a / d be, so one adjoint and one set of RTRL drivers serve
 * both. The query, the gate and the output matrix act on the state after it is formed: they need no trace.
 *
 * Pre-activations and W_o are limited to ranges in which the product chain from x to y stays inside float32, and |a|
 * stays below 1 after rounding: the state of an endless stream is bounded. Within the limits nothing changes; beyond
 * them the forward saturates and the gradient is that of the formulas above at the limit.
 */
#include "cells/affine/affine_impl.h"
#include "cells/tiles.h"
#include "kernels/diagonal.h"
#include "kernels/gemm_impl.h"

#include <string.h>

/* ---- description ------------------------------------------------------------------------------- */

enum { TRANSITION_POLAR, TRANSITION_COMPLEX };
enum { OPTION_TRANSITION };

static const char *const transition_names[] = {[TRANSITION_POLAR] = "polar", [TRANSITION_COMPLEX] = "complex", NULL};

static const sparc_option options[] = {
    {.name = "transition",
     .type = SPARC_OPTION_CHOICE,
     .choices = transition_names,
     .help = "sigmoid and phase from two pre-activations, or from modulus and argument of one complex number"},
    {.name = NULL}};

/* positions in the block table; all but the last are projections of the input */
enum { RETENTION, PHASE, KEY, VALUE, QUERY, GATE, OUTPUT };

/* columns of the pre-activations, H each, as the kernels have them: the projections in the order of their blocks, then
 * E */
enum { AL = LOOP_AL, BE = LOOP_BE, K = LOOP_K, V = LOOP_V, Q = LOOP_Q, G = LOOP_G, E = LOOP_E, COLUMNS = LOOP_COLUMNS };
_Static_assert((int)AL == (int)RETENTION && (int)G == (int)GATE, "columns follow the blocks");

/* RTRL slots: the first four blocks, and the biases of the first two */
enum { TRACED_MATRICES = VALUE + 1, TRACED_BIASES = PHASE + 1 };

/* constants: W_o^T (H, D) for y, then W_o (D, H) for dE */
static size_t output_matrix_offset(const sparc_cell *cell) { return round_elements((size_t)cell->H * (size_t)cell->D); }

static sparc_status layout(sparc_cell *cell) {
  const int D = cell->D, H = cell->H;
  add_block(cell, "retention", SPARC_RECURRENT, H, D + 1);
  add_block(cell, "phase", SPARC_RECURRENT, H, D + 1);
  add_block(cell, "key", SPARC_RECURRENT, H, D);
  add_block(cell, "value", SPARC_RECURRENT, H, D);
  add_block(cell, "query", SPARC_REGULAR, H, D);
  add_block(cell, "gate", SPARC_REGULAR, H, D);
  add_block(cell, "output", SPARC_REGULAR, D, H);

  for (int block = RETENTION; block <= GATE; block++) {
    add_projection(cell, block, -1);
    cell->project[block].output_only = block == QUERY || block == GATE;
  }
  cell->parts = 2;
  cell->pre = COLUMNS * H;
  cell->sizes.output = (size_t)D;
  cell->constant_count = output_matrix_offset(cell) + (size_t)H * (size_t)D;

  cell->outer = TRACED_MATRICES;
  cell->driver[KEY] = cell->driver[VALUE] = DRIVER_REAL;
  cell->scalar = TRACED_BIASES;
  for (int block = 0; block < TRACED_MATRICES; block++) {
    sparc_status status = add_sink(cell, (rtrl_sink){.outer = true, .slot = block, .block = block});
    if (status == SPARC_OK && block < TRACED_BIASES)
      status = add_sink(cell, (rtrl_sink){.slot = block, .block = block, .column = D});
    if (status != SPARC_OK) return status;
  }
  return SPARC_OK;
}

/* one rule for both styles: uniform within 1 / sqrt(fan in), biases included */
static sparc_status init(const sparc_cell *cell, sparc_init_style style, uint64_t seed, const char *name,
                         float *params) {
  (void)style;
  for (size_t i = 0; i < cell->blocks; i++) {
    const sparc_block *block = &cell->block[i];
    sparc_random stream = block_stream(seed, name, block->name);
    const int fan_in = i == OUTPUT ? cell->H : cell->D;
    sparc_status status = random_torch_uniform(&stream, params + block->offset, block->size, fan_in);
    if (status != SPARC_OK) return status;
  }
  return SPARC_OK;
}

static const cell_description about = {
    .kind =
        {
            .name = "gateloop",
            .summary = "per-channel magnitude and phase control, key-value write, gated output",
            .readout = READOUT_NONE,
            .features = POLICY_OUTPUT,
            .coordinates = 2,
            .options = options,
        },
    .layout = layout,
    .init = init,
};

/* ---- limits ------------------------------------------------------------------------------------ */

/* |k v| and |silu(g) q| reach at most 1e30; with |a| <= RETENTION_MAX the state stays below 1e37, and a sum over the
 * largest H of W_o E below 2e37. Only an infinity of al or be does harm: it has no sine. */
static const real TRANSITION_MAX = (real)1e38, FACTOR_MAX = (real)1e15, READ_MAX = (real)1e20, OUTPUT_MAX = (real)1e10;

/* rounded sine, cosine and product lengthen a by at most 1.1 epsilon; reached at al = 15 in float32, 35 in float64 */
static const real RETENTION_MAX = 1 - 2 * REAL_EPSILON;

/* the modulus of al + i be never falls below this */
static const double MODULUS_MIN = 1e-12;

/* a NaN stays a NaN */
static inline real limit(real value, real bound) { return value < -bound ? -bound : value > bound ? bound : value; }

static void derive(const sparc_cell *cell, const real *params, real *constants) {
  const size_t D = (size_t)cell->D, H = (size_t)cell->H;
  const real *output = params + cell->block[OUTPUT].offset;
  real *columns = constants, *rows = constants + output_matrix_offset(cell);
  for (size_t i = 0; i < D; i++)
    for (size_t j = 0; j < H; j++) columns[j * D + i] = rows[i * H + j] = limit(output[i * H + j], OUTPUT_MAX);
}

/* NOLINTBEGIN(readability-non-const-parameter): operations have the types of cell_impl.h, used or not */

static void activate(const sparc_cell *cell, const real *constants, size_t n, const real *x, real *pre, real *shared) {
  (void)constants, (void)x, (void)shared;
  const size_t H = (size_t)cell->H;
  for (size_t t = 0; t < n; t++) {
    real *row = pre + t * COLUMNS * H;
    for (size_t c = AL * H; c < K * H; c++) row[c] = limit(row[c], TRANSITION_MAX);
    for (size_t c = K * H; c < E * H; c++) row[c] = limit(row[c], FACTOR_MAX);
  }
}

/* ---- one channel at one token ------------------------------------------------------------------ */

/* sigma(v) and 1 - sigma(v), each to full relative precision */
typedef struct gate {
  real open, shut;
} gate;

static inline gate gate_of(real v) {
  const real t = r_exp(v < 0 ? v : -v), large = 1 / (1 + t), small = t * large;
  return v < 0 ? (gate){small, large} : (gate){large, small};
}

static inline real silu(real v) { return v * gate_of(v).open; }

static inline real silu_slope(real v) {
  const gate s = gate_of(v);
  return s.open * (1 + v * s.shut);
}

/* a, and d log a = (rate + i turn) of each of its pre-activations */
typedef struct transition {
  real re, im;
  real rate_al, turn_al, rate_be, turn_be;
} transition;

static inline transition polar_transition(real al, real be) {
  const gate s = gate_of(al);
  const real magnitude = limit(s.open, RETENTION_MAX);
  return (transition){
      .re = magnitude * r_cos(be),
      .im = magnitude * r_sin(be),
      .rate_al = s.shut,
      .turn_be = 1,
  };
}

/* the square of the modulus may leave float, never double */
static inline transition complex_transition(real al, real be) {
  const double modulus = sqrt((double)al * (double)al + (double)be * (double)be);
  const double divisor = modulus < MODULUS_MIN ? MODULUS_MIN : modulus;
  const real rho = (real)divisor, unit_re = (real)((double)al / divisor), unit_im = (real)((double)be / divisor);
  const gate s = gate_of(rho);
  const real magnitude = limit(s.open, RETENTION_MAX);
  return (transition){
      .re = magnitude * unit_re,
      .im = magnitude * unit_im,
      .rate_al = s.shut * unit_re,
      .turn_al = -unit_im / rho,
      .rate_be = s.shut * unit_im,
      .turn_be = unit_re / rho,
  };
}

static inline bool is_polar(const sparc_cell *cell) { return cell->option[OPTION_TRANSITION] == TRANSITION_POLAR; }

static inline transition transition_at(bool polar, const real *pre, size_t H, size_t j) {
  const real al = pre[AL * H + j], be = pre[BE * H + j];
  return polar ? polar_transition(al, be) : complex_transition(al, be);
}

static void coefficients(const sparc_cell *cell, const real *constants, const TYPED(token) * token, int first, int n,
                         TYPED(coefficients) * out) {
  (void)constants;
  const size_t H = (size_t)cell->H;
  const bool polar = is_polar(cell);
  for (int i = 0; i < n; i++) {
    const size_t j = (size_t)(first + i);
    const transition a = transition_at(polar, token->pre, H, j);
    out->a_re[i] = a.re;
    out->a_im[i] = a.im;
    out->b_re[i] = token->pre[K * H + j] * token->pre[V * H + j];
    out->b_im[i] = 0;
  }
}

static void adjoint(const sparc_cell *cell, const real *constants, const TYPED(token) * token, int first, int n,
                    const TYPED(cotangent) * cot, TYPED(coefficients) * transitions, real *dpre, double *dshared,
                    double (*sums)[MODE_TILE]) {
  (void)constants, (void)dshared, (void)sums;
  const size_t H = (size_t)cell->H;
  const bool polar = is_polar(cell);
  for (int i = 0; i < n; i++) {
    const size_t j = (size_t)(first + i);
    const transition a = transition_at(polar, token->pre, H, j);
    const real mu_re = cot->mu_re[i], mu_im = cot->mu_im[i];
    transitions->a_re[i] = a.re;
    transitions->a_im[i] = a.im;

    /* w = conj(a kept) mu: a parameter with d a = (rate + i turn) a gets rate Re w + turn Im w */
    const real carried_re = a.re * cot->kept_re[i] - a.im * cot->kept_im[i];
    const real carried_im = a.re * cot->kept_im[i] + a.im * cot->kept_re[i];
    const real w_re = carried_re * mu_re + carried_im * mu_im, w_im = carried_re * mu_im - carried_im * mu_re;
    dpre[AL * H + j] = a.rate_al * w_re + a.turn_al * w_im;
    dpre[BE * H + j] = a.rate_be * w_re + a.turn_be * w_im;

    /* the write is real */
    dpre[K * H + j] = token->pre[V * H + j] * mu_re;
    dpre[V * H + j] = token->pre[K * H + j] * mu_re;
  }
}

/* NOLINTEND(readability-non-const-parameter) */

/* ---- read-out ---------------------------------------------------------------------------------- */

/* Y (n, columns) = A (n, rows) W (rows, columns); a single token is walked row by row */
static void multiply(const kernels *table, size_t n, size_t rows, size_t columns, const real *restrict A,
                     size_t stride_a, const real *restrict W, real *restrict Y, size_t stride_y) {
  if (n > 1) {
    gemm(table, AS_IS, AS_IS, n, columns, rows, A, stride_a, W, columns, 0, Y, stride_y);
    return;
  }
  memset(Y, 0, columns * sizeof(real));
  for (size_t r = 0; r < rows; r++)
    for (size_t c = 0; c < columns; c++) Y[c] += A[r] * W[r * columns + c];
}

/* E of n tokens */
static void read_states(const sparc_cell *cell, size_t n, const real *states, real *pre) {
  const size_t H = (size_t)cell->H;
#ifndef SPARC_DOUBLE
  if (diagonal_of(cell->kernels)->loop_read) {
    diagonal_of(cell->kernels)->loop_read(n, H, READ_MAX, states, pre);
    return;
  }
#endif
  for (size_t t = 0; t < n; t++) {
    const real *re = states + t * 2 * H;
    real *row = pre + t * COLUMNS * H;
    for (size_t j = 0; j < H; j++) row[E * H + j] = limit(silu(row[G * H + j]) * row[Q * H + j] * re[j], READ_MAX);
  }
}

static void output(const sparc_cell *cell, const real *constants, size_t n, const real *states, real *pre, real *y) {
  const size_t D = (size_t)cell->D, H = (size_t)cell->H, width = COLUMNS * H;
  read_states(cell, n, states, pre);
  multiply(cell->kernels, n, H, D, pre + E * H, width, constants, y, D);
}

/* In dpre the column of E holds dE while it is needed, then E itself for the gradient of the output matrix: a step
 * that was taken without y has left no E. */
static void read_states_backward(const sparc_cell *cell, size_t n, const real *states, const real *pre, real *dstates,
                                 real *dpre) {
  const size_t H = (size_t)cell->H, width = COLUMNS * H;
#ifndef SPARC_DOUBLE
  if (diagonal_of(cell->kernels)->loop_read_adjoint) {
    diagonal_of(cell->kernels)->loop_read_adjoint(n, H, READ_MAX, states, pre, dstates, dpre);
    return;
  }
#endif
  for (size_t t = 0; t < n; t++) {
    const real *re = states + t * 2 * H, *row = pre + t * width;
    real *dre = dstates + t * 2 * H, *drow = dpre + t * width;
    for (size_t j = 0; j < H; j++) {
      const real dE = drow[E * H + j], q = row[Q * H + j], g = row[G * H + j], gain = silu(g);
      dre[j] = dE * q * gain;
      dre[H + j] = 0;
      drow[Q * H + j] = dE * re[j] * gain;
      drow[G * H + j] = dE * re[j] * q * silu_slope(g);
      drow[E * H + j] = limit(gain * q * re[j], READ_MAX);
    }
  }
}

static void output_backward(const sparc_cell *cell, const real *constants, size_t n, const real *states,
                            const real *pre, const real *dy, real *dstates, real *dpre) {
  const size_t D = (size_t)cell->D, H = (size_t)cell->H, width = COLUMNS * H;
  multiply(cell->kernels, n, D, H, dy, D, constants + output_matrix_offset(cell), dpre + E * H, width);
  read_states_backward(cell, n, states, pre, dstates, dpre);
}

/* dW_o += dy E^T, over a sequence and for one token; a run of its rows at a time */
static size_t weight_parts(const sparc_cell *cell) { return tiles_of((size_t)cell->D, ROW_TILE); }

static void weight_gradient(const sparc_cell *cell, size_t part, size_t n, const real *x, const real *pre,
                            const real *dpre, const real *dshared, const real *dy, real *dparams) {
  (void)x, (void)pre, (void)dshared;
  if (!dy) return;
  const size_t D = (size_t)cell->D, H = (size_t)cell->H;
  const range rows = range_of(D, ROW_TILE, part);
  gemm(cell->kernels, TRANSPOSED, AS_IS, rows.n, H, n, dy + rows.first, D, dpre + E * H, COLUMNS * H, 1,
       dparams + cell->block[OUTPUT].offset + rows.first * H, H);
}

static void direct_gradient(const sparc_cell *cell, const real *x, const real *pre, const real *dpre, const real *dy,
                            real *dparams) {
  (void)x, (void)pre;
  const size_t D = (size_t)cell->D, H = (size_t)cell->H;
  real *doutput = dparams + cell->block[OUTPUT].offset;
  for (size_t i = 0; i < D; i++)
    for (size_t j = 0; j < H; j++) doutput[i * H + j] += dy[i] * dpre[E * H + j];
}

/* ---- RTRL -------------------------------------------------------------------------------------- */

static void drivers(const sparc_cell *cell, const real *constants, const TYPED(token) * token, const real *kept,
                    const real *a, const real *b, real *outer, real *scalar) {
  (void)constants, (void)b;
  const size_t H = (size_t)cell->H;
  const bool polar = is_polar(cell);
  for (size_t j = 0; j < H; j++) {
    const transition slope = transition_at(polar, token->pre, H, j);
    const real w_re = a[j] * kept[j] - a[H + j] * kept[H + j], w_im = a[j] * kept[H + j] + a[H + j] * kept[j];
    const real driver[TRACED_MATRICES][2] = {
        [RETENTION] = {slope.rate_al * w_re - slope.turn_al * w_im, slope.rate_al * w_im + slope.turn_al * w_re},
        [PHASE] = {slope.rate_be * w_re - slope.turn_be * w_im, slope.rate_be * w_im + slope.turn_be * w_re},
        [KEY] = {token->pre[V * H + j], 0},
        [VALUE] = {token->pre[K * H + j], 0},
    };
    for (size_t s = 0; s < TRACED_MATRICES; s++) {
      outer[2 * s * H + j] = driver[s][0];
      outer[(2 * s + 1) * H + j] = driver[s][1];
    }
    for (size_t s = 0; s < TRACED_BIASES; s++) {
      scalar[2 * s * H + j] = driver[s][0];
      scalar[(2 * s + 1) * H + j] = driver[s][1];
    }
  }
}

/* ---- kernels ----------------------------------------------------------------------------------- */

#ifdef SPARC_DOUBLE
#define FUSED NULL
#else
static loop_rows rows_of(const sparc_cell *cell, const span_f32 *span) {
  return (loop_rows){.H = (size_t)cell->H,
                     .first = span->first,
                     .n = span->n,
                     .tokens = span->tokens,
                     .polar = is_polar(cell),
                     .pre = span->pre,
                     .mask = span->mask};
}

static void fused_scan(const sparc_cell *cell, const float *constants, const span_f32 *span, float *h, float *states) {
  (void)constants;
  const loop_rows rows = rows_of(cell, span);
  diagonal_of(cell->kernels)->loop_scan(&rows, &(complex_scan){h, h + span->n, states});
}

static void fused_adjoint(const sparc_cell *cell, const float *constants, const span_f32 *span, const float *before,
                          const float *states, const float *dstates, float *g, float *dpre, float *dshared,
                          float *sums) {
  (void)constants, (void)dshared, (void)sums;
  const loop_rows rows = rows_of(cell, span);
  const complex_adjoint adjoint_rows = {states, dstates, before, before + span->n, g, g + span->n};
  diagonal_of(cell->kernels)->loop_adjoint(&rows, &adjoint_rows, dpre);
}

/* outer NULL: no drivers */
static void fused_token(const sparc_cell *cell, const token_f32 *token, const float *kept, float *a, float *b,
                        float *outer) {
  const size_t H = (size_t)cell->H;
  for (size_t tile = 0; tile < tiles_of(H, WIDE_TILE); tile++) {
    const range modes = range_of(H, WIDE_TILE, tile);
    const loop_rows rows = {
        .H = H, .first = modes.first, .n = modes.n, .tokens = 1, .polar = is_polar(cell), .pre = token->pre};
    diagonal_of(cell->kernels)->loop_token(&rows, kept, a, b, outer);
  }
}

static void fused_coefficients(const sparc_cell *cell, const float *constants, const token_f32 *token,
                               const float *kept, float *a, float *b) {
  (void)constants;
  fused_token(cell, token, kept, a, b, NULL);
}

static void fused_drivers(const sparc_cell *cell, const float *constants, const token_f32 *token, const float *kept,
                          float *a, float *b, float *outer, float *scalar) {
  (void)constants;
  fused_token(cell, token, kept, a, b, outer);
  /* the biases move what their rows move */
  memcpy(scalar, outer, cell->sizes.state * TRACED_BIASES * sizeof(float));
}

static const fused_ops_f32 *fused(const sparc_cell *cell, const float *constants) {
  static const fused_ops_f32 loops = {
      .scan = fused_scan, .scan_adjoint = fused_adjoint, .coefficients = fused_coefficients, .drivers = fused_drivers};
  (void)constants;
  return diagonal_of(cell->kernels)->loop_scan ? &loops : NULL;
}
#define FUSED fused
#endif

static const TYPED(affine_ops) affine = {
    .derive = derive,
    .activate = activate,
    .weight_gradient = LEARNING(weight_gradient),
    .weight_parts = weight_parts,
    .coefficients = coefficients,
    .adjoint = LEARNING(adjoint),
    .fused = FUSED,
    .output = output,
    .output_backward = LEARNING(output_backward),
    .drivers = LEARNING(drivers),
    .direct_gradient = LEARNING(direct_gradient),
};

static const TYPED(cell_ops) ops = AFFINE_CELL_OPS(affine);

extern const cell_entry TYPED(cell_gateloop);
const cell_entry TYPED(cell_gateloop) = {&about, &ops};
