/* SPDX-License-Identifier: MIT */
/* mixer.c: whole sequences through the public calls: projections, controls, scan, and all gradients.
 *
 * A sequence is cut along time into pieces that hand on their state and, backward, its cotangent, so the pieces
 * together do the work of one call, and give its result. Each piece has its own part of the arrays, as large in all as
 * those of one call; the scratch of a piece is at its own place too. One call for everything is a stage of its own: it
 * shows what the cut is worth.
 */
#include "base/error.h"
#include "base/memory.h"
#include "bench/bench_cell.h"
#include "sparc/sequence.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct mixer {
  bench_cell cell;
  int B, T, D;
  size_t S, O;
  int piece_T;
  size_t pieces;
  sparc_plan *plan, *last, *whole; /* of a piece, of the last one, of everything */
  float *x, *y, *dy, *dx, *dparams;
  float *states, *dstates; /* (pieces + 1, B, S): between the pieces */
  char *saved, *work;
  size_t saved_stride, work_stride; /* bytes between pieces */
  void *memory;
  sparc_status status; /* of the last call that failed */
} mixer;

/* ---- pieces ------------------------------------------------------------------------------------- */

/* half a millisecond by a rough estimate; but not fewer tokens than keep the matrix products in shape */
static int piece_length(const bench_case *c, const mixer *m) {
  if (bench_value(c->problem, "whole")) return m->T;
  const double per_token = 2e-11 * (double)m->D * (double)m->O + 3e-9 * (double)sparc_cell_config_of(m->cell.cell).H;
  double tokens = 0.5e-3 / per_token;
  if (tokens < 512) tokens = 512;
  double steps = tokens / m->B;
  /* the adjoint works in blocks of 32 steps */
  steps = steps < 32 ? 32 : steps;
  return steps >= m->T ? m->T : (int)steps / 32 * 32;
}

static const sparc_plan *plan_of(const mixer *m, size_t piece) { return piece + 1 < m->pieces ? m->plan : m->last; }

static sparc_sequence sequence_of(const mixer *m, size_t piece) {
  const size_t at = piece * (size_t)m->piece_T * (size_t)m->B, row = (size_t)m->B * m->S;
  return (sparc_sequence){.x = m->x + at * (size_t)m->D,
                          .state0 = m->states + piece * row,
                          .y = m->y + at * m->O,
                          .state_last = m->states + (piece + 1) * row};
}

/* a call that fails does so from the first pass on, before anything is timed; verify checks */
static void note(mixer *m, sparc_status status) {
  if (status != SPARC_OK) m->status = status;
}

static void forward_piece(void *context, size_t piece, int thread, int threads) {
  (void)thread, (void)threads;
  mixer *m = context;
  const sparc_sequence sequence = sequence_of(m, piece);
  note(m, sparc_forward(plan_of(m, piece), m->cell.prepared, &sequence, m->saved + piece * m->saved_stride,
                        m->work + piece * m->work_stride));
}

static void backward_piece(void *context, size_t piece, int thread, int threads) {
  (void)thread, (void)threads;
  mixer *m = context;
  const size_t at = piece * (size_t)m->piece_T * (size_t)m->B, row = (size_t)m->B * m->S;
  const sparc_sequence sequence = sequence_of(m, piece);
  const sparc_sequence_gradient gradient = {.dy = m->dy + at * m->O,
                                            .dstate_last = m->dstates + (piece + 1) * row,
                                            .dx = m->dx + at * (size_t)m->D,
                                            .dstate0 = m->dstates + piece * row,
                                            .dparams = m->dparams};
  note(m, sparc_backward(plan_of(m, piece), m->cell.prepared, &sequence, m->saved + piece * m->saved_stride, &gradient,
                         m->work + piece * m->work_stride));
}

/* the same arrays once more, read as one sequence */
static void one_call(void *context, size_t piece, int thread, int threads) {
  (void)piece, (void)thread, (void)threads;
  mixer *m = context;
  const sparc_sequence sequence = {.x = m->x, .y = m->y};
  const sparc_sequence_gradient gradient = {.dy = m->dy, .dx = m->dx, .dparams = m->dparams};
  note(m, sparc_forward(m->whole, m->cell.prepared, &sequence, m->saved, m->work));
  note(m, sparc_backward(m->whole, m->cell.prepared, &sequence, m->saved, &gradient, m->work));
}

/* gradients are added up, and must not grow from pass to pass */
static void clear_gradient(void *context) {
  const mixer *m = context;
  memset(m->dparams, 0, sparc_cell_sizes_of(m->cell.cell).params * sizeof(float));
}

/* ---- memory ------------------------------------------------------------------------------------- */

static size_t larger(size_t a, size_t b) { return a > b ? a : b; }
static size_t whole_lines(size_t bytes) { return (bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE; }

static void carve(mixer *m, arena *a) {
  const size_t tokens = (size_t)m->B * (size_t)m->T, rows = (m->pieces + 1) * (size_t)m->B;
  m->x = arena_take(a, tokens * (size_t)m->D, sizeof(float));
  m->dx = arena_take(a, tokens * (size_t)m->D, sizeof(float));
  m->y = arena_take(a, tokens * m->O, sizeof(float));
  m->dy = arena_take(a, tokens * m->O, sizeof(float));
  m->dparams = arena_take(a, sparc_cell_sizes_of(m->cell.cell).params, sizeof(float));
  m->states = arena_take(a, rows * m->S, sizeof(float));
  m->dstates = arena_take(a, rows * m->S, sizeof(float));
  m->saved_stride = whole_lines(sparc_plan_sizes_of(m->plan, SPARC_FLOAT32).saved);
  m->saved = arena_take(a, larger(m->pieces * m->saved_stride, sparc_plan_sizes_of(m->whole, SPARC_FLOAT32).saved), 1);

  /* scratch of neighbouring pieces may overlap at the end */
  const size_t whole = whole_lines(sparc_plan_sizes_of(m->whole, SPARC_FLOAT32).work);
  const size_t piece = whole_lines(
      larger(sparc_plan_sizes_of(m->plan, SPARC_FLOAT32).work, sparc_plan_sizes_of(m->last, SPARC_FLOAT32).work));
  m->work_stride = m->pieces > 1 && whole > piece ? (whole - piece) / (m->pieces - 1) / CACHE_LINE * CACHE_LINE : 0;
  m->work = arena_take(a, larger(whole, piece), 1);
}

/* what a caller needs: x, dx, y, dy, the states between calls and their gradients, parameters, their gradient, their
 * prepared form, and the two blocks of the plan */
static size_t needed_bytes(const mixer *m) {
  const sparc_cell_sizes sizes = sparc_cell_sizes_of(m->cell.cell);
  const size_t tokens = (size_t)m->B * (size_t)m->T;
  return (2 * tokens * ((size_t)m->D + m->O) + 2 * (m->pieces + 1) * (size_t)m->B * m->S + 2 * sizes.params +
          sizes.prepared) *
             sizeof(float) +
         sparc_plan_sizes_of(m->whole, SPARC_FLOAT32).saved + sparc_plan_sizes_of(m->whole, SPARC_FLOAT32).work;
}

static void write_formula(bench_case *c, const mixer *m) {
  const sparc_cell_sizes sizes = sparc_cell_sizes_of(m->cell.cell);
  snprintf(c->formula, sizeof c->formula,
           "4 (2 B T (D + O) + 2 (N + 1) B S + 2 P + R) + saved + work; B %d, T %d, D %d, O %zu, S %zu, N %zu calls, "
           "P %zu parameters, R %zu prepared, saved %zu, work %zu",
           m->B, m->T, m->D, m->O, m->S, m->pieces, sizes.params, sizes.prepared,
           sparc_plan_sizes_of(m->whole, SPARC_FLOAT32).saved, sparc_plan_sizes_of(m->whole, SPARC_FLOAT32).work);
}

static sparc_status plan_pieces(bench_case *c, mixer *m) {
  const sparc_plan_config config = {.threads = c->threads};
  m->piece_T = piece_length(c, m);
  m->pieces = (size_t)((m->T + m->piece_T - 1) / m->piece_T);
  const int rest = m->T - (int)(m->pieces - 1) * m->piece_T;
  sparc_status status = sparc_plan_create(m->cell.cell, m->B, m->piece_T, &config, &m->plan);
  if (status == SPARC_OK) status = sparc_plan_create(m->cell.cell, m->B, rest, &config, &m->last);
  if (status == SPARC_OK) status = sparc_plan_create(m->cell.cell, m->B, m->T, &config, &m->whole);
  return status;
}

/* ---- stages ------------------------------------------------------------------------------------- */

static void add_stages(bench_case *c, mixer *m) {
  const sparc_cell *cell = m->cell.cell;
  const double tokens = (double)m->B * (double)m->T, modes = tokens * sparc_cell_config_of(cell).H;
  const double product = tokens * bench_product_flops(cell);
  const double saved = (double)sparc_plan_sizes_of(m->whole, SPARC_FLOAT32).saved, row = 4 * (double)m->D,
               out = 4 * (double)m->O;
  const struct {
    const char *name;
    void (*run)(void *, size_t, int, int);
    void (*refresh)(void *);
    double products, bytes;
  } halves[] = {
      /* x in, y and what is saved out; then x, y, dy and what was saved in, dx out */
      {"forward", forward_piece, NULL, 1, tokens * (row + out) + saved},
      {"backward", backward_piece, clear_gradient, 2, tokens * (2 * row + 2 * out) + saved},
  };
  double flops = 0, bytes = 0;
  for (int i = 0; i < 2; i++) {
    bench_stage *stage = bench_stage_add(c, halves[i].name,
                                         (bench_task){.context = m,
                                                      .pieces = m->pieces,
                                                      .reverse = i == 1,
                                                      .cold = m->pieces > 1,
                                                      .run = halves[i].run,
                                                      .refresh = halves[i].refresh});
    stage->modes = modes;
    stage->flops = halves[i].products * product + modes * bench_mode_flops(cell, i == 1);
    stage->bytes = halves[i].bytes;
    flops += stage->flops;
    bytes += stage->bytes;
  }
  bench_stage *both = bench_stage_add(c, "forward+backward", (bench_task){.pieces = 0});
  both->sum_of = 2;
  bench_stage *call = NULL;
  if (m->pieces > 1 && !bench_value(c->problem, "pieces"))
    call = bench_stage_add(c, "one call",
                           (bench_task){.context = m, .pieces = 1, .run = one_call, .refresh = clear_gradient});
  for (bench_stage *stage = both; stage; stage = stage == both ? call : NULL)
    stage->modes = modes, stage->flops = flops, stage->bytes = bytes;
}

/* ---- life --------------------------------------------------------------------------------------- */

/* noproj is an option of the cell under a short name */
static sparc_status create_cell(bench_case *c, mixer *m) {
  bench_problem problem = *c->problem;
  if (bench_value(c->problem, "noproj")) {
    const size_t used = strlen(problem.options);
    snprintf(problem.options + used, sizeof problem.options - used, "%sprojection=none", used ? "," : "");
  }
  bench_case with_options = *c;
  with_options.problem = &problem;
  const sparc_status status = bench_cell_create(&with_options, m->D, (int)bench_value(c->problem, "H"), &m->cell);
  c->kernel = with_options.kernel;
  c->H = with_options.H;
  return status;
}

static void destroy(bench_case *c) {
  mixer *m = c->state;
  if (!m) return;
  sparc_free(m->memory);
  sparc_plan_free(m->whole);
  sparc_plan_free(m->last);
  sparc_plan_free(m->plan);
  bench_cell_free(&m->cell);
  free(m);
}

static sparc_status create(bench_case *c) {
  mixer *m = c->state = calloc(1, sizeof *m);
  if (!m) return fail(SPARC_NO_MEMORY, "%s: no memory", c->problem->text);
  m->B = (int)bench_value(c->problem, "B");
  m->T = (int)bench_value(c->problem, "T");
  m->D = (int)bench_value(c->problem, "D");
  sparc_status status = create_cell(c, m);
  if (status != SPARC_OK) return status;
  m->S = sparc_cell_sizes_of(m->cell.cell).state;
  m->O = sparc_cell_sizes_of(m->cell.cell).output;
  status = plan_pieces(c, m);
  if (status != SPARC_OK) return status;

  arena measure = arena_measure();
  carve(m, &measure);
  status = bench_afford(c, measure.used);
  if (status != SPARC_OK) return status;
  m->memory = sparc_alloc(measure.used);
  if (!m->memory) return fail(SPARC_NO_MEMORY, "%s: no memory for %zu bytes", c->problem->text, measure.used);
  arena place = arena_over(m->memory, measure.used);
  carve(m, &place);
  bench_fill(m->x, (size_t)m->B * (size_t)m->T * (size_t)m->D, "x");
  bench_fill(m->dy, (size_t)m->B * (size_t)m->T * m->O, "dy");
  c->memory = c->footprint = needed_bytes(m);
  write_formula(c, m);
  add_stages(c, m);
  return SPARC_OK;
}

/* ---- reference -------------------------------------------------------------------------------------- */

/* with one stream the pieces and the one call read the arrays alike, and must agree */
static sparc_status check_pieces(bench_case *c, const mixer *m) {
  const bench_task call = {.context = (void *)m, .pieces = 1, .run = one_call, .refresh = clear_gradient};
  if (m->B > 1 || m->pieces == 1) return SPARC_OK;
  const size_t P = sparc_cell_sizes_of(m->cell.cell).params;
  double *want = malloc(P * sizeof *want);
  if (!want) return fail(SPARC_NO_MEMORY, "%s: no memory to verify it", c->problem->text);
  bench_pass(&call);
  for (size_t i = 0; i < P; i++) want[i] = (double)m->dparams[i];
  bench_pass(&c->stage[0].task);
  bench_pass(&c->stage[1].task);
  bench_compare(c, "pieces", 1e-4, m->dparams, want, P);
  free(want);
  return SPARC_OK;
}

static sparc_status verify(bench_case *c) {
  mixer *m = c->state;
  if (m->status != SPARC_OK) return m->status;
  const int length = bench_check_length(&m->cell);
  /* two streams, unless the cell is so wide that the reference would take seconds */
  const int B = m->B < 2 || length < 8 ? 1 : 2, T = m->T < length ? m->T : length;
  const sparc_status status = bench_check_sequence(c, &m->cell, B, T, m->x, m->dy);
  return status == SPARC_OK ? check_pieces(c, m) : status;
}

const bench_kind bench_kind_mixer = {
    .name = "mixer",
    .summary = "sequences forward and backward, projections included (H: state of D numbers)",
    .keys = {{"B", "streams", REQUIRED},
             {"T", "steps", REQUIRED},
             {"D", "width of the input", REQUIRED},
             {"H", "modes", 0},
             {"noproj", "no content projection: the input is the content", 0},
             {"pieces", "leave out the stage of one call", 0},
             {"whole", "one call forward and one backward, not cut along time", 0}},
    .cell = "sparc",
    .create = create,
    .verify = verify,
    .destroy = destroy,
};
