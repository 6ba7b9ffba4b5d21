/* SPDX-License-Identifier: MIT */
/* mamba3.c: Mamba-3 with a single input and output per head.
 *
 * One projection of x gives z, v (heads x P), B, C (N, shared by the heads), and per head dt, A, lam, and om (angles).
 *   dt = softplus(. + dt_bias)   A = -max(f(.), 1e-4)   lam = sigmoid(.)   al = exp(A dt)   be = (1 - lam) dt al
 *   ga = lam dt                  k = rms(B) key_norm + key_bias            q = rms(C) query_norm + query_bias
 *   phi <- m phi + pi dt tanh(om) (mod 2 pi)            kr = Rot(phi) k    qr = Rot(phi) q
 *   S   <- m al S + m be vc kc' + ga v kr'              vc <- v            kc <- kr           (S is P x N per head)
 *   o   = S qr + skip v                                 y = Wo (o silu(z))
 * The first 2 `angles` of the N coordinates rotate in adjacent pairs. f(y) is 1 + y above zero and 1 / (1 - y) below,
 * or softplus(y) with decay=softplus, the form of the first release.
 *
 * Projections, norms and coefficients are made for tiles of tokens before the time loop, the output projection and all
 * weight gradients after it. The loop runs per stream and head; it keeps S as (N, P), so that its inner loops run over
 * the channels of a head, of which there are more. State: S[heads][P][N] | kc[heads][N] | vc[heads][P] |
 * phi[heads][angles].
 *
 * Range: projections and o are limited to +-1e12, weights, keys and queries when they are prepared. No product of a
 * step then leaves the range of float, for any finite parameters and inputs of ordinary size, or ordinary parameters
 * and |x| up to 1e30. The backward takes the limits for the identity: nothing that trains comes near them.
 */
#include "base/error.h"
#include "base/memory.h"
#include "base/threads.h"
#include "cells/cell_impl.h"
#include "cells/tiles.h"
#include "kernels/diagonal.h"
#include "kernels/gemm_impl.h"

#include <stdio.h>
#include <string.h>

static const double PI = 3.14159265358979323846;
static const double RATE_MIN = 1e-4, NORM_EPSILON = 1e-5;

/* limits of projections and of o, and of what is prepared: norms and biases of keys and queries, output weights.
 * With a state of MAX_STATE, |S| stays below 1e30, |S qr| below 1e38 and |o silu(z)| below 1e25. */
static const double VALUE_MAX = 1e12, KEY_MAX = 1e4, OUTPUT_MAX = 1e10;

/* ---- description ------------------------------------------------------------------------------- */

static const char *const decay_names[] = {"rational", "softplus", NULL};
enum { OPTION_HEADS, OPTION_HEAD_DIM, OPTION_STATE, OPTION_ANGLES, OPTION_DECAY };
enum { DECAY_RATIONAL, DECAY_SOFTPLUS };
enum { ALL_PAIRS = -1 }; /* means state / 2; resolved by layout */
enum { MAX_STATE = 256, MAX_ANGLES = MAX_STATE / 2 };

static const sparc_option options[] = {
    {.name = "heads", .type = SPARC_OPTION_INT, .fallback = 4, .low = 1, .high = 4096, .help = "heads"},
    {.name = "head_dim",
     .type = SPARC_OPTION_INT,
     .fallback = 16,
     .low = 1,
     .high = 4096,
     .help = "channels of a head"},
    {.name = "state",
     .type = SPARC_OPTION_INT,
     .fallback = 2,
     .low = 1,
     .high = MAX_STATE,
     .help = "state size of a channel"},
    {.name = "angles",
     .type = SPARC_OPTION_INT,
     .fallback = ALL_PAIRS,
     .low = 0,
     .high = MAX_ANGLES,
     .help = "state pairs that rotate; without it all of them, state / 2"},
    {.name = "decay", .type = SPARC_OPTION_CHOICE, .choices = decay_names, .help = "activation of the decay rate"},
    {.name = NULL}};

/* positions in the block table */
enum { INPUT, DT_BIAS, KEY_BIAS, QUERY_BIAS, KEY_NORM, QUERY_NORM, SKIP, OUTPUT };

typedef struct dims {
  size_t D, heads, P, N, angles, inner;    /* inner = heads P */
  size_t z, v, B, C, dt, A, lam, om, rows; /* first column of each group of the projection, and their number */
  size_t values;                           /* columns z and v; the rest are the controls */
  size_t kc, vc, phi, state;               /* places in the state, and its size */
} dims;

static dims dims_of(const sparc_cell *cell) {
  dims n = {.D = (size_t)cell->D,
            .heads = (size_t)cell->option[OPTION_HEADS],
            .P = (size_t)cell->option[OPTION_HEAD_DIM],
            .N = (size_t)cell->option[OPTION_STATE],
            .angles = (size_t)cell->option[OPTION_ANGLES]};
  n.inner = n.heads * n.P;
  n.v = n.z + n.inner;
  n.B = n.v + n.inner;
  n.C = n.B + n.N;
  n.dt = n.C + n.N;
  n.A = n.dt + n.heads;
  n.lam = n.A + n.heads;
  n.om = n.lam + n.heads;
  n.rows = n.om + n.angles;
  n.values = n.B;
  n.kc = n.inner * n.N;
  n.vc = n.kc + n.heads * n.N;
  n.phi = n.vc + n.inner;
  n.state = n.phi + n.heads * n.angles;
  return n;
}

/* element offsets into prepared: matrices in the order that the forward (in) and the backward (out) want */
typedef struct prepared_layout {
  size_t value_in;             /* (D, values) */
  size_t input_out;            /* (rows, D) */
  size_t output_in;            /* (inner, D) */
  size_t output_out;           /* (D, inner) */
  size_t bias;                 /* (rows): dt_bias in the columns of dt, else 0 */
  size_t key_bias, query_bias; /* (heads, N) */
  size_t key_norm, query_norm; /* (N) */
  size_t skip;                 /* (heads) */
  size_t total;
} prepared_layout;

/* element offsets into the tape of a step */
typedef struct step_layout {
  size_t pre, al, hat, kr, qr, turn; /* (rows), (heads), (2, N), (N), (N), (heads, angles, 2) */
  size_t o, gated;                   /* (inner) */
  size_t total;
} step_layout;

static prepared_layout prepared_layout_of(const dims *n) {
  prepared_layout at = {0};
  at.value_in = take_elements(&at.total, n->D * n->values);
  at.input_out = take_elements(&at.total, n->D * n->rows);
  at.output_in = take_elements(&at.total, n->D * n->inner);
  at.output_out = take_elements(&at.total, n->D * n->inner);
  at.bias = take_elements(&at.total, n->rows);
  at.key_bias = take_elements(&at.total, n->heads * n->N);
  at.query_bias = take_elements(&at.total, n->heads * n->N);
  at.key_norm = take_elements(&at.total, n->N);
  at.query_norm = take_elements(&at.total, n->N);
  at.skip = take_elements(&at.total, n->heads);
  return at;
}

static step_layout step_layout_of(const dims *n) {
  step_layout at = {0};
  at.pre = take_elements(&at.total, n->rows);
  at.al = take_elements(&at.total, n->heads);
  at.hat = take_elements(&at.total, 2 * n->N);
  at.kr = take_elements(&at.total, n->N);
  at.qr = take_elements(&at.total, n->N);
  at.turn = take_elements(&at.total, n->heads * n->angles * 2);
  at.o = take_elements(&at.total, n->inner);
  at.gated = take_elements(&at.total, n->inner);
  return at;
}

/* what reaches the state is recurrent; z, C and all that follows the state is regular */
static void add_blocks(sparc_cell *cell, const dims *n) {
  const int D = cell->D, heads = (int)n->heads, N = (int)n->N, inner = (int)n->inner;
  add_tensor(cell, "input", (int)n->rows, D);
  add_span(cell, SPARC_REGULAR, n->v * n->D);
  add_span(cell, SPARC_RECURRENT, (n->C - n->v) * n->D);
  add_span(cell, SPARC_REGULAR, n->N * n->D);
  add_span(cell, SPARC_RECURRENT, (n->rows - n->dt) * n->D);
  add_block(cell, "dt_bias", SPARC_RECURRENT, heads, 0);
  add_block(cell, "key_bias", SPARC_RECURRENT, heads, N);
  add_block(cell, "query_bias", SPARC_REGULAR, heads, N);
  add_block(cell, "key_norm", SPARC_RECURRENT, N, 0);
  add_block(cell, "query_norm", SPARC_REGULAR, N, 0);
  add_block(cell, "skip", SPARC_REGULAR, heads, 0);
  add_block(cell, "output", SPARC_REGULAR, D, inner);
}

static sparc_status layout(sparc_cell *cell) {
  const int state = (int)cell->option[OPTION_STATE], angles = (int)cell->option[OPTION_ANGLES], pairs = state / 2;
  if (angles > pairs)
    return fail(SPARC_INVALID, "option angles is %d, expected at most %d: each turns two of the %d state coordinates",
                angles, pairs, state);
  if (angles == ALL_PAIRS) cell->option[OPTION_ANGLES] = pairs;
  const dims n = dims_of(cell);
  add_blocks(cell, &n);
  cell->sizes.state = n.state;
  cell->sizes.output = n.D;
  cell->sizes.prepared = prepared_layout_of(&n).total;
  cell->sizes.tape = step_layout_of(&n).total;
  return SPARC_OK;
}

static void fill_ones(const sparc_block *block, float *params) {
  for (size_t i = 0; i < block->size; i++) params[block->offset + i] = 1;
}

/* both styles alike: uniform weights, steps dt from 0.001 to 0.1 spread evenly in logarithm, the rest ones */
static sparc_status init(const sparc_cell *cell, sparc_init_style style, uint64_t seed, const char *name,
                         float *params) {
  (void)style;
  const dims n = dims_of(cell);
  const sparc_block *block = cell->block;
  static const int ones[] = {KEY_BIAS, QUERY_BIAS, KEY_NORM, QUERY_NORM, SKIP};
  for (size_t i = 0; i < sizeof ones / sizeof *ones; i++) fill_ones(&block[ones[i]], params);

  sparc_random stream = block_stream(seed, name, block[DT_BIAS].name);
  for (size_t h = 0; h < n.heads; h++) {
    const double low = log(1e-3), high = log(0.1);
    const double dt = fmax(exp(low + (high - low) * sparc_random_uniform(&stream)), 1e-4);
    params[block[DT_BIAS].offset + h] = (float)(dt + log(-expm1(-dt))); /* softplus gives dt back */
  }

  stream = block_stream(seed, name, block[INPUT].name);
  sparc_status status = random_torch_uniform(&stream, params + block[INPUT].offset, block[INPUT].size, cell->D);
  if (status != SPARC_OK) return status;
  stream = block_stream(seed, name, block[OUTPUT].name);
  return random_torch_uniform(&stream, params + block[OUTPUT].offset, block[OUTPUT].size, (int)n.inner);
}

/* four heads of 16: the `state` option is a 64th of the state size (m3-1) */
static sparc_status fit(int state_size, int *H, char *text, size_t size) {
  enum { HEADS = 4, HEAD_DIM = 16, INNER = HEADS * HEAD_DIM };
  if (state_size < INNER || state_size % INNER != 0)
    return fail(SPARC_INVALID, "a state of %d coordinates is not a multiple of %d, which cell mamba3 needs", state_size,
                (int)INNER);
  *H = INNER;
  snprintf(text, size, "heads=%d,head_dim=%d,state=%d", (int)HEADS, (int)HEAD_DIM, state_size / INNER);
  return SPARC_OK;
}

static const cell_description about = {
    .kind =
        {
            .name = "mamba3",
            .summary =
                "Mamba-3, heads * head_dim channels of state numbers each (H is not used); truncated backpropagation",
            .readout = READOUT_NONE,
            .features = POLICY_OUTPUT,
            .coordinates = 1,
            .options = options,
        },
    .fit = fit,
    .layout = layout,
    .init = init,
    .rows_option = "angles",
    .rows_block = "input",
};

/* ---- parameters -------------------------------------------------------------------------------- */

static void transpose(size_t rows, size_t cols, const real *restrict in, real *restrict out) {
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < cols; j++) out[j * rows + i] = in[i * cols + j];
}

static void copy_block(const sparc_block *block, double limit, const real *params, real *out) {
  for (size_t i = 0; i < block->size; i++) out[i] = (real)bounded((double)params[block->offset + i], limit);
}

static void prepare(const sparc_cell *cell, const real *params, real *prepared) {
  const dims n = dims_of(cell);
  const prepared_layout at = prepared_layout_of(&n);
  const sparc_block *block = cell->block;
  copy_block(&block[INPUT], WEIGHT_MAX, params, prepared + at.input_out);
  transpose(n.values, n.D, prepared + at.input_out, prepared + at.value_in);
  copy_block(&block[OUTPUT], OUTPUT_MAX, params, prepared + at.output_out);
  transpose(n.D, n.inner, prepared + at.output_out, prepared + at.output_in);
  memset(prepared + at.bias, 0, n.rows * sizeof(real));
  copy_block(&block[DT_BIAS], WEIGHT_MAX, params, prepared + at.bias + n.dt);
  copy_block(&block[KEY_BIAS], KEY_MAX, params, prepared + at.key_bias);
  copy_block(&block[QUERY_BIAS], KEY_MAX, params, prepared + at.query_bias);
  copy_block(&block[KEY_NORM], KEY_MAX, params, prepared + at.key_norm);
  copy_block(&block[QUERY_NORM], KEY_MAX, params, prepared + at.query_norm);
  copy_block(&block[SKIP], VALUE_MAX, params, prepared + at.skip);
}

/* ---- small pieces ------------------------------------------------------------------------------ */

static inline double softplus(double v) { return fmax(v, 0) + log1p(exp(-fabs(v))); }
static inline real silu(real v) { return v * r_sigmoid(v); }
static inline real silu_slope(real v) { return r_sigmoid(v) * (1 + v * r_sigmoid(-v)); }

/* in lanes, so that it vectorises without leave to reorder */
static real dot(size_t count, const real *restrict u, const real *restrict v) {
  enum { LANES = 8 };
  real lane[LANES] = {0}, sum = 0;
  size_t i = 0;
  for (; i + LANES <= count; i += LANES)
    for (size_t l = 0; l < LANES; l++) lane[l] += u[i + l] * v[i + l];
  for (; i < count; i++) sum += u[i] * v[i];
  for (size_t l = 0; l < LANES; l++) sum += lane[l];
  return sum;
}

/* y += a x */
static void add_scaled(size_t count, real a, const real *restrict x, real *restrict y) {
  for (size_t i = 0; i < count; i++) y[i] += a * x[i];
}

/* out = Rot(+-phi) of the pairs of in, the rest unchanged; turn holds cos phi, sin phi of each pair */
static void rotate(const dims *n, const real *turn, real sign, const real *in, real *out) {
  for (size_t a = 0; a < n->angles; a++) {
    const real c = turn[2 * a], s = sign * turn[2 * a + 1], first = in[2 * a], second = in[2 * a + 1];
    out[2 * a] = c * first - s * second;
    out[2 * a + 1] = s * first + c * second;
  }
  for (size_t i = 2 * n->angles; i < n->N; i++) out[i] = in[i];
}

/* cotangent of the angle of pair a of a rotated matrix M (N, width), given the cotangent of M */
static inline real angle_cotangent(size_t width, const real *M, const real *dM, size_t a) {
  const size_t first = 2 * a * width, second = first + width;
  return dot(width, M + first, dM + second) - dot(width, M + second, dM + first);
}

/* 1 / sqrt(mean of squares + epsilon), in double: the squares of large inputs exceed float */
static double rms_scale(size_t count, const real *raw) {
  double sum = 0;
  for (size_t i = 0; i < count; i++) sum += (double)raw[i] * (double)raw[i];
  return 1 / sqrt(sum / (double)count + NORM_EPSILON);
}

static void normalise(size_t count, const real *raw, const real *scale, real *out) {
  const double rs = rms_scale(count, raw);
  for (size_t i = 0; i < count; i++) out[i] = (real)(rs * (double)raw[i]) * scale[i];
}

/* d (count) enters as the cotangent of the output and leaves as that of raw; adds to dscale */
static void normalise_backward(size_t count, const real *raw, const real *scale, real *d, double *dscale) {
  const double rs = rms_scale(count, raw);
  double mean = 0;
  for (size_t i = 0; i < count; i++) {
    const double hat = rs * (double)raw[i];
    dscale[i] += (double)d[i] * hat;
    mean += (double)d[i] * (double)scale[i] * hat / (double)count;
  }
  for (size_t i = 0; i < count; i++) d[i] = (real)(rs * ((double)d[i] * (double)scale[i] - rs * (double)raw[i] * mean));
}

/* decay activations: f, and f' as a function of f */
static double rational_decay(double y) { return y >= 0 ? 1 + y : 1 / (1 - y); }
static double rational_slope(double f) { return f >= 1 ? 1 : f * f; }
static double softplus_slope(double f) { return -expm1(-f); }

static const struct {
  double (*value)(double y), (*slope)(double f);
} decays[] = {[DECAY_RATIONAL] = {rational_decay, rational_slope}, [DECAY_SOFTPLUS] = {softplus, softplus_slope}};

/* d A / d pre-activation, from A = -max(f, 1e-4) as stored */
static double decay_slope(int decay, real A) {
  const real rate = -A;
  return rate > (real)RATE_MIN ? -decays[decay].slope((double)rate) : 0;
}

/* ---- one token --------------------------------------------------------------------------------- */

/* One of the columns B to om, in double: they steer all channels of a head at once, errors of dt and om add up in phi,
 * and the norm may magnify one of B and C by a hundred. */
static double control(const dims *n, const real *prepared, const prepared_layout *at, const real *x, size_t column) {
  enum { LANES = 4 };
  const real *weight = prepared + at->input_out + column * n->D;
  double lane[LANES] = {(double)prepared[at->bias + column]};
  size_t d = 0;
  for (; d + LANES <= n->D; d += LANES)
    for (size_t l = 0; l < LANES; l++) lane[l] += (double)weight[d + l] * (double)x[d + l];
  for (; d < n->D; d++) lane[0] += (double)weight[d] * (double)x[d];
  return bounded(lane[0] + lane[1] + (lane[2] + lane[3]), VALUE_MAX);
}

/* tanh(om), to the columns of pre and, before it is rounded, to speed (angles) */
static void activate_angles(const dims *n, const real *prepared, const prepared_layout *at, const real *x, real *pre,
                            double *speed) {
  for (size_t a = 0; a < n->angles; a++) {
    speed[a] = tanh(control(n, prepared, at, x, n->om + a));
    pre[n->om + a] = (real)speed[a];
  }
}

/* pre (rows) enters with the columns z and v. On return it is complete and limited, with dt, A, lam and tanh(om) in
 * place of what they are made of. Writes al (heads), hat (2, N): the normalised B and C, and turn (heads, angles, 2):
 * by how much phi advances, as a rounded number and its remainder. */
static void activate(const dims *n, int decay, const real *prepared, const prepared_layout *at, const real *x,
                     real *pre, real *al, real *hat, real *turn) {
  double speed[MAX_ANGLES];
  for (size_t i = 0; i < n->values; i++) pre[i] = (real)bounded((double)pre[i], VALUE_MAX);
  for (size_t i = n->B; i < n->dt; i++) pre[i] = (real)control(n, prepared, at, x, i);
  activate_angles(n, prepared, at, x, pre, speed);
  for (size_t h = 0; h < n->heads; h++) {
    const double dt = softplus(control(n, prepared, at, x, n->dt + h));
    const double A = -fmax(decays[decay].value(control(n, prepared, at, x, n->A + h)), RATE_MIN);
    pre[n->dt + h] = (real)dt;
    pre[n->A + h] = (real)A;
    pre[n->lam + h] = r_sigmoid((real)control(n, prepared, at, x, n->lam + h));
    al[h] = (real)exp(A * dt);
    for (size_t a = 0; a < n->angles; a++, turn += 2) {
      const double advance = PI * dt * speed[a];
      turn[0] = (real)advance;
      turn[1] = (real)(advance - (double)turn[0]);
    }
  }
  normalise(n->N, pre + n->B, prepared + at->key_norm, hat);
  normalise(n->N, pre + n->C, prepared + at->query_norm, hat + n->N);
}

/* what a head multiplies with at one token */
typedef struct factors {
  real dt, A, lam, al, be, ga;
} factors;

static inline factors factors_at(const dims *n, const real *pre, const real *al, size_t h) {
  factors f = {.dt = pre[n->dt + h], .A = pre[n->A + h], .lam = pre[n->lam + h], .al = al[h]};
  f.be = (1 - f.lam) * f.dt * f.al;
  f.ga = f.lam * f.dt;
  return f;
}

/* adds what activate has left in turn to phi, wraps it to [0, 2 pi), and replaces turn by cos phi, sin phi */
static inline double advance_angle(double phi, real turn[2]) {
  phi += (double)turn[0] + (double)turn[1];
  phi -= 2 * PI * floor(phi / (2 * PI));
  turn[0] = r_cos((real)phi);
  turn[1] = r_sin((real)phi);
  return phi;
}

/* kr and qr of a head from the normalised B and C */
static void turn_keys(const dims *n, const real *prepared, const prepared_layout *at, size_t h, const real *hat,
                      const real *turn, real *kr, real *qr) {
  const real *key_bias = prepared + at->key_bias + h * n->N, *query_bias = prepared + at->query_bias + h * n->N;
  for (size_t i = 0; i < n->N; i++) {
    kr[i] = hat[i] + key_bias[i];
    qr[i] = hat[n->N + i] + query_bias[i];
  }
  rotate(n, turn, 1, kr, kr);
  rotate(n, turn, 1, qr, qr);
}

/* what a head carries from token to token; S is NULL when that is nothing: a new segment, or a cold start */
typedef struct carried {
  const real *S, *kc, *vc;
} carried;

/* S(i, p) is at S[i * stride_n + p * stride_p], before as well as after, and both may be one array. Writes S and o. */
static inline void advance_state(const dims *n, const factors *f, const carried *before, const real *kr, const real *qr,
                                 const real *v, real skip, size_t stride_n, size_t stride_p, real *S, real *o) {
  for (size_t p = 0; p < n->P; p++) o[p] = skip * v[p];
  for (size_t i = 0; i < n->N; i++) {
    const real write = f->ga * kr[i], again = before->S ? f->be * before->kc[i] : 0;
    real *row = S + i * stride_n;
    if (before->S) {
      const real *row_before = before->S + i * stride_n;
      for (size_t p = 0; p < n->P; p++)
        row[p * stride_p] = f->al * row_before[p * stride_p] + again * before->vc[p] + write * v[p];
    } else {
      for (size_t p = 0; p < n->P; p++) row[p * stride_p] = write * v[p];
    }
    for (size_t p = 0; p < n->P; p++) o[p] += row[p * stride_p] * qr[i];
  }
}

/* gated (tokens, inner) = o silu(z) for all heads; pre starts at the columns z. The double build has no kernels. */
static void gate_output(const sparc_cell *cell, const dims *n, size_t tokens, const real *o, const real *pre,
                        real *gated) {
#ifdef SPARC_DOUBLE
  (void)cell;
#else
  const diagonal_kernels *loops = diagonal_of(cell->kernels);
  if (loops->silu_gate) {
    loops->silu_gate(tokens, n->inner, (float)VALUE_MAX, o, pre + n->z, n->rows, gated);
    return;
  }
#endif
  for (size_t t = 0; t < tokens; t++)
    for (size_t p = 0; p < n->inner; p++)
      gated[t * n->inner + p] =
          (real)bounded((double)o[t * n->inner + p], VALUE_MAX) * silu(pre[t * n->rows + n->z + p]);
}

/* d (tokens, inner) enters as the cotangent of gated and leaves as that of o; writes the columns z of dpre, and gated
 * once more */
static void gate_output_backward(const sparc_cell *cell, const dims *n, size_t tokens, const real *o, const real *pre,
                                 real *d, real *dpre, real *gated) {
#ifndef SPARC_DOUBLE
  const diagonal_kernels *loops = diagonal_of(cell->kernels);
  if (loops->silu_gate_adjoint) {
    loops->silu_gate_adjoint(tokens, n->inner, (float)VALUE_MAX, o, pre + n->z, n->rows, d, dpre + n->z, gated);
    return;
  }
#endif
  gate_output(cell, n, tokens, o, pre, gated);
  for (size_t t = 0; t < tokens; t++) {
    for (size_t p = 0; p < n->inner; p++) {
      const size_t at = t * n->inner + p;
      const real z = pre[t * n->rows + n->z + p];
      dpre[t * n->rows + n->z + p] = d[at] * o[at] * silu_slope(z);
      d[at] *= silu(z);
    }
  }
}

/* ---- one step ---------------------------------------------------------------------------------- */

static void step_head(const dims *n, const real *prepared, const prepared_layout *at, const step_layout *place,
                      size_t h, real mask, real *state, real *tape) {
  const real *pre = tape + place->pre, *v = pre + n->v + h * n->P;
  real *S = state + h * n->P * n->N, *kc = state + n->kc + h * n->N, *vc = state + n->vc + h * n->P;
  real *phi = state + n->phi + h * n->angles, *turn = tape + place->turn + h * n->angles * 2;
  real *kr = tape + place->kr, *qr = tape + place->qr, *o = tape + place->o + h * n->P;
  const factors f = factors_at(n, pre, tape + place->al, h);
  for (size_t a = 0; a < n->angles; a++) phi[a] = (real)advance_angle(mask != 0 ? (double)phi[a] : 0, turn + 2 * a);
  turn_keys(n, prepared, at, h, tape + place->hat, turn, kr, qr);
  const carried before = {mask != 0 ? S : NULL, kc, vc};
  advance_state(n, &f, &before, kr, qr, v, prepared[at->skip + h], 1, n->N, S, o);
  memcpy(kc, kr, n->N * sizeof(real));
  memcpy(vc, v, n->P * sizeof(real));
}

static void step_stream(const sparc_cell *cell, const real *prepared, real *state, const real *x, real mask, real *y,
                        real *tape) {
  const dims n = dims_of(cell);
  const prepared_layout at = prepared_layout_of(&n);
  const step_layout place = step_layout_of(&n);
  TYPED(project_token)(n.D, n.values, x, prepared + at.value_in, prepared + at.bias, tape + place.pre);
  activate(&n, (int)cell->option[OPTION_DECAY], prepared, &at, x, tape + place.pre, tape + place.al, tape + place.hat,
           tape + place.turn);
  for (size_t h = 0; h < n.heads; h++) step_head(&n, prepared, &at, &place, h, mask, state, tape);
  if (!y) return;
  gate_output(cell, &n, 1, tape + place.o, tape + place.pre, tape + place.gated);
  for (size_t d = 0; d < n.D; d++) y[d] = dot(n.inner, prepared + at.output_out + d * n.inner, tape + place.gated);
}

static void step(const sparc_cell *cell, const real *prepared, size_t n, real *states, const real *x, const real *masks,
                 real *y, real *tapes) {
  const sparc_cell_sizes *size = &cell->sizes;
  for (size_t i = 0; i < n; i++)
    step_stream(cell, prepared, states + i * size->state, x + i * (size_t)cell->D, masks ? masks[i] : 1,
                y ? y + i * size->output : NULL, tapes + i * size->tape);
}

/* ---- memory of a sequence ---------------------------------------------------------------------- */

/* kept for the backward; rows per token */
typedef struct saved_view {
  real *pre;  /* (B T, rows), as activate leaves them */
  real *al;   /* (B T, heads) */
  real *turn; /* (B T, heads, angles, 2): cos phi, sin phi */
  real *kr;   /* (B T, heads, N) */
  real *qr;   /* (B T, heads, N) */
  real *S;    /* (B T, heads, N, P) */
  real *o;    /* (B T, inner) */
} saved_view;

typedef struct work_view {
  real *S0;              /* (B, heads, N, P): S of state0 */
  double *phi;           /* (B, heads, angles): running angles; backward: their cotangents */
  double *joint;         /* (B, heads, angles): backward, see cotangents */
  real *hat;             /* (B T, 2, N); forward only */
  real *gated;           /* (B T, inner): o silu(z) */
  real *G;               /* (B, heads, N, P): cotangent of S; from here on backward only */
  real *dkc;             /* (B, heads, N) */
  real *dvc;             /* (B, heads, P) */
  real *dqr;             /* (B, heads, N) */
  real *mixed;           /* (B, heads, P): G kr, then G kc */
  real *dout;            /* (B T, inner): cotangent of gated, then of o */
  real *dpre;            /* (B T, rows) */
  real *dk;              /* (B T, heads, N) */
  real *dq;              /* (B T, heads, N) */
  real *dturn;           /* (B T, heads, angles): cotangent of tanh(om) from one head */
  double *skip_partials; /* (B, heads) */
  double *norm_partials; /* (token tiles, 2, N) */
  double *norm_sums;     /* (2, N) */
} work_view;

static saved_view carve_saved(arena *a, const dims *n, size_t tokens) {
  const size_t heads = tokens * n->heads;
  saved_view view;
  view.pre = arena_take(a, tokens * n->rows, sizeof(real));
  view.al = arena_take(a, heads, sizeof(real));
  view.turn = arena_take(a, heads * n->angles * 2, sizeof(real));
  view.kr = arena_take(a, heads * n->N, sizeof(real));
  view.qr = arena_take(a, heads * n->N, sizeof(real));
  view.S = arena_take(a, heads * n->N * n->P, sizeof(real));
  view.o = arena_take(a, tokens * n->inner, sizeof(real));
  return view;
}

static work_view carve_work(arena *a, const dims *n, size_t streams, size_t tokens) {
  const size_t loops = streams * n->heads, heads = tokens * n->heads;
  work_view view;
  view.S0 = arena_take(a, loops * n->N * n->P, sizeof(real));
  view.phi = arena_take(a, loops * n->angles, sizeof(double));
  view.joint = arena_take(a, loops * n->angles, sizeof(double));
  view.hat = arena_take(a, tokens * 2 * n->N, sizeof(real));
  view.gated = arena_take(a, tokens * n->inner, sizeof(real));
  view.G = arena_take(a, loops * n->N * n->P, sizeof(real));
  view.dkc = arena_take(a, loops * n->N, sizeof(real));
  view.dvc = arena_take(a, loops * n->P, sizeof(real));
  view.dqr = arena_take(a, loops * n->N, sizeof(real));
  view.mixed = arena_take(a, loops * n->P, sizeof(real));
  view.dout = arena_take(a, tokens * n->inner, sizeof(real));
  view.dpre = arena_take(a, tokens * n->rows, sizeof(real));
  view.dk = arena_take(a, heads * n->N, sizeof(real));
  view.dq = arena_take(a, heads * n->N, sizeof(real));
  view.dturn = arena_take(a, heads * n->angles, sizeof(real));
  view.skip_partials = arena_take(a, loops, sizeof(double));
  view.norm_partials = arena_take(a, tiles_of(tokens, TOKEN_TILE) * 2 * n->N, sizeof(double));
  view.norm_sums = arena_take(a, 2 * n->N, sizeof(double));
  return view;
}

static size_t saved_count(const sparc_plan *plan) {
  const dims n = dims_of(plan->cell);
  arena a = arena_measure();
  carve_saved(&a, &n, (size_t)plan->B * (size_t)plan->T);
  return a.used / sizeof(real);
}

static size_t work_count(const sparc_plan *plan) {
  const dims n = dims_of(plan->cell);
  arena a = arena_measure();
  carve_work(&a, &n, (size_t)plan->B, (size_t)plan->B * (size_t)plan->T);
  return a.used / sizeof(real);
}

/* ---- one call ---------------------------------------------------------------------------------- */

typedef struct run {
  const sparc_cell *cell;
  const TYPED(sequence_call) * call;
  const real *prepared;
  dims n;
  prepared_layout at;
  int decay;
  size_t streams, T, tokens;
  saved_view saved;
  work_view work;
} run;

static run start_run(const sparc_plan *plan, const real *prepared, const TYPED(sequence_call) * call) {
  const sparc_cell *cell = plan->cell;
  run r = {.cell = cell,
           .call = call,
           .prepared = prepared,
           .n = dims_of(cell),
           .decay = (int)cell->option[OPTION_DECAY],
           .streams = (size_t)plan->B,
           .T = (size_t)plan->T,
           .tokens = (size_t)plan->B * (size_t)plan->T};
  arena saved = arena_over(call->saved, (size_t)-1), work = arena_over(call->work, (size_t)-1);
  r.at = prepared_layout_of(&r.n);
  r.saved = carve_saved(&saved, &r.n, r.tokens);
  r.work = carve_work(&work, &r.n, r.streams, r.tokens);
  return r;
}

/* the time loop of one head of one stream; index counts loops */
typedef struct loop {
  size_t b, h, index;
} loop;

static loop loop_of(const run *r, size_t tile) { return (loop){tile / r->n.heads, tile % r->n.heads, tile}; }

static bool continues(const run *r, size_t token) { return !r->call->mask || r->call->mask[token] != 0; }

/* row of a token and head in an array with `width` elements for each */
static real *head_row(const run *r, real *array, size_t token, size_t h, size_t width) {
  return array + (token * r->n.heads + h) * width;
}

/* what the head carries out of step t */
static carried carried_after(const run *r, const loop *l, size_t t) {
  const dims *n = &r->n;
  const size_t token = l->b * r->T + t;
  return (carried){head_row(r, r->saved.S, token, l->h, n->N * n->P), head_row(r, r->saved.kr, token, l->h, n->N),
                   r->saved.pre + token * n->rows + n->v + l->h * n->P};
}

/* what it carries into step t */
static carried carried_into(const run *r, const loop *l, size_t t) {
  const dims *n = &r->n;
  if (!continues(r, l->b * r->T + t) || (t == 0 && !r->call->state0)) return (carried){0};
  if (t > 0) return carried_after(r, l, t - 1);
  const real *state0 = r->call->state0 + l->b * n->state;
  return (carried){r->work.S0 + l->index * n->N * n->P, state0 + n->kc + l->h * n->N, state0 + n->vc + l->h * n->P};
}

static void load_first_state(const run *r, const loop *l) {
  const dims *n = &r->n;
  if (r->call->state0)
    transpose(n->P, n->N, r->call->state0 + l->b * n->state + l->h * n->P * n->N, r->work.S0 + l->index * n->N * n->P);
}

/* ---- forward ----------------------------------------------------------------------------------- */

/* projections, coefficients and norms of a tile of tokens */
static void project(void *context, size_t tile) {
  const run *r = context;
  const dims *n = &r->n;
  const range tokens = range_of(r->tokens, TOKEN_TILE, tile);
  TYPED(gemm)
  (r->cell->kernels, AS_IS, AS_IS, tokens.n, n->values, n->D, r->call->x + tokens.first * n->D, n->D,
   r->prepared + r->at.value_in, n->values, 0, r->saved.pre + tokens.first * n->rows, n->rows);
  for (size_t token = tokens.first; token < tokens.first + tokens.n; token++)
    activate(n, r->decay, r->prepared, &r->at, r->call->x + token * n->D, r->saved.pre + token * n->rows,
             r->saved.al + token * n->heads, r->work.hat + token * 2 * n->N,
             head_row(r, r->saved.turn, token, 0, 2 * n->angles));
}

static void store_last_state(const run *r, const loop *l, const double *phi) {
  const dims *n = &r->n;
  const carried last = carried_after(r, l, r->T - 1);
  real *state = r->call->state_last + l->b * n->state;
  transpose(n->N, n->P, last.S, state + l->h * n->P * n->N);
  memcpy(state + n->kc + l->h * n->N, last.kc, n->N * sizeof(real));
  memcpy(state + n->vc + l->h * n->P, last.vc, n->P * sizeof(real));
  for (size_t a = 0; a < n->angles; a++) state[n->phi + l->h * n->angles + a] = (real)phi[a];
}

/* angles run in double: their rounding errors would add up along the sequence */
static void recur(void *context, size_t tile) {
  const run *r = context;
  const dims *n = &r->n;
  const loop l = loop_of(r, tile);
  const real skip = r->prepared[r->at.skip + l.h];
  double *phi = r->work.phi + l.index * n->angles;
  for (size_t a = 0; a < n->angles; a++)
    phi[a] = r->call->state0 ? (double)r->call->state0[l.b * n->state + n->phi + l.h * n->angles + a] : 0;
  load_first_state(r, &l);
  for (size_t t = 0; t < r->T; t++) {
    const size_t token = l.b * r->T + t;
    const real *pre = r->saved.pre + token * n->rows;
    const factors f = factors_at(n, pre, r->saved.al + token * n->heads, l.h);
    const carried before = carried_into(r, &l, t);
    real *kr = head_row(r, r->saved.kr, token, l.h, n->N), *qr = head_row(r, r->saved.qr, token, l.h, n->N);
    real *o = r->saved.o + token * n->inner + l.h * n->P;
    real *turn = head_row(r, r->saved.turn, token, l.h, 2 * n->angles);
    for (size_t a = 0; a < n->angles; a++) phi[a] = advance_angle(continues(r, token) ? phi[a] : 0, turn + 2 * a);
    turn_keys(n, r->prepared, &r->at, l.h, r->work.hat + token * 2 * n->N, turn, kr, qr);
    advance_state(n, &f, &before, kr, qr, pre + n->v + l.h * n->P, skip, n->P, 1,
                  head_row(r, r->saved.S, token, l.h, n->N * n->P), o);
  }
  if (r->call->state_last) store_last_state(r, &l, phi);
}

static void read_out(void *context, size_t tile) {
  const run *r = context;
  const dims *n = &r->n;
  const range tokens = range_of(r->tokens, TOKEN_TILE, tile);
  real *gated = r->work.gated + tokens.first * n->inner;
  gate_output(r->cell, n, tokens.n, r->saved.o + tokens.first * n->inner, r->saved.pre + tokens.first * n->rows, gated);
  TYPED(gemm)
  (r->cell->kernels, AS_IS, AS_IS, tokens.n, n->D, n->inner, gated, n->inner, r->prepared + r->at.output_in, n->D, 0,
   r->call->y + tokens.first * n->D, n->D);
}

static void forward(const sparc_plan *plan, const real *prepared, const TYPED(sequence_call) * call) {
  run r = start_run(plan, prepared, call);
  parallel_for(plan->threads, tiles_of(r.tokens, TOKEN_TILE), project, &r);
  parallel_for(plan->threads, r.streams * r.n.heads, recur, &r);
  parallel_for(plan->threads, tiles_of(r.tokens, TOKEN_TILE), read_out, &r);
}

/* ---- backward ---------------------------------------------------------------------------------- */

static void read_out_backward(void *context, size_t tile) {
  const run *r = context;
  const dims *n = &r->n;
  const range tokens = range_of(r->tokens, TOKEN_TILE, tile);
  TYPED(gemm)
  (r->cell->kernels, AS_IS, AS_IS, tokens.n, n->inner, n->D, r->call->dy + tokens.first * n->D, n->D,
   r->prepared + r->at.output_out, n->inner, 0, r->work.dout + tokens.first * n->inner, n->inner);
  gate_output_backward(r->cell, n, tokens.n, r->saved.o + tokens.first * n->inner,
                       r->saved.pre + tokens.first * n->rows, r->work.dout + tokens.first * n->inner,
                       r->work.dpre + tokens.first * n->rows, r->work.gated + tokens.first * n->inner);
}

/* The running cotangents of one loop, and its scratch.
 *
 * The cotangent of phi is a sum over all later tokens in which the turn of a query nearly cancels that of a key. It is
 * not summed: turning everything that is carried, S, kc and phi, by one angle changes no later output. So along a
 * segment the cotangents of the three turns add up to a constant, joint, which dstate_last fixes (0 before a reset),
 * and dphi is that constant less the turns of S and kc. */
typedef struct cotangents {
  real *G, *dkc, *dvc;  /* of S (N, P), of kc (N), of vc (P) */
  double *dphi, *joint; /* (angles) */
  real *dqr;            /* (N) */
  real *mixed;          /* (P) */
} cotangents;

static cotangents cotangents_of(const run *r, const loop *l) {
  const dims *n = &r->n;
  const work_view *w = &r->work;
  return (cotangents){.G = w->G + l->index * n->N * n->P,
                      .dkc = w->dkc + l->index * n->N,
                      .dvc = w->dvc + l->index * n->P,
                      .dphi = w->phi + l->index * n->angles,
                      .joint = w->joint + l->index * n->angles,
                      .dqr = w->dqr + l->index * n->N,
                      .mixed = w->mixed + l->index * n->P};
}

static void clear_cotangents(const dims *n, const cotangents *c) {
  memset(c->G, 0, n->N * n->P * sizeof(real));
  memset(c->dkc, 0, n->N * sizeof(real));
  memset(c->dvc, 0, n->P * sizeof(real));
  for (size_t a = 0; a < n->angles; a++) c->joint[a] = c->dphi[a] = 0;
}

/* cotangents of turning S and kc, given theirs in G and dkc */
static double carried_turn(const dims *n, const carried *state, const cotangents *c, size_t a) {
  return (double)angle_cotangent(n->P, state->S, c->G, a) + (double)angle_cotangent(1, state->kc, c->dkc, a);
}

static void load_cotangents(const run *r, const loop *l, const cotangents *c) {
  const dims *n = &r->n;
  clear_cotangents(n, c);
  if (!r->call->dstate_last) return;
  const real *state = r->call->dstate_last + l->b * n->state;
  const carried last = carried_after(r, l, r->T - 1);
  transpose(n->P, n->N, state + l->h * n->P * n->N, c->G);
  memcpy(c->dkc, state + n->kc + l->h * n->N, n->N * sizeof(real));
  memcpy(c->dvc, state + n->vc + l->h * n->P, n->P * sizeof(real));
  for (size_t a = 0; a < n->angles; a++)
    c->joint[a] = (double)state[n->phi + l->h * n->angles + a] + carried_turn(n, &last, c, a);
}

static void store_cotangents(const run *r, const loop *l, const cotangents *c) {
  const dims *n = &r->n;
  real *state = r->call->dstate0 + l->b * n->state;
  transpose(n->N, n->P, c->G, state + l->h * n->P * n->N);
  memcpy(state + n->kc + l->h * n->N, c->dkc, n->N * sizeof(real));
  memcpy(state + n->vc + l->h * n->P, c->dvc, n->P * sizeof(real));
  for (size_t a = 0; a < n->angles; a++) state[n->phi + l->h * n->angles + a] = (real)c->dphi[a];
}

/* one token as its head's adjoint sees it */
typedef struct head_token {
  size_t token;
  factors f;
  carried before;
  const real *pre, *v, *kr, *qr, *S, *turn;
  const real *dout; /* (P): cotangent of o */
  real *dpre, *dv;
} head_token;

static head_token head_token_at(const run *r, const loop *l, size_t t) {
  const dims *n = &r->n;
  const size_t token = l->b * r->T + t;
  const real *pre = r->saved.pre + token * n->rows;
  real *dpre = r->work.dpre + token * n->rows;
  return (head_token){.token = token,
                      .f = factors_at(n, pre, r->saved.al + token * n->heads, l->h),
                      .before = carried_into(r, l, t),
                      .pre = pre,
                      .v = pre + n->v + l->h * n->P,
                      .kr = head_row(r, r->saved.kr, token, l->h, n->N),
                      .qr = head_row(r, r->saved.qr, token, l->h, n->N),
                      .S = head_row(r, r->saved.S, token, l->h, n->N * n->P),
                      .turn = head_row(r, r->saved.turn, token, l->h, 2 * n->angles),
                      .dout = r->work.dout + token * n->inner + l->h * n->P,
                      .dpre = dpre,
                      .dv = dpre + n->v + l->h * n->P};
}

/* out (P) = M' u for M (N, P) and u (N) */
static void mix(const dims *n, const real *M, const real *u, real *out) {
  memset(out, 0, n->P * sizeof(real));
  for (size_t i = 0; i < n->N; i++) add_scaled(n->P, u[i], M + i * n->P, out);
}

/* o = S qr + skip v: adds to G, writes dqr, starts dv. Returns skip's gradient. */
static double output_backward(const run *r, const loop *l, const head_token *k, const cotangents *c) {
  const dims *n = &r->n;
  const real skip = r->prepared[r->at.skip + l->h];
  for (size_t p = 0; p < n->P; p++) k->dv[p] = c->dvc[p] + skip * k->dout[p];
  for (size_t i = 0; i < n->N; i++) {
    c->dqr[i] = dot(n->P, k->S + i * n->P, k->dout);
    add_scaled(n->P, k->qr[i], k->dout, c->G + i * n->P);
  }
  return (double)dot(n->P, k->dout, k->v);
}

typedef struct factor_cotangents {
  double al, be, ga;
} factor_cotangents;

/* S = al S + be vc kc' + ga v kr': adds to dv, makes dkr of dkc, leaves G kc in c->mixed */
static factor_cotangents write_backward(const dims *n, const head_token *k, const cotangents *c) {
  factor_cotangents d = {0};
  mix(n, c->G, k->kr, c->mixed);
  d.ga = (double)dot(n->P, c->mixed, k->v);
  add_scaled(n->P, k->f.ga, c->mixed, k->dv);
  for (size_t i = 0; i < n->N; i++) c->dkc[i] += k->f.ga * dot(n->P, c->G + i * n->P, k->v);
  if (!k->before.S) return d;
  mix(n, c->G, k->before.kc, c->mixed);
  d.be = (double)dot(n->P, c->mixed, k->before.vc);
  for (size_t i = 0; i < n->N; i++) d.al += (double)dot(n->P, c->G + i * n->P, k->before.S + i * n->P);
  return d;
}

/* the rotations: dkr (in dkc) and dqr to dk and dq */
static void rotation_backward(const run *r, const loop *l, const head_token *k, const cotangents *c) {
  const dims *n = &r->n;
  rotate(n, k->turn, -1, c->dkc, head_row(r, r->work.dk, k->token, l->h, n->N));
  rotate(n, k->turn, -1, c->dqr, head_row(r, r->work.dq, k->token, l->h, n->N));
}

/* al = exp(A dt), be = (1 - lam) dt al, ga = lam dt, back to the columns dt, A and lam of the projection; ddt is what
 * dt has received from the angles */
static void factors_backward(const run *r, const loop *l, const head_token *k, factor_cotangents d, double ddt) {
  const dims *n = &r->n;
  const double dt = (double)k->f.dt, A = (double)k->f.A, lam = (double)k->f.lam, al = (double)k->f.al;
  const double exponent = al * (d.al + (1 - lam) * dt * d.be); /* of A dt */
  ddt += lam * d.ga + (1 - lam) * al * d.be + A * exponent;
  k->dpre[n->dt + l->h] = (real)(ddt * -expm1(-dt)); /* sigmoid(y) = 1 - exp(-softplus(y)) */
  k->dpre[n->A + l->h] = (real)(dt * exponent * decay_slope(r->decay, k->f.A));
  k->dpre[n->lam + l->h] = (real)(dt * (d.ga - al * d.be) * lam * (1 - lam));
}

/* cotangents of S, kc and vc as they were carried in; c->mixed is still G kc */
static void carry_backward(const dims *n, const head_token *k, const cotangents *c) {
  for (size_t i = 0; i < n->N; i++) c->dkc[i] = k->before.S ? k->f.be * dot(n->P, c->G + i * n->P, k->before.vc) : 0;
  for (size_t p = 0; p < n->P; p++) c->dvc[p] = k->before.S ? k->f.be * c->mixed[p] : 0;
  for (size_t i = 0; i < n->N * n->P; i++) c->G[i] *= k->f.al;
}

/* the advance of phi, from the carried cotangents; returns dt's part */
static double angles_backward(const run *r, const loop *l, const head_token *k, const cotangents *c) {
  const dims *n = &r->n;
  real *dturn = head_row(r, r->work.dturn, k->token, l->h, n->angles);
  double ddt = 0;
  for (size_t a = 0; a < n->angles; a++) {
    c->dphi[a] = c->joint[a] - (k->before.S ? carried_turn(n, &k->before, c, a) : 0);
    ddt += PI * (double)k->pre[n->om + a] * c->dphi[a];
    dturn[a] = (real)(PI * (double)k->f.dt * c->dphi[a]);
  }
  return ddt;
}

/* the time loop backwards: everything of the projection except B, C and om, which heads share */
static void recur_backward(void *context, size_t tile) {
  const run *r = context;
  const loop l = loop_of(r, tile);
  const cotangents c = cotangents_of(r, &l);
  double dskip = 0;
  load_cotangents(r, &l, &c);
  load_first_state(r, &l);
  for (size_t t = r->T; t-- > 0;) {
    const head_token k = head_token_at(r, &l, t);
    dskip += output_backward(r, &l, &k, &c);
    const factor_cotangents d = write_backward(&r->n, &k, &c);
    rotation_backward(r, &l, &k, &c);
    carry_backward(&r->n, &k, &c);
    factors_backward(r, &l, &k, d, angles_backward(r, &l, &k, &c));
    if (!continues(r, k.token)) clear_cotangents(&r->n, &c);
  }
  r->work.skip_partials[l.index] = dskip;
  if (r->call->dstate0) store_cotangents(r, &l, &c);
}

/* out[i] = sum over heads of rows[h][i] */
static void sum_heads(size_t heads, size_t width, const real *rows, real *out) {
  memset(out, 0, width * sizeof(real));
  for (size_t h = 0; h < heads; h++) add_scaled(width, 1, rows + h * width, out);
}

/* what the heads share, then dx */
static void project_backward(void *context, size_t tile) {
  const run *r = context;
  const dims *n = &r->n;
  const range tokens = range_of(r->tokens, TOKEN_TILE, tile);
  double *dnorms = r->work.norm_partials + tile * 2 * n->N;
  for (size_t i = 0; i < 2 * n->N; i++) dnorms[i] = 0;
  for (size_t token = tokens.first; token < tokens.first + tokens.n; token++) {
    const real *pre = r->saved.pre + token * n->rows;
    real *dpre = r->work.dpre + token * n->rows;
    sum_heads(n->heads, n->N, head_row(r, r->work.dk, token, 0, n->N), dpre + n->B);
    sum_heads(n->heads, n->N, head_row(r, r->work.dq, token, 0, n->N), dpre + n->C);
    sum_heads(n->heads, n->angles, head_row(r, r->work.dturn, token, 0, n->angles), dpre + n->om);
    normalise_backward(n->N, pre + n->B, r->prepared + r->at.key_norm, dpre + n->B, dnorms);
    normalise_backward(n->N, pre + n->C, r->prepared + r->at.query_norm, dpre + n->C, dnorms + n->N);
    for (size_t c = n->om; c < n->rows; c++) dpre[c] *= 1 - pre[c] * pre[c];
  }
  if (!r->call->dx) return;
  TYPED(gemm)
  (r->cell->kernels, AS_IS, AS_IS, tokens.n, n->D, n->rows, r->work.dpre + tokens.first * n->rows, n->rows,
   r->prepared + r->at.input_out, n->D, 0, r->call->dx + tokens.first * n->D, n->D);
}

/* dW (rows of the tile) += left' right over all tokens */
static void matrix_gradient(const run *r, const sparc_block *block, size_t tile, const real *left, const real *right) {
  const size_t M = (size_t)block->shape[0], N = (size_t)block->shape[1];
  const range rows = range_of(M, ROW_TILE, tile);
  TYPED(gemm)
  (r->cell->kernels, TRANSPOSED, AS_IS, rows.n, N, r->tokens, left + rows.first, M, right, N, 1,
   r->call->dparams + block->offset + rows.first * N, N);
}

/* biases, norms and skip: sums over tokens or over partial sums, in order and in double */
static void vector_gradient(const run *r) {
  const dims *n = &r->n;
  const sparc_block *block = r->cell->block;
  real *dparams = r->call->dparams;
  TYPED(ordered_add)(dparams + block[DT_BIAS].offset, r->work.dpre + n->dt, r->tokens, n->rows, n->heads);
  TYPED(ordered_add)(dparams + block[KEY_BIAS].offset, r->work.dk, r->tokens, n->heads * n->N, n->heads * n->N);
  TYPED(ordered_add)(dparams + block[QUERY_BIAS].offset, r->work.dq, r->tokens, n->heads * n->N, n->heads * n->N);

  double *norms = r->work.norm_sums;
  for (size_t i = 0; i < 2 * n->N; i++) norms[i] = 0;
  ordered_sum_f64(norms, r->work.norm_partials, tiles_of(r->tokens, TOKEN_TILE), 2 * n->N, 2 * n->N);
  for (size_t i = 0; i < n->N; i++) {
    dparams[block[KEY_NORM].offset + i] += (real)norms[i];
    dparams[block[QUERY_NORM].offset + i] += (real)norms[n->N + i];
  }
  for (size_t h = 0; h < n->heads; h++) {
    double sum = 0;
    for (size_t b = 0; b < r->streams; b++) sum += r->work.skip_partials[b * n->heads + h];
    dparams[block[SKIP].offset + h] += (real)sum;
  }
}

/* tile 0: vectors; then row tiles of the input matrix; then of the output matrix */
static void parameter_gradient(void *context, size_t tile) {
  const run *r = context;
  const size_t input_tiles = tiles_of(r->n.rows, ROW_TILE);
  if (tile == 0)
    vector_gradient(r);
  else if (tile <= input_tiles)
    matrix_gradient(r, &r->cell->block[INPUT], tile - 1, r->work.dpre, r->call->x);
  else
    matrix_gradient(r, &r->cell->block[OUTPUT], tile - 1 - input_tiles, r->call->dy, r->work.gated);
}

static void backward(const sparc_plan *plan, const real *prepared, const TYPED(sequence_call) * call) {
  run r = start_run(plan, prepared, call);
  const size_t token_tiles = tiles_of(r.tokens, TOKEN_TILE);
  parallel_for(plan->threads, token_tiles, read_out_backward, &r);
  parallel_for(plan->threads, r.streams * r.n.heads, recur_backward, &r);
  if (call->dx || call->dparams) parallel_for(plan->threads, token_tiles, project_backward, &r);
  if (call->dparams)
    parallel_for(plan->threads, 1 + tiles_of(r.n.rows, ROW_TILE) + tiles_of(r.n.D, ROW_TILE), parameter_gradient, &r);
}

static const TYPED(cell_ops) ops = {
    .prepare = prepare,
    .step = step,
    .saved_count = saved_count,
    .work_count = work_count,
    .forward = forward,
    .backward = LEARNING(backward),
};

extern const cell_entry TYPED(cell_mamba3);
const cell_entry TYPED(cell_mamba3) = {&about, &ops};
