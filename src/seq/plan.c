/* SPDX-License-Identifier: MIT */
/* plan.c: planning. All checks of a shape are made here, once. */
#include "cells/plan.h"

#include "base/error.h"
#include "base/memory.h"
#include "base/threads.h"

#include <stdint.h>

size_t plan_row(const sparc_cell *cell) {
  const sparc_cell_sizes *sizes = &cell->sizes;
  size_t row = sizes->state > sizes->output ? sizes->state : sizes->output;
  if ((size_t)cell->pre > row) row = (size_t)cell->pre;
  return row > (size_t)cell->D ? row : (size_t)cell->D;
}

/* a team of threads costs some microseconds per stage; an automatic choice gives each enough to do. Results do not
 * depend on the number, so this is a matter of speed alone. */
static int choose_threads(int requested, size_t elements) {
  enum { ELEMENTS_PER_THREAD = 1 << 15 };
  if (requested > 0) return requested;
  const size_t useful = 1 + elements / ELEMENTS_PER_THREAD;
  const int available = thread_count(0);
  return useful < (size_t)available ? (int)useful : available;
}

/* byte counts of the largest arrays must fit with a margin: rows of tokens, and sums of the gradient that streams
 * or runs of some ten tokens have of their own */
sparc_status plan_check(int B, int T, int threads, size_t row, size_t params, int *useful) {
  enum { FEWEST_TOKENS = 16 };
  const size_t bound = SIZE_MAX / 64 / sizeof(double);
  if (B < 1 || T < 1) return fail(SPARC_INVALID, "%s is %d, expected at least 1", B < 1 ? "B" : "T", B < 1 ? B : T);
  if (threads < 0) return fail(SPARC_INVALID, "threads is %d, expected 0 or more", threads);
  int overflow = 0;
  const size_t tokens = size_product((size_t)B, (size_t)T, &overflow);
  const size_t elements = size_product(tokens, row, &overflow);
  const size_t sums = size_product((size_t)B + tokens / FEWEST_TOKENS, params, &overflow);
  if (overflow || tokens > INT32_MAX || elements > bound || sums > bound)
    return fail(SPARC_INVALID, "B * T = %d * %d is too large for rows of %zu elements and %zu parameters", B, T, row,
                params);
  *useful = choose_threads(threads, elements);
  return SPARC_OK;
}

sparc_status sparc_plan_create(const sparc_cell *cell, int B, int T, const sparc_plan_config *config,
                               sparc_plan **out) {
  if (!out) return fail(SPARC_INVALID, "out is NULL, expected where to put the plan");
  *out = NULL;
  if (!cell) return fail(SPARC_INVALID, "cell is NULL");
  const sparc_plan_config chosen = config ? *config : (sparc_plan_config){0};
  int threads = 1;
  const sparc_status status = plan_check(B, T, chosen.threads, plan_row(cell), cell->sizes.params, &threads);
  if (status != SPARC_OK) return status;
  if (chosen.chunk < 0) return fail(SPARC_INVALID, "chunk is %d, expected 0 or more", chosen.chunk);
  if (chosen.chunk > 0 && cell->parts == 0)
    return fail(SPARC_UNSUPPORTED, "cell %s is not affine in its state and has no chunked scan; use chunk = 0",
                cell->about->kind.name);

  sparc_plan *plan = sparc_alloc(sizeof *plan);
  if (!plan) return fail(SPARC_NO_MEMORY, "no memory for a plan");
  *plan = (sparc_plan){.cell = cell,
                       .B = B,
                       .T = T,
                       .chunk = chosen.chunk == 0 || chosen.chunk > T ? T : chosen.chunk,
                       .threads = threads};
  log_line("plan: cell %s, B %d, T %d, chunks of %d steps, %d threads", cell->about->kind.name, B, T, plan->chunk,
           plan->threads);
  *out = plan;
  return SPARC_OK;
}

void sparc_plan_free(sparc_plan *plan) { sparc_free(plan); }

sparc_plan_sizes sparc_plan_sizes_of(const sparc_plan *plan, sparc_precision precision) {
  if (plan && precision == SPARC_FLOAT32) return plan_sizes_f32(plan);
#ifndef SPARC_INFERENCE /* which has float alone */
  if (plan && precision == SPARC_FLOAT64) return plan_sizes_f64(plan);
  if (plan && precision == SPARC_BFLOAT16) return plan_sizes_bf16(plan);
#endif
  return (sparc_plan_sizes){0};
}
