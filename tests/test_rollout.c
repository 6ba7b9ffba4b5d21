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
      cmocka_unit_test(test_input_jacobian),
      cmocka_unit_test(test_input_jacobian_of_local_content),
      cmocka_unit_test(test_input_jacobian_arguments),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
