/* SPDX-License-Identifier: MIT */
/* test_lazy.c: lazy RTRL is stepwise RTRL, whatever the chunk, the resets and the changes of parameters. */
#include "kernels/kernels.h"
#include "support_lazy.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* cells with an RTRL form: all rules of the trace's table appear, and rows that fill no vector, one, and several */
static const sparc_cell_config configs[] = {
    {.kind = "sparc", .D = 64, .H = 64},
    {.kind = "sparc", .D = 1, .H = 1},
    {.kind = "sparc", .D = 37, .H = 19, .options = "variant=unshared-control"},
    {.kind = "sparc", .D = 80, .H = 16, .options = "variant=fixed-controls,content=linear"},
    {.kind = "sparc", .D = 37, .H = 18, .options = "groups=3"},
    {.kind = "sparc", .D = 38, .H = 19, .options = "projection=none"},
    {.kind = "sparc", .D = 37, .H = 19, .options = "hidden=5"},
    {.kind = "rtu", .D = 17, .H = 33},
    {.kind = "rtu", .D = 96, .H = 5},
    {.kind = "lru", .D = 5, .H = 21},
    {.kind = "lru", .D = 32, .H = 48},
    {.kind = "gateloop", .D = 24, .H = 18},
    {.kind = "gateloop", .D = 7, .H = 3, .options = "transition=complex"},
    {.kind = "rglru", .D = 20, .H = 24, .options = "block=8"},
    {.kind = "rglru", .D = 16, .H = 33, .options = "block=3"},
    {.kind = "rglru", .D = 9, .H = 12, .options = "block=4,proj_trace=local"},
};
enum { CONFIGS = sizeof configs / sizeof *configs, STEPS = 70 };

static const int chunks[] = {1, 2, 7, 16, 32, STEPS, 3 * STEPS};
enum { CHUNKS = sizeof chunks / sizeof *chunks };

/* max |got - want| over max |want| */
static double relative(size_t count, const double *got, const double *want) {
  double worst = 0, scale = 1e-30;
  for (size_t i = 0; i < count; i++) {
    const double error = fabs(got[i] - want[i]);
    if (!(error <= worst)) worst = isnan(error) ? INFINITY : error;
    if (fabs(want[i]) > scale) scale = fabs(want[i]);
  }
  return worst / scale;
}

typedef struct tolerances {
  double trace, gradient;
} tolerances;

static void expect_stepwise(const problem *p, const char *what, const result *got, const result *want, tolerances t) {
  const size_t tokens = (size_t)p->B * (size_t)p->T;
  expect_close(p, "y", relative(tokens * p->n.output, got->y, want->y), 0);
  expect_close(p, "dx", relative(tokens * (size_t)p->D, got->dx, want->dx), 0);
  expect_close(p, what, relative(p->n.trace, got->trace, want->trace), t.trace);
  size_t count;
  const sparc_block *blocks = sparc_cell_blocks(p->cell, &count);
  for (size_t i = 0; i < count; i++)
    expect_close(p, blocks[i].name,
                 relative(blocks[i].size, got->dparams + blocks[i].offset, want->dparams + blocks[i].offset),
                 t.gradient);
}

typedef void runner(const problem *p, const schedule *s, result *r);

static void compare(const problem *p, runner *run, schedule s, tolerances t) {
  result got = result_create(p), want = result_create(p);
  schedule stepwise = s;
  stepwise.chunk = 0;
  run(p, &stepwise, &want);
  run(p, &s, &got);
  char what[64];
  snprintf(what, sizeof what, "trace with chunks of %d", s.chunk);
  expect_stepwise(p, what, &got, &want, t);
  result_free(&got);
  result_free(&want);
}

static void compare_all(runner *run, const char *kernel, tolerances t) {
  sparc_random stream;
  sparc_random_init(&stream, 7, "lazy", "compare");
  for (size_t c = 0; c < CONFIGS; c++) {
    for (int variant = 0; variant < 6; variant++) {
      static const mask_kind masks[] = {MASK_NONE, MASK_RANDOM, MASK_RANDOM, MASK_ZEROS, MASK_FIRST, MASK_RANDOM};
      sparc_cell_config config = configs[c];
      config.kernel = kernel;
      problem p = problem_create(&config, 2, STEPS, masks[variant], &stream);
      /* long segments with few resets in them */
      for (int i = 0; i < 2 * STEPS && variant == 1; i++) p.mask[i] = sparc_random_below(&stream, 23) != 0;
      for (size_t k = 0; k < CHUNKS; k++)
        compare(&p, run,
                (schedule){.chunk = chunks[k],
                           .move_params = variant != 0 && variant != 3,
                           .skip_losses = variant == 2 || variant == 4,
                           .flush_early = variant == 4 || variant == 5,
                           .take_turns = variant == 5},
                t);
      problem_free(&p);
    }
  }
}

static void test_double(void **unused) {
  (void)unused;
  compare_all(run_schedule_f64, NULL, (tolerances){1e-12, 1e-12});
}

static void test_every_kernel(void **unused) {
  (void)unused;
  for (const char *const *name = kernel_names(); *name; name++)
    if (kernel_available(*name)) compare_all(run_schedule_f32, *name, (tolerances){1e-6, 1e-5});
}

/* a segment does not depend on the steps before its start, finite or not */
static void test_reset_drops_what_is_not_finite(void **unused) {
  (void)unused;
  sparc_random stream;
  sparc_random_init(&stream, 8, "lazy", "reset");
  for (size_t c = 0; c < CONFIGS; c++) {
    problem p = problem_create(&configs[c], 1, 40, MASK_FIRST, &stream);
    for (size_t k = 0; k < CHUNKS; k++)
      compare(&p, run_schedule_f32, (schedule){.chunk = chunks[k], .spoil_traces = true}, (tolerances){1e-6, 1e-5});
    problem_free(&p);
  }
}

/* without losses dparams is not needed and not touched; the trace still is exact */
static void test_no_gradient(void **unused) {
  (void)unused;
  sparc_random stream;
  sparc_random_init(&stream, 9, "lazy", "no gradient");
  problem p = problem_create(&configs[0], 1, 3, MASK_NONE, &stream);
  float *params = sparc_alloc(p.n.params * sizeof *params), *prepared = sparc_alloc(p.n.prepared * sizeof *prepared);
  float *state = sparc_alloc(p.n.state * sizeof *state), *tape = sparc_alloc(p.n.tape * sizeof *tape);
  float *x = sparc_alloc((size_t)p.D * sizeof *x);
  for (size_t i = 0; i < p.n.params; i++) params[i] = (float)p.params[i];
  sparc_lazy lazy = {.capacity = 3, .trace = sparc_alloc(p.n.trace * sizeof(float))};
  lazy.steps = sparc_alloc(sparc_rtrl_sizes_of(p.cell, &(sparc_rtrl_shape){.chunk = 3}).lazy * sizeof(float));
  assert_int_equal(sparc_prepare(p.cell, params, prepared), SPARC_OK);
  for (int t = 0; t < 7; t++) {
    assert_int_equal(lazy.count, t % 3);
    assert_int_equal(sparc_step(p.cell, prepared, state, x, 1, NULL, tape), SPARC_OK);
    assert_int_equal(sparc_lazy_update(p.cell, prepared, &lazy, tape, NULL, NULL, NULL), SPARC_OK);
  }
  assert_int_equal(sparc_lazy_flush(p.cell, &lazy, NULL), SPARC_OK);
  assert_int_equal(lazy.count, 0);
  assert_int_equal(sparc_lazy_flush(p.cell, &lazy, NULL), SPARC_OK);

  /* with a loss it is needed, now and until the flush */
  float *dparams = sparc_alloc(p.n.params * sizeof *dparams), *dy = sparc_alloc(p.n.output * sizeof *dy);
  assert_int_equal(sparc_lazy_update(p.cell, prepared, &lazy, tape, dy, NULL, NULL), SPARC_INVALID);
  assert_int_equal(lazy.count, 0);
  assert_int_equal(sparc_lazy_update(p.cell, prepared, &lazy, tape, dy, dparams, NULL), SPARC_OK);
  assert_int_equal(lazy.gradients, 1);
  assert_int_equal(sparc_lazy_flush(p.cell, &lazy, NULL), SPARC_INVALID);
  assert_non_null(strstr(sparc_error(), "dparams"));
  assert_int_equal(sparc_lazy_update(p.cell, prepared, &lazy, tape, NULL, NULL, NULL), SPARC_INVALID);
  assert_int_equal(sparc_lazy_flush(p.cell, &lazy, dparams), SPARC_OK);
  assert_int_equal(lazy.gradients, 0);
  void *blocks[] = {params, prepared, state, tape, x, lazy.trace, lazy.steps, dparams, dy};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) sparc_free(blocks[i]);
  problem_free(&p);
}

static void test_arguments(void **unused) {
  (void)unused;
  sparc_cell *cell, *gru;
  assert_int_equal(sparc_cell_create(&(sparc_cell_config){.kind = "sparc", .D = 3, .H = 4}, &cell), SPARC_OK);
  assert_int_equal(sparc_cell_create(&(sparc_cell_config){.kind = "gru", .D = 3, .H = 4}, &gru), SPARC_OK);
  assert_int_equal(sparc_rtrl_sizes_of(NULL, &(sparc_rtrl_shape){.chunk = 4}).lazy, 0);
  assert_int_equal(sparc_rtrl_sizes_of(cell, &(sparc_rtrl_shape){.chunk = 0}).lazy, 0);
  assert_int_equal(sparc_rtrl_sizes_of(gru, &(sparc_rtrl_shape){.chunk = 4}).lazy, 0);
  float some[4] = {0};
  assert_int_equal(sparc_lazy_flush(gru, &(sparc_lazy){.capacity = 1, .trace = some, .steps = some}, some),
                   SPARC_UNSUPPORTED);
  assert_int_equal(sparc_lazy_flush(NULL, &(sparc_lazy){.capacity = 1}, some), SPARC_INVALID);
  assert_int_equal(sparc_lazy_flush(cell, NULL, some), SPARC_INVALID);
  assert_int_equal(sparc_lazy_flush(cell, &(sparc_lazy){.capacity = 1, .steps = some}, some), SPARC_INVALID);
  assert_int_equal(sparc_lazy_flush(cell, &(sparc_lazy){.capacity = 1, .trace = some}, some), SPARC_INVALID);
  assert_int_equal(sparc_lazy_flush(cell, &(sparc_lazy){.trace = some, .steps = some}, some), SPARC_INVALID);
  assert_int_equal(sparc_lazy_flush(cell, &(sparc_lazy){1, 1, 0, some, some}, some), SPARC_INVALID);
  assert_int_equal(sparc_lazy_flush(cell, &(sparc_lazy){4, 1, 2, some, some}, some), SPARC_INVALID);
  assert_non_null(strstr(sparc_error(), "gradients 2"));
  assert_int_equal(
      sparc_lazy_update(cell, NULL, &(sparc_lazy){.capacity = 1, .trace = some, .steps = some}, some, some, some, NULL),
      SPARC_INVALID);
  sparc_cell_free(cell);
  sparc_cell_free(gru);
}

/* 2048 steps with the trace they start from take a fortieth of 2048 traces */
static void test_memory_of_a_rollout(void **unused) {
  (void)unused;
  static const int widths[] = {64, 192};
  for (size_t i = 0; i < 2; i++) {
    sparc_cell *cell;
    assert_int_equal(sparc_cell_create(&(sparc_cell_config){.kind = "sparc", .D = 64, .H = widths[i]}, &cell),
                     SPARC_OK);
    const size_t trace = sparc_cell_sizes_of(cell).trace;
    assert_true(40 * (sparc_rtrl_sizes_of(cell, &(sparc_rtrl_shape){.chunk = 2048}).lazy + trace) <= 2048 * trace);
    sparc_cell_free(cell);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_double),
      cmocka_unit_test(test_every_kernel),
      cmocka_unit_test(test_reset_drops_what_is_not_finite),
      cmocka_unit_test(test_no_gradient),
      cmocka_unit_test(test_arguments),
      cmocka_unit_test(test_memory_of_a_rollout),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
