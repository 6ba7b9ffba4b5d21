/* SPDX-License-Identifier: MIT */
/* bf16.c: sequences with bfloat16 inputs and outputs, beside the same ones in float32.
 *
 * Both do the same arithmetic; what is compared is the cost of the conversions with the gain of smaller arrays. As in
 * mixer.c a sequence is cut along time into pieces that hand on state and cotangent.
 */
#include "sparc/bf16.h"

#include "base/error.h"
#include "base/memory.h"
#include "bench/bench_cell.h"

#include <stdlib.h>
#include <string.h>

typedef struct boundary {
  bench_cell cell;
  int B, T, D;
  size_t S, O;
  int piece_T;
  size_t pieces;
  sparc_plan *plan;                                /* of a piece */
  float *x, *y, *dy, *dx;                          /* (pieces, B, piece_T, D or O) */
  sparc_bf16 *half_x, *half_y, *half_dy, *half_dx; /* the same */
  float *dparams, *states, *dstates;               /* states (pieces + 1, B, S): between the pieces */
  char *saved;                                     /* one for each piece */
  size_t saved_stride;
  void *work;
  void *memory;
  sparc_status status; /* of the last call that failed */
} boundary;

/* ---- pieces -------------------------------------------------------------------------------------- */

/* the longest that divides T, with enough tokens to keep the matrix products in shape; everything if there is none */
static int piece_length(int B, int T) {
  enum { TOKENS = 512, SHORTEST = 32 };
  const int longest = TOKENS / B > SHORTEST ? TOKENS / B : SHORTEST;
  for (int length = longest < T ? longest : T; length >= SHORTEST; length--)
    if (T % length == 0) return length;
  return T;
}

/* elements before a piece, for rows of `width`, and before its states */
static size_t at(const boundary *m, size_t piece, size_t width) {
  return piece * (size_t)m->B * (size_t)m->piece_T * width;
}
static float *state_at(const boundary *m, float *states, size_t piece) { return states + piece * (size_t)m->B * m->S; }

/* a call that fails does so from the first pass on, before anything is timed; verify checks */
static void note(boundary *m, sparc_status status) {
  if (status != SPARC_OK) m->status = status;
}

static sparc_sequence_bf16 half_sequence(const boundary *m, size_t piece) {
  return (sparc_sequence_bf16){.x = m->half_x + at(m, piece, (size_t)m->D),
                               .state0 = state_at(m, m->states, piece),
                               .y = m->half_y + at(m, piece, m->O),
                               .state_last = state_at(m, m->states, piece + 1)};
}

static void half_forward(void *context, size_t piece, int thread, int threads) {
  (void)thread, (void)threads;
  boundary *m = context;
  const sparc_sequence_bf16 sequence = half_sequence(m, piece);
  note(m, sparc_forward_bf16(m->plan, m->cell.prepared, &sequence, m->saved + piece * m->saved_stride, m->work));
}

static void half_backward(void *context, size_t piece, int thread, int threads) {
  (void)thread, (void)threads;
  boundary *m = context;
  const sparc_sequence_bf16 sequence = half_sequence(m, piece);
  const sparc_sequence_gradient_bf16 gradient = {.dy = m->half_dy + at(m, piece, m->O),
                                                 .dstate_last = state_at(m, m->dstates, piece + 1),
                                                 .dx = m->half_dx + at(m, piece, (size_t)m->D),
                                                 .dstate0 = state_at(m, m->dstates, piece),
                                                 .dparams = m->dparams};
  note(m, sparc_backward_bf16(m->plan, m->cell.prepared, &sequence, m->saved + piece * m->saved_stride, &gradient,
                              m->work));
}

static sparc_sequence full_sequence(const boundary *m, size_t piece) {
  return (sparc_sequence){.x = m->x + at(m, piece, (size_t)m->D),
                          .state0 = state_at(m, m->states, piece),
                          .y = m->y + at(m, piece, m->O),
                          .state_last = state_at(m, m->states, piece + 1)};
}

static void full_forward(void *context, size_t piece, int thread, int threads) {
  (void)thread, (void)threads;
  boundary *m = context;
  const sparc_sequence sequence = full_sequence(m, piece);
  note(m, sparc_forward(m->plan, m->cell.prepared, &sequence, m->saved + piece * m->saved_stride, m->work));
}

static void full_backward(void *context, size_t piece, int thread, int threads) {
  (void)thread, (void)threads;
  boundary *m = context;
  const sparc_sequence sequence = full_sequence(m, piece);
  const sparc_sequence_gradient gradient = {.dy = m->dy + at(m, piece, m->O),
                                            .dstate_last = state_at(m, m->dstates, piece + 1),
                                            .dx = m->dx + at(m, piece, (size_t)m->D),
                                            .dstate0 = state_at(m, m->dstates, piece),
                                            .dparams = m->dparams};
  note(m, sparc_backward(m->plan, m->cell.prepared, &sequence, m->saved + piece * m->saved_stride, &gradient, m->work));
}

/* gradients are added up, and must not grow from pass to pass */
static void clear_gradient(void *context) {
  const boundary *m = context;
  memset(m->dparams, 0, sparc_cell_sizes_of(m->cell.cell).params * sizeof(float));
}

/* ---- memory -------------------------------------------------------------------------------------- */

static void carve(boundary *m, arena *a) {
  const size_t tokens = (size_t)m->B * (size_t)m->T, rows = (m->pieces + 1) * (size_t)m->B;
  const size_t inputs = tokens * (size_t)m->D, outputs = tokens * m->O;
  m->x = arena_take(a, inputs, sizeof(float));
  m->dx = arena_take(a, inputs, sizeof(float));
  m->y = arena_take(a, outputs, sizeof(float));
  m->dy = arena_take(a, outputs, sizeof(float));
  m->half_x = arena_take(a, inputs, sizeof(sparc_bf16));
  m->half_dx = arena_take(a, inputs, sizeof(sparc_bf16));
  m->half_y = arena_take(a, outputs, sizeof(sparc_bf16));
  m->half_dy = arena_take(a, outputs, sizeof(sparc_bf16));
  m->dparams = arena_take(a, sparc_cell_sizes_of(m->cell.cell).params, sizeof(float));
  m->states = arena_take(a, rows * m->S, sizeof(float));
  m->dstates = arena_take(a, rows * m->S, sizeof(float));
  m->saved_stride = (sparc_plan_sizes_of(m->plan, SPARC_BFLOAT16).saved + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
  m->saved = arena_take(a, m->pieces * m->saved_stride, 1);
  m->work = arena_take(a, sparc_plan_sizes_of(m->plan, SPARC_BFLOAT16).work, 1);
}

/* the same numbers in both precisions */
static void fill(float *full, sparc_bf16 *half, size_t n, const char *name) {
  bench_fill(full, n, name);
  sparc_bf16_from_floats(n, full, half);
  sparc_floats_from_bf16(n, half, full);
}

/* ---- stages -------------------------------------------------------------------------------------- */

static void add_stages(bench_case *c, boundary *m) {
  const sparc_cell *cell = m->cell.cell;
  const double tokens = (double)m->B * (double)m->T, modes = tokens * sparc_cell_config_of(cell).H;
  const double product = tokens * bench_product_flops(cell), row = (double)m->D, out = (double)m->O;
  const struct {
    const char *name;
    void (*run)(void *, size_t, int, int);
    bool backward;
    double size; /* bytes of an element at the boundary */
  } stages[] = {{"bf16 forward", half_forward, false, 2},
                {"bf16 backward", half_backward, true, 2},
                {"bf16 both", NULL, true, 2},
                {"float forward", full_forward, false, 4},
                {"float backward", full_backward, true, 4},
                {"float both", NULL, true, 4}};
  double flops = 0, bytes = 0;
  for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
    const bool backward = stages[i].backward;
    bench_stage *stage = bench_stage_add(c, stages[i].name,
                                         (bench_task){.context = m,
                                                      .pieces = stages[i].run ? m->pieces : 0,
                                                      .reverse = backward,
                                                      .cold = m->pieces > 1,
                                                      .run = stages[i].run,
                                                      .refresh = backward ? clear_gradient : NULL});
    stage->modes = modes;
    if (!stages[i].run) {
      stage->task = (bench_task){.pieces = 0};
      stage->sum_of = 2;
      stage->flops = flops;
      stage->bytes = bytes;
      flops = bytes = 0;
      continue;
    }
    /* x in, y out; then x, dy in, dx out. What is saved is float either way and not counted. */
    stage->flops = (backward ? 2 : 1) * product + modes * bench_mode_flops(cell, backward);
    stage->bytes = tokens * stages[i].size * (backward ? 2 * row + out : row + out);
    flops += stage->flops;
    bytes += stage->bytes;
  }
}

/* ---- life ---------------------------------------------------------------------------------------- */

static void destroy(bench_case *c) {
  boundary *m = c->state;
  if (!m) return;
  sparc_free(m->memory);
  sparc_plan_free(m->plan);
  bench_cell_free(&m->cell);
  free(m);
}

static sparc_status create(bench_case *c) {
  boundary *m = c->state = calloc(1, sizeof *m);
  if (!m) return fail(SPARC_NO_MEMORY, "%s: no memory", c->problem->text);
  m->B = (int)bench_value(c->problem, "B");
  m->T = (int)bench_value(c->problem, "T");
  m->D = (int)bench_value(c->problem, "D");
  sparc_status status = bench_cell_create(c, m->D, (int)bench_value(c->problem, "H"), &m->cell);
  if (status != SPARC_OK) return status;
  m->S = sparc_cell_sizes_of(m->cell.cell).state;
  m->O = sparc_cell_sizes_of(m->cell.cell).output;
  m->piece_T = piece_length(m->B, m->T);
  m->pieces = (size_t)(m->T / m->piece_T);
  status = sparc_plan_create(m->cell.cell, m->B, m->piece_T, &(sparc_plan_config){.threads = c->threads}, &m->plan);
  if (status != SPARC_OK) return status;

  arena measure = arena_measure();
  carve(m, &measure);
  status = bench_afford(c, measure.used);
  if (status != SPARC_OK) return status;
  m->memory = sparc_alloc(measure.used);
  if (!m->memory) return fail(SPARC_NO_MEMORY, "%s: no memory for %zu bytes", c->problem->text, measure.used);
  arena place = arena_over(m->memory, measure.used);
  carve(m, &place);
  fill(m->x, m->half_x, (size_t)m->B * (size_t)m->T * (size_t)m->D, "x");
  fill(m->dy, m->half_dy, (size_t)m->B * (size_t)m->T * m->O, "dy");
  c->memory = c->footprint = measure.used;
  add_stages(c, m);
  return SPARC_OK;
}

/* ---- reference --------------------------------------------------------------------------------------- */

/* half a unit of bfloat16 on top of what float may be off */
#define ROUNDING 0x1p-8

/* the first stream and steps against the reference, with the same cell, kernels and number of threads */
static sparc_status check_short(bench_case *c, boundary *m, const sparc_plan *plan, int T) {
  const size_t inputs = (size_t)T * (size_t)m->D, outputs = (size_t)T * m->O;
  bench_reference_result want;
  void *saved = sparc_alloc(sparc_plan_sizes_of(plan, SPARC_BFLOAT16).saved),
       *work = sparc_alloc(sparc_plan_sizes_of(plan, SPARC_BFLOAT16).work);
  const sparc_sequence_bf16 sequence = {.x = m->half_x, .y = m->half_y};
  const sparc_sequence_gradient_bf16 gradient = {.dy = m->half_dy, .dx = m->half_dx, .dparams = m->dparams};
  clear_gradient(m);
  sparc_status status = saved && work ? sparc_forward_bf16(plan, m->cell.prepared, &sequence, saved, work)
                                      : fail(SPARC_NO_MEMORY, "%s: no memory to verify it", c->problem->text);
  if (status == SPARC_OK) status = sparc_backward_bf16(plan, m->cell.prepared, &sequence, saved, &gradient, work);
  if (status == SPARC_OK) status = bench_reference(&m->cell, 1, T, m->x, m->dy, &want);
  if (status == SPARC_OK) {
    sparc_floats_from_bf16(outputs, m->half_y, m->y);
    sparc_floats_from_bf16(inputs, m->half_dx, m->dx);
    bench_compare(c, "y", ROUNDING + OUTPUT_TOLERANCE, m->y, want.y, outputs);
    bench_compare(c, "grad.x", ROUNDING + GRADIENT_TOLERANCE, m->dx, want.dx, inputs);
    bench_compare_blocks(c, &m->cell, GRADIENT_TOLERANCE, m->dparams, &want);
    sparc_free(want.memory);
  }
  sparc_free(work);
  sparc_free(saved);
  return status;
}

static sparc_status verify(bench_case *c) {
  boundary *m = c->state;
  if (m->status != SPARC_OK) return m->status;
  const int length = bench_check_length(&m->cell), T = m->T < length ? m->T : length;
  sparc_plan *plan;
  sparc_status status = sparc_plan_create(m->cell.cell, 1, T, &(sparc_plan_config){.threads = c->threads}, &plan);
  if (status != SPARC_OK) return status;
  status = check_short(c, m, plan, T);
  sparc_plan_free(plan);
  return status;
}

const bench_kind bench_kind_bf16 = {
    .name = "bf16",
    .summary = "sequences with bfloat16 inputs and outputs, float inside, compared with float throughout",
    .keys = {{"B", "streams", REQUIRED},
             {"T", "steps", REQUIRED},
             {"D", "width of the input", REQUIRED},
             {"H", "modes", 0}},
    .cell = "sparc",
    .create = create,
    .verify = verify,
    .destroy = destroy,
};
