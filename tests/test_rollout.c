/* SPDX-License-Identifier: MIT */
/* test_rollout.c: gradients of past steps. */
#include "support_rollout.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kinds[] = {"sparc", "rtu", "lru", "rglru", "gateloop"};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* all five cells and every rule of their tables of sinks; rows that fill no vector, one, and several */
static const sparc_cell_config configs[] = {
    {.kind = "sparc", .D = 7, .H = 9},
    {.kind = "sparc", .D = 64, .H = 33},
    {.kind = "sparc", .D = 5, .H = 3, .options = "variant=unshared-control"},
    {.kind = "sparc", .D = 6, .H = 5, .options = "variant=fixed-controls,content=linear"},
    {.kind = "sparc", .D = 4, .H = 6, .options = "variant=phase-only"},
    {.kind = "sparc", .D = 4, .H = 6, .options = "variant=retention-only"},
    {.kind = "sparc", .D = 4, .H = 6, .options = "variant=no-phase-clock"},
    {.kind = "sparc", .D = 4, .H = 6, .options = "variant=static-phase-clock"},
    {.kind = "sparc", .D = 4, .H = 6, .options = "variant=static-transition"},
    {.kind = "sparc", .D = 4, .H = 6, .options = "variant=neutral-gate"},
    {.kind = "sparc", .D = 4, .H = 6, .options = "variant=fixed-normalization"},
    {.kind = "sparc", .D = 4, .H = 6, .options = "variant=frozen-gain"},
    {.kind = "sparc", .D = 22, .H = 11, .options = "projection=none"},
    {.kind = "rtu", .D = 7, .H = 9},
    {.kind = "rtu", .D = 96, .H = 70},
    {.kind = "lru", .D = 7, .H = 9},
    {.kind = "lru", .D = 33, .H = 20},
    {.kind = "rglru", .D = 7, .H = 9, .options = "block=3"},
    {.kind = "rglru", .D = 20, .H = 48, .options = "block=8"},
    {.kind = "rglru", .D = 9, .H = 12, .options = "block=4,proj_trace=local"},
    {.kind = "rglru", .D = 15, .H = 15, .options = "block=5,projection=none"},
    {.kind = "gateloop", .D = 7, .H = 9},
    {.kind = "gateloop", .D = 40, .H = 21, .options = "transition=complex"},
};
enum { CONFIGS = sizeof configs / sizeof *configs };

static sparc_random stream_of(const char *purpose, size_t config) {
  sparc_random stream;
  sparc_random_init(&stream, 1407 + config, purpose, "rollout");
  return stream;
}

/* max |got - want| over max |want|, block by block */
static double worst_block(const problem *p, const double *got, const double *want) {
  size_t count;
  const sparc_block *blocks = sparc_cell_blocks(p->cell, &count);
  double worst = 0;
  for (size_t b = 0; b < count; b++) {
    double error = 0, scale = 1e-30;
    for (size_t i = blocks[b].offset; i < blocks[b].offset + blocks[b].size; i++) {
      if (!(fabs(got[i] - want[i]) <= error)) error = fabs(got[i] - want[i]);
      if (fabs(want[i]) > scale) scale = fabs(want[i]);
    }
    if (!(error / scale <= worst)) worst = error / scale;
  }
  return isnan(worst) ? INFINITY : worst;
}

static void expect_minibatch(const rollout *r, const char *what, const minibatch *got, const minibatch *want,
                             double tolerance) {
  char name[128];
  snprintf(name, sizeof name, "%s, dparams", what);
  expect_close(&r->p, name, worst_block(&r->p, got->dparams, want->dparams), tolerance);
  snprintf(name, sizeof name, "%s, dx", what);
  expect_close(&r->p, name, e_norm((size_t)r->n * (size_t)r->p.D, got->dx, want->dx), tolerance);
}

/* ---- stored traces ------------------------------------------------------------------------------- */

/* a batched gradient is the sum of single ones, in both precisions */
static void test_batch(void **unused) {
  (void)unused;
  for (size_t i = 0; i < CONFIGS; i++) {
    sparc_random stream = stream_of("batch", i);
    rollout r = rollout_create(&configs[i], 60, 1 + (int)i, 0.2, &stream);
    minibatch want = minibatch_create(&r), got = minibatch_create(&r);
    run_items_f64(&r, &want);
    run_batch_f64(&r, 2, &got);
    expect_minibatch(&r, "batch against items in double", &got, &want, 1e-12);
    run_batch_f32(&r, 2, &got);
    expect_minibatch(&r, "batch in float against items in double", &got, &want, 1e-4);
    run_items_f32(&r, &want);
    expect_minibatch(&r, "batch against items in float", &got, &want, 1e-4);
    minibatch_free(&want);
    minibatch_free(&got);
    rollout_free(&r);
  }
}

typedef void run_fn(const rollout *r, int threads, minibatch *out);

static void expect_same_bits(const char *what, run_fn *run) {
  static const int threads[] = {2, 3, 7, 16};
  for (size_t i = 0; i < CONFIGS; i++) {
    sparc_random stream = stream_of(what, i);
    rollout r = rollout_create(&configs[i], 50, 30, 0.2, &stream);
    minibatch one = minibatch_create(&r), many = minibatch_create(&r);
    run(&r, 1, &one);
    for (size_t k = 0; k < sizeof threads / sizeof *threads; k++) {
      run(&r, threads[k], &many);
      const bool same = memcmp(one.dparams, many.dparams, r.p.n.params * sizeof(double)) == 0 &&
                        memcmp(one.dx, many.dx, (size_t)(r.n * r.p.D) * sizeof(double)) == 0;
      if (!same) fail_msg("%s: bits differ between 1 and %d threads for %s", what, threads[k], problem_text(&r.p));
    }
    minibatch_free(&one);
    minibatch_free(&many);
    rollout_free(&r);
  }
}

static void test_batch_threads(void **unused) {
  (void)unused;
  expect_same_bits("batch in float", run_batch_f32);
  expect_same_bits("batch in double", run_batch_f64);
}

static void test_batch_arguments(void **unused) {
  (void)unused;
  sparc_cell *cell, *gru;
  float some[4] = {0};
  const float *traces[1] = {NULL};
  assert_int_equal(sparc_cell_create(&(sparc_cell_config){.kind = "sparc", .D = 3, .H = 4}, &cell), SPARC_OK);
  assert_int_equal(sparc_cell_create(&(sparc_cell_config){.kind = "gru", .D = 3, .H = 4}, &gru), SPARC_OK);
  assert_int_equal(sparc_rtrl_batch_work_size(gru, 4), 0);
  assert_int_equal(sparc_rtrl_batch_work_size(NULL, 4), 0);
  assert_int_equal(sparc_rtrl_batch_work_size(cell, 0), 0);
  assert_int_equal(sparc_rtrl_batch_gradient(gru, some, 1, traces, some, some, some, NULL, some, 1), SPARC_UNSUPPORTED);
  assert_int_equal(sparc_rtrl_batch_gradient(cell, some, 0, traces, some, some, some, NULL, some, 1), SPARC_INVALID);
  assert_non_null(strstr(sparc_error(), "n is 0"));
  assert_int_equal(sparc_rtrl_batch_gradient(cell, some, 1, NULL, some, some, some, NULL, some, 1), SPARC_INVALID);
  assert_non_null(strstr(sparc_error(), "traces"));
  assert_int_equal(sparc_rtrl_batch_gradient(cell, some, 1, traces, some, some, NULL, NULL, some, 1), SPARC_INVALID);
  sparc_cell_free(cell);
  sparc_cell_free(gru);
}

/* ---- the input Jacobian -------------------------------------------------------------------------- */

/* central differences of the state by the input, in double */
static void numeric_jacobian(const problem *p, double mask, double *jacobian) {
  const size_t D = (size_t)p->D, S = p->n.state;
  const double step = 1e-6;
  double *x = sparc_alloc(D * sizeof *x), *up = sparc_alloc(S * sizeof *up), *down = sparc_alloc(S * sizeof *down);
  for (size_t d = 0; d < D; d++) {
    memcpy(x, p->x, D * sizeof *x);
    x[d] = p->x[d] + step;
    run_jacobian_f64(p, x, mask, up, NULL);
    x[d] = p->x[d] - step;
    run_jacobian_f64(p, x, mask, down, NULL);
    for (size_t i = 0; i < S; i++) jacobian[i * D + d] = (up[i] - down[i]) / (2 * step);
  }
  sparc_free(x);
  sparc_free(up);
  sparc_free(down);
}

static void expect_jacobian(const problem *p, double mask) {
  const size_t count = p->n.state * (size_t)p->D;
  double *want = sparc_alloc(count * sizeof *want), *got = sparc_alloc(count * sizeof *got);
  double *state = sparc_alloc(p->n.state * sizeof *state);
  numeric_jacobian(p, mask, want);
  run_jacobian_f64(p, p->x, mask, state, got);
  expect_close(p, "input Jacobian in double against differences", e_norm(count, got, want), 1e-8);
  run_jacobian_f32(p, p->x, mask, state, want);
  expect_close(p, "input Jacobian in float against double", e_norm(count, want, got), 2e-5);
  sparc_free(want);
  sparc_free(got);
  sparc_free(state);
}

static void test_input_jacobian(void **unused) {
  (void)unused;
  enum { PROBLEMS = 60 };
  const uint64_t seed = 1407;
  print_message("seed %llu\n", (unsigned long long)seed);
  for (size_t k = 0; k < KINDS; k++) {
    sparc_random stream;
    sparc_random_init(&stream, seed, "jacobian", kinds[k]);
    for (int i = 0; i < PROBLEMS; i++) {
      problem p = problem_random(kinds[k], &stream);
      expect_jacobian(&p, i % 4 != 0);
      problem_free(&p);
    }
  }
}

/* no trace covers the content here */
static void test_input_jacobian_of_local_content(void **unused) {
  (void)unused;
  sparc_random stream;
  sparc_random_init(&stream, 7, "jacobian", "local");
  problem p =
      problem_create(&(sparc_cell_config){.kind = "rglru", .D = 5, .H = 12, .options = "block=4,proj_trace=local"}, 1,
                     1, MASK_NONE, &stream);
  expect_jacobian(&p, 1);
  problem_free(&p);
}

static void test_input_jacobian_arguments(void **unused) {
  (void)unused;
  sparc_cell *gru;
  float some[4] = {0};
  assert_int_equal(sparc_cell_create(&(sparc_cell_config){.kind = "gru", .D = 3, .H = 4}, &gru), SPARC_OK);
  assert_int_equal(sparc_input_jacobian(gru, some, some, some), SPARC_UNSUPPORTED);
  assert_int_equal(sparc_input_jacobian(NULL, some, some, some), SPARC_INVALID);
  assert_int_equal(sparc_input_jacobian(gru, some, some, NULL), SPARC_INVALID);
  assert_non_null(strstr(sparc_error(), "jacobian"));
  sparc_cell_free(gru);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_batch),
      cmocka_unit_test(test_batch_threads),
      cmocka_unit_test(test_batch_arguments),
      cmocka_unit_test(test_input_jacobian),
      cmocka_unit_test(test_input_jacobian_of_local_content),
      cmocka_unit_test(test_input_jacobian_arguments),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
