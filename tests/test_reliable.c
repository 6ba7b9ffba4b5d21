/* SPDX-License-Identifier: MIT */
/* test_reliable.c: confidence intervals against hand-computed cases and against rliable for one matrix of scores. */
#include "lab/grid/reliable.h"
#include "unit.h"

#include <math.h>

static void assert_close(const char *what, double got, double want, double most) {
  if (!(fabs(got - want) <= most)) fail_msg("%s: got %.12g, expected %.12g within %g", what, got, want, most);
}

static void test_interquartile_mean(void **state) {
  (void)state;
  double eight[] = {8, 1, 7, 2, 6, 3, 5, 100}; /* 1 2 | 3 5 6 7 | 8 100 */
  assert_close("eight values", interquartile_mean(8, eight), 5.25, 1e-12);
  double three[] = {3, 1, 5}; /* a quarter of three values is none */
  assert_close("three values", interquartile_mean(3, three), 3, 1e-12);
  double one[] = {4};
  assert_close("one value", interquartile_mean(1, one), 4, 0);
}

/* two tasks, three runs */
static const double x_scores[] = {0.1, 0.5, 0.9, 1, 1, 2}, y_scores[] = {0.1, 0.2, 0.3, 1, 3, 3};
static const run_scores x = {2, 3, x_scores}, y = {2, 3, y_scores};

/* task 1: 0.1 ties once, 0.5 and 0.9 win thrice: 6.5 of 9; task 2: two ties, 2 wins once: 2 of 9 */
static void test_improvement(void **state) {
  (void)state;
  interval p;
  assert_int_equal(interval_of_improvement(&x, &y, &p), SPARC_OK);
  assert_close("P(x > y)", p.estimate, (6.5 + 2) / 18, 1e-12);
  assert_true(p.low >= 0 && p.low < p.estimate && p.estimate < p.high && p.high <= 1);
  assert_int_equal(interval_of_improvement(&x, &x, &p), SPARC_OK);
  assert_close("P(x > x)", p.estimate, 0.5, 1e-12);
}

static void test_profile(void **state) {
  (void)state;
  const double threshold[] = {-1, 0.1, 0.9, 1, 5};
  interval f[5];
  assert_int_equal(interval_of_profile(&x, 5, threshold, f), SPARC_OK);
  const double want[] = {1, 5.0 / 6, 3.0 / 6, 1.0 / 6, 0};
  for (int k = 0; k < 5; k++) assert_close("fraction above", f[k].estimate, want[k], 1e-12);
  assert_close("all above", f[0].low, 1, 0);
  assert_close("none above", f[4].high, 0, 0);
}

/* what rliable 1.2 gives for x and y with 5,000 or more resamples; so few runs have few different resamples, and the
 * bounds are among them */
static void test_rliable(void **state) {
  (void)state;
  const double threshold[] = {0.1, 0.5, 0.9};
  interval iqm, p, f[3];
  assert_int_equal(interval_of_iqm(&x, &iqm), SPARC_OK);
  assert_int_equal(interval_of_improvement(&x, &y, &p), SPARC_OK);
  assert_int_equal(interval_of_profile(&x, 3, threshold, f), SPARC_OK);
  const interval got[] = {iqm, p, f[0], f[1], f[2]};
  const interval want[] = {
      {0.85, 0.55, 1.25}, {17.0 / 36, 1.0 / 6, 7.0 / 9}, {5.0 / 6, 0.5, 1}, {4.0 / 6, 0.5, 1}, {0.5, 0.5, 0.5}};
  for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
    assert_close("estimate", got[i].estimate, want[i].estimate, 1e-12);
    assert_close("low", got[i].low, want[i].low, 1e-12);
    assert_close("high", got[i].high, want[i].high, 1e-12);
  }
}

/* One task, two runs, 0 and 1: the mean of a resample is 0, 1/2 or 1 with probability 1/4, 1/2, 1/4, and its middle
 * half is all of it: both bounds are known. */
static void test_bootstrap_bounds(void **state) {
  (void)state;
  const double scores[] = {0, 1};
  interval i;
  assert_int_equal(interval_of_iqm(&(run_scores){1, 2, scores}, &i), SPARC_OK);
  assert_close("estimate", i.estimate, 0.5, 1e-12);
  assert_close("low", i.low, 0, 0);
  assert_close("high", i.high, 1, 0);
}

/* strata: runs never leave their task, so a matrix that is constant within tasks has zero-width intervals */
static void test_strata(void **state) {
  (void)state;
  const double scores[] = {0, 0, 0, 1, 1, 1, 5, 5, 5};
  interval i;
  assert_int_equal(interval_of_iqm(&(run_scores){3, 3, scores}, &i), SPARC_OK);
  assert_close("low", i.low, i.estimate, 1e-12);
  assert_close("high", i.high, i.estimate, 1e-12);
}

/* repeated calls give the same numbers */
static void test_repeatable(void **state) {
  (void)state;
  interval a, b;
  assert_int_equal(interval_of_iqm(&x, &a), SPARC_OK);
  assert_int_equal(interval_of_iqm(&x, &b), SPARC_OK);
  assert_memory_equal(&a, &b, sizeof a);
}

/* t(0.975) of 1, 2, 3, 4, 9 and 30 degrees of freedom, from printed tables */
static void test_student(void **state) {
  (void)state;
  static const struct {
    int count;
    double t;
  } cases[] = {{2, 12.7062}, {3, 4.3027}, {4, 3.1824}, {5, 2.7764}, {10, 2.2622}, {31, 2.0423}};
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    const double want = cases[c].t * 2 / sqrt(cases[c].count);
    assert_close("half width", student_half_width(cases[c].count, 2), want, 5e-5 * want);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_interquartile_mean),
      cmocka_unit_test(test_improvement),
      cmocka_unit_test(test_profile),
      cmocka_unit_test(test_rliable),
      cmocka_unit_test(test_bootstrap_bounds),
      cmocka_unit_test(test_strata),
      cmocka_unit_test(test_repeatable),
      cmocka_unit_test(test_student),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
