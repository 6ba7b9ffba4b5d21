/* SPDX-License-Identifier: MIT */
/* consumer.c: the smallest user of the installed library in C: one cell, stepped and run as a sequence.
 * It calls every layer down to the BLAS, and has a function named as one inside the library. */
#include <math.h>
#include <sparc/sparc.h>
#include <stdio.h>
#include <stdlib.h>

enum { D = 3, H = 5, T = 7 };

/* the library has a fail of its own; a static link must not see it */
_Noreturn void fail(const char *what);
_Noreturn void fail(const char *what) {
  fprintf(stderr, "consumer: %s: %s\n", what, sparc_error());
  exit(1);
}

static void need(sparc_status status, const char *what) {
  if (status != SPARC_OK) fail(what);
}

int main(void) {
  /* a cell with drawn parameters */
  sparc_cell *cell;
  need(sparc_cell_create(&(sparc_cell_config){.kind = "sparc", .D = D, .H = H}, &cell), "create");
  sparc_cell_sizes size = sparc_cell_sizes_of(cell);
  float *params = sparc_alloc(size.params * sizeof(float)), *prepared = sparc_alloc(size.prepared * sizeof(float));
  need(sparc_cell_init(cell, SPARC_INIT_CONTROL, 1, NULL, params), "init");
  need(sparc_prepare(cell, params, prepared), "prepare");

  /* the whole sequence at once */
  sparc_plan *plan;
  need(sparc_plan_create(cell, 1, T, NULL, &plan), "plan");
  float x[T * D], *y = sparc_alloc(T * size.output * sizeof(float));
  for (int i = 0; i < T * D; i++) x[i] = sinf(1.0f + (float)i);
  const sparc_plan_sizes bytes = sparc_plan_sizes_of(plan, SPARC_FLOAT32);
  void *saved = sparc_alloc(bytes.saved), *work = sparc_alloc(bytes.work);
  need(sparc_forward(plan, prepared, &(sparc_sequence){.x = x, .y = y}, saved, work), "forward");

  /* the same step by step */
  float *state = sparc_alloc(size.state * sizeof(float)), *tape = sparc_alloc(size.tape * sizeof(float));
  float *step = sparc_alloc(size.output * sizeof(float)), worst = 0, largest = 0;
  for (int t = 0; t < T; t++) {
    need(sparc_step(cell, prepared, state, x + t * D, 1, step, tape), "step");
    for (size_t i = 0; i < size.output; i++) {
      worst = fmaxf(worst, fabsf(step[i] - y[(size_t)t * size.output + i]));
      largest = fmaxf(largest, fabsf(step[i]));
    }
  }
  printf("sparc %s from C: largest output %.3f, step and sequence differ by %.1e\n", sparc_version(), largest, worst);

  void *blocks[] = {params, prepared, y, saved, work, state, tape, step};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) sparc_free(blocks[i]);
  sparc_plan_free(plan);
  sparc_cell_free(cell);
  return largest > 0 && worst <= 1e-5f * largest ? 0 : 1;
}
