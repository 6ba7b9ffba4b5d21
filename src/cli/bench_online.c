/* SPDX-License-Identifier: MIT */
/* bench_online.c: calls of microseconds: one step, one step with exact sensitivities, preparing the parameters.
 *
 * One stream on one thread, fed from a small pool of inputs. Beside each call stand the bare operations that it cannot
 * do without, timed in turn with it: the matrix-vector product of a step, and the sweep over the bytes of the trace.
 */
#include "base/error.h"
#include "base/memory.h"
#include "cells/cell.h"
#include "cli/bench_cell.h"
#include "cli/bench_loops.h"
#include "sparc/double.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { POOL = 16 }; /* inputs, one piece each */

typedef struct online {
  bench_cell cell;
  size_t D, O, S, trace_size;
  float *x, *dy; /* (POOL, ...) */
  float *state, *trace, *tape, *y, *dparams;
  float *matrix, *product; /* (projected, D) and (projected) of the bare product */
  float *stream;           /* as large as the trace */
  const bench_loops *loops;
  void *memory;
  sparc_status status; /* of the last call that failed */
} online;

static void note(online *o, sparc_status status) {
  if (status != SPARC_OK) o->status = status;
}

/* ---- what is timed ------------------------------------------------------------------------------ */

static sparc_status step(online *o, size_t n) {
  return sparc_step(o->cell.cell, o->cell.prepared, o->state, o->x + n * o->D, 1, o->y, o->tape);
}

static sparc_status step_rtrl(online *o, size_t n) {
  return sparc_step_rtrl(o->cell.cell, o->cell.prepared, o->state, o->trace, o->x + n * o->D, 1, o->y, o->tape);
}

/* gradients of the parameters; that of the input is another matter and left out */
static sparc_status gradient(online *o, size_t n) {
  return sparc_rtrl_gradient(o->cell.cell, o->cell.prepared, o->trace, o->tape, o->dy + n * o->O, o->dparams, NULL);
}

static sparc_status update(online *o, size_t n) {
  return sparc_rtrl_update(o->cell.cell, o->cell.prepared, o->trace, o->tape, o->dy + n * o->O, o->dparams, NULL);
}

static void run_step(void *context, size_t piece, int thread, int threads) {
  (void)thread, (void)threads;
  note(context, step(context, piece));
}

static void run_product(void *context, size_t piece, int thread, int threads) {
  (void)thread, (void)threads;
  const online *o = context;
  const int rows = o->cell.cell->projected, D = (int)o->D;
  cblas_sgemv(CblasRowMajor, CblasNoTrans, rows, D, 1, o->matrix, D, o->x + piece * o->D, 1, 0, o->product, 1);
}

static void run_rtrl(void *context, size_t piece, int thread, int threads) {
  (void)thread, (void)threads;
  note(context, step_rtrl(context, piece));
}

static void run_rtrl_gradient(void *context, size_t piece, int thread, int threads) {
  (void)thread, (void)threads;
  note(context, step_rtrl(context, piece));
  note(context, gradient(context, piece));
}

static void run_rtrl_update(void *context, size_t piece, int thread, int threads) {
  (void)thread, (void)threads;
  note(context, step(context, piece));
  note(context, update(context, piece));
}

static void run_stream(void *context, size_t piece, int thread, int threads) {
  (void)piece, (void)thread, (void)threads;
  const online *o = context;
  o->loops->negate(o->stream, (o->trace_size + LOOP_UNIT - 1) / LOOP_UNIT * LOOP_UNIT);
}

static void run_prepare(void *context, size_t piece, int thread, int threads) {
  (void)piece, (void)thread, (void)threads;
  online *o = context;
  note(o, sparc_prepare(o->cell.cell, o->cell.params, o->cell.prepared));
}

static void restart(void *context) {
  const online *o = context;
  memset(o->state, 0, o->S * sizeof(float));
  memset(o->trace, 0, o->trace_size * sizeof(float));
  memset(o->dparams, 0, sparc_cell_sizes(o->cell.cell).params * sizeof(float));
}

/* ---- life --------------------------------------------------------------------------------------- */

static void carve(online *o, arena *a, bool with_trace) {
  const sparc_sizes sizes = sparc_cell_sizes(o->cell.cell);
  const size_t projected = (size_t)o->cell.cell->projected;
  o->x = arena_take(a, POOL * o->D, sizeof(float));
  o->dy = arena_take(a, POOL * o->O, sizeof(float));
  o->state = arena_take(a, o->S, sizeof(float));
  o->tape = arena_take(a, sizes.tape, sizeof(float));
  o->y = arena_take(a, o->O, sizeof(float));
  o->dparams = arena_take(a, sizes.params, sizeof(float));
  o->matrix = arena_take(a, projected * o->D, sizeof(float));
  o->product = arena_take(a, projected, sizeof(float));
  o->trace_size = with_trace ? sizes.trace : 0;
  o->trace = arena_take(a, o->trace_size, sizeof(float));
  o->stream = arena_take(a, o->trace_size, sizeof(float));
}

static void destroy(bench_case *c) {
  online *o = c->state;
  if (!o) return;
  sparc_free(o->memory);
  bench_cell_free(&o->cell);
  free(o);
}

static sparc_status create(bench_case *c, bool with_trace) {
  online *o = c->state = calloc(1, sizeof *o);
  if (!o) return fail(SPARC_NO_MEMORY, "%s: no memory", c->problem->text);
  c->threads = 1;
  o->loops = bench_loops_here();
  o->D = (size_t)bench_value(c->problem, "D");
  sparc_status status = bench_cell_create(c, (int)o->D, (int)bench_value(c->problem, "H"), &o->cell);
  if (status != SPARC_OK) return status;
  const sparc_sizes sizes = sparc_cell_sizes(o->cell.cell);
  o->O = sizes.output;
  o->S = sizes.state;
  if (with_trace && sizes.trace == 0)
    return fail(SPARC_UNSUPPORTED, "%s: the cell %s has no RTRL form", c->problem->text, sparc_cell_kind(o->cell.cell));

  arena measure = arena_measure();
  carve(o, &measure, with_trace);
  status = bench_afford(c, measure.used);
  if (status != SPARC_OK) return status;
  o->memory = sparc_alloc(measure.used);
  if (!o->memory) return fail(SPARC_NO_MEMORY, "%s: no memory for %zu bytes", c->problem->text, measure.used);
  arena place = arena_over(o->memory, measure.used);
  carve(o, &place, with_trace);
  bench_fill(o->x, POOL * o->D, "x");
  bench_fill(o->dy, POOL * o->O, "dy");
  bench_fill(o->matrix, (size_t)o->cell.cell->projected * o->D, "matrix");
  bench_fill(o->stream, o->trace_size, "stream");
  c->memory = (sizes.params + sizes.prepared + sizes.state + sizes.tape + o->D + o->O + o->trace_size) * sizeof(float);
  c->footprint = c->memory;
  return SPARC_OK;
}

/* a stage of POOL pieces with one call each */
static bench_stage *add_stage(bench_case *c, const char *name, void (*run)(void *, size_t, int, int)) {
  bench_stage *stage =
      bench_stage_add(c, name, (bench_task){.context = c->state, .pieces = POOL, .refresh = restart, .run = run});
  const online *o = c->state;
  stage->calls = POOL;
  stage->modes = sparc_cell_modes(o->cell.cell);
  return stage;
}

/* operations and least bytes of a step: every parameter is read once */
static void cost_of_step(const online *o, bench_stage *stage) {
  const sparc_sizes sizes = sparc_cell_sizes(o->cell.cell);
  stage->flops = bench_product_flops(o->cell.cell) +
                 (double)sparc_cell_modes(o->cell.cell) * bench_mode_flops(o->cell.cell, false);
  stage->bytes = 4 * ((double)sizes.params + (double)o->D + 2 * (double)sizes.state + (double)sizes.output);
}

static sparc_status create_step(bench_case *c) {
  sparc_status status = create(c, false);
  if (status != SPARC_OK) return status;
  const online *o = c->state;
  cost_of_step(o, add_stage(c, "step", run_step));
  if (o->cell.cell->projected == 0) return SPARC_OK;
  bench_stage *product = add_stage(c, "product", run_product);
  product->flops = 2 * (double)o->D * (double)o->cell.cell->projected;
  product->bytes = 2 * product->flops;
  return SPARC_OK;
}

static sparc_status create_rtrl(bench_case *c) {
  sparc_status status = create(c, true);
  if (status != SPARC_OK) return status;
  const online *o = c->state;
  const double trace = (double)o->trace_size;
  cost_of_step(o, add_stage(c, "step", run_step));
  bench_stage *traced = add_stage(c, "step+trace", run_rtrl);
  cost_of_step(o, traced);
  /* a z + c x: five operations per number of a complex trace, three of a real one; read and written */
  traced->flops += (o->cell.cell->parts == 2 ? 5 : 3) * trace;
  traced->bytes += 8 * trace;
  bench_stage *two = add_stage(c, "step+trace, gradient", run_rtrl_gradient);
  bench_stage *one = add_stage(c, "step, update", run_rtrl_update);
  one->flops = two->flops = traced->flops + 2 * trace;
  one->bytes = traced->bytes;
  two->bytes = traced->bytes + 4 * trace;
  bench_stage *stream = add_stage(c, "stream", run_stream);
  stream->bytes = 8 * trace;
  return SPARC_OK;
}

static sparc_status create_prepare(bench_case *c) {
  sparc_status status = create(c, false);
  if (status != SPARC_OK) return status;
  const sparc_sizes sizes = sparc_cell_sizes(((online *)c->state)->cell.cell);
  bench_stage *stage =
      bench_stage_add(c, "prepare", (bench_task){.context = c->state, .pieces = 1, .run = run_prepare});
  stage->bytes = 4 * (double)(sizes.params + sizes.prepared);
  c->memory = c->footprint = (sizes.params + sizes.prepared) * sizeof(float);
  return SPARC_OK;
}

/* ---- truth -------------------------------------------------------------------------------------- */

/* with proj_trace=local, RG-LRU has no trace of its content projection and only the present part of its gradient */
static bool is_exact(const sparc_cell *cell, const sparc_block *block) {
  const bool local = strcmp(sparc_cell_kind(cell), "rglru") == 0 && cell_option(cell, "proj_trace") != 0;
  return !local || sparc_trace_size(cell, block->name) > 0;
}

/* the pool as one sequence through one of the three ways; the gradients of its steps add up to that of the sequence */
static sparc_status check_pool(bench_case *c, void (*run)(void *, size_t, int, int), const bench_answers *want) {
  online *o = c->state;
  restart(o);
  for (size_t n = 0; n < POOL; n++) {
    run(o, n, 0, 1);
    bench_compare(c, "y", OUTPUT_TOLERANCE, o->y, want->y + n * o->O, o->O);
  }
  size_t count;
  const sparc_block *blocks = sparc_cell_blocks(o->cell.cell, &count);
  for (size_t i = 0; i < count && run != run_step; i++)
    if (is_exact(o->cell.cell, &blocks[i])) bench_compare_block(c, &blocks[i], GRADIENT_TOLERANCE, o->dparams, want);
  return o->status;
}

static sparc_status verify_steps(bench_case *c) {
  const online *o = c->state;
  bench_answers want;
  sparc_status status = o->status;
  if (status == SPARC_OK) status = bench_reference(&o->cell, 1, POOL, o->x, o->dy, &want);
  if (status != SPARC_OK) return status;
  status = check_pool(c, run_step, &want);
  if (status == SPARC_OK && o->trace_size > 0) status = check_pool(c, run_rtrl_gradient, &want);
  if (status == SPARC_OK && o->trace_size > 0) status = check_pool(c, run_rtrl_update, &want);
  sparc_free(want.memory);
  return status;
}

/* the float constants are the double ones, rounded */
static sparc_status verify_prepare(bench_case *c) {
  const online *o = c->state;
  if (o->status != SPARC_OK) return o->status;
  const sparc_sizes sizes = sparc_cell_sizes(o->cell.cell);
  double *params = sparc_alloc((sizes.params + sizes.prepared) * sizeof *params);
  if (!params) return fail(SPARC_NO_MEMORY, "%s: no memory to verify it", c->problem->text);
  double *prepared = params + sizes.params;
  for (size_t i = 0; i < sizes.params; i++) params[i] = (double)o->cell.params[i];
  sparc_status status = sparc_prepare_f64(o->cell.cell, params, prepared);
  if (status == SPARC_OK) bench_compare(c, "prepared", 1e-6, o->cell.prepared, prepared, sizes.prepared);
  sparc_free(params);
  return status;
}

#define ONLINE_KEYS                                                   \
  {                                                                   \
    {"H", "modes", REQUIRED}, { "D", "width of the input", REQUIRED } \
  }

const bench_kind bench_kind_step = {
    .name = "step",
    .summary = "one step of one stream, beside its bare matrix-vector product",
    .keys = ONLINE_KEYS,
    .cell = "sparc",
    .create = create_step,
    .verify = verify_steps,
    .destroy = destroy,
};

const bench_kind bench_kind_rtrl = {
    .name = "rtrl",
    .summary = "one step with exact sensitivities, beside a sweep over their bytes",
    .keys = ONLINE_KEYS,
    .cell = "sparc",
    .create = create_rtrl,
    .verify = verify_steps,
    .destroy = destroy,
};

const bench_kind bench_kind_prepare = {
    .name = "prepare",
    .summary = "deriving the kernels' constants and weights from the parameters",
    .keys = ONLINE_KEYS,
    .cell = "sparc",
    .create = create_prepare,
    .verify = verify_prepare,
    .destroy = destroy,
};
