/* SPDX-License-Identifier: MIT */
/* rglru.c: RG-LRU: H real coordinates with retention and input gates that see the content of their own block.
 *
 *   u     = W x + w, or x itself with projection=none              content
 *   r, q  = sigma(G_r u_block + g_r), sigma(G_q u_block + g_q)     gates; u_block: the k contents of j's block
 *   a     = exp(-c r softplus(Lambda)),  c = 8                     transition
 *   n     = m sqrt(1 - a^2) + (1 - m)                              the first step of a segment writes in full
 *   h_t   = m a h_{t-1} + n q u
 *
 * The gates are block-diagonal in u and sit between the projection and the coefficients: activate computes them from
 * u, activate_backward returns their cotangents to u. For RTRL this means that a row of W moves all k states of its
 * block, so the trace of the projection has k rows of D entries per state coordinate; proj_trace=local leaves it out
 * and gives W and w the gradient of their use at this step alone.
 *
 * The derivative of the square root is bounded by 1000, which is part of the cell's definition. Unlike
 * SPARC's, the decay has no floor: it would shift a by more than the rounding error, and where a rounds to 1 a step
 * still adds no more than the root of a rounding unit times u.
 */
#include "cells/rglru.h"

#include "base/error.h"
#include "base/random.h"
#include "cells/affine/affine_impl.h"
#include "cells/tiles.h"
#include "kernels/gemm_impl.h"
#include "kernels/kernels.h"

#include <string.h>

/* ---- description ------------------------------------------------------------------------------- */

static const double DECAY_SCALE = 8; /* c */
enum { BLOCK = 8 };                  /* the default of the option block */

enum { OPTION_BLOCK, OPTION_PROJ_TRACE, OPTION_PROJECTION, OPTION_RING };
enum { TRACE_EXACT, TRACE_LOCAL };
enum { RING_BASE, RING_TRANSITION };

static const char *const trace_names[] = {"exact", "local", NULL};
static const char *const projection_names[] = {"dense", "none", NULL};
static const char *const ring_names[] = {"base", "transition", NULL};

static const sparc_option options[] = {
    {.name = "block",
     .type = SPARC_OPTION_INT,
     .fallback = BLOCK,
     .low = 1,
     .high = 4096,
     .help = "contents that a gate sees; H is a multiple of it"},
    {.name = "proj_trace",
     .type = SPARC_OPTION_CHOICE,
     .choices = trace_names,
     .help = "RTRL of the content projection: exact traces, or the gradient of the present step alone"},
    {.name = "projection",
     .type = SPARC_OPTION_CHOICE,
     .choices = projection_names,
     .help = "content from a matrix, or the input itself, which takes D = H"},
    {.name = "ring",
     .type = SPARC_OPTION_CHOICE,
     .choices = ring_names,
     .help = "initial values from 0.9 to 0.999: of exp(-softplus(Lambda)), or of the transition at r = 1"},
    {.name = NULL}};

/* positions in the block table; without a content matrix the others move up */
enum { CONTENT, CONTENT_BIAS, GATE_RETENTION, GATE_RETENTION_BIAS, GATE_INPUT, GATE_INPUT_BIAS, DECAY_LOGIT };

static bool has_content(const sparc_cell *cell) { return cell->option[OPTION_PROJECTION] == 0; }
static int block_at(const sparc_cell *cell, int position) {
  return has_content(cell) ? position : position - GATE_RETENTION;
}

/* per-coordinate gradients that the adjoint accumulates, and the RTRL scalar slots in the same order; after them
 * come k slots for each row of the two gates and, with exact traces, k for the content biases of the block */

/* the columns of pre where the content is projected */
enum { COLUMN_CONTENT, COLUMN_RETENTION, COLUMN_INPUT, COLUMN_COUNT };

static const int sum_block[RGLRU_SUMS] = {
    [RGLRU_DECAY] = DECAY_LOGIT, [RGLRU_RETENTION] = GATE_RETENTION_BIAS, [RGLRU_INPUT] = GATE_INPUT_BIAS};

static int block_width(const sparc_cell *cell) { return (int)cell->option[OPTION_BLOCK]; }
/* traces of the content projection */
static bool has_exact_traces(const sparc_cell *cell) {
  return has_content(cell) && cell->option[OPTION_PROJ_TRACE] == TRACE_EXACT;
}

static sparc_status check_block_width(const sparc_cell *cell) {
  const int H = cell->H, k = block_width(cell), rest = H % k;
  if (rest == 0) return SPARC_OK;
  const int nearest = H < k || 2 * rest >= k ? H - rest + k : H - rest;
  return fail(SPARC_INVALID, "H is %d, expected a multiple of the option block, which is %d; the nearest is %d", H, k,
              nearest);
}

static sparc_status add_sinks(sparc_cell *cell) {
  const int k = block_width(cell);
  sparc_status status = SPARC_OK;
  for (int s = 0; s < RGLRU_SUMS && status == SPARC_OK; s++)
    status = add_sink(cell, (rtrl_sink){.slot = s, .block = block_at(cell, sum_block[s])});
  for (int p = 0; p < k && status == SPARC_OK; p++) {
    const rtrl_sink sinks[] = {
        {.slot = RGLRU_SUMS + p, .block = block_at(cell, GATE_RETENTION), .column = p},
        {.slot = RGLRU_SUMS + k + p, .block = block_at(cell, GATE_INPUT), .column = p},
        {.slot = RGLRU_SUMS + 2 * k + p,
         .block = CONTENT_BIAS,
         .row = ROW_OF_GROUP,
         .width = k,
         .rows = k,
         .member = p},
        {.outer = true, .slot = p, .block = CONTENT, .row = ROW_OF_GROUP, .width = k, .rows = k, .member = p},
    };
    const size_t count = has_exact_traces(cell) ? 4 : 2;
    for (size_t i = 0; i < count && status == SPARC_OK; i++) status = add_sink(cell, sinks[i]);
  }
  return status;
}

static sparc_status layout(sparc_cell *cell) {
  const int D = cell->D, H = cell->H, k = block_width(cell);
  cell->own_products = 2 * (size_t)H * (size_t)k; /* the two gates */
  sparc_status status = check_block_width(cell);
  if (status != SPARC_OK) return status;
  if (!has_content(cell) && D != H)
    return fail(SPARC_INVALID, "D is %d, expected H = %d: with projection=none the input is the content", D, H);
  if (has_content(cell)) {
    add_block(cell, "content", SPARC_RECURRENT, H, D);
    add_block(cell, "content_bias", SPARC_RECURRENT, H, 0);
    add_projection(cell, CONTENT, CONTENT_BIAS);
  }
  add_block(cell, "gate_retention", SPARC_RECURRENT, H, k);
  add_block(cell, "gate_retention_bias", SPARC_RECURRENT, H, 0);
  add_block(cell, "gate_input", SPARC_RECURRENT, H, k);
  add_block(cell, "gate_input_bias", SPARC_RECURRENT, H, 0);
  add_block(cell, "decay_logit", SPARC_RECURRENT, H, 0);

  /* columns u, r and q; u is the input when nothing is projected */
  cell->direct_input = !has_content(cell);
  cell->parts = 1;
  cell->pre = cell->projected + 2 * H;
  cell->sums = RGLRU_SUMS;
  cell->constant_count = (size_t)H * (CONSTANT_ROWS + 4 * (size_t)k);

  cell->outer = has_exact_traces(cell) ? k : 0;
  cell->scalar = RGLRU_SUMS + (has_exact_traces(cell) ? 3 : 2) * k;
  cell->columns = has_exact_traces(cell) && k > COLUMN_COUNT ? COLUMN_COUNT : 0;
  return add_sinks(cell);
}

/* The same for control and classification: softplus(Lambda), or c softplus(Lambda), is -log(radius) with the radius in
 * a ring near 1. The first is what Griffin's code does, the second what its text states. */
static sparc_status init(const sparc_cell *cell, sparc_init_style style, uint64_t seed, const char *name,
                         float *params) {
  (void)style;
  static const int matrices[] = {CONTENT, GATE_RETENTION, GATE_INPUT};
  for (size_t i = has_content(cell) ? 0 : 1; i < sizeof matrices / sizeof *matrices; i++) {
    const sparc_block *block = &cell->block[block_at(cell, matrices[i])];
    sparc_random stream = block_stream(seed, name, block->name);
    random_fill_normal(&stream, params + block->offset, block->size, 1 / sqrt((double)block->shape[1]));
  }
  const sparc_block *decay = &cell->block[block_at(cell, DECAY_LOGIT)];
  const double share = cell->option[OPTION_RING] == RING_BASE ? 1 : DECAY_SCALE;
  sparc_random stream = block_stream(seed, name, decay->name);
  for (size_t j = 0; j < decay->size; j++) {
    const double square = random_ring(&stream, 0.9, 0.999) + 1e-8;
    params[decay->offset + j] = (float)log(expm1(-0.5 * log(square) / share));
  }
  return SPARC_OK;
}

static const cell_description about = {
    .kind =
        {
            .name = "rglru",
            .summary = "real recurrence with block-diagonal retention and input gates",
            .readout = READOUT_REAL,
            .features = POLICY_OUTPUT,
            .coordinates = 1,
            .options = options,
        },
    .layout = layout,
    .init = init,
    .mode_flops = {30, 80},
};

/* ---- constants --------------------------------------------------------------------------------- */

/* as RGLRU_CONTENT_MAX, so that no intermediate overflows */
static const double RATE_MAX = 1e30;
static const real CONTENT_MAX = RGLRU_CONTENT_MAX;

enum { RETENTION, INPUT, GATES };
static const int weight_block[GATES] = {GATE_RETENTION, GATE_INPUT};
static const int bias_block[GATES] = {GATE_RETENTION_BIAS, GATE_INPUT_BIAS};
static const int bias_constant[GATES] = {K_RETENTION_BIAS, K_INPUT_BIAS};

/* where the constants keep a gate's weights, (H / k, k, k) each: one prepared matrix per block;
 * forward: [from content][to gate], backward: [from gate][to content] as in params */
static size_t forward_weights(const sparc_cell *cell, size_t gate) {
  return (size_t)cell->H * (CONSTANT_ROWS + 2 * gate * (size_t)block_width(cell));
}
static size_t backward_weights(const sparc_cell *cell, size_t gate) {
  return (size_t)cell->H * (CONSTANT_ROWS + (2 * gate + 1) * (size_t)block_width(cell));
}

/* log(1 + exp(v)) */
static double softplus(double v) { return fmax(v, 0) + log1p(exp(-fabs(v))); }

static double logistic(double v) {
  const double t = exp(-fabs(v));
  return v < 0 ? t / (1 + t) : 1 / (1 + t);
}

static void derive(const sparc_cell *cell, const real *params, real *constants) {
  const size_t H = (size_t)cell->H, k = (size_t)block_width(cell);
  const sparc_block *block = cell->block;
  for (size_t j = 0; j < H; j++) {
    const double logit = (double)params[block[block_at(cell, DECAY_LOGIT)].offset + j];
    constants[K_RATE * H + j] = (real)fmin(DECAY_SCALE * softplus(logit), RATE_MAX);
    constants[K_RATE_SLOPE * H + j] = (real)(DECAY_SCALE * logistic(logit));
  }
  for (size_t g = 0; g < GATES; g++) {
    real *forward = constants + forward_weights(cell, g), *backward = constants + backward_weights(cell, g);
    const real *source = params + block[block_at(cell, weight_block[g])].offset;
    memcpy(constants + (size_t)bias_constant[g] * H, params + block[block_at(cell, bias_block[g])].offset,
           H * sizeof(real));
    for (size_t start = 0; start < H * k; start += k * k) { /* a block */
      TYPED(put_columns)(cell, k, k, (range){0, k}, source + start, k, HUGE_VAL, forward + start);
      TYPED(put_rows)(cell, k, k, (range){0, k}, source + start, k, HUGE_VAL, backward + start);
    }
  }
}

/* ---- gates ------------------------------------------------------------------------------------- */

/* NOLINTBEGIN(readability-non-const-parameter): operations have the types of affine_ops, used or not */

/* Columns that are taken together: whole blocks, so many that a row is worth a call and a tile of rows stays in the
 * cache between a product and what follows it. */
static size_t group_width(const sparc_cell *cell) {
  enum { COLUMNS = 128 };
  const size_t k = (size_t)block_width(cell);
  return k >= COLUMNS ? k : COLUMNS / k * k;
}
static size_t groups_of(const sparc_cell *cell) { return tiles_of((size_t)cell->H, group_width(cell)); }

/* the content of a token and its cotangent: the input, or the first columns */
static const real *content_of(const sparc_cell *cell, const real *x, const real *pre) {
  return cell->direct_input ? x : pre;
}
static size_t content_stride(const sparc_cell *cell) { return (size_t)(cell->direct_input ? cell->D : cell->pre); }

/* out (k) = in (k) matrix (k, k) + beta out; k as a constant leaves the sums in registers */
static inline void row_product(size_t k, const real *restrict in, const real *restrict matrix, real beta,
                               real *restrict out) {
  if (beta == 0) memset(out, 0, k * sizeof(real));
  for (size_t i = 0; i < k; i++)
    for (size_t p = 0; p < k; p++) out[p] += in[i] * matrix[i * k + p];
}

/* n rows, columns [columns.first, columns.first + columns.n): out = in blockdiag(matrix) + beta out. Products win from
 * blocks of two on; a single token is walked row by row, unless the matrix lies in panels. */
static void block_products(const sparc_cell *cell, size_t n, range columns, const real *in, size_t in_stride,
                           const real *matrix, real beta, real *out, size_t out_stride) {
  const size_t k = (size_t)block_width(cell);
  for (size_t first = columns.first; first < columns.first + columns.n; first += k) {
    if (n > 1 || prepared_panel(cell->kernels, k) < k) {
      gemm(cell->kernels, AS_IS, PREPARED, n, k, k, in + first, in_stride, matrix + first * k, k, beta, out + first,
           out_stride);
      continue;
    }
    if (k == BLOCK)
      row_product(BLOCK, in + first, matrix + first * BLOCK, beta, out + first);
    else
      row_product(k, in + first, matrix + first * k, beta, out + first);
  }
}

/* the pre-activation of gate j once more where a product or a partial sum overflowed: in a wider range of exponents */
static real wide_gate(const sparc_cell *cell, const real *bias, const real *matrix, const real *u, size_t j) {
  const size_t k = (size_t)block_width(cell), first = j / k * k;
  const prepared_column column = prepared_column_of(cell->kernels, k, k, j % k);
  const real *weight = matrix + first * k + column.first;
  long double sum = (long double)bias[j];
  for (size_t p = 0; p < k; p++) sum += (long double)weight[p * column.stride] * (long double)u[first + p];
  return sum > 1e30L ? (real)1e30 : sum < -1e30L ? (real)-1e30 : (real)sum;
}

/* x <- sigmoid(x + bias) of some gates; false when a sum was not finite. The double build has no kernels. */
static bool open_gates(const sparc_cell *cell, size_t n, const real *bias, real *x) {
#ifdef SPARC_DOUBLE
  (void)cell;
#else
  if (cell->kernels->diagonal.gate) return cell->kernels->diagonal.gate(n, bias, x);
#endif
  bool finite = true;
  for (size_t i = 0; i < n; i++) {
    const real z = x[i] + bias[i];
    finite = finite && isfinite(z);
    x[i] = r_sigmoid(z);
  }
  return finite;
}

/* one gate of a group of columns from their contents; matrix as in block_products */
static void activate_gate(const sparc_cell *cell, size_t n, range columns, const real *bias, const real *matrix,
                          const real *u, real *gate) {
  const size_t width = (size_t)cell->pre, stride = content_stride(cell);
  block_products(cell, n, columns, u, stride, matrix, 0, gate, width);
  for (size_t t = 0; t < n; t++) {
    real *row = gate + t * width;
    if (open_gates(cell, columns.n, bias + columns.first, row + columns.first)) continue;
    for (size_t j = columns.first; j < columns.first + columns.n; j++)
      row[j] = r_sigmoid(wide_gate(cell, bias, matrix, u + t * stride, j));
  }
}

static void activate(const sparc_cell *cell, const real *constants, size_t n, const real *x, real *pre, real *shared) {
  (void)shared;
  const size_t H = (size_t)cell->H, width = (size_t)cell->pre, projected = (size_t)cell->projected;
  /* comparisons rather than fmin and fmax: a NaN passes */
  for (size_t t = 0; t < n; t++) {
    real *u = pre + t * width;
    for (size_t j = 0; j < projected; j++)
      u[j] = u[j] > CONTENT_MAX ? CONTENT_MAX : u[j] < -CONTENT_MAX ? -CONTENT_MAX : u[j];
  }
  for (size_t group = 0; group < groups_of(cell); group++)
    for (size_t g = 0; g < GATES; g++)
      activate_gate(cell, n, range_of(H, group_width(cell), group), constants + (size_t)bias_constant[g] * H,
                    constants + forward_weights(cell, g), content_of(cell, x, pre), pre + projected + g * H);
}

/* the gates' columns of dpre are cotangents of their pre-activations; the content receives what passes through them */
static void activate_backward(const sparc_cell *cell, const real *constants, size_t n, const real *pre,
                              const real *shared, real *dpre, real *dshared, real *dx) {
  (void)pre, (void)shared, (void)dshared;
  const size_t H = (size_t)cell->H, width = (size_t)cell->pre, projected = (size_t)cell->projected;
  real *dcontent = cell->direct_input ? dx : dpre;
  for (size_t group = 0; dcontent && group < groups_of(cell); group++)
    for (size_t g = 0; g < GATES; g++)
      block_products(cell, n, range_of(H, group_width(cell), group), dpre + projected + g * H, width,
                     constants + backward_weights(cell, g), 1, dcontent, content_stride(cell));
}

static size_t weight_parts(const sparc_cell *cell) { return GATES * groups_of(cell); }

/* dG += dgate^T u, block by block */
static void weight_gradient(const sparc_cell *cell, size_t part, size_t n, const real *x, const real *pre,
                            const real *dpre, const real *dshared, const real *dy, real *dparams) {
  (void)dshared, (void)dy;
  const size_t H = (size_t)cell->H, k = (size_t)block_width(cell), width = (size_t)cell->pre;
  const size_t g = part / groups_of(cell);
  const range columns = range_of(H, group_width(cell), part % groups_of(cell));
  const real *dgate = dpre + (size_t)cell->projected + g * H, *u = content_of(cell, x, pre);
  real *dweight = dparams + cell->block[block_at(cell, weight_block[g])].offset;
  for (size_t first = columns.first; first < columns.first + columns.n; first += k)
    gemm(cell->kernels, TRANSPOSED, AS_IS, k, k, n, dgate + first, width, u + first, content_stride(cell), 1,
         dweight + first * k, k);
}

/* ---- one coordinate at one token --------------------------------------------------------------- */

/* in the derivative of sqrt(1 - a^2) the root is at least that of this, so that d sqrt(v) / dv stays below 1000 */
static const real SQUARE_MIN = (real)2.5e-7;

typedef struct coordinate {
  real u, r, q; /* content and gates */
  real log_a, a;
  real square; /* 1 - a^2 */
  real scale;  /* n */
} coordinate;

static void activity(const sparc_cell *cell, const real *constants, const TYPED(token) * token, cell_activity *sums) {
  (void)constants;
  const real *q = token->pre + cell->projected + cell->H;
  for (size_t j = 0; j < (size_t)cell->H; j++) {
    sums->gates++;
    sums->gate_sum += (double)q[j];
    sums->gate_squares += (double)q[j] * (double)q[j];
  }
}

static inline coordinate coordinate_at(const sparc_cell *cell, const real *constants, const TYPED(token) * token,
                                       size_t j) {
  const size_t H = (size_t)cell->H;
  const real *gates = token->pre + cell->projected;
  coordinate c = {.u = content_of(cell, token->x, token->pre)[j], .r = gates[j], .q = gates[H + j]};
  c.log_a = -constants[K_RATE * H + j] * c.r;
  c.a = r_exp(c.log_a);
  c.square = -r_expm1(2 * c.log_a);
  c.scale = token->mask * r_sqrt(c.square) + (1 - token->mask);
  return c;
}

/* derivatives of h_t by the local quantities */
typedef struct coordinate_slopes {
  real decay, retention, input; /* by Lambda and by the gates' pre-activations */
  real content;                 /* by u_j with the gates held fixed */
} coordinate_slopes;

static inline coordinate_slopes slopes_at(const coordinate *c, real rate_slope, real mask, real kept) {
  const real write = c->q * c->u;
  /* by log a; the write shrinks as a grows, except on the first step of a segment */
  const real by_log_a = c->a * kept - mask * c->a * c->a / r_sqrt(r_fmax(c->square, SQUARE_MIN)) * write;
  return (coordinate_slopes){
      .decay = -by_log_a * c->r * rate_slope,
      .retention = by_log_a * c->log_a * (1 - c->r),
      .input = c->scale * write * (1 - c->q),
      .content = c->scale * c->q,
  };
}

static void coefficients(const sparc_cell *cell, const real *constants, const TYPED(token) * token, int first, int n,
                         TYPED(coefficients) * out) {
  for (int i = 0; i < n; i++) {
    const coordinate c = coordinate_at(cell, constants, token, (size_t)(first + i));
    out->a_re[i] = c.a;
    out->b_re[i] = c.scale * c.q * c.u;
  }
}

static void adjoint(const sparc_cell *cell, const real *constants, const TYPED(token) * token, int first, int n,
                    const TYPED(cotangent) * cot, TYPED(coefficients) * transition, real *dpre, double *dshared,
                    double (*sums)[MODE_TILE]) {
  (void)dshared;
  const size_t H = (size_t)cell->H;
  real *dcontent = cell->direct_input ? cot->dx : dpre, *dgates = dpre + cell->projected;
  for (int i = 0; i < n; i++) {
    const size_t j = (size_t)(first + i);
    const coordinate c = coordinate_at(cell, constants, token, j);
    const coordinate_slopes slope = slopes_at(&c, constants[K_RATE_SLOPE * H + j], token->mask, cot->kept_re[i]);
    const real mu = cot->mu_re[i], dretention = mu * slope.retention, dinput = mu * slope.input;
    transition->a_re[i] = c.a;
    dcontent[j] = mu * slope.content;
    dgates[j] = dretention;
    dgates[H + j] = dinput;
    sums[RGLRU_DECAY][i] += (double)(mu * slope.decay);
    sums[RGLRU_RETENTION][i] += (double)dretention;
    sums[RGLRU_INPUT][i] += (double)dinput;
  }
}

/* NOLINTEND(readability-non-const-parameter) */

static void sums_gradient(const sparc_cell *cell, const real *constants, const double *sums, real *dparams) {
  (void)constants;
  const size_t H = (size_t)cell->H;
  for (size_t s = 0; s < RGLRU_SUMS; s++)
    for (size_t j = 0; j < H; j++)
      dparams[cell->block[block_at(cell, sum_block[s])].offset + j] += (real)sums[s * H + j];
}

/* ---- RTRL -------------------------------------------------------------------------------------- */

/* from the slopes of coordinate j to its drivers; u: the contents of the token */
static inline void spread_slopes(const sparc_cell *cell, const real *constants, const real *u, size_t j,
                                 const coordinate_slopes *slope, real *outer, real *scalar) {
  const size_t H = (size_t)cell->H, k = (size_t)block_width(cell);
  const real *retention = constants + backward_weights(cell, RETENTION);
  const real *input = constants + backward_weights(cell, INPUT);
  real *by_retention = scalar + RGLRU_SUMS * H, *by_input = by_retention + k * H, *by_bias = by_input + k * H;
  const real *seen = u + j / k * k;
  scalar[RGLRU_DECAY * H + j] = slope->decay;
  scalar[RGLRU_RETENTION * H + j] = slope->retention;
  scalar[RGLRU_INPUT * H + j] = slope->input;
  for (size_t p = 0; p < k; p++) {
    by_retention[p * H + j] = slope->retention * seen[p];
    by_input[p * H + j] = slope->input * seen[p];
  }
  if (!has_exact_traces(cell)) return;

  /* dh_j / du_p: through both gates for the whole block, and directly for j itself */
  for (size_t p = 0; p < k; p++) {
    const real through_gates = slope->retention * retention[j * k + p] + slope->input * input[j * k + p];
    const real direct = p == j % k ? slope->content : 0;
    outer[p * H + j] = by_bias[p * H + j] = through_gates + direct;
  }
}

static void drivers(const sparc_cell *cell, const real *constants, const TYPED(token) * token, const real *kept,
                    const real *a, const real *b, real *outer, real *scalar) {
  (void)a, (void)b;
  const size_t H = (size_t)cell->H;
  for (size_t j = 0; j < H; j++) {
    const coordinate c = coordinate_at(cell, constants, token, j);
    const coordinate_slopes slope = slopes_at(&c, constants[K_RATE_SLOPE * H + j], token->mask, kept[j]);
    spread_slopes(cell, constants, content_of(cell, token->x, token->pre), j, &slope, outer, scalar);
  }
}

static void column_drivers(const sparc_cell *cell, const real *constants, const TYPED(token) * token, const real *kept,
                           real *columns) {
  const size_t H = (size_t)cell->H;
  real *decay = columns, *by_pre = columns + H;
  for (size_t j = 0; j < H; j++) {
    const coordinate c = coordinate_at(cell, constants, token, j);
    const coordinate_slopes slope = slopes_at(&c, constants[K_RATE_SLOPE * H + j], token->mask, kept[j]);
    decay[j] = slope.decay;
    by_pre[COLUMN_CONTENT * H + j] = slope.content;
    by_pre[COLUMN_RETENTION * H + j] = slope.retention;
    by_pre[COLUMN_INPUT * H + j] = slope.input;
  }
}

static void spread_columns(const sparc_cell *cell, const real *constants, const TYPED(token) * token, const real *own,
                           const real *columns, real *outer, real *scalar) {
  const size_t H = (size_t)cell->H;
  for (size_t j = 0; j < H; j++) {
    const coordinate_slopes slope = {.decay = own[j],
                                     .retention = columns[COLUMN_RETENTION * H + j],
                                     .input = columns[COLUMN_INPUT * H + j],
                                     .content = columns[COLUMN_CONTENT * H + j]};
    spread_slopes(cell, constants, token->pre, j, &slope, outer, scalar);
  }
}

/* proj_trace=local: the projection as if it belonged to an encoder before the cell */
static void direct_gradient(const sparc_cell *cell, const real *x, const real *pre, const real *dpre, const real *dy,
                            real *dparams) {
  (void)pre, (void)dy;
  if (has_exact_traces(cell) || !has_content(cell)) return;
  const size_t D = (size_t)cell->D, H = (size_t)cell->H;
  real *dcontent = dparams + cell->block[CONTENT].offset, *dbias = dparams + cell->block[CONTENT_BIAS].offset;
  for (size_t j = 0; j < H; j++) {
    for (size_t d = 0; d < D; d++) dcontent[j * D + d] += dpre[j] * x[d];
    dbias[j] += dpre[j];
  }
}

/* ---- kernels ----------------------------------------------------------------------------------- */

#ifdef SPARC_DOUBLE
#define FUSED NULL
#else
static rglru_rows rows_of(const sparc_cell *cell, const float *constants, const span_f32 *span) {
  const size_t H = (size_t)cell->H;
  return (rglru_rows){.H = H,
                      .first = span->first,
                      .n = span->n,
                      .tokens = span->tokens,
                      .rate = constants + K_RATE * H,
                      .rate_slope = constants + K_RATE_SLOPE * H,
                      .content = content_of(cell, span->x, span->pre),
                      .gates = span->pre + cell->projected,
                      .content_stride = content_stride(cell),
                      .gate_stride = (size_t)cell->pre,
                      .mask = span->mask};
}

static void fused_scan(const sparc_cell *cell, const float *constants, const span_f32 *span, float *h, float *states) {
  const rglru_rows rows = rows_of(cell, constants, span);
  cell->kernels->diagonal.rglru_scan(&rows, h, states);
}

static void fused_adjoint(const sparc_cell *cell, const float *constants, const span_f32 *span, const float *before,
                          const float *states, const float *dstates, float *g, float *dpre, float *dshared,
                          float *sums) {
  (void)dshared;
  cell->kernels->diagonal.rglru_adjoint(
      &(rglru_adjoint_rows){.rows = rows_of(cell, constants, span),
                            .states = states,
                            .dstates = dstates,
                            .before = before,
                            .g = g,
                            .dcontent = cell->direct_input ? span->dx : dpre,
                            .dcontent_stride = cell->direct_input ? span->dx_stride : (size_t)cell->pre,
                            .dgates = dpre + cell->projected,
                            .sums = sums});
}

static void fused_coefficients(const sparc_cell *cell, const float *constants, const token_f32 *token,
                               const float *kept, float *a, float *b) {
  (void)kept;
  const span_f32 span = {.n = (size_t)cell->H, .tokens = 1, .pre = token->pre, .mask = &token->mask, .x = token->x};
  const rglru_rows rows = rows_of(cell, constants, &span);
  cell->kernels->diagonal.rglru_token(&rows, a, b);
}

/* the drivers are few beside their traces: they stay with the scalar code */
static const fused_ops_f32 *fused(const sparc_cell *cell, const float *constants) {
  static const fused_ops_f32 loops = {
      .scan = fused_scan, .scan_adjoint = fused_adjoint, .coefficients = fused_coefficients};
  (void)constants;
  return cell->kernels->diagonal.rglru_scan ? &loops : NULL;
}
#define FUSED fused
#endif

static const TYPED(affine_ops) affine = {
    .derive = derive,
    .activate = activate,
    .activate_backward = LEARNING(activate_backward),
    .weight_gradient = LEARNING(weight_gradient),
    .weight_parts = weight_parts,
    .coefficients = coefficients,
    .adjoint = LEARNING(adjoint),
    .sums_gradient = LEARNING(sums_gradient),
    .fused = FUSED,
    .activity = LEARNING(activity),
    .drivers = LEARNING(drivers),
    .column_drivers = LEARNING(column_drivers),
    .spread_columns = LEARNING(spread_columns),
    .direct_gradient = LEARNING(direct_gradient),
};

static const TYPED(cell_ops) ops = AFFINE_CELL_OPS(affine);

extern const cell_entry TYPED(cell_rglru);
const cell_entry TYPED(cell_rglru) = {&about, &ops};
