/* SPDX-License-Identifier: MIT */
#include "base/threads.h"
#include "cells/affine/tokens_impl.h"
#include "kernels/gemm_impl.h"

#include <string.h>

/* ---- the recurrence ------------------------------------------------------------------------------ */

/* values of a run of modes; im stays zero for real cells */
typedef struct mode_row {
  real re[MODE_TILE], im[MODE_TILE];
} mode_row;

/* modes [first, first + n) of a row whose parts are `stride` apart */
static mode_row load_modes(const sparc_cell *cell, const real *row, size_t stride, size_t first, size_t n) {
  mode_row out = {0};
  memcpy(out.re, row + first, n * sizeof(real));
  if (cell->parts == 2) memcpy(out.im, row + stride + first, n * sizeof(real));
  return out;
}

/* g <- m conj(a) mu; nothing passes the start of a segment, finite or not */
static void pass_back(size_t n, const TYPED(coefficients) * c, bool complex, real mask, const mode_row *mu,
                      mode_row *g) {
  if (mask == 0) {
    memset(g, 0, sizeof *g);
    return;
  }
  for (size_t i = 0; i < n; i++) {
    const real re = mu->re[i], im = mu->im[i], a_im = complex ? c->a_im[i] : 0;
    g->re[i] = c->a_re[i] * re + a_im * im;
    g->im[i] = c->a_re[i] * im - a_im * re;
  }
}

/* the scalar form for modes [first, first + n) of the span */
static void adjoint_run(const sparc_cell *cell, const real *constants, const TYPED(span) * span, size_t first, size_t n,
                        const real *before, const real *states, const real *dstates, real *packed_g, real *dpre,
                        real *dshared, double *totals) {
  const TYPED(affine_ops) *ops = TYPED(ops_of)(cell)->affine;
  const size_t D = (size_t)cell->D, H = (size_t)cell->H, S = cell->sizes.state, at = span->first + first;
  const size_t pre = (size_t)cell->pre, shared = (size_t)cell->shared;
  double sums[MAX_SUMS][MODE_TILE] = {{0}};
  mode_row g = load_modes(cell, packed_g, span->n, first, n);
  for (size_t t = span->tokens; t-- > 0;) {
    const TYPED(token)
        token = {span->pre + t * pre, span->shared + t * shared, span->mask ? span->mask[t] : 1, span->x + t * D};
    mode_row kept = {0}, mu = load_modes(cell, dstates + t * S, H, at, n);
    if (token.mask != 0)
      kept = t > 0 ? load_modes(cell, states + (t - 1) * S, H, at, n) : load_modes(cell, before, span->n, first, n);
    for (size_t i = 0; i < n; i++) mu.re[i] += g.re[i], mu.im[i] += g.im[i];
    const TYPED(cotangent)
        cotangent = {kept.re, kept.im, mu.re, mu.im, span->dx ? span->dx + t * span->dx_stride : NULL};
    TYPED(coefficients) c;
    double by_shared[MAX_SHARED] = {0};
    ops->adjoint(cell, constants, &token, (int)at, (int)n, &cotangent, &c, dpre + t * pre, by_shared, sums);
    for (size_t q = 0; q < shared; q++)
      dshared[t * shared + q] = (first == 0 ? 0 : dshared[t * shared + q]) + (real)by_shared[q];
    pass_back(n, &c, cell->parts == 2, token.mask, &mu, &g);
  }
  memcpy(packed_g + first, g.re, n * sizeof(real));
  if (cell->parts == 2) memcpy(packed_g + span->n + first, g.im, n * sizeof(real));
  for (size_t q = 0; totals && q < (size_t)cell->sums; q++)
    for (size_t i = 0; i < n; i++) totals[q * H + at + i] += sums[q][i];
}

/* a row of some modes of a wide span, packed as (parts, n) */
static void pack_row(const sparc_cell *cell, const TYPED(span) * span, const real *row, real *packed) {
  for (size_t part = 0; part < (size_t)cell->parts; part++)
    memcpy(packed + part * span->n, row + part * (size_t)cell->H + span->first, span->n * sizeof(real));
}

/* the fused form, a block of steps at a time */
static void adjoint_blocks(const sparc_cell *cell, const TYPED(fused_ops) * fused, const real *constants,
                           const TYPED(span) * span, const real *before, const real *states, const real *dstates,
                           real *g, real *dpre, real *dshared, double *sums) {
  enum { BLOCK = 32 };
  const size_t H = (size_t)cell->H, D = (size_t)cell->D, S = cell->sizes.state, pre = (size_t)cell->pre;
  const size_t shared = (size_t)cell->shared, count = (size_t)cell->sums, n = span->n;
  real entering[2 * WIDE_TILE], block_sums[MAX_SUMS * WIDE_TILE];
  for (size_t end = span->tokens, begin; end > 0; end = begin) {
    begin = end > BLOCK ? end - BLOCK : 0;
    TYPED(span) block = *span;
    block.tokens = end - begin;
    block.earlier = span->earlier + begin;
    block.pre += begin * pre;
    block.shared += begin * shared;
    if (block.x) block.x += begin * D;
    if (block.dx) block.dx += begin * block.dx_stride;
    if (block.mask) block.mask += begin;
    if (block.dmodes) block.dmodes += begin * shared * H;
    if (begin > 0) pack_row(cell, span, states + (begin - 1) * S, entering);
    memset(block_sums, 0, count * n * sizeof(real));
    fused->scan_adjoint(cell, constants, &block, begin > 0 ? entering : before, states + begin * S, dstates + begin * S,
                        g, dpre + begin * pre, dshared + begin * shared, block_sums);
    for (size_t s = 0; sums && s < count; s++)
      TYPED(ordered_sum)(sums + s * H + span->first, block_sums + s * n, 1, 0, n);
  }
}

void TYPED(adjoint_span)(const sparc_cell *cell, const TYPED(fused_ops) * fused, const real *constants,
                         const TYPED(span) * span, const real *before, const real *states, const real *dstates, real *g,
                         real *dpre, real *dshared, double *sums) {
  if (fused) {
    adjoint_blocks(cell, fused, constants, span, before, states, dstates, g, dpre, dshared, sums);
    return;
  }
  for (size_t first = 0; first < span->n; first += MODE_TILE) {
    const size_t n = span->n - first < MODE_TILE ? span->n - first : MODE_TILE;
    adjoint_run(cell, constants, span, first, n, before, states, dstates, g, dpre, dshared, sums);
  }
}

/* ---- the input ------------------------------------------------------------------------------------- */

void TYPED(tokens_activate_backward)(const TYPED(token_block) * block, range tokens) {
  const sparc_cell *cell = block->cell;
  const TYPED(affine_ops) *ops = TYPED(ops_of)(cell)->affine;
  const size_t pre = (size_t)cell->pre, shared = (size_t)cell->shared;
  if (ops->activate_backward)
    ops->activate_backward(cell, block->weights.constants, tokens.n, block->pre + tokens.first * pre,
                           block->shared + tokens.first * shared, block->dpre + tokens.first * pre,
                           block->dshared + tokens.first * shared,
                           block->dx ? block->dx + tokens.first * (size_t)cell->D : NULL);
}

void TYPED(tokens_project_backward)(const TYPED(token_block) * block, range tokens, range columns) {
  const sparc_cell *cell = block->cell;
  const size_t D = (size_t)cell->D, N = (size_t)cell->projected, pre = (size_t)cell->pre;
  real *dx = block->dx + tokens.first * D + columns.first;
  const real beta = block->dx_started ? 1 : 0;
  if (N > 0)
    gemm(cell->kernels, AS_IS, PREPARED, tokens.n, columns.n, N, block->dpre + tokens.first * pre, pre,
         block->weights.weight_out + columns.first * N, columns.n, beta, dx, D);
  else if (beta == 0)
    for (size_t t = 0; t < tokens.n; t++) memset(dx + t * D, 0, columns.n * sizeof(real));
}

void TYPED(tokens_shared_backward)(const TYPED(token_block) * block, range tokens) {
  const sparc_cell *cell = block->cell;
  const TYPED(affine_ops) *ops = TYPED(ops_of)(cell)->affine;
  if (ops->shared_backward)
    ops->shared_backward(cell, block->weights.constants, tokens.n, block->dshared + tokens.first * (size_t)cell->shared,
                         block->dx + tokens.first * (size_t)cell->D);
}

void TYPED(tokens_backward)(const TYPED(token_block) * block, range tokens) {
  TYPED(tokens_activate_backward)(block, tokens);
  if (!block->dx) return;
  TYPED(tokens_project_backward)(block, tokens, (range){0, (size_t)block->cell->D});
  TYPED(tokens_shared_backward)(block, tokens);
}

/* ---- the weights ----------------------------------------------------------------------------------- */

/* whether the past of these weights reaches the state */
static bool has_trace(const sparc_cell *cell, const projection *p) {
  for (size_t s = 0; s < cell->sinks; s++)
    if (cell->block[cell->sink[s].block].offset == p->weight) return true;
  return false;
}

/* Rows of a projection whose gradient is formed together: each tile passes all of x, so the larger x is, the fewer
 * there should be, but some for every thread. */
enum { MAX_ROW_TILE = 256 };
static size_t row_tile(const sparc_cell *cell, int threads, const projection *p) {
  enum { AT_A_TIME = 6, FEWEST = 24 };
  const size_t quarter = (size_t)p->rows / 4, tile = quarter / ROW_TILE * ROW_TILE + ROW_TILE;
  const size_t share = tiles_of((size_t)cell->projected, threads > 1 ? (size_t)threads : 1);
  const size_t even = tiles_of(share, AT_A_TIME) * AT_A_TIME, some = even > FEWEST ? even : FEWEST;
  const size_t bound = some < MAX_ROW_TILE ? some : MAX_ROW_TILE;
  return tile < bound ? tile : bound;
}

static size_t row_tiles(const sparc_cell *cell, int threads, const projection *p) {
  return tiles_of((size_t)p->rows, row_tile(cell, threads, p));
}

/* some rows of one projection: dW += dpre^T x, dbias += column sums */
static void projection_gradient(const TYPED(token_block) * block, const projection *p, range rows, real *dparams) {
  const sparc_cell *cell = block->cell;
  const size_t D = (size_t)cell->D, pre = (size_t)cell->pre;
  const real *dpre = block->dpre + (size_t)p->column + rows.first;
  if (!block->dy && !has_trace(cell, p)) return;
  gemm(cell->kernels, TRANSPOSED, AS_IS, rows.n, D, block->n, dpre, pre, block->x, D, 1,
       dparams + p->weight + rows.first * (size_t)p->stride, (size_t)p->stride);
  if (!p->has_bias) return;
  double sums[MAX_ROW_TILE] = {0};
  TYPED(ordered_sum)(sums, dpre, block->n, pre, rows.n);
  for (size_t i = 0; i < rows.n; i++) dparams[p->bias + (rows.first + i) * (size_t)p->bias_stride] += (real)sums[i];
}

static size_t cell_parts(const sparc_cell *cell) {
  const TYPED(affine_ops) *ops = TYPED(ops_of)(cell)->affine;
  return ops->weight_parts ? ops->weight_parts(cell) : 0;
}

size_t TYPED(tokens_gradient_parts)(const sparc_cell *cell, int threads) {
  size_t parts = cell_parts(cell);
  for (int i = 0; i < cell->projections; i++) parts += row_tiles(cell, threads, &cell->project[i]);
  return parts;
}

void TYPED(tokens_gradient)(const TYPED(token_block) * block, size_t part, real *dparams) {
  const sparc_cell *cell = block->cell;
  const size_t own = cell_parts(cell);
  if (part < own) {
    TYPED(ops_of)
    (cell)->affine->weight_gradient(cell, part, block->n, block->x, block->pre, block->dpre, block->dshared, block->dy,
                                    dparams);
    return;
  }
  const projection *p = cell->project;
  for (part -= own; part >= row_tiles(cell, block->threads, p); p++) part -= row_tiles(cell, block->threads, p);
  projection_gradient(block, p, range_of((size_t)p->rows, row_tile(cell, block->threads, p), part), dparams);
}

void TYPED(modes_gradient)(const sparc_cell *cell, const real *constants, size_t count, const double *partials,
                           double *total, real *dparams) {
  const size_t width = (size_t)cell->sums * (size_t)cell->H;
  if (width == 0) return;
  memset(total, 0, width * sizeof(double));
  ordered_sum_f64(total, partials, count, width, width);
  TYPED(ops_of)(cell)->affine->sums_gradient(cell, constants, total, dparams);
}
