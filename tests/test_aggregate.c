/* SPDX-License-Identifier: MIT */
/* test_aggregate.c: scores, curves, standard deviations, differences, ranks and marks, against values computed by hand. */
#include "lab/grid/aggregate.h"
#include "unit.h"

#include <math.h>
#include <string.h>

static void close_to(const char *what, double got, double expected) {
  if (fabs(got - expected) <= 1e-12 * fmax(1, fabs(expected))) return;
  fail_msg("%s is %.17g, expected %.17g", what, got, expected);
}

static const grid_score last_hundred = {.metric = "return", .window = 100, .higher = true, .scale = 1};

/* m_k = k for k = 1..250: the last hundred are 151..250, their mean 200.5 */
static void test_window(void **state) {
  (void)state;
  double values[250], score;
  for (int k = 0; k < 250; k++) values[k] = k + 1;
  assert_int_equal(aggregate_score(250, values, &last_hundred, &score), SPARC_OK);
  close_to("the score of a ramp", score, 200.5);
  assert_int_equal(aggregate_score(100, values, &last_hundred, &score), SPARC_OK);
  close_to("the score of a hundred", score, 50.5);
}

static void test_refusals(void **state) {
  (void)state;
  double values[120], score = 7;
  for (int k = 0; k < 120; k++) values[k] = 1;
  assert_int_equal(aggregate_score(99, values, &last_hundred, &score), SPARC_INVALID);
  assert_non_null(strstr(sparc_error(), "99 values of the 100"));
  assert_int_equal(aggregate_score(0, values, &last_hundred, &score), SPARC_INVALID);
  values[20] = NAN; /* the first of the last hundred */
  assert_int_equal(aggregate_score(120, values, &last_hundred, &score), SPARC_NOT_FINITE);
  values[20] = INFINITY;
  assert_int_equal(aggregate_score(120, values, &last_hundred, &score), SPARC_NOT_FINITE);
  close_to("a refused score", score, 7);
  values[20] = 1;
  values[19] = NAN; /* the last that does not count */
  assert_int_equal(aggregate_score(120, values, &last_hundred, &score), SPARC_OK);
  close_to("a score after a gap", score, 1);
}

static void test_best(void **state) {
  (void)state;
  const double values[] = {0.5, 0.875, 0.75};
  grid_score rule = {.window = 1, .best = true, .higher = true, .scale = 100};
  double score;
  assert_int_equal(aggregate_score(3, values, &rule, &score), SPARC_OK);
  close_to("the best accuracy", score, 87.5);
  /* an error is 100 - 100 x: lower is better, and the best x is still the highest */
  rule = (grid_score){.window = 1, .best = true, .higher = false, .scale = -100, .offset = 100};
  assert_int_equal(aggregate_score(3, values, &rule, &score), SPARC_OK);
  close_to("the best error", score, 12.5);
  rule.best = false;
  assert_int_equal(aggregate_score(3, values, &rule, &score), SPARC_OK);
  close_to("the last error", score, 25);
}

/* 1, 2, 6: mean 3, squares 4 + 1 + 9 = 14, over n - 1 = 2: 7 */
static void test_spread(void **state) {
  (void)state;
  const double values[] = {1, 2, 6};
  aggregate_summary s = aggregate_summarise(3, values);
  close_to("the mean", s.mean, 3);
  close_to("the sample standard deviation", s.stddev, sqrt(7));
  s = aggregate_summarise(1, values);
  close_to("the mean of one", s.mean, 1);
  assert_true(isnan(s.stddev));
  assert_int_equal(aggregate_summarise(0, values).count, 0);
}

/* differences 1, 0, 5: mean 2, squares 1 + 4 + 9 = 14, over 2: 7; the standard deviations of the two differ from it */
static void test_paired(void **state) {
  (void)state;
  const double values[] = {2, 2, 11}, reference[] = {1, 2, 6};
  const aggregate_summary s = aggregate_paired(3, values, reference);
  close_to("the mean difference", s.mean, 2);
  close_to("its stddev", s.stddev, sqrt(7));
}

/* competition ranks of 0.9, 0.8, 0.8, 0.7: 1, 2, 2, 4 */
static void test_ranks(void **state) {
  (void)state;
  const double values[] = {0.9, 0.8, 0.8, 0.7};
  const int expected[] = {1, 2, 2, 4}, reversed[] = {4, 2, 2, 1};
  for (int i = 0; i < 4; i++) {
    double others[3];
    for (int k = 0, n = 0; k < 4; k++)
      if (k != i) others[n++] = values[k];
    assert_int_equal(aggregate_rank(values[i], 3, others, true), expected[i]);
    assert_int_equal(aggregate_rank(values[i], 3, others, false), reversed[i]);
  }
  const double gap[] = {NAN, 1};
  assert_int_equal(aggregate_rank(0.5, 2, gap, true), 2);
}

/* the StarLightCurves column of the paper's table: four methods share the best printed mean, 99.33 is second */
static void test_marks(void **state) {
  (void)state;
  const double values[] = {99.6667, 99.67, 99.668, 99.0, 99.3333, 99.0, 99.6701, NAN};
  const table_mark expected[] = {MARK_BEST,   MARK_BEST, MARK_BEST, MARK_NONE,
                                 MARK_SECOND, MARK_NONE, MARK_BEST, MARK_NONE};
  table_mark marks[8];
  aggregate_marks(8, values, 2, true, marks);
  for (int i = 0; i < 8; i++) assert_int_equal(marks[i], expected[i]);
  aggregate_marks(8, values, 2, false, marks);
  assert_int_equal(marks[3], MARK_BEST);
  assert_int_equal(marks[4], MARK_SECOND);
  const double none[] = {NAN, NAN};
  aggregate_marks(2, none, 2, true, marks);
  assert_true(marks[0] == MARK_NONE && marks[1] == MARK_NONE);
  const double small[] = {1.2345e-7, 1.2349e-7};
  aggregate_marks(2, small, -1, false, marks);
  assert_true(marks[0] == MARK_BEST && marks[1] == MARK_BEST);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_window), cmocka_unit_test(test_refusals),
                                     cmocka_unit_test(test_best),   cmocka_unit_test(test_spread),
                                     cmocka_unit_test(test_paired), cmocka_unit_test(test_ranks),
                                     cmocka_unit_test(test_marks)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
