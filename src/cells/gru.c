/* SPDX-License-Identifier: MIT */
/* gru.c: the gated recurrent unit with the reset gate after the recurrent product, H real units.
 *
 * With hp = m_t h_{t-1}:
 *   r = sigmoid(W_r x + b_r + U_r hp)      z = sigmoid(W_z x + b_z + U_z hp)      s = U_n hp + c_n
 *   n = tanh(W_n x + b_n + r s)            h_t = (1 - z) n + z hp
 * and backwards, with mu the cotangent of h_t:
 *   dn = mu (1 - z)(1 - n^2)    dz = mu (hp - n) z (1 - z)    dr = dn s r (1 - r)    ds = dn r
 *   cotangent of h_{t-1} = m_t (z mu + U_r' dr + U_z' dz + U_n' ds)
 *
 * The state passes through full matrices, so there is no scan and no structured RTRL. What does not depend on the
 * state is taken out of the time loop: one product with the inputs of all tokens before it, and all weight gradients
 * after it. The loop itself runs over blocks of streams, with one recurrent product per step and block.
 *
 * Weights and biases are limited to +-1e30 when they are prepared: for any finite parameters and inputs of ordinary
 * size, and for ordinary parameters and |x| up to 1e30, sums stay finite and the saturating gates do the rest.
 */
#include "base/threads.h"
#include "cells/cell_impl.h"
#include "cells/tiles.h"
#include "math/gemm_impl.h"

#include <string.h>

/* streams that one time loop takes along: enough for a product worth the name, few enough to leave loops for threads */
enum { STREAM_TILE = 16 };

/* ---- description ------------------------------------------------------------------------------- */

/* columns of a row of gates, H each. The input feeds the first three, the recurrent product reset, update and shift. */
enum { RESET, UPDATE, NEW, SHIFT, GATE_COLUMNS };
enum { INPUT_GATES = 3, RECURRENT_GATES = 3 };

/* positions in the block table; the gates of a kind follow in the order of the columns */
enum { INPUT = 0, RECURRENT = 3, BIAS = 6, RECURRENT_BIAS = 9 };

/* element offsets into prepared: matrices as K x N for the forward and as N x K for the backward */
typedef struct prepared_layout {
  size_t input_in;       /* (D, 3H) */
  size_t input_out;      /* (3H, D) */
  size_t recurrent_in;   /* (H, 3H) */
  size_t recurrent_out;  /* (3H, H) */
  size_t bias;           /* (3H) */
  size_t recurrent_bias; /* (3H): 0, 0, c_n */
  size_t total;
} prepared_layout;

/* element offsets into the tape of a step */
typedef struct step_layout {
  size_t gates, product, kept; /* (4H), (3H), (H) */
  size_t total;
} step_layout;

static prepared_layout prepared_layout_of(const sparc_cell *cell) {
  const size_t D = (size_t)cell->D, H = (size_t)cell->H;
  prepared_layout at = {0};
  at.input_in = take_elements(&at.total, D * INPUT_GATES * H);
  at.input_out = take_elements(&at.total, D * INPUT_GATES * H);
  at.recurrent_in = take_elements(&at.total, H * RECURRENT_GATES * H);
  at.recurrent_out = take_elements(&at.total, H * RECURRENT_GATES * H);
  at.bias = take_elements(&at.total, INPUT_GATES * H);
  at.recurrent_bias = take_elements(&at.total, RECURRENT_GATES * H);
  return at;
}

static step_layout step_layout_of(const sparc_cell *cell) {
  const size_t H = (size_t)cell->H;
  step_layout at = {0};
  at.gates = take_elements(&at.total, GATE_COLUMNS * H);
  at.product = take_elements(&at.total, RECURRENT_GATES * H);
  at.kept = take_elements(&at.total, H);
  return at;
}

static sparc_status layout(sparc_cell *cell) {
  static const char *const inputs[] = {"input_reset", "input_update", "input_new"};
  static const char *const recurrents[] = {"recurrent_reset", "recurrent_update", "recurrent_new"};
  static const char *const biases[] = {"bias_reset", "bias_update", "bias_new"};
  const int D = cell->D, H = cell->H;
  for (int gate = 0; gate < INPUT_GATES; gate++) add_block(cell, inputs[gate], SPARC_RECURRENT, H, D);
  for (int gate = 0; gate < RECURRENT_GATES; gate++) add_block(cell, recurrents[gate], SPARC_RECURRENT, H, H);
  for (int gate = 0; gate < INPUT_GATES; gate++) add_block(cell, biases[gate], SPARC_RECURRENT, H, 0);
  add_block(cell, "recurrent_bias_new", SPARC_RECURRENT, H, 0);
  cell->sizes.state = cell->sizes.output = (size_t)H;
  cell->sizes.prepared = prepared_layout_of(cell).total;
  cell->sizes.tape = step_layout_of(cell).total;
  return SPARC_OK;
}

/* both styles alike: lecun_normal input weights, orthogonal recurrent weights, zero biases */
static sparc_status init(const sparc_cell *cell, sparc_init_style style, uint64_t seed, const char *name,
                         float *params) {
  (void)style;
  sparc_status status = SPARC_OK;
  for (int i = INPUT; i < BIAS && status == SPARC_OK; i++) {
    const sparc_block *block = &cell->block[i];
    sparc_random stream = block_stream(seed, name, block->name);
    status = i < RECURRENT ? sparc_random_lecun_normal(&stream, params + block->offset, block->size, cell->D)
                           : sparc_random_orthogonal(&stream, params + block->offset, cell->H, cell->H, 1);
  }
  return status;
}

static const option_rule options[] = {{.name = NULL}};

static const cell_description about = {
    .name = "gru",
    .summary = "gated recurrent unit, H real units; trained by truncated backpropagation",
    .readout = READOUT_REAL,
    .features = FEATURES_OUTPUT,
    .coordinates = 1,
    .options = options,
    .layout = layout,
    .init = init,
};

/* ---- parameters -------------------------------------------------------------------------------- */

/* a matrix of the parameters, as it is and transposed */
static void copy_matrix(size_t rows, size_t cols, const real *source, real *out, real *in) {
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < cols; j++)
      in[j * rows + i] = out[i * cols + j] = (real)bounded((double)source[i * cols + j], WEIGHT_MAX);
}

/* the blocks of a kind lie one behind the other, so three gates are one matrix with 3H rows */
static void prepare(const sparc_cell *cell, const real *params, real *prepared) {
  const size_t D = (size_t)cell->D, H = (size_t)cell->H;
  const prepared_layout at = prepared_layout_of(cell);
  const sparc_block *block = cell->block;
  copy_matrix(INPUT_GATES * H, D, params + block[INPUT].offset, prepared + at.input_out, prepared + at.input_in);
  copy_matrix(RECURRENT_GATES * H, H, params + block[RECURRENT].offset, prepared + at.recurrent_out,
              prepared + at.recurrent_in);
  for (size_t i = 0; i < INPUT_GATES * H; i++)
    prepared[at.bias + i] = (real)bounded((double)params[block[BIAS].offset + i], WEIGHT_MAX);
  memset(prepared + at.recurrent_bias, 0, 2 * H * sizeof(real));
  for (size_t j = 0; j < H; j++)
    prepared[at.recurrent_bias + 2 * H + j] =
        (real)bounded((double)params[block[RECURRENT_BIAS].offset + j], WEIGHT_MAX);
}

/* ---- one token of one stream ------------------------------------------------------------------- */

/* gates (4H) enters with W x + b in its first three columns and leaves as r | z | n | s; product (3H) is
 * U hp + (0, 0, c_n) */
static void advance_units(const kernels *k, size_t H, const real *restrict product, const real *restrict kept,
                          real *restrict gates, real *restrict h) {
#ifndef SPARC_DOUBLE
  if (k->gru.advance) {
    k->gru.advance(H, product, kept, gates, h);
    return;
  }
#endif
  (void)k;
  for (size_t j = 0; j < H; j++) {
    const real r = r_sigmoid(gates[RESET * H + j] + product[j]);
    const real z = r_sigmoid(gates[UPDATE * H + j] + product[H + j]);
    const real s = product[2 * H + j], n = r_tanh(gates[NEW * H + j] + r * s);
    gates[RESET * H + j] = r;
    gates[UPDATE * H + j] = z;
    gates[NEW * H + j] = n;
    gates[SHIFT * H + j] = s;
    h[j] = (1 - z) * n + z * kept[j];
  }
}

/* mu (H) to dgates (4H) and dproduct (3H), and direct (H): the part of hp's cotangent that passes no matrix */
static void advance_units_backward(const kernels *k, size_t H, const real *restrict gates, const real *restrict kept,
                                   const real *restrict mu, real *restrict dgates, real *restrict dproduct,
                                   real *restrict direct) {
#ifndef SPARC_DOUBLE
  if (k->gru.adjoint) {
    k->gru.adjoint(H, gates, kept, mu, dgates, dproduct, direct);
    return;
  }
#endif
  (void)k;
  for (size_t j = 0; j < H; j++) {
    const real r = gates[RESET * H + j], z = gates[UPDATE * H + j], n = gates[NEW * H + j], s = gates[SHIFT * H + j];
    const real dn = mu[j] * (1 - z) * (1 - n * n), dz = mu[j] * (kept[j] - n) * z * (1 - z);
    const real dr = dn * s * r * (1 - r), ds = dn * r;
    dgates[RESET * H + j] = dproduct[j] = dr;
    dgates[UPDATE * H + j] = dproduct[H + j] = dz;
    dgates[NEW * H + j] = dn;
    dgates[SHIFT * H + j] = dproduct[2 * H + j] = ds;
    direct[j] = z * mu[j];
  }
}

static void step(const sparc_cell *cell, const real *prepared, real *state, const real *x, real mask, real *y,
                 real *tape) {
  const size_t D = (size_t)cell->D, H = (size_t)cell->H;
  const prepared_layout at = prepared_layout_of(cell);
  const step_layout place = step_layout_of(cell);
  real *gates = tape + place.gates, *product = tape + place.product, *kept = tape + place.kept;
  for (size_t j = 0; j < H; j++) kept[j] = mask != 0 ? state[j] : 0;
  TYPED(project_token)(D, INPUT_GATES * H, x, prepared + at.input_in, prepared + at.bias, gates);
  TYPED(project_token)(H, RECURRENT_GATES * H, kept, prepared + at.recurrent_in, prepared + at.recurrent_bias, product);
  advance_units(cell->kernels, H, product, kept, gates, state);
  if (y) memcpy(y, state, H * sizeof(real));
}

/* ---- sequences --------------------------------------------------------------------------------- */

/* element offsets into work; a time loop keeps its streams' rows to itself */
typedef struct work_layout {
  size_t product;   /* (B, 3H) forward: U hp; backward: its cotangent */
  size_t entering;  /* (B, H) forward: hp; backward: the cotangent from the future */
  size_t direct;    /* (B, H) */
  size_t dgates;    /* (B T, 4H) */
  size_t kept_rows; /* (B T, H) hp of every token, for the recurrent weight gradients */
  size_t total;
} work_layout;

static work_layout work_layout_of(const sparc_cell *cell, int B, int T) {
  const size_t H = (size_t)cell->H, streams = (size_t)B, tokens = streams * (size_t)T;
  work_layout at = {0};
  at.product = take_elements(&at.total, streams * RECURRENT_GATES * H);
  at.entering = take_elements(&at.total, streams * H);
  at.direct = take_elements(&at.total, streams * H);
  at.dgates = take_elements(&at.total, tokens * GATE_COLUMNS * H);
  at.kept_rows = take_elements(&at.total, tokens * H);
  return at;
}

/* the forward keeps r | z | n | s of every token */
static size_t saved_count(const sparc_cell *cell, int B, int T) {
  return round_elements((size_t)B * (size_t)T * GATE_COLUMNS * (size_t)cell->H);
}

static size_t work_count(const sparc_cell *cell, int B, int T) { return work_layout_of(cell, B, T).total; }

typedef struct run {
  const sparc_cell *cell;
  const TYPED(sequence_call) * call;
  const real *prepared;
  prepared_layout at;
  real *gates; /* saved, (B T, 4H) */
  real *product, *entering, *direct, *dgates, *kept_rows;
  size_t streams, T, tokens, D, H, width; /* width = 4H */
} run;

static run start_run(const sparc_cell *cell, const real *prepared, const TYPED(sequence_call) * call) {
  const work_layout work = work_layout_of(cell, call->B, call->T);
  return (run){.cell = cell,
               .call = call,
               .prepared = prepared,
               .at = prepared_layout_of(cell),
               .gates = call->saved,
               .product = call->work + work.product,
               .entering = call->work + work.entering,
               .direct = call->work + work.direct,
               .dgates = call->work + work.dgates,
               .kept_rows = call->work + work.kept_rows,
               .streams = (size_t)call->B,
               .T = (size_t)call->T,
               .tokens = (size_t)call->B * (size_t)call->T,
               .D = (size_t)cell->D,
               .H = (size_t)cell->H,
               .width = GATE_COLUMNS * (size_t)cell->H};
}

/* W x + b of a tile of tokens */
static void project(void *context, size_t tile) {
  const run *r = context;
  const range tokens = range_of(r->tokens, TOKEN_TILE, tile);
  const size_t N = INPUT_GATES * r->H;
  TYPED(project_tokens)
  (r->cell->kernels, tokens.n, r->D, N, r->call->x + tokens.first * r->D, r->D, r->prepared + r->at.input_in,
   r->prepared + r->at.bias, r->gates + tokens.first * r->width, r->width);
}

/* hp of stream b before step t */
static void load_kept(const run *r, size_t b, size_t t, real *kept) {
  const size_t token = b * r->T + t;
  const bool starts = r->call->mask && r->call->mask[token] == 0;
  const real *state0 = r->call->state0 ? r->call->state0 + b * r->H : NULL;
  const real *before = starts ? NULL : t > 0 ? r->call->y + (token - 1) * r->H : state0;
  if (before)
    memcpy(kept, before, r->H * sizeof(real));
  else
    memset(kept, 0, r->H * sizeof(real));
}

/* the time loop of a block of streams */
static void recur(void *context, size_t tile) {
  const run *r = context;
  const range streams = range_of(r->streams, STREAM_TILE, tile);
  const size_t H = r->H, N = RECURRENT_GATES * H;
  real *kept = r->entering + streams.first * H, *product = r->product + streams.first * N;
  for (size_t t = 0; t < r->T; t++) {
    for (size_t i = 0; i < streams.n; i++) load_kept(r, streams.first + i, t, kept + i * H);
    TYPED(project_tokens)
    (r->cell->kernels, streams.n, H, N, kept, H, r->prepared + r->at.recurrent_in, r->prepared + r->at.recurrent_bias,
     product, N);
    for (size_t i = 0; i < streams.n; i++) {
      const size_t token = (streams.first + i) * r->T + t;
      advance_units(r->cell->kernels, H, product + i * N, kept + i * H, r->gates + token * r->width,
                    r->call->y + token * H);
    }
  }
}

static void forward(const sparc_cell *cell, const real *prepared, const TYPED(sequence_call) * call) {
  run r = start_run(cell, prepared, call);
  parallel_for(call->threads, tiles_of(r.tokens, TOKEN_TILE), project, &r);
  parallel_for(call->threads, tiles_of(r.streams, STREAM_TILE), recur, &r);
  if (!call->state_last) return;
  for (size_t b = 0; b < r.streams; b++)
    memcpy(call->state_last + b * r.H, call->y + ((b + 1) * r.T - 1) * r.H, r.H * sizeof(real));
}

/* one step of one stream: dgates and hp for later, dproduct and direct for the recurrent product */
static void token_backward(const run *r, size_t b, size_t t) {
  const size_t H = r->H, token = b * r->T + t;
  real *kept = r->kept_rows + token * H, *mu = r->entering + b * H;
  load_kept(r, b, t, kept);
  for (size_t j = 0; j < H; j++) mu[j] += r->call->dy[token * H + j];
  advance_units_backward(r->cell->kernels, H, r->gates + token * r->width, kept, mu, r->dgates + token * r->width,
                         r->product + b * RECURRENT_GATES * H, r->direct + b * H);
}

/* the time loop backwards: entering holds the cotangent of the state after step t from the future alone */
static void recur_backward(void *context, size_t tile) {
  const run *r = context;
  const TYPED(sequence_call) *call = r->call;
  const range streams = range_of(r->streams, STREAM_TILE, tile);
  const size_t H = r->H, N = RECURRENT_GATES * H, first = streams.first * H, bytes = streams.n * H * sizeof(real);
  real *entering = r->entering + first;
  if (call->dstate_last)
    memcpy(entering, call->dstate_last + first, bytes);
  else
    memset(entering, 0, bytes);
  for (size_t t = r->T; t-- > 0;) {
    for (size_t i = 0; i < streams.n; i++) token_backward(r, streams.first + i, t);
    memcpy(entering, r->direct + first, bytes);
    TYPED(gemm)
    (r->cell->kernels, AS_IS, AS_IS, streams.n, H, N, r->product + streams.first * N, N,
     r->prepared + r->at.recurrent_out, H, 1, entering, H);
    for (size_t i = 0; call->mask && i < streams.n; i++)
      if (call->mask[(streams.first + i) * r->T + t] == 0) memset(entering + i * H, 0, H * sizeof(real));
  }
  if (call->dstate0) memcpy(call->dstate0 + first, entering, bytes);
}

static void project_backward(void *context, size_t tile) {
  const run *r = context;
  const range tokens = range_of(r->tokens, TOKEN_TILE, tile);
  TYPED(gemm)
  (r->cell->kernels, AS_IS, AS_IS, tokens.n, r->D, INPUT_GATES * r->H, r->dgates + tokens.first * r->width, r->width,
   r->prepared + r->at.input_out, r->D, 0, r->call->dx + tokens.first * r->D, r->D);
}

/* the six matrices: what their rows' cotangents are, and which bias goes with them */
static const struct {
  int weight, bias, column; /* blocks (bias < 0: none) and column of dgates */
} matrices[] = {
    {INPUT + RESET, BIAS + RESET, RESET}, {INPUT + UPDATE, BIAS + UPDATE, UPDATE},
    {INPUT + NEW, BIAS + NEW, NEW},       {RECURRENT + RESET, -1, RESET},
    {RECURRENT + UPDATE, -1, UPDATE},     {RECURRENT + NEW, RECURRENT_BIAS, SHIFT},
};
enum { MATRICES = sizeof matrices / sizeof *matrices };

/* a tile of rows of one matrix: dW += d' [x or hp] and db += column sums, over all tokens */
static void parameter_gradient(void *context, size_t tile) {
  const run *r = context;
  const size_t per_matrix = tiles_of(r->H, ROW_TILE), m = tile / per_matrix;
  const range rows = range_of(r->H, ROW_TILE, tile % per_matrix);
  const bool recurrent = matrices[m].weight >= RECURRENT;
  const size_t K = recurrent ? r->H : r->D;
  const real *d = r->dgates + (size_t)matrices[m].column * r->H + rows.first;
  real *dparams = r->call->dparams;
  TYPED(gemm)
  (r->cell->kernels, TRANSPOSED, AS_IS, rows.n, K, r->tokens, d, r->width, recurrent ? r->kept_rows : r->call->x, K, 1,
   dparams + r->cell->block[matrices[m].weight].offset + rows.first * K, K);
  if (matrices[m].bias < 0) return;
  real *dbias = dparams + r->cell->block[matrices[m].bias].offset + rows.first;
  TYPED(ordered_add)(dbias, d, r->tokens, r->width, rows.n);
}

static void backward(const sparc_cell *cell, const real *prepared, const TYPED(sequence_call) * call) {
  run r = start_run(cell, prepared, call);
  parallel_for(call->threads, tiles_of(r.streams, STREAM_TILE), recur_backward, &r);
  if (call->dx) parallel_for(call->threads, tiles_of(r.tokens, TOKEN_TILE), project_backward, &r);
  if (call->dparams) parallel_for(call->threads, MATRICES * tiles_of(r.H, ROW_TILE), parameter_gradient, &r);
}

static const TYPED(cell_ops) ops = {
    .prepare = prepare,
    .step = step,
    .saved_count = saved_count,
    .work_count = work_count,
    .forward = forward,
    .backward = backward,
};

extern const cell_entry TYPED(cell_gru);
const cell_entry TYPED(cell_gru) = {&about, &ops};
