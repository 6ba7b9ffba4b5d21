/* SPDX-License-Identifier: MIT */
/* test_scale_model.c: the model of `sparc bench scale`, against its formulas written out for a few numbers of ranks. */
#include "bench/suites/scale_model.h"
#include "unit.h"

#include <math.h>

static void test_rounds(void **state) {
  static const int expected[][2] = {{1, 1}, {2, 1}, {3, 2}, {4, 2}, {5, 3}, {64, 6}, {65, 7}, {1024, 10}};
  (void)state;
  for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
    assert_int_equal(scale_rounds(expected[i][0]), expected[i][1]);
}

static void check(double seconds, double expected) { assert_true(fabs(seconds - expected) <= 1e-12 * expected); }

static void test_update(void **state) {
  const scale_network latency = {1e-6, INFINITY}, bandwidth = {0, 1e9};
  (void)state;
  assert_true(scale_communication(&latency, 1, 1000) == 0);
  /* two records in one round, and a message there and back */
  check(scale_communication(&latency, 2, 1000), 4e-6);
  /* two records in ten rounds, and 1,023 messages there and back */
  check(scale_communication(&latency, 1024, 1000), (2 * 10 + 2 * 1023) * 1e-6);
  /* the others' records of 512 and 16 bytes, and all of the gradient but one part, there and back */
  check(scale_communication(&bandwidth, 2, 1000), (528 + 2 * 2000) * 1e-9);
  check(scale_communication(&bandwidth, 64, 6400), (63 * 528 + 2 * 63 * 400) * 1e-9);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_rounds), cmocka_unit_test(test_update)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
