/* SPDX-License-Identifier: MIT */
/* bench_cell.c: cells with random parameters, and the results of the reference. */
#include "bench/bench_cell.h"

#include "base/error.h"
#include "base/memory.h"
#include "cells/cell.h"
#include "cells/reference/reference.h"
#include "sparc/sequence.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- the cell ----------------------------------------------------------------------------------- */

/* controllers and gates start at zero, which would leave half of the work without effect on the result */
static void stir(const sparc_cell *cell, float *params) {
  size_t count;
  const sparc_block *blocks = sparc_cell_blocks(cell, &count);
  for (size_t i = 0; i < count; i++) {
    float *values = params + blocks[i].offset;
    size_t zeros = 0;
    while (zeros < blocks[i].size && values[zeros] == 0) zeros++;
    if (zeros < blocks[i].size) continue;
    /* rows that see the input get a sum of order one, vectors of modes a moderate value */
    const int row = blocks[i].rank == 2 ? blocks[i].shape[1] : blocks[i].shape[0];
    const bool sees_input = blocks[i].rank == 2 || row == sparc_cell_config_of(cell).D + 1;
    const float scale = sees_input ? 1 / sqrtf((float)row) : 0.5f;
    bench_fill(values, blocks[i].size, blocks[i].name);
    for (size_t k = 0; k < blocks[i].size; k++) values[k] *= scale;
  }
}

enum { OPTIONS_CAPACITY = 2 * PROBLEM_TEXT };

/* the state gets as many real coordinates as the input has, as in the paper; options of
 * the problem follow those of the match and override them */
static sparc_status match_cell(const bench_problem *p, sparc_cell_config *config, char options[OPTIONS_CAPACITY]) {
  sparc_status status = cell_fit(p->cell, config->D + config->D % 2, config, options, PROBLEM_TEXT);
  if (status != SPARC_OK) return status;
  const size_t used = strlen(options);
  snprintf(options + used, OPTIONS_CAPACITY - used, "%s%s", used && *p->options ? "," : "", p->options);
  return SPARC_OK;
}

sparc_status bench_cell_create(bench_case *c, int D, int H, bench_cell *out) {
  const bench_problem *p = c->problem;
  sparc_cell_config config = {.kind = p->cell, .D = D, .H = H, .options = p->options, .kernel = c->requested_kernel};
  *out = (bench_cell){.cell = NULL};
  char options[OPTIONS_CAPACITY];
  sparc_status status = H == 0 ? match_cell(p, &config, options) : SPARC_OK;
  if (status == SPARC_OK) status = sparc_cell_create(&config, &out->cell);
  if (status != SPARC_OK) {
    char reason[PROBLEM_TEXT];
    snprintf(reason, sizeof reason, "%s", sparc_error());
    return fail(status, "%s: %s", p->text, reason);
  }
  c->kernel = sparc_cell_config_of(out->cell).kernel;
  c->H = sparc_cell_config_of(out->cell).H;
  const sparc_cell_sizes sizes = sparc_cell_sizes_of(out->cell);
  out->params = sparc_alloc(sizes.params * sizeof(float));
  out->prepared = sparc_alloc(sizes.prepared * sizeof(float));
  if (!out->params || !out->prepared) return fail(SPARC_NO_MEMORY, "%s: no memory for the parameters", p->text);
  status = sparc_cell_init(out->cell, SPARC_INIT_CLASSIFICATION, 1, NULL, out->params);
  if (status != SPARC_OK) return status;
  stir(out->cell, out->params);
  return sparc_prepare(out->cell, out->params, out->prepared);
}

void bench_cell_free(bench_cell *cell) {
  sparc_free(cell->prepared);
  sparc_free(cell->params);
  sparc_cell_free(cell->cell);
  *cell = (bench_cell){.cell = NULL};
}

/* ---- the reference ------------------------------------------------------------------------------ */

static double *widen(double *to, const float *from, size_t n) {
  for (size_t i = 0; i < n; i++) to[i] = (double)from[i];
  return to;
}

sparc_status bench_reference(const bench_cell *cell, int B, int T, const float *x, const float *dy,
                             bench_reference_result *out) {
  const sparc_cell_sizes sizes = sparc_cell_sizes_of(cell->cell);
  const size_t tokens = (size_t)B * (size_t)T, P = sizes.params;
  const size_t inputs = tokens * (size_t)sparc_cell_config_of(cell->cell).D, outputs = tokens * sizes.output;
  const size_t numbers = 2 * (inputs + outputs + P);
  double *memory = sparc_alloc(numbers * sizeof *memory);
  if (!memory) return fail(SPARC_NO_MEMORY, "no memory for %zu numbers of the reference", numbers);
  double *wide_x = memory + 2 * P, *wide_dy = wide_x + 2 * inputs;
  *out =
      (bench_reference_result){.dparams = memory + P, .dx = wide_x + inputs, .y = wide_dy + outputs, .memory = memory};
  const reference_run run = {.B = B,
                             .T = T,
                             .params = widen(memory, cell->params, P),
                             .x = widen(wide_x, x, inputs),
                             .dy = widen(wide_dy, dy, outputs),
                             .y = out->y,
                             .dparams = out->dparams,
                             .dx = out->dx};
  sparc_status status = reference_evaluate(cell->cell, &run);
  if (status != SPARC_OK) {
    sparc_free(memory);
    *out = (bench_reference_result){.memory = NULL};
  }
  return status;
}

void bench_compare_block(bench_case *c, const sparc_block *block, double tolerance, const float *dparams,
                         const bench_reference_result *expected) {
  char name[TENSOR_NAME];
  snprintf(name, sizeof name, "grad.%s", block->name);
  bench_compare(c, name, tolerance, dparams + block->offset, expected->dparams + block->offset, block->size);
}

void bench_compare_blocks(bench_case *c, const bench_cell *cell, double tolerance, const float *dparams,
                          const bench_reference_result *expected) {
  size_t count;
  const sparc_block *blocks = sparc_cell_blocks(cell->cell, &count);
  for (size_t i = 0; i < count; i++) bench_compare_block(c, &blocks[i], tolerance, dparams, expected);
}

/* one run forward and backward, and what it gives */
typedef struct short_run {
  void *saved, *work, *memory;
  float *y, *dx, *dparams;
} short_run;

static void carve_run(short_run *run, arena *a, const sparc_plan *plan, size_t inputs, size_t outputs, size_t params) {
  run->saved = arena_take(a, sparc_plan_sizes_of(plan, SPARC_FLOAT32).saved, 1);
  run->work = arena_take(a, sparc_plan_sizes_of(plan, SPARC_FLOAT32).work, 1);
  run->y = arena_take(a, outputs, sizeof(float));
  run->dx = arena_take(a, inputs, sizeof(float));
  run->dparams = arena_take(a, params, sizeof(float));
}

static sparc_status run_plan(const bench_cell *cell, const sparc_plan *plan, const float *x, const float *dy,
                             const short_run *run) {
  const sparc_sequence sequence = {.x = x, .y = run->y};
  const sparc_sequence_gradient gradient = {.dy = dy, .dx = run->dx, .dparams = run->dparams};
  sparc_status status = sparc_forward(plan, cell->prepared, &sequence, run->saved, run->work);
  return status == SPARC_OK ? sparc_backward(plan, cell->prepared, &sequence, run->saved, &gradient, run->work)
                            : status;
}

sparc_status bench_check_sequence(bench_case *c, const bench_cell *cell, int B, int T, const float *x,
                                  const float *dy) {
  const sparc_cell_sizes sizes = sparc_cell_sizes_of(cell->cell);
  const size_t tokens = (size_t)B * (size_t)T;
  const size_t inputs = tokens * (size_t)sparc_cell_config_of(cell->cell).D, outputs = tokens * sizes.output;
  sparc_plan *plan;
  sparc_status status = sparc_plan_create(cell->cell, B, T, &(sparc_plan_config){.threads = c->threads}, &plan);
  if (status != SPARC_OK) return status;
  short_run run;
  arena measured = arena_measure();
  carve_run(&run, &measured, plan, inputs, outputs, sizes.params);
  run.memory = sparc_alloc(measured.used);
  bench_reference_result want = {.memory = NULL};
  if (run.memory) {
    arena place = arena_over(run.memory, measured.used);
    carve_run(&run, &place, plan, inputs, outputs, sizes.params);
    memset(run.dparams, 0, sizes.params * sizeof(float));
    status = run_plan(cell, plan, x, dy, &run);
  } else {
    status = fail(SPARC_NO_MEMORY, "%s: no memory to verify it", c->problem->text);
  }
  if (status == SPARC_OK) status = bench_reference(cell, B, T, x, dy, &want);
  if (status == SPARC_OK) {
    bench_compare(c, "y", OUTPUT_TOLERANCE, run.y, want.y, outputs);
    bench_compare(c, "grad.x", GRADIENT_TOLERANCE, run.dx, want.dx, inputs);
    bench_compare_blocks(c, cell, GRADIENT_TOLERANCE, run.dparams, &want);
  }
  sparc_free(want.memory);
  sparc_free(run.memory);
  sparc_plan_free(plan);
  return status;
}

int bench_check_length(const bench_cell *cell) {
  /* a token costs the reference a few nanoseconds per parameter */
  const double tokens = 2e7 / (double)sparc_cell_sizes_of(cell->cell).params;
  return tokens > 64 ? 64 : tokens < 4 ? 4 : (int)tokens;
}

double bench_mode_flops(const sparc_cell *cell, bool backward) {
  return backward ? cell->about->mode_flops.backward : cell->about->mode_flops.forward;
}

double bench_product_flops(const sparc_cell *cell) {
  return 2 * ((double)cell->D * ((double)cell->projected + (double)cell->shared) + (double)cell->own_products);
}
