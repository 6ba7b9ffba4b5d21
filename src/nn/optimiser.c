/* SPDX-License-Identifier: MIT */
/* optimiser.c: Adam, AdamW, gradient norm and clipping, in one precision (docs/training.md has the formulas).
 *
 * The flat array is cut into tiles without regard to spans; a tile visits the spans that reach into it. Moments move by
 * m += (1 - beta) (g - m): a constant gradient is their fixed point however beta rounds, while beta m + (1 - beta) g in
 * float would converge to 1.3e-5 beside it for beta2 = 0.999. Factors that depend on the step alone are formed in
 * double.
 */
#include "nn/optimiser.h"

#include "base/error.h"
#include "base/real.h"
#include "base/threads.h"
#include "cells/tiles.h"

#include <math.h>

/* ---- tiles --------------------------------------------------------------------------------------- */

enum { TILE = 4096 };

/* the part of a span inside a tile */
static range overlap(const sparc_span *span, range tile) {
  const size_t tile_end = tile.first + tile.n, span_end = span->offset + span->size;
  const size_t first = span->offset > tile.first ? span->offset : tile.first;
  const size_t end = span_end < tile_end ? span_end : tile_end;
  return (range){first, end > first ? end - first : 0};
}

/* ---- Adam ---------------------------------------------------------------------------------------- */

/* lr * mhat / (sqrt(vhat) + epsilon) = move m / (sqrt(scale v) + epsilon), and lr * weight_decay = shrink */
typedef struct adam_factors {
  real blend_m, blend_v; /* 1 - beta1, 1 - beta2 */
  real scale, epsilon;
  real move[SPARC_FROZEN], shrink[SPARC_FROZEN]; /* by group */
} adam_factors;

static adam_factors factors_of(const sparc_adam_config *config, long step, double lr) {
  const double debias = 1 - pow(config->beta1, (double)step);
  adam_factors f = {.blend_m = (real)(1 - config->beta1),
                    .blend_v = (real)(1 - config->beta2),
                    .scale = (real)(1 / (1 - pow(config->beta2, (double)step))),
                    .epsilon = (real)config->epsilon};
  f.move[SPARC_RECURRENT] = (real)(lr * config->recurrent_lr_scale / debias);
  f.move[SPARC_REGULAR] = (real)(lr / debias);
  f.shrink[SPARC_REGULAR] = (real)(lr * config->weight_decay);
  return f;
}

typedef struct adam_job {
  adam_factors factors;
  const sparc_span *spans;
  size_t span_count, count;
  const real *gradient;
  real *moments, *params;
} adam_job;

static void update_range(const adam_factors *f, sparc_group group, size_t n, const real *restrict g, real *restrict m,
                         real *restrict v, real *restrict p) {
  const real blend_m = f->blend_m, blend_v = f->blend_v, scale = f->scale, epsilon = f->epsilon;
  const real move = f->move[group], shrink = f->shrink[group];
  for (size_t i = 0; i < n; i++) {
    m[i] += blend_m * (g[i] - m[i]);
    v[i] += blend_v * (g[i] * g[i] - v[i]);
    p[i] -= move * m[i] / (r_sqrt(scale * v[i]) + epsilon) + shrink * p[i];
  }
}

static void update_tile(void *context, size_t tile) {
  const adam_job *job = context;
  for (size_t i = 0; i < job->span_count; i++) {
    const sparc_span *span = &job->spans[i];
    const range r = overlap(span, range_of(job->count, TILE, tile));
    if (span->group == SPARC_FROZEN || r.n == 0) continue;
    update_range(&job->factors, span->group, r.n, job->gradient + r.first, job->moments + r.first,
                 job->moments + job->count + r.first, job->params + r.first);
  }
}

sparc_status PUBLIC(sparc_adam_update)(const sparc_adam_config *config, const sparc_span *spans, size_t span_count,
                                       size_t count, int threads, long step, double learning_rate, const real *gradient,
                                       real *moments, real *params) {
  if (!config || !spans || !gradient || !moments || !params)
    return fail(SPARC_INVALID, "%s is NULL",
                !config     ? "config"
                : !spans    ? "spans"
                : !gradient ? "gradient"
                : !moments  ? "moments"
                            : "params");
  if (step < 1) return fail(SPARC_INVALID, "step is %ld, expected the update number, 1 or more", step);
  adam_job job = {factors_of(config, step, learning_rate), spans, span_count, count, gradient, moments, params};
  parallel_for(threads, tiles_of(count, TILE), update_tile, &job);
  return SPARC_OK;
}

/* ---- norm ---------------------------------------------------------------------------------------- */

/* the number of partial sums is bounded so that they fit on the stack; their length depends on the array alone */
enum { NORM_TILES = 64, LANES = 8 };

typedef struct norm_job {
  const sparc_span *spans;
  size_t span_count, count, tile_size;
  const real *gradient;
  double partial[NORM_TILES];
} norm_job;

/* a sum of squares in lanes, so that additions need not wait for each other */
static double sum_of_squares(size_t n, const real *g) {
  double lane[LANES] = {0}, sum = 0;
  const size_t whole = n - n % LANES;
  for (size_t i = 0; i < whole; i += LANES)
    for (size_t j = 0; j < LANES; j++) lane[j] += (double)g[i + j] * (double)g[i + j];
  for (size_t i = whole; i < n; i++) lane[i - whole] += (double)g[i] * (double)g[i];
  for (size_t j = 0; j < LANES; j++) sum += lane[j];
  return sum;
}

static void norm_tile(void *context, size_t tile) {
  norm_job *job = context;
  double sum = 0;
  for (size_t i = 0; i < job->span_count; i++) {
    const sparc_span *span = &job->spans[i];
    const range r = overlap(span, range_of(job->count, job->tile_size, tile));
    if (span->group != SPARC_FROZEN) sum += sum_of_squares(r.n, job->gradient + r.first);
  }
  job->partial[tile] = sum;
}

double TYPED(gradient_norm)(const sparc_span *spans, size_t span_count, int threads, const real *gradient) {
  if (!spans || !gradient) return 0;
  size_t count = 0;
  for (size_t i = 0; i < span_count; i++)
    if (spans[i].offset + spans[i].size > count) count = spans[i].offset + spans[i].size;
  const size_t tile_size = TILE * (1 + count / TILE / NORM_TILES), tiles = tiles_of(count, tile_size);
  norm_job job = {.spans = spans, .span_count = span_count, .count = count, .tile_size = tile_size};
  job.gradient = gradient;
  parallel_for(threads, tiles, norm_tile, &job);
  double sum = 0;
  for (size_t i = 0; i < tiles; i++) sum += job.partial[i];
  return sqrt(sum);
}

/* ---- clipping ------------------------------------------------------------------------------------ */

typedef struct clip_job {
  const sparc_span *spans;
  size_t span_count, count;
  double factor;
  real *gradient;
} clip_job;

static void clip_tile(void *context, size_t tile) {
  const clip_job *job = context;
  for (size_t i = 0; i < job->span_count; i++) {
    const range r = overlap(&job->spans[i], range_of(job->count, TILE, tile));
    if (job->spans[i].group == SPARC_FROZEN) continue;
    for (size_t j = r.first; j < r.first + r.n; j++) job->gradient[j] = (real)((double)job->gradient[j] * job->factor);
  }
}

double TYPED(gradient_clip)(const sparc_span *spans, size_t span_count, size_t count, int threads, double max_norm,
                            real *gradient) {
  const double norm = TYPED(gradient_norm)(spans, span_count, threads, gradient);
  /* a gradient that is not finite is left for the caller to find */
  if (max_norm > 0 && norm > max_norm && isfinite(norm)) {
    clip_job job = {spans, span_count, count, max_norm / norm, gradient};
    parallel_for(threads, tiles_of(count, TILE), clip_tile, &job);
  }
  return norm;
}
