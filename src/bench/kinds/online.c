/* SPDX-License-Identifier: MIT */
/* online.c: calls of microseconds: one step, one step with exact sensitivities, preparing the parameters.
 *
 * One stream, or E of them in turn, on one thread, fed from a small pool of inputs. Each call is compared with the bare
 * operations that it cannot do without, timed in turn with it: the product of a step, and the sweep over the bytes of
 * the traces. A piece is one step of every stream, or a whole chunk of steps where traces are lazy, so that every piece
 * has its flush. Many streams with traces take their steps in groups, a piece each, which never repeat: a stream's turn
 * comes when the others have pushed it out of the caches.
 */
#include "bench/kinds/online.h"

#include "base/error.h"
#include "base/memory.h"
#include "bench/bench_cell.h"
#include "bench/loops.h"
#include "cells/cell.h"
#include "sparc/rtrl.h"

#include <cblas.h>
#include <stdlib.h>
#include <string.h>

enum { POOL = 16 };             /* inputs */
enum { CROWD = 16, GROUP = 8 }; /* so many streams are many, and go in groups of so many */

typedef struct online {
  bench_cell cell;
  size_t D, O, S, tape_size, trace_size;
  size_t E, K;             /* streams, and steps of a chunk */
  size_t groups;           /* of streams; one unless there are many */
  size_t chunk_size;       /* of one stream */
  float *x, *dy;           /* (POOL, ...) */
  float *xs;               /* (POOL, E, D): the inputs of all streams, for calls that take them at once */
  float *y, *dparams;      /* (E, O), (params) */
  float *state, *tape;     /* (E, ...) */
  float *trace, *steps;    /* (E, ...) */
  sparc_lazy *lazy;        /* (E) */
  float *matrix, *product; /* one of the shape of the weights, and (E, projected) */
  float *stream;           /* as large as the traces */
  const bench_loops *loops;
  void *memory;
  sparc_status status; /* of the last call that failed */
} online;

static void note(online *o, sparc_status status) {
  if (status != SPARC_OK) o->status = status;
}

/* ---- what is timed ------------------------------------------------------------------------------ */

/* streams see the pool from different places */
static const float *input_of(const online *o, size_t e, size_t n) { return o->x + (n + e) % POOL * o->D; }
static const float *loss_of(const online *o, size_t e, size_t n) { return o->dy + (n + e) % POOL * o->O; }
/* with traces a step is used up before the next stream has its turn: one tape serves all */
static float *tape_of(const online *o, size_t e) { return o->trace_size > 0 ? o->tape : o->tape + e * o->tape_size; }
static float *trace_of(const online *o, size_t e) { return o->trace + e * o->trace_size; }

static void step(online *o, size_t e, size_t n) {
  note(o, sparc_step(o->cell.cell, o->cell.prepared, o->state + e * o->S, input_of(o, e, n), 1, o->y + e * o->O,
                     tape_of(o, e)));
}

static void step_rtrl(online *o, size_t e, size_t n) {
  note(o, sparc_step_rtrl(o->cell.cell, o->cell.prepared, o->state + e * o->S, trace_of(o, e), input_of(o, e, n), 1,
                          o->y + e * o->O, tape_of(o, e)));
}

/* gradients of the parameters; that of the input is another matter and left out */
static void step_rtrl_gradient(online *o, size_t e, size_t n) {
  step_rtrl(o, e, n);
  note(o, sparc_rtrl_gradient(o->cell.cell, o->cell.prepared, trace_of(o, e), tape_of(o, e), loss_of(o, e, n),
                              o->dparams, NULL));
}

static void step_update(online *o, size_t e, size_t n) {
  step(o, e, n);
  note(o, sparc_rtrl_update(o->cell.cell, o->cell.prepared, trace_of(o, e), tape_of(o, e), loss_of(o, e, n), o->dparams,
                            NULL));
}

static void lazy_update(online *o, size_t e, const float *dy) {
  note(o, sparc_lazy_update(o->cell.cell, o->cell.prepared, &o->lazy[e], tape_of(o, e), dy, o->dparams, NULL));
}

static void step_lazy(online *o, size_t e, size_t n) {
  step(o, e, n);
  lazy_update(o, e, NULL);
}

static void step_lazy_gradient(online *o, size_t e, size_t n) {
  step(o, e, n);
  lazy_update(o, e, loss_of(o, e, n));
}

/* the piece's group of streams at the piece's step */
static void each(online *o, size_t piece, void (*run)(online *o, size_t e, size_t n)) {
  const size_t size = (o->E + o->groups - 1) / o->groups, first = piece % o->groups * size;
  for (size_t e = first; e < first + size && e < o->E; e++) run(o, e, piece / o->groups);
}

static void run_step(void *context, size_t piece, int thread, int threads) {
  (void)thread, (void)threads;
  each(context, piece, step);
}

static void run_streams(void *context, size_t piece, int thread, int threads) {
  (void)thread, (void)threads;
  online *o = context;
  note(o, sparc_step_streams(o->cell.cell, o->cell.prepared, (int)o->E, o->state, o->xs + piece * o->E * o->D, NULL,
                             o->y, o->tape, 1));
}

static void run_product(void *context, size_t piece, int thread, int threads) {
  (void)thread, (void)threads;
  const online *o = context;
  const int rows = o->cell.cell->projected, D = (int)o->D;
  if (o->E == 1)
    cblas_sgemv(CblasRowMajor, CblasNoTrans, rows, D, 1, o->matrix, D, o->x + piece * o->D, 1, 0, o->product, 1);
  else
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)o->E, rows, D, 1, o->xs + piece * o->E * o->D, D,
                o->matrix, rows, 0, o->product, rows);
}

static void run_rtrl(void *context, size_t piece, int thread, int threads) {
  (void)thread, (void)threads;
  each(context, piece, step_rtrl);
}

static void run_rtrl_gradient(void *context, size_t piece, int thread, int threads) {
  (void)thread, (void)threads;
  each(context, piece, step_rtrl_gradient);
}

static void run_rtrl_update(void *context, size_t piece, int thread, int threads) {
  (void)thread, (void)threads;
  each(context, piece, step_update);
}

/* a chunk of steps, or the share of a group in one of its steps */
static void run_lazily(online *o, size_t piece, void (*run)(online *o, size_t e, size_t n)) {
  if (o->groups > 1) {
    each(o, piece, run);
    return;
  }
  for (size_t n = piece; n < piece + o->K; n++) each(o, n, run);
}

static void run_lazy(void *context, size_t piece, int thread, int threads) {
  (void)thread, (void)threads;
  run_lazily(context, piece, step_lazy);
}

static void run_lazy_gradient(void *context, size_t piece, int thread, int threads) {
  (void)thread, (void)threads;
  run_lazily(context, piece, step_lazy_gradient);
}

static size_t stream_size(const online *o) { return (o->E * o->trace_size + LOOP_UNIT - 1) / LOOP_UNIT * LOOP_UNIT; }

static void run_stream(void *context, size_t piece, int thread, int threads) {
  (void)thread, (void)threads;
  const online *o = context;
  const size_t share = stream_size(o) / o->groups / LOOP_UNIT * LOOP_UNIT, group = piece % o->groups;
  o->loops->negate(o->stream + group * share, group + 1 < o->groups ? share : stream_size(o) - group * share);
}

static void run_prepare(void *context, size_t piece, int thread, int threads) {
  (void)piece, (void)thread, (void)threads;
  online *o = context;
  note(o, sparc_prepare(o->cell.cell, o->cell.params, o->cell.prepared));
}

static void restart(void *context) {
  const online *o = context;
  memset(o->state, 0, o->E * o->S * sizeof(float));
  memset(o->trace, 0, o->E * o->trace_size * sizeof(float));
  for (size_t e = 0; e < o->E && o->trace_size > 0; e++)
    o->lazy[e] = (sparc_lazy){
        .capacity = (int)o->K, .trace = o->trace + e * o->trace_size, .steps = o->steps + e * o->chunk_size};
  memset(o->dparams, 0, sparc_cell_sizes_of(o->cell.cell).params * sizeof(float));
}

/* ---- life --------------------------------------------------------------------------------------- */

static void carve(online *o, arena *a) {
  const sparc_cell_sizes sizes = sparc_cell_sizes_of(o->cell.cell);
  const size_t projected = (size_t)o->cell.cell->projected;
  o->x = arena_take(a, POOL * o->D, sizeof(float));
  o->xs = arena_take(a, POOL * o->E * o->D, sizeof(float));
  o->dy = arena_take(a, POOL * o->O, sizeof(float));
  o->state = arena_take(a, o->E * o->S, sizeof(float));
  o->tape = arena_take(a, (o->trace_size > 0 ? 1 : o->E) * o->tape_size, sizeof(float));
  o->y = arena_take(a, o->E * o->O, sizeof(float));
  o->dparams = arena_take(a, sizes.params, sizeof(float));
  o->matrix = arena_take(a, projected * o->D, sizeof(float));
  o->product = arena_take(a, o->E * projected, sizeof(float));
  o->trace = arena_take(a, o->E * o->trace_size, sizeof(float));
  o->steps = arena_take(a, o->E * o->chunk_size, sizeof(float));
  o->lazy = arena_take(a, o->E, sizeof *o->lazy);
  o->stream = arena_take(a, stream_size(o), sizeof(float));
}

static void destroy(bench_case *c) {
  online *o = c->state;
  if (!o) return;
  sparc_free(o->memory);
  bench_cell_free(&o->cell);
  free(o);
}

static sparc_status measure(bench_case *c, online *o, bool with_trace) {
  const sparc_cell_sizes sizes = sparc_cell_sizes_of(o->cell.cell);
  o->O = sizes.output;
  o->S = sizes.state;
  o->tape_size = sizes.tape;
  if (!with_trace) return SPARC_OK;
  if (sizes.trace == 0)
    return fail(SPARC_UNSUPPORTED, "%s: the cell %s has no RTRL form", c->problem->text,
                sparc_cell_config_of(o->cell.cell).kind);
  o->K = (size_t)bench_value(c->problem, "K");
  o->trace_size = sizes.trace;
  o->chunk_size = sparc_rtrl_sizes_of(o->cell.cell, &(sparc_rtrl_shape){.chunk = (int)o->K}).lazy;
  return SPARC_OK;
}

static void fill(online *o) {
  bench_fill(o->x, POOL * o->D, "x");
  bench_fill(o->dy, POOL * o->O, "dy");
  bench_fill(o->matrix, (size_t)o->cell.cell->projected * o->D, "matrix");
  bench_fill(o->stream, stream_size(o), "stream");
  for (size_t n = 0; n < POOL; n++)
    for (size_t e = 0; e < o->E; e++) memcpy(o->xs + (n * o->E + e) * o->D, input_of(o, e, n), o->D * sizeof(float));
}

static sparc_status create(bench_case *c, bool with_trace, size_t streams) {
  online *o = c->state = calloc(1, sizeof *o);
  if (!o) return fail(SPARC_NO_MEMORY, "%s: no memory", c->problem->text);
  c->threads = 1;
  o->loops = bench_loops_for(c->requested_kernel);
  o->D = (size_t)bench_value(c->problem, "D");
  o->E = streams;
  o->groups = with_trace && streams >= CROWD ? (streams + GROUP - 1) / GROUP : 1;
  sparc_status status = bench_cell_create(c, (int)o->D, (int)bench_value(c->problem, "H"), &o->cell);
  if (status == SPARC_OK) status = measure(c, o, with_trace);
  if (status != SPARC_OK) return status;

  arena measured = arena_measure();
  carve(o, &measured);
  status = bench_afford(c, measured.used);
  if (status != SPARC_OK) return status;
  o->memory = sparc_alloc(measured.used);
  if (!o->memory) return fail(SPARC_NO_MEMORY, "%s: no memory for %zu bytes", c->problem->text, measured.used);
  arena place = arena_over(o->memory, measured.used);
  carve(o, &place);
  fill(o);
  const sparc_cell_sizes sizes = sparc_cell_sizes_of(o->cell.cell);
  const size_t of_stream = sizes.state + o->D + o->O + o->trace_size + o->chunk_size;
  const size_t tapes = (o->trace_size > 0 ? 1 : o->E) * sizes.tape;
  c->memory = (sizes.params + sizes.prepared + tapes + o->E * of_stream) * sizeof(float);
  c->footprint = c->memory - o->E * o->chunk_size * sizeof(float);
  return SPARC_OK;
}

/* a stage that takes `steps` steps at a time: one, or those of a chunk */
static bench_stage *add_stage(bench_case *c, const char *name, size_t steps, void (*run)(void *, size_t, int, int)) {
  const online *o = c->state;
  const bool crowd = o->groups > 1;
  /* few streams repeat short pieces until the clock can see them; many take as few steps as will do */
  const size_t all = crowd ? 2 : POOL, taken = steps > 1 ? steps : all;
  bench_task task = {.context = c->state, .cold = crowd, .refresh = restart, .run = run};
  task.pieces = crowd ? taken * o->groups : steps > 1 ? 1 : taken;
  bench_stage *stage = bench_stage_add(c, name, task);
  stage->calls = (double)(taken * o->E);
  stage->modes = sparc_cell_config_of(o->cell.cell).H;
  return stage;
}

/* operations and least bytes of a step: every parameter is read once for all streams */
static void cost_of_step(const online *o, bench_stage *stage) {
  const sparc_cell_sizes sizes = sparc_cell_sizes_of(o->cell.cell);
  stage->flops = bench_product_flops(o->cell.cell) +
                 (double)sparc_cell_config_of(o->cell.cell).H * bench_mode_flops(o->cell.cell, false);
  stage->bytes =
      4 * ((double)sizes.params / (double)o->E + (double)o->D + 2 * (double)sizes.state + (double)sizes.output);
}

static sparc_status create_step(bench_case *c) {
  sparc_status status = create(c, false, (size_t)bench_value(c->problem, "E"));
  if (status != SPARC_OK) return status;
  const online *o = c->state;
  cost_of_step(o, add_stage(c, "step", 1, run_step));
  if (o->E > 1) cost_of_step(o, add_stage(c, "streams", 1, run_streams));
  if (o->cell.cell->projected == 0) return SPARC_OK;
  bench_stage *product = add_stage(c, "product", 1, run_product);
  product->flops = 2 * (double)o->D * (double)o->cell.cell->projected;
  product->bytes = 2 * product->flops / (double)o->E;
  return SPARC_OK;
}

static sparc_status create_rtrl(bench_case *c) {
  sparc_status status = create(c, true, (size_t)bench_value(c->problem, "E"));
  if (status != SPARC_OK) return status;
  const online *o = c->state;
  const double trace = (double)o->trace_size;
  cost_of_step(o, add_stage(c, "step", 1, run_step));
  bench_stage *traced = add_stage(c, "step+trace", 1, run_rtrl);
  cost_of_step(o, traced);
  /* a z + c x: five operations per number of a complex trace, three of a real one; read and written */
  traced->flops += (o->cell.cell->parts == 2 ? 5 : 3) * trace;
  traced->bytes += 8 * trace;
  bench_stage *two = add_stage(c, "step+trace, gradient", 1, run_rtrl_gradient);
  bench_stage *one = add_stage(c, "step, update", 1, run_rtrl_update);
  one->flops = two->flops = traced->flops + 2 * trace;
  one->bytes = traced->bytes;
  two->bytes = traced->bytes + 4 * trace;
  /* c x per number and step; the chunk is written and read, the trace read and written once for all of its steps */
  bench_stage *lazy = add_stage(c, "step, lazy", o->K, run_lazy);
  bench_stage *summed = add_stage(c, "step, lazy gradient", o->K, run_lazy_gradient);
  cost_of_step(o, lazy);
  lazy->flops += 2 * trace;
  lazy->bytes += 8 * ((double)o->chunk_size + trace) / (double)o->K;
  /* half a number of a gradient for each number of a complex trace */
  summed->flops = lazy->flops + 2 * trace / (double)o->cell.cell->parts;
  summed->bytes = lazy->bytes;
  bench_stage *stream = add_stage(c, "stream", 1, run_stream);
  stream->bytes = 8 * trace;
  return SPARC_OK;
}

static sparc_status create_prepare(bench_case *c) {
  sparc_status status = create(c, false, 1);
  if (status != SPARC_OK) return status;
  const sparc_cell_sizes sizes = sparc_cell_sizes_of(((online *)c->state)->cell.cell);
  bench_stage *stage =
      bench_stage_add(c, "prepare", (bench_task){.context = c->state, .pieces = 1, .run = run_prepare});
  stage->bytes = 4 * (double)(sizes.params + sizes.prepared);
  c->memory = c->footprint = (sizes.params + sizes.prepared) * sizeof(float);
  return SPARC_OK;
}

/* ---- reference -------------------------------------------------------------------------------------- */

/* a block that reaches the state and has no trace (RG-LRU's content projection with proj_trace=local) gets only the
 * present part of its gradient */
static bool is_exact(const sparc_cell *cell, const sparc_block *block) {
  size_t spans;
  const sparc_span *span = sparc_cell_spans(cell, &spans);
  while (span->offset + span->size <= block->offset) span++;
  return span->group != SPARC_RECURRENT || block->trace > 0;
}

static void lazy_step(void *context, size_t n, int thread, int threads) {
  (void)thread, (void)threads;
  each(context, n, step_lazy_gradient);
}

/* the pool as one sequence; the gradients of its steps add up to that of the sequence */
static sparc_status check_pool(bench_case *c, void (*run)(void *, size_t, int, int),
                               const bench_reference_result *want) {
  online *o = c->state;
  const size_t streams = o->E, groups = o->groups;
  restart(o);
  o->E = o->groups = 1;
  for (size_t n = 0; n < POOL; n++) {
    run(o, n, 0, 1);
    bench_compare(c, "y", OUTPUT_TOLERANCE, o->y, want->y + n * o->O, o->O);
  }
  if (run == lazy_step) note(o, sparc_lazy_flush(o->cell.cell, &o->lazy[0], o->dparams));
  o->E = streams;
  o->groups = groups;
  size_t count;
  const sparc_block *blocks = sparc_cell_blocks(o->cell.cell, &count);
  for (size_t i = 0; i < count && run != run_step; i++)
    if (is_exact(o->cell.cell, &blocks[i])) bench_compare_block(c, &blocks[i], GRADIENT_TOLERANCE, o->dparams, want);
  return o->status;
}

/* streams at once, each against the same stream alone */
static sparc_status check_streams(bench_case *c) {
  online *o = c->state;
  restart(o);
  for (size_t n = 0; n < POOL; n++) run_streams(o, n, 0, 1);
  double *want = sparc_alloc(o->E * o->O * sizeof *want);
  float *got = sparc_alloc(o->E * o->O * sizeof *got);
  if (want && got) {
    memcpy(got, o->y, o->E * o->O * sizeof *got);
    restart(o);
    for (size_t n = 0; n < POOL; n++) run_step(o, n, 0, 1);
    for (size_t i = 0; i < o->E * o->O; i++) want[i] = (double)o->y[i];
    bench_compare(c, "y of all streams", OUTPUT_TOLERANCE, got, want, o->E * o->O);
  }
  const bool done = want && got;
  sparc_free(want);
  sparc_free(got);
  return done ? o->status : fail(SPARC_NO_MEMORY, "%s: no memory to verify it", c->problem->text);
}

static sparc_status verify_steps(bench_case *c) {
  const online *o = c->state;
  void (*const traced[])(void *, size_t, int, int) = {run_rtrl_gradient, run_rtrl_update, lazy_step};
  bench_reference_result want;
  sparc_status status = o->status;
  if (status == SPARC_OK) status = bench_reference(&o->cell, 1, POOL, o->x, o->dy, &want);
  if (status != SPARC_OK) return status;
  status = check_pool(c, run_step, &want);
  for (size_t i = 0; i < sizeof traced / sizeof *traced && status == SPARC_OK && o->trace_size > 0; i++)
    status = check_pool(c, traced[i], &want);
  sparc_free(want.memory);
  if (status == SPARC_OK && o->trace_size == 0) status = check_streams(c);
  return status;
}

/* what has been prepared serves: the layout is the kernels' own */
static sparc_status verify_prepare(bench_case *c) {
  const online *o = c->state;
  if (o->status != SPARC_OK) return o->status;
  const int length = bench_check_length(&o->cell);
  return bench_check_sequence(c, &o->cell, 1, length < POOL ? length : POOL, o->x, o->dy);
}

const bench_kind bench_kind_step = {
    .name = "step",
    .summary = "one step of one stream, or of E streams singly and at once, compared with its matrix product",
    .keys = {{"H", "modes", REQUIRED}, {"D", "width of the input", REQUIRED}, {"E", "streams", 1}},
    .cell = "sparc",
    .create = create_step,
    .verify = verify_steps,
    .destroy = destroy,
};

const bench_kind bench_kind_rtrl = {
    .name = "rtrl",
    .summary = "one step with exact sensitivities, stepwise and in chunks of K, compared with a sweep over their bytes",
    .keys = {{"H", "modes", REQUIRED},
             {"D", "width of the input", REQUIRED},
             {"K", "steps of a chunk", 16},
             {"E", "streams", 1}},
    .cell = "sparc",
    .create = create_rtrl,
    .verify = verify_steps,
    .destroy = destroy,
};

const bench_kind bench_kind_prepare = {
    .name = "prepare",
    .summary = "deriving the kernels' constants and weights from the parameters",
    .keys = {{"H", "modes", REQUIRED}, {"D", "width of the input", REQUIRED}},
    .cell = "sparc",
    .create = create_prepare,
    .verify = verify_prepare,
    .destroy = destroy,
};

/* ---- for goals ---------------------------------------------------------------------------------- */

/* a complex number takes a times itself, four operations, and both parts of c x, or the one that is there */
double bench_trace_flops(const bench_case *c, bool contraction) {
  const sparc_cell *cell = ((const online *)c->state)->cell.cell;
  const bool pairs = cell->parts == 2;
  const double entry = pairs ? 6 : 2, contracted = contraction ? (double)cell->parts : 0;
  double operations = (double)cell->scalar * (entry + contracted);
  for (int slot = 0; slot < cell->outer; slot++) {
    const bool one_part = pairs && driver_part_of(cell->driver, (size_t)slot) != DRIVER_COMPLEX;
    operations += (double)cell->D * (entry - one_part + contracted);
  }
  return 2 * (double)cell->H * operations;
}
