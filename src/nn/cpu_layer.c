/* SPDX-License-Identifier: MIT */
/* cpu_layer.c: the stages of a layer around a cell, on the CPU.
 *
 * Everything outside the cell is computed token by token. A tile never crosses an example, so a dropout mask, which is
 * shared over time, is one vector per tile. Weight gradients are formed tile by tile while the operands are in the
 * cache, in one partial sum per group of tiles; vectors (norm, skip, bias) are partial sums per tile. Partial sums are
 * added in their order.
 */
#include "base/memory.h"
#include "base/random.h"
#include "base/threads.h"
#include "nn/cell_layer_impl.h"
#include "nn/cpu_impl.h"

#include <stdio.h>
#include <string.h>

/* rows of cotangents inside a tile: of the GLU's pre-activations and of its input */
enum { COTANGENT_ROWS = 3 * EXAMPLE_TILE };

/* vectors that are summed per tile; the GLU's bias is two of them */
enum { NORM_SCALE, NORM_BIAS, SKIP, GLU_BIAS, PARTIALS = GLU_BIAS + 2 };

/* ---- scratch ----------------------------------------------------------------------------------- */

typedef struct layer_scratch {
  real *cotangents;   /* (groups, COTANGENT_ROWS, width) */
  real *dglu;         /* (groups, 2 width, width) */
  real *dreadout;     /* (groups, width, S): of the readout before it is split into its parts */
  real *dreadout_sum; /* (width, S), or (F, S) of a bare cell */
  double *partials;   /* (tiles, PARTIALS, width) */
} layer_scratch;

static layer_scratch carve(arena *a, const cell_layer *at, size_t B, size_t T) {
  const size_t width = at->width, S = at->readout.in;
  const tiling cut = tiling_of(B, T);
  layer_scratch s;
  s.cotangents = arena_take(a, cut.groups * COTANGENT_ROWS * width, sizeof(real));
  s.dglu = arena_take(a, cut.groups * 2 * width * width, sizeof(real));
  s.dreadout = arena_take(a, cut.groups * width * S, sizeof(real));
  s.dreadout_sum = arena_take(a, at->readout.out * S, sizeof(real));
  s.partials = arena_take(a, cut.tiles * PARTIALS * width, sizeof(double));
  return s;
}

size_t TYPED(cpu_layer_scratch)(const cell_layer *at, size_t B, size_t T) {
  arena a = arena_measure();
  carve(&a, at, B, T);
  return a.used;
}

/* a pass with its scratch; the context of tiles */
typedef struct layer_job {
  const layer_pass *p;
  layer_scratch scratch;
  tiling cut;
} layer_job;

static layer_job job_of(const layer_pass *p) {
  arena a = arena_over(p->scratch, (size_t)-1);
  return (layer_job){p, carve(&a, p->at, p->B, p->T), tiling_of(p->B, p->T)};
}

/* the activations of these tokens */
static layer_rows rows_of(const layer_pass *p, const example_range *e) {
  const size_t width = p->at->width, at = e->first * width;
  const real *masks = p->masks ? p->masks + e->b * DROPOUT_PLACES * width : NULL;
  layer_rows rows = {.u = p->u + at,
                     .mean = p->mean + e->first,
                     .rstd = p->rstd + e->first,
                     .x = p->x + at,
                     .y = p->y + e->first * p->output,
                     .g = p->g + at,
                     .o = p->o + 2 * at,
                     .out = p->out + at,
                     .drop_g = masks,
                     .drop_v = masks ? masks + width : NULL};
  rows.r = p->r == p->y ? rows.y : p->r + at;
  return rows;
}

/* ---- forward ----------------------------------------------------------------------------------- */

/* one factor per feature, example and place, from a stream of its own at a position given by update and example */
void TYPED(cpu_draw_masks)(const layer_pass *p, const sparc_dropout *dropout, size_t index) {
  const double probability = p->at->dropout;
  const size_t width = p->at->width;
  for (size_t place = 0; place < DROPOUT_PLACES; place++) {
    char name[BLOCK_NAME];
    snprintf(name, sizeof name, "layers.%zu.%zu", index, place);
    sparc_random stream;
    sparc_random_init(&stream, dropout->seed, "dropout", name);
    random_seek(&stream, dropout->update * p->B * width);
    for (size_t b = 0; b < p->B; b++)
      for (size_t i = 0; i < width; i++)
        p->masks[(b * DROPOUT_PLACES + place) * width + i] =
            (double)random_uniform_f32(&stream) < probability ? 0 : (real)(1 / (1 - probability));
  }
}

static void pre_cell(void *context, size_t tile) {
  const layer_pass *p = context;
  const example_range e = example_of(p->T, tile);
  const layer_rows rows = rows_of(p, &e);
  pre_cell_rows(&p->w, p->at, e.n, &rows);
}

static void post_cell(void *context, size_t tile) {
  const layer_pass *p = context;
  const example_range e = example_of(p->T, tile);
  const layer_rows rows = rows_of(p, &e);
  post_cell_rows(&p->w, p->at, e.n, &rows);
}

static size_t features_width(const layer_pass *p) {
  return p->at->reads == POLICY_READOUT ? p->at->readout.out : p->output;
}

static void features(void *context, size_t tile) {
  const layer_pass *p = context;
  const example_range e = example_of(p->T, tile);
  feature_rows(&p->w, p->at, e.n, p->output, p->y + e.first * p->output, p->out + e.first * features_width(p));
}

/* a stage over the tiles of a pass */
static void run_tiles(const layer_pass *p, void (*tile)(void *context, size_t tile)) {
  layer_pass pass = *p;
  parallel_for(p->threads, tiling_of(p->B, p->T).tiles, tile, &pass);
}

void TYPED(cpu_pre_cell)(const layer_pass *p) { run_tiles(p, pre_cell); }
void TYPED(cpu_post_cell)(const layer_pass *p) { run_tiles(p, post_cell); }
void TYPED(cpu_features)(const layer_pass *p) { run_tiles(p, features); }

/* ---- features backward ------------------------------------------------------------------------- */

static void features_backward(void *context, size_t tile) {
  const layer_pass *p = context;
  const example_range e = example_of(p->T, tile);
  const size_t at = e.first * p->output;
  feature_rows_backward(&p->w, p->at, e.n, p->output, p->y + at, p->du + e.first * features_width(p), p->dy + at);
}

/* rows of a bare cell's readout that are summed together */
enum { READOUT_TILE = 12 };

static void add_bare_readout(void *context, size_t tile) {
  const layer_job *job = context;
  const layer_pass *p = job->p;
  const readout_offsets *at = &p->at->readout;
  const range rows = range_of(at->out, READOUT_TILE, tile);
  real *sum = job->scratch.dreadout_sum;
  memset(sum + rows.first * at->in, 0, rows.n * at->in * sizeof *sum);
  dense_backward_weight(p->w.kernels, p->B * p->T, at->in, rows.first, rows.n, p->du, at->out, p->y, sum, NULL);
  readout_weights_backward(at->in / 2, rows.first, rows.n, sum, p->dparams + at->re, p->dparams + at->im);
}

void TYPED(cpu_features_backward)(const layer_pass *p) {
  layer_job job = job_of(p);
  run_tiles(p, features_backward);
  parallel_for(p->threads, tiles_of(p->at->readout.out, READOUT_TILE), add_bare_readout, &job);
}

/* ---- residual layer backward ------------------------------------------------------------------- */

static double *partial_of(const layer_job *job, size_t tile, size_t which) {
  return job->scratch.partials + (tile * PARTIALS + which) * job->p->at->width;
}

/* the cotangents of these tokens; those inside a tile are in the scratch of its group */
static layer_cotangents cotangents_of(const layer_job *job, const example_range *e, size_t group) {
  const layer_pass *p = job->p;
  const size_t width = p->at->width, at = e->first * width;
  layer_cotangents d = {.du = p->du + at,
                        .d_o = job->scratch.cotangents + group * COTANGENT_ROWS * width,
                        .dy = p->dy + e->first * p->output,
                        .dx = p->dx + at};
  d.dg = d.d_o + e->n * 2 * width;
  d.dr = p->at->readout.in ? p->dr + at : d.dy;
  return d;
}

/* from the cotangent of the residual stream after the layer to that of the cell's output */
static void post_cell_backward_tile(const layer_job *job, size_t group, size_t tile) {
  const layer_pass *p = job->p;
  const kernels *k = p->w.kernels;
  const example_range e = example_of(p->T, tile);
  const layer_rows rows = rows_of(p, &e);
  const layer_cotangents d = cotangents_of(job, &e, group);
  const size_t width = p->at->width, S = p->at->readout.in;
  post_cell_rows_backward(&p->w, p->at, e.n, &rows, &d);
  dense_backward_weight(k, e.n, width, 0, 2 * width, d.d_o, 2 * width, rows.g,
                        job->scratch.dglu + group * 2 * width * width, NULL);
  memset(partial_of(job, tile, GLU_BIAS), 0, 2 * width * sizeof(double));
  TYPED(ordered_sum)(partial_of(job, tile, GLU_BIAS), d.d_o, e.n, 2 * width, 2 * width);
  if (S)
    dense_backward_weight(k, e.n, S, 0, width, d.dr, width, rows.y, job->scratch.dreadout + group * width * S, NULL);
}

static void post_cell_backward(void *context, size_t group) {
  const layer_job *job = context;
  const size_t width = job->p->at->width, S = job->p->at->readout.in;
  memset(job->scratch.dglu + group * 2 * width * width, 0, 2 * width * width * sizeof(real));
  if (S) memset(job->scratch.dreadout + group * width * S, 0, width * S * sizeof(real));
  const range tiles = even_share(job->cut.tiles, job->cut.groups, group);
  for (size_t i = 0; i < tiles.n; i++) post_cell_backward_tile(job, group, tiles.first + i);
}

void TYPED(cpu_post_cell_backward)(const layer_pass *p) {
  layer_job job = job_of(p);
  parallel_for(p->threads, job.cut.groups, post_cell_backward, &job);
}

/* from the cotangent of the cell's input to that of the residual stream before the layer */
static void pre_cell_backward(void *context, size_t tile) {
  const layer_job *job = context;
  const layer_pass *p = job->p;
  const example_range e = example_of(p->T, tile);
  const layer_rows rows = rows_of(p, &e);
  const layer_cotangents d = cotangents_of(job, &e, 0);
  memset(partial_of(job, tile, NORM_SCALE), 0, (SKIP + 1) * p->at->width * sizeof(double));
  pre_cell_rows_backward(&p->w, p->at, e.n, &rows, &d, partial_of(job, tile, NORM_SCALE),
                         partial_of(job, tile, NORM_BIAS), partial_of(job, tile, SKIP));
}

void TYPED(cpu_pre_cell_backward)(const layer_pass *p) {
  layer_job job = job_of(p);
  parallel_for(p->threads, job.cut.tiles, pre_cell_backward, &job);
}

/* dparams += the sum of one of the partial vectors over tiles, in their order */
static void add_partials(const layer_job *job, size_t which, size_t offset) {
  for (size_t i = 0; i < job->p->at->width; i++) {
    double sum = 0;
    for (size_t tile = 0; tile < job->cut.tiles; tile++) sum += partial_of(job, tile, which)[i];
    job->p->dparams[offset + i] += (real)sum;
  }
}

/* tile 0: the vectors; the others: rows of the GLU's weight, then of the readout's */
static void layer_gradient(void *context, size_t tile) {
  const layer_job *job = context;
  const cell_layer *at = job->p->at;
  const size_t width = at->width, S = at->readout.in, groups = job->cut.groups;
  const size_t glu_tiles = tiles_of(2 * width, ROW_TILE);
  real *dparams = job->p->dparams;
  if (tile == 0) {
    add_partials(job, NORM_SCALE, at->norm_scale);
    add_partials(job, NORM_BIAS, at->norm_bias);
    add_partials(job, GLU_BIAS, at->glu.bias);
    add_partials(job, GLU_BIAS + 1, at->glu.bias + width);
    if (S) add_partials(job, SKIP, at->skip);
    return;
  }
  if (tile - 1 < glu_tiles) {
    const range rows = range_of(2 * width, ROW_TILE, tile - 1);
    TYPED(ordered_add)
    (dparams + at->glu.weight + rows.first * width, job->scratch.dglu + rows.first * width, groups, 2 * width * width,
     rows.n * width);
    return;
  }
  const range rows = range_of(width, ROW_TILE, tile - 1 - glu_tiles);
  const bool complex = at->readout.has_im;
  real *sum = (complex ? job->scratch.dreadout_sum : dparams + at->readout.re) + rows.first * S;
  if (complex) memset(sum, 0, rows.n * S * sizeof(real));
  TYPED(ordered_add)(sum, job->scratch.dreadout + rows.first * S, groups, width * S, rows.n * S);
  if (complex)
    readout_weights_backward(S / 2, rows.first, rows.n, job->scratch.dreadout_sum, dparams + at->readout.re,
                             dparams + at->readout.im);
}

void TYPED(cpu_layer_gradient)(const layer_pass *p) {
  const size_t width = p->at->width;
  layer_job job = job_of(p);
  const size_t tiles = 1 + tiles_of(2 * width, ROW_TILE) + (p->at->readout.in ? tiles_of(width, ROW_TILE) : 0);
  parallel_for(p->threads, tiles, layer_gradient, &job);
}
