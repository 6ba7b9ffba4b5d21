/* SPDX-License-Identifier: MIT */
/* naive.c: the naive implementation as a problem: with D it starts from inputs, without from pre-activations
 * and controls. It holds whole arrays of every intermediate result and cannot be cut into pieces. */
#include "bench/rivals/naive.h"

#include "base/error.h"
#include "base/memory.h"
#include "bench/bench_cell.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* the thresholds at which the paper accepts agreement with its own naive implementation */
#define NAIVE_OUTPUT_TOLERANCE   2e-5
#define NAIVE_GRADIENT_TOLERANCE 1e-4

enum { CHECK_D = 3 }; /* inputs before the pre-activations of the check */

typedef struct eager {
  bench_cell cell;
  int B, T, D; /* D = 0: from pre-activations */
  size_t H;
  naive *naive;
  float *x, *content, *controls, *y, *dy, *dx, *dcontent, *dcontrols, *dparams;
  void *memory;
} eager;

static naive_data data_of(const eager *e) {
  return (naive_data){e->x, e->content, e->controls, e->y, e->dy, e->dx, e->dcontent, e->dcontrols, e->dparams};
}

static void run_forward(void *context, size_t piece, int thread, int threads) {
  (void)piece, (void)thread, (void)threads;
  const eager *e = context;
  const naive_data data = data_of(e);
  naive_forward(e->naive, &data);
}

static void run_backward(void *context, size_t piece, int thread, int threads) {
  (void)piece, (void)thread, (void)threads;
  const eager *e = context;
  const naive_data data = data_of(e);
  naive_backward(e->naive, &data);
}

static void clear_gradient(void *context) {
  const eager *e = context;
  memset(e->dparams, 0, sparc_cell_sizes_of(e->cell.cell).params * sizeof(float));
}

static void carve(eager *e, arena *a) {
  const size_t tokens = (size_t)e->B * (size_t)e->T, inputs = tokens * (size_t)e->D;
  const size_t given = e->D > 0 ? 0 : tokens;
  e->x = arena_take(a, inputs, sizeof(float));
  e->dx = arena_take(a, inputs, sizeof(float));
  e->y = arena_take(a, 2 * tokens * e->H, sizeof(float));
  e->dy = arena_take(a, 2 * tokens * e->H, sizeof(float));
  e->content = arena_take(a, 2 * given * e->H, sizeof(float));
  e->dcontent = arena_take(a, 2 * given * e->H, sizeof(float));
  e->controls = arena_take(a, 2 * given, sizeof(float));
  e->dcontrols = arena_take(a, 2 * given, sizeof(float));
  e->dparams = arena_take(a, sparc_cell_sizes_of(e->cell.cell).params, sizeof(float));
}

static void destroy(bench_case *c) {
  eager *e = c->state;
  if (!e) return;
  naive_free(e->naive);
  sparc_free(e->memory);
  bench_cell_free(&e->cell);
  free(e);
}

static sparc_status allocate(bench_case *c, eager *e) {
  const size_t tokens = (size_t)e->B * (size_t)e->T;
  arena measure = arena_measure();
  carve(e, &measure);
  const size_t whole_arrays = NAIVE_ARRAYS * tokens * e->H * sizeof(float);
  c->memory = c->footprint = measure.used + whole_arrays;
  sparc_status status = bench_afford(c, c->memory);
  if (status != SPARC_OK) return status;
  e->memory = sparc_alloc(measure.used);
  if (!e->memory) return fail(SPARC_NO_MEMORY, "%s: no memory for %zu bytes", c->problem->text, measure.used);
  arena place = arena_over(e->memory, measure.used);
  carve(e, &place);
  bench_fill(e->dy, 2 * tokens * e->H, "dy");
  if (e->D > 0) {
    bench_fill(e->x, tokens * (size_t)e->D, "x");
  } else {
    bench_fill(e->content, 2 * tokens * e->H, "pre");
    bench_fill(e->controls, 2 * tokens, "shared");
    for (size_t i = 0; i < 2 * tokens; i++) e->controls[i] = tanhf(e->controls[i]);
  }
  return naive_create(e->cell.cell, e->cell.params, e->B, e->T, e->D > 0, &e->naive);
}

static sparc_status create(bench_case *c) {
  eager *e = c->state = calloc(1, sizeof *e);
  if (!e) return fail(SPARC_NO_MEMORY, "%s: no memory", c->problem->text);
  e->B = (int)bench_value(c->problem, "B");
  e->T = (int)bench_value(c->problem, "T");
  e->D = (int)bench_value(c->problem, "D");
  e->H = (size_t)bench_value(c->problem, "H");
  c->threads = 1;
  sparc_status status = bench_cell_create(c, e->D > 0 ? e->D : CHECK_D, (int)e->H, &e->cell);
  if (status == SPARC_OK) status = allocate(c, e);
  if (status != SPARC_OK) return status;
  c->kernel = "naive";
  const double modes = (double)e->B * (double)e->T * (double)e->H;
  bench_stage_add(c, "forward", (bench_task){.context = e, .pieces = 1, .run = run_forward})->modes = modes;
  bench_stage_add(c, "backward",
                  (bench_task){.context = e, .pieces = 1, .run = run_backward, .refresh = clear_gradient})
      ->modes = modes;
  bench_stage *both = bench_stage_add(c, "forward+backward", (bench_task){.pieces = 0});
  both->sum_of = 2;
  both->modes = modes;
  return SPARC_OK;
}

/* ---- reference -------------------------------------------------------------------------------------- */

/* the four projections of the cell: a column of the controls, or half of the content */
static const struct target {
  const char *block;
  bool control;
  size_t second;
} targets[] = {
    {"content_re", false, 0}, {"content_im", false, 1}, {"ctrl_retention", true, 0}, {"ctrl_phase", true, 1}};
enum { TARGETS = sizeof targets / sizeof *targets };

static size_t offset_of(const eager *e, const char *name) {
  size_t count;
  const sparc_block *block = sparc_cell_blocks(e->cell.cell, &count);
  while (strcmp(block->name, name) != 0) block++;
  return block->offset;
}

/* pre-activations and controls that belong to inputs x */
static void project(const eager *e, size_t tokens, const float *x) {
  for (size_t i = 0; i < TARGETS; i++) {
    const bool control = targets[i].control;
    const size_t rows = control ? 1 : e->H, width = control ? CHECK_D + 1 : CHECK_D;
    const float *w = e->cell.params + offset_of(e, targets[i].block);
    float *out = (control ? e->controls : e->content) + targets[i].second * rows;
    for (size_t t = 0; t < tokens; t++) {
      for (size_t row = 0; row < rows; row++) {
        double sum = control ? (double)w[CHECK_D] : 0;
        for (size_t d = 0; d < CHECK_D; d++) sum += (double)w[row * width + d] * (double)x[t * CHECK_D + d];
        out[2 * t * rows + row] = (float)(control ? tanh(sum) : sum);
      }
    }
  }
}

/* the gradients of the projections from the cotangents of content and controls */
static void gather_gradient(const eager *e, size_t tokens, const float *x) {
  for (size_t i = 0; i < TARGETS; i++) {
    const bool control = targets[i].control;
    const size_t rows = control ? 1 : e->H, width = control ? CHECK_D + 1 : CHECK_D;
    float *dw = e->dparams + offset_of(e, targets[i].block);
    const float *d = (control ? e->dcontrols : e->dcontent) + targets[i].second * rows;
    for (size_t t = 0; t < tokens; t++) {
      const float value = control ? e->controls[2 * t + targets[i].second] : 0;
      for (size_t row = 0; row < rows; row++) {
        const float g = d[2 * t * rows + row] * (1 - value * value);
        for (size_t k = 0; k < CHECK_D; k++) dw[row * width + k] += g * x[t * CHECK_D + k];
        if (control) dw[CHECK_D] += g;
      }
    }
  }
}

/* a short problem of the same width, through the same functions */
static sparc_status check_short(bench_case *c, eager *e, const float *x, int T) {
  bench_reference_result want;
  sparc_status status = bench_reference(&e->cell, 1, T, x, e->dy, &want);
  naive *small = NULL;
  if (status != SPARC_OK) return status;
  const naive_data data = data_of(e);
  const size_t tokens = (size_t)T;
  status = naive_create(e->cell.cell, e->cell.params, 1, T, e->D > 0, &small);
  if (status == SPARC_OK) {
    clear_gradient(e);
    if (e->D == 0) project(e, tokens, x);
    naive_forward(small, &data);
    naive_backward(small, &data);
    if (e->D == 0) gather_gradient(e, tokens, x);
    bench_compare(c, "y", NAIVE_OUTPUT_TOLERANCE, e->y, want.y, 2 * tokens * e->H);
    if (e->D > 0) bench_compare(c, "grad.x", NAIVE_GRADIENT_TOLERANCE, e->dx, want.dx, tokens * (size_t)e->D);
    bench_compare_blocks(c, &e->cell, NAIVE_GRADIENT_TOLERANCE, e->dparams, &want);
  }
  naive_free(small);
  sparc_free(want.memory);
  return status;
}

static sparc_status verify(bench_case *c) {
  eager *e = c->state;
  const int longest = bench_check_length(&e->cell), T = e->T < longest ? e->T : longest;
  if (e->D > 0) return check_short(c, e, e->x, T);
  float *x = sparc_alloc((size_t)T * CHECK_D * sizeof *x);
  if (!x) return fail(SPARC_NO_MEMORY, "%s: no memory to verify it", c->problem->text);
  bench_fill(x, (size_t)T * CHECK_D, "x");
  sparc_status status = check_short(c, e, x, T);
  sparc_free(x);
  return status;
}

const bench_kind bench_kind_naive = {
    .name = "naive",
    .summary = "the unfused mixer; without D from pre-activations and controls",
    .keys = {{"B", "streams", REQUIRED}, {"T", "steps", REQUIRED}, {"H", "modes", REQUIRED}, {"D", "inputs", 0}},
    .cell = "sparc",
    .create = create,
    .verify = verify,
    .destroy = destroy,
};
