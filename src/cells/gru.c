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
 * The state passes through full matrices, so there is no scan and no structured RTRL. Streams go through time in
 * groups, with one recurrent product per step and group. What does not depend on the state is done for a chunk of steps
 * at once, while its rows are in the cache: the product with the inputs before the chunk, and backwards the gradients
 * of inputs and weights after it. Every block of streams sums its own weight gradients; blocks are added in their
 * order. A group has as many blocks as a thread would have to take. Where there are more threads than blocks, the
 * streams of a block are divided among them, and after every chunk of the backward the rows of its weight gradients:
 * none of this changes a sum.
 *
 * Weights and biases are limited to +-1e30 when they are prepared: for any finite parameters and inputs of ordinary
 * size, and for ordinary parameters and |x| up to 1e30, sums stay finite and the saturating gates do the rest.
 */
#include "base/threads.h"
#include "cells/cell_impl.h"
#include "cells/tiles.h"
#include "kernels/gemm_impl.h"

#include <string.h>

/* streams of a block at most, of a group at most, and rows (streams times steps) of a block's chunk at most */
enum { STREAM_TILE = 16, GROUP_STREAMS = 32, CHUNK_ROWS = 256 };

/* ---- description ------------------------------------------------------------------------------- */

/* columns of a row of gates, H each. The input feeds the first three, the recurrent product reset, update and shift. */
enum { RESET, UPDATE, NEW, SHIFT, GATE_COLUMNS };
enum { INPUT_GATES = 3, RECURRENT_GATES = 3 };

/* columns of a row of their cotangents: those of the input's product are the first three, of the recurrent one the last
 * three */
enum { D_NEW, D_RESET, D_UPDATE, D_SHIFT };

/* positions in the block table; the gates of a kind follow in the order of the columns */
enum { INPUT = 0, RECURRENT = 3, BIAS = 6, RECURRENT_BIAS = 9 };

/* element offsets into prepared: matrices prepared as K x N for the forward and as N x K for the backward */
typedef struct prepared_layout {
  size_t input_in;       /* (D, 3H) */
  size_t input_out;      /* (3H, D): new, reset, update, as the cotangents lie */
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
  cell->own_products = (size_t)INPUT_GATES * (size_t)H * (size_t)D + (size_t)RECURRENT_GATES * (size_t)H * (size_t)H;
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
    status = i < RECURRENT ? random_lecun_normal(&stream, params + block->offset, block->size, cell->D)
                           : random_orthogonal(&stream, params + block->offset, cell->H, cell->H, 1);
  }
  return status;
}

static const sparc_option options[] = {{.name = NULL}};

static const cell_description about = {
    .kind =
        {
            .name = "gru",
            .summary = "gated recurrent unit, H real units; trained by truncated backpropagation",
            .readout = READOUT_REAL,
            .features = POLICY_OUTPUT,
            .coordinates = 1,
            .options = options,
        },
    .layout = layout,
    .init = init,
};

/* ---- parameters -------------------------------------------------------------------------------- */

/* a matrix of the parameters (3H, cols), transposed and as it is, there with the gates in the order of their
 * cotangents */
static void copy_matrix(const sparc_cell *cell, size_t cols, const int *gate_at, const real *source, real *in,
                        real *out) {
  const size_t H = (size_t)cell->H;
  TYPED(put_columns)(cell, cols, 3 * H, (range){0, 3 * H}, source, cols, WEIGHT_MAX, in);
  for (size_t gate = 0; gate < 3; gate++) TYPED(put_rows)
  (cell, 3 * H, cols, (range){(size_t)gate_at[gate] * H, H}, source + gate * H * cols, cols, WEIGHT_MAX, out);
}

/* the blocks of a kind lie one after the other, so three gates are one matrix with 3H rows */
static void prepare(const sparc_cell *cell, const real *params, real *prepared) {
  const size_t D = (size_t)cell->D, H = (size_t)cell->H;
  const prepared_layout at = prepared_layout_of(cell);
  const sparc_block *block = cell->block;
  static const int of_inputs[] = {D_RESET, D_UPDATE, D_NEW};
  static const int of_states[] = {0, D_UPDATE - D_RESET, D_SHIFT - D_RESET};
  copy_matrix(cell, D, of_inputs, params + block[INPUT].offset, prepared + at.input_in, prepared + at.input_out);
  copy_matrix(cell, H, of_states, params + block[RECURRENT].offset, prepared + at.recurrent_in,
              prepared + at.recurrent_out);
  for (size_t i = 0; i < INPUT_GATES * H; i++)
    prepared[at.bias + i] = (real)bounded((double)params[block[BIAS].offset + i], WEIGHT_MAX);
  memset(prepared + at.recurrent_bias, 0, 2 * H * sizeof(real));
  for (size_t j = 0; j < H; j++)
    prepared[at.recurrent_bias + 2 * H + j] =
        (real)bounded((double)params[block[RECURRENT_BIAS].offset + j], WEIGHT_MAX);
}

/* ---- one token --------------------------------------------------------------------------------- */

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

/* mu (H) to dgates (4H), and direct (H): the part of hp's cotangent that passes no matrix */
static void advance_units_backward(const kernels *k, size_t H, const real *restrict gates, const real *restrict kept,
                                   const real *restrict mu, real *restrict dgates, real *restrict direct) {
#ifndef SPARC_DOUBLE
  if (k->gru.adjoint) {
    k->gru.adjoint(H, gates, kept, mu, dgates, direct);
    return;
  }
#endif
  (void)k;
  for (size_t j = 0; j < H; j++) {
    const real r = gates[RESET * H + j], z = gates[UPDATE * H + j], n = gates[NEW * H + j], s = gates[SHIFT * H + j];
    const real dn = mu[j] * (1 - z) * (1 - n * n);
    dgates[D_NEW * H + j] = dn;
    dgates[D_RESET * H + j] = dn * s * r * (1 - r);
    dgates[D_UPDATE * H + j] = mu[j] * (kept[j] - n) * z * (1 - z);
    dgates[D_SHIFT * H + j] = dn * r;
    direct[j] = z * mu[j];
  }
}

/* hp of a stream; without a state before it, zeros */
static void copy_state(size_t H, const real *before, real *kept) {
  if (before)
    memcpy(kept, before, H * sizeof(real));
  else
    memset(kept, 0, H * sizeof(real));
}

static void step(const sparc_cell *cell, const real *prepared, size_t n, real *states, const real *x, const real *masks,
                 real *y, real *tapes) {
  const size_t D = (size_t)cell->D, H = (size_t)cell->H, stride = cell->sizes.tape;
  const prepared_layout at = prepared_layout_of(cell);
  const step_layout place = step_layout_of(cell);
  real *gates = tapes + place.gates, *product = tapes + place.product, *kept = tapes + place.kept;
  for (size_t i = 0; i < n; i++) copy_state(H, !masks || masks[i] != 0 ? states + i * H : NULL, kept + i * stride);
  project_tokens(cell->kernels, PREPARED, n, D, INPUT_GATES * H, x, D, prepared + at.input_in, prepared + at.bias,
                 gates, stride);
  project_tokens(cell->kernels, PREPARED, n, H, RECURRENT_GATES * H, kept, stride, prepared + at.recurrent_in,
                 prepared + at.recurrent_bias, product, stride);
  for (size_t i = 0; i < n; i++)
    advance_units(cell->kernels, H, product + i * stride, kept + i * stride, gates + i * stride, states + i * H);
  if (y) memcpy(y, states, n * H * sizeof(real));
}

/* ---- sequences --------------------------------------------------------------------------------- */

/* streams of a block, by the number of streams alone: half of them at most, so that two threads have work */
static size_t stream_tile_of(size_t streams) {
  const size_t half = (streams + 1) / 2;
  return half < STREAM_TILE ? half : STREAM_TILE;
}

static size_t chunk_steps_of(size_t streams) { return CHUNK_ROWS / stream_tile_of(streams); }

/* element offsets into the work of B streams in chunks of C steps. A group of blocks has the rows from stream first * C
 * on for a chunk, by stream, then step. */
typedef struct work_layout {
  size_t entering;   /* (B, H) forward: hp; backward: the cotangent of the state from the future */
  size_t product;    /* (B, 3H) forward: U hp */
  size_t direct;     /* (B, H) */
  size_t dgates;     /* (B C, 4H) */
  size_t kept;       /* (B C, H): hp */
  size_t inputs;     /* (B C, D) */
  size_t sums;       /* (blocks, block): of each */
  size_t dinput;     /* in the sums of a block: (3H, D) */
  size_t drecurrent; /* (3H, H) */
  size_t dbias;      /* (4H) doubles: sums of dgates */
  size_t block;
  size_t total;
} work_layout;

static work_layout work_layout_of(const sparc_cell *cell, size_t streams) {
  const size_t D = (size_t)cell->D, H = (size_t)cell->H, rows = streams * chunk_steps_of(streams);
  work_layout at = {0};
  at.entering = take_elements(&at.total, streams * H);
  at.product = take_elements(&at.total, streams * RECURRENT_GATES * H);
  at.direct = take_elements(&at.total, streams * H);
  at.dgates = take_elements(&at.total, rows * GATE_COLUMNS * H);
  at.kept = take_elements(&at.total, rows * H);
  at.inputs = take_elements(&at.total, rows * D);
  at.dinput = take_elements(&at.block, INPUT_GATES * H * D);
  at.drecurrent = take_elements(&at.block, RECURRENT_GATES * H * H);
  at.dbias = take_elements(&at.block, GATE_COLUMNS * H * (sizeof(double) / sizeof(real)));
  at.sums = take_elements(&at.total, tiles_of(streams, stream_tile_of(streams)) * at.block);
  return at;
}

/* the forward keeps r | z | n | s of every token */
static size_t saved_count(const sparc_plan *plan) {
  return round_elements((size_t)plan->B * (size_t)plan->T * GATE_COLUMNS * (size_t)plan->cell->H);
}

static size_t work_count(const sparc_plan *plan) { return work_layout_of(plan->cell, (size_t)plan->B).total; }

typedef struct run {
  const sparc_cell *cell;
  const kernels *kernels;
  const TYPED(sequence_call) * call;
  const real *prepared;
  prepared_layout at;
  work_layout work;
  real *gates;                            /* saved, (B T, 4H) */
  size_t streams, blocks, T, D, H, width; /* width = 4H */
  size_t steps;                           /* of a chunk */
  size_t group, groups;                   /* streams of a group, which is one or more whole blocks, and their number */
  size_t loop, loops;                     /* streams that a time loop takes along, and the loops of a group */
  size_t pieces; /* into which a block's weight gradients are cut; 1: groups keep to themselves */
  size_t chunk;  /* at work, where groups wait for each other */
} run;

/* rows of weight gradients that are worth passing a chunk for */
enum { FEWEST_ROWS = 24 };

/* blocks that a thread would take one after the other go through time as one group: the recurrent weights, which may be
 * larger than a cache, are read once for all of them */
static size_t blocks_of_group(size_t blocks, size_t tile, size_t threads) {
  const size_t share = tiles_of(blocks, threads), bound = GROUP_STREAMS / tile;
  return share < bound ? share : bound;
}

static run start_run(const sparc_plan *plan, const real *prepared, const TYPED(sequence_call) * call) {
  const sparc_cell *cell = plan->cell;
  const size_t streams = (size_t)plan->B, tile = stream_tile_of(streams), blocks = tiles_of(streams, tile);
  const size_t group = blocks_of_group(blocks, tile, (size_t)plan->threads) * tile;
  const size_t threads = tiles_of((size_t)plan->threads, blocks), loop = tiles_of(group, threads); /* of a block */
  const size_t rows = RECURRENT_GATES * (size_t)cell->H, pieces = tiles_of(rows, FEWEST_ROWS);
  return (run){.cell = cell,
               .kernels = cell->kernels,
               .call = call,
               .prepared = prepared,
               .at = prepared_layout_of(cell),
               .work = work_layout_of(cell, streams),
               .gates = call->saved,
               .streams = streams,
               .blocks = blocks,
               .T = (size_t)plan->T,
               .D = (size_t)cell->D,
               .H = (size_t)cell->H,
               .width = GATE_COLUMNS * (size_t)cell->H,
               .steps = chunk_steps_of(streams),
               .group = group,
               .groups = tiles_of(streams, group),
               .loop = loop,
               .loops = tiles_of(group, loop),
               .pieces = threads < pieces ? threads : pieces};
}

/* a place in the work */
static real *work_at(const run *r, size_t place) { return (real *)r->call->work + place; }

/* a block of streams and its sums */
typedef struct block {
  range streams;
  real *dinput, *drecurrent;
  double *dbias;
} block;

static block block_of(const run *r, size_t tile) {
  real *sums = work_at(r, r->work.sums + tile * r->work.block);
  return (block){.streams = range_of(r->streams, stream_tile_of(r->streams), tile),
                 .dinput = sums + r->work.dinput,
                 .drecurrent = sums + r->work.drecurrent,
                 .dbias = (double *)(void *)(sums + r->work.dbias)};
}

/* hp of stream b before step t */
static void load_kept(const run *r, size_t b, size_t t, real *kept) {
  const size_t token = b * r->T + t;
  const bool starts = r->call->mask && r->call->mask[token] == 0;
  const real *state0 = r->call->state0 ? r->call->state0 + b * r->H : NULL;
  copy_state(r->H, starts ? NULL : t > 0 ? r->call->y + (token - 1) * r->H : state0, kept);
}

/* the streams of a group that one time loop takes along; a short group may leave some loops none */
typedef struct loop {
  range group, streams;
} loop;

static loop loop_of(const run *r, size_t tile) {
  const range group = range_of(r->streams, r->group, tile / r->loops);
  const size_t first = tile % r->loops * r->loop, rest = first < group.n ? group.n - first : 0;
  return (loop){group, {group.first + first, rest < r->loop ? rest : r->loop}};
}

/* W x + b of a chunk */
static void project(const run *r, range streams, range steps) {
  for (size_t i = streams.first; i < streams.first + streams.n; i++) {
    const size_t token = i * r->T + steps.first;
    TYPED(project_tokens)
    (r->kernels, PREPARED, steps.n, r->D, INPUT_GATES * r->H, r->call->x + token * r->D, r->D,
     r->prepared + r->at.input_in, r->prepared + r->at.bias, r->gates + token * r->width, r->width);
  }
}

static void recur(void *context, size_t tile) {
  const run *r = context;
  const range streams = loop_of(r, tile).streams;
  const size_t H = r->H, N = RECURRENT_GATES * H;
  real *entering = work_at(r, r->work.entering + streams.first * H);
  real *product = work_at(r, r->work.product + streams.first * N);
  if (streams.n == 0) return;
  for (size_t t = 0; t < r->T; t++) {
    if (t % r->steps == 0) project(r, streams, range_of(r->T, r->steps, t / r->steps));
    for (size_t i = 0; i < streams.n; i++) load_kept(r, streams.first + i, t, entering + i * H);
    TYPED(project_tokens)
    (r->kernels, PREPARED, streams.n, H, N, entering, H, r->prepared + r->at.recurrent_in,
     r->prepared + r->at.recurrent_bias, product, N);
    for (size_t i = 0; i < streams.n; i++) {
      const size_t token = (streams.first + i) * r->T + t;
      advance_units(r->kernels, H, product + i * N, entering + i * H, r->gates + token * r->width,
                    r->call->y + token * H);
    }
  }
}

static void forward(const sparc_plan *plan, const real *prepared, const TYPED(sequence_call) * call) {
  run r = start_run(plan, prepared, call);
  parallel_for(plan->threads, r.groups * r.loops, recur, &r);
  if (!call->state_last) return;
  for (size_t b = 0; b < r.streams; b++)
    memcpy(call->state_last + b * r.H, call->y + ((b + 1) * r.T - 1) * r.H, r.H * sizeof(real));
}

/* ---- backward ---------------------------------------------------------------------------------- */

/* where a chunk has its row of a stream and a step, for a group that starts with stream `group` */
static size_t row_of(const run *r, size_t group, range steps, size_t stream, size_t step) {
  return group * r->steps + (stream - group) * steps.n + step;
}

/* One step of the streams of a loop: entering holds the cotangent of the state after step t from the future alone, and
 * leaves as that of the state before it. */
static void step_backward(const run *r, const loop *l, range steps, size_t step) {
  const range streams = l->streams;
  const size_t H = r->H, t = steps.first + step, end = streams.first + streams.n;
  real *entering = work_at(r, r->work.entering), *direct = work_at(r, r->work.direct);
  real *dgates = work_at(r, r->work.dgates);
  for (size_t i = streams.first; i < end; i++) {
    const size_t token = i * r->T + t, row = row_of(r, l->group.first, steps, i, step);
    real *kept = work_at(r, r->work.kept + row * H), *mu = entering + i * H;
    load_kept(r, i, t, kept);
    for (size_t j = 0; j < H; j++) mu[j] += r->call->dy[token * H + j];
    advance_units_backward(r->kernels, H, r->gates + token * r->width, kept, mu, dgates + row * r->width,
                           direct + i * H);
  }
  memcpy(entering + streams.first * H, direct + streams.first * H, streams.n * H * sizeof(real));
  TYPED(gemm)
  (r->kernels, AS_IS, PREPARED, streams.n, H, RECURRENT_GATES * H,
   dgates + row_of(r, l->group.first, steps, streams.first, step) * r->width + D_RESET * H, steps.n * r->width,
   r->prepared + r->at.recurrent_out, H, 1, entering + streams.first * H, H);
  for (size_t i = streams.first; r->call->mask && i < end; i++)
    if (r->call->mask[i * r->T + t] == 0) memset(entering + i * H, 0, H * sizeof(real));
}

/* dx of a stream's chunk whose rows start at `row` */
static void project_backward(const run *r, range steps, size_t stream, size_t row) {
  TYPED(gemm)
  (r->kernels, AS_IS, PREPARED, steps.n, r->D, INPUT_GATES * r->H, work_at(r, r->work.dgates + row * r->width),
   r->width, r->prepared + r->at.input_out, r->D, 0, r->call->dx + (stream * r->T + steps.first) * r->D, r->D);
}

/* the inputs of a stream's chunk, packed as its rows are */
static void pack_inputs(const run *r, range steps, size_t stream, size_t row) {
  memcpy(work_at(r, r->work.inputs + row * r->D), r->call->x + (stream * r->T + steps.first) * r->D,
         steps.n * r->D * sizeof(real));
}

static void chunk_backward(const run *r, const loop *l, range steps) {
  for (size_t step = steps.n; step-- > 0 && l->streams.n > 0;) step_backward(r, l, steps, step);
  for (size_t i = l->streams.first; i < l->streams.first + l->streams.n; i++) {
    const size_t row = row_of(r, l->group.first, steps, i, 0);
    if (r->call->dx) project_backward(r, steps, i, row);
    if (r->call->dparams) pack_inputs(r, steps, i, row);
  }
}

/* one of r->pieces parts of a block's weight gradients += that of a chunk, the last of which comes first */
static void chunk_gradient(const run *r, size_t tile, range steps, size_t piece) {
  const block k = block_of(r, tile);
  const size_t D = r->D, H = r->H, rows = k.streams.n * steps.n;
  const size_t row = row_of(r, k.streams.first / r->group * r->group, steps, k.streams.first, 0);
  const range gates = even_share(INPUT_GATES * H, r->pieces, piece), biases = even_share(r->width, r->pieces, piece);
  const real *dgates = work_at(r, r->work.dgates + row * r->width);
  const real beta = steps.first + steps.n == r->T ? 0 : 1;
  TYPED(gemm)
  (r->kernels, TRANSPOSED, AS_IS, gates.n, D, rows, dgates + gates.first, r->width,
   work_at(r, r->work.inputs + row * D), D, beta, k.dinput + gates.first * D, D);
  TYPED(gemm)
  (r->kernels, TRANSPOSED, AS_IS, gates.n, H, rows, dgates + D_RESET * H + gates.first, r->width,
   work_at(r, r->work.kept + row * H), H, beta, k.drecurrent + gates.first * H, H);
  TYPED(ordered_sum)(k.dbias + biases.first, dgates + biases.first, rows, r->width, biases.n);
}

static void open_block(void *context, size_t tile) {
  const run *r = context;
  const block k = block_of(r, tile);
  const size_t H = r->H, first = k.streams.first * H, bytes = k.streams.n * H * sizeof(real);
  if (r->call->dstate_last)
    memcpy(work_at(r, r->work.entering + first), r->call->dstate_last + first, bytes);
  else
    memset(work_at(r, r->work.entering + first), 0, bytes);
  memset(k.dbias, 0, GATE_COLUMNS * H * sizeof(double));
}

/* a group by itself: the time loop backwards, and the weight gradients of its blocks chunk by chunk while the rows are
 * in the cache */
static void group_backward(void *context, size_t group) {
  run *r = context;
  const range streams = range_of(r->streams, r->group, group);
  const loop whole = {streams, streams};
  const size_t per_group = r->group / stream_tile_of(r->streams), first = group * per_group;
  const size_t end = first + per_group < r->blocks ? first + per_group : r->blocks;
  for (size_t tile = first; tile < end; tile++) open_block(context, tile);
  for (size_t chunk = tiles_of(r->T, r->steps); chunk-- > 0;) {
    const range steps = range_of(r->T, r->steps, chunk);
    chunk_backward(r, &whole, steps);
    for (size_t tile = first; tile < end && r->call->dparams; tile++) chunk_gradient(r, tile, steps, 0);
  }
}

static void loop_tile(void *context, size_t tile) {
  const run *r = context;
  const loop l = loop_of(r, tile);
  chunk_backward(r, &l, range_of(r->T, r->steps, r->chunk));
}

static void gradient_tile(void *context, size_t tile) {
  const run *r = context;
  chunk_gradient(r, tile / r->pieces, range_of(r->T, r->steps, r->chunk), tile % r->pieces);
}

/* all blocks, chunk by chunk: several threads share a block, and a group has one */
static void shared_backward(run *r, int threads) {
  parallel_for(threads, r->blocks, open_block, r);
  for (r->chunk = tiles_of(r->T, r->steps); r->chunk-- > 0;) {
    parallel_for(threads, r->groups * r->loops, loop_tile, r);
    if (r->call->dparams) parallel_for(threads, r->blocks * r->pieces, gradient_tile, r);
  }
}

/* the six matrices: where their gradients lie in the sums of a block, and which bias goes with them */
static const struct {
  int weight, bias, column; /* blocks (bias < 0: none) and column of dgates */
} matrices[] = {
    {INPUT + RESET, BIAS + RESET, D_RESET}, {INPUT + UPDATE, BIAS + UPDATE, D_UPDATE},
    {INPUT + NEW, BIAS + NEW, D_NEW},       {RECURRENT + RESET, -1, D_RESET},
    {RECURRENT + UPDATE, -1, D_UPDATE},     {RECURRENT + NEW, RECURRENT_BIAS, D_SHIFT},
};
enum { MATRICES = sizeof matrices / sizeof *matrices };

/* one matrix and its bias: dparams += the sums of the blocks, in their order */
static void parameter_gradient(void *context, size_t m) {
  const run *r = context;
  const size_t H = r->H, column = (size_t)matrices[m].column;
  const bool recurrent = matrices[m].weight >= RECURRENT;
  const size_t at = recurrent ? r->work.drecurrent + (column - D_RESET) * H * H : r->work.dinput + column * H * r->D;
  real *dparams = r->call->dparams;
  TYPED(ordered_add)
  (dparams + r->cell->block[matrices[m].weight].offset, work_at(r, r->work.sums + at), r->blocks, r->work.block,
   H * (recurrent ? H : r->D));
  if (matrices[m].bias < 0) return;
  real *dbias = dparams + r->cell->block[matrices[m].bias].offset;
  for (size_t j = 0; j < H; j++) {
    double sum = 0;
    for (size_t tile = 0; tile < r->blocks; tile++) sum += block_of(r, tile).dbias[column * H + j];
    dbias[j] += (real)sum;
  }
}

static void backward(const sparc_plan *plan, const real *prepared, const TYPED(sequence_call) * call) {
  run r = start_run(plan, prepared, call);
  if (r.pieces == 1)
    parallel_for(plan->threads, r.groups, group_backward, &r);
  else
    shared_backward(&r, plan->threads);
  if (call->dstate0) memcpy(call->dstate0, work_at(&r, r.work.entering), r.streams * r.H * sizeof(real));
  if (call->dparams) parallel_for(plan->threads, MATRICES, parameter_gradient, &r);
}

static const TYPED(cell_ops) ops = {
    .prepare = prepare,
    .step = step,
    .saved_count = saved_count,
    .work_count = work_count,
    .forward = forward,
    .backward = LEARNING(backward),
};

extern const cell_entry TYPED(cell_gru);
const cell_entry TYPED(cell_gru) = {&about, &ops};
