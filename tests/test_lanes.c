/* SPDX-License-Identifier: MIT */
/* test_lanes.c: the quotients and roots that AVX-512 makes from estimates (src/kernels/lanes.h), over every float of a
 * range of exponents that repeats. Elsewhere the processor's own division and root take their place.
 */
#include "base/cpu.h"
#include "unit.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#if defined(__x86_64__) && !defined(__clang__)
static bool has_avx512(void) {
  const unsigned needs = CPU_AVX512F | CPU_AVX512DQ | CPU_AVX512BW | CPU_AVX512VL | CPU_FMA;
  return (cpu_detect().features & needs) == needs;
}

#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq,avx512bw,avx512vl,fma")
#pragma GCC optimize("fp-contract=fast")
#include "kernels/lanes.h"

typedef struct worst_ulps {
  double inverse, root, inverse_root;
} worst_ulps;

static double ulps(float got, double want) {
  return fabs((double)got - want) / ((double)nextafterf((float)want, INFINITY) - (double)(float)want);
}

static void note(double error, double *worst) {
  if (!(error <= *worst)) *worst = error;
}

static void measure(uint32_t from, uint32_t to, worst_ulps *worst) {
  for (uint32_t at = from; at < to; at += LANES) {
    float x[LANES], inverse[LANES], root[LANES], inverse_root[LANES];
    for (uint32_t i = 0; i < LANES; i++) x[i] = float_of_bits(at + i);
    lanes roots[2];
    roots_of(load_lanes(x), &roots[0], &roots[1]);
    store_lanes(inverse, inverse_of(load_lanes(x)));
    store_lanes(root, roots[0]);
    store_lanes(inverse_root, roots[1]);
    for (uint32_t i = 0; i < LANES; i++) {
      note(ulps(inverse[i], 1 / (double)x[i]), &worst->inverse);
      note(ulps(root[i], sqrt((double)x[i])), &worst->root);
      note(ulps(inverse_root[i], 1 / sqrt((double)x[i])), &worst->inverse_root);
    }
  }
}

/* from 1 to 4 an exponent of the root and two of the argument */
static void test_estimates(void **state) {
  (void)state;
  if (!has_avx512()) skip();
  worst_ulps worst = {0, 0, 0};
  measure(bits_of_float(1), bits_of_float(4), &worst);
  printf("1 / x %.3f ulp, root %.3f ulp, 1 / root %.3f ulp\n", worst.inverse, worst.root, worst.inverse_root);
  assert_true(worst.inverse <= 0.6 && worst.root <= 0.9 && worst.inverse_root <= 1.2);
}

/* the ends of the range, and what is not a number */
static void test_ends(void **state) {
  (void)state;
  if (!has_avx512()) skip();
  lanes root, inverse;
  roots_of(every_lane(0), &root, &inverse);
  assert_true(root[0] >= 0 && root[0] < 2e-19f && inverse[0] < 1e19f);
  roots_of(every_lane(NAN), &root, &inverse);
  assert_true(isnan(root[0]) && isnan(inverse[0]) && isnan(inverse_of(every_lane(NAN))[0]));
  assert_true(isnan(max_lanes(every_lane(1), every_lane(NAN))[0]) &&
              isnan(min_lanes(every_lane(1), every_lane(NAN))[0]));
}
#pragma GCC pop_options
#else
static void test_estimates(void **state) {
  (void)state;
  skip();
}
static void test_ends(void **state) {
  (void)state;
  skip();
}
#endif

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_estimates), cmocka_unit_test(test_ends)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
