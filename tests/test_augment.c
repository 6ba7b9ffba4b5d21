/* SPDX-License-Identifier: MIT */
/* test_augment.c: augmented examples: functions of seed, update and row, of the requested strength, and windows that
 * are straight lines between the steps they come from. */
#include "train/augment.h"
#include "unit.h"

#include <math.h>
#include <string.h>

enum { LENGTH = 50, CHANNELS = 3, VALUES = LENGTH * CHANNELS, UPDATES = 400 };

/* channel c of step t is 10 c + t */
static void draw_ramps(float *x) {
  for (size_t t = 0; t < LENGTH; t++)
    for (size_t c = 0; c < CHANNELS; c++) x[t * CHANNELS + c] = (float)(10 * c + t);
}

static void augmented(const augmentation *a, uint64_t seed, uint64_t update, size_t row, float *x) {
  float buffer[VALUES];
  draw_ramps(x);
  augment(a, seed, update, row, LENGTH, CHANNELS, x, buffer);
}

static void test_depends_on_seed_update_and_row(void **state) {
  (void)state;
  const augmentation a = {.jitter = 0.1, .scaling = 0.1, .window = 0.3};
  float first[VALUES], x[VALUES];
  augmented(&a, 5, 11, 1, first);
  augmented(&a, 5, 11, 1, x);
  assert_memory_equal(first, x, sizeof x);
  static const uint64_t others[][3] = {{6, 11, 1}, {5, 12, 1}, {5, 11, 2}, {5, 1, 11}, {5, 1, 1}};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    augmented(&a, others[i][0], others[i][1], (size_t)others[i][2], x);
    assert_memory_not_equal(first, x, sizeof x);
  }
}

static void test_zero_settings_change_nothing(void **state) {
  (void)state;
  const augmentation none = {.jitter = 0};
  float x[VALUES], ramps[VALUES];
  draw_ramps(ramps);
  augmented(&none, 1, 2, 3, x);
  assert_memory_equal(ramps, x, sizeof x);
  assert_false(augments(&none));
  assert_true(augments(&(augmentation){.window = 0.1}));
  /* a single step has no window */
  float one = 7, buffer;
  augment(&(augmentation){.window = 0.5}, 1, 2, 3, 1, 1, &one, &buffer);
  assert_true(one == 7);
}

static void test_jitter_and_scaling_have_their_stddev(void **state) {
  (void)state;
  double noise = 0, factor = 0, mean = 0;
  for (uint64_t update = 0; update < UPDATES; update++) {
    float x[VALUES], ramps[VALUES];
    draw_ramps(ramps);
    augmented(&(augmentation){.jitter = 0.2}, 3, update, 0, x);
    for (size_t i = 0; i < VALUES; i++) noise += pow((double)x[i] - (double)ramps[i], 2) / VALUES / UPDATES;
    augmented(&(augmentation){.scaling = 0.2}, 3, update, 0, x);
    for (size_t c = 0; c < CHANNELS; c++) {
      const double f = (double)x[3 * CHANNELS + c] / (double)ramps[3 * CHANNELS + c];
      for (size_t t = 1; t < LENGTH; t++)
        assert_true(fabs((double)x[t * CHANNELS + c] - f * (double)ramps[t * CHANNELS + c]) < 1e-4);
      factor += (f - 1) * (f - 1) / CHANNELS / UPDATES;
      mean += f / CHANNELS / UPDATES;
    }
  }
  assert_true(fabs(sqrt(noise) - 0.2) < 0.005);
  assert_true(fabs(sqrt(factor) - 0.2) < 0.02 && fabs(mean - 1) < 0.02);
}

/* of a ramp a window is a ramp: it begins and ends inside, and omits at most the requested fraction */
static void test_windows_are_stretched(void **state) {
  (void)state;
  const double most = 0.4;
  double least_share = 1, last_end = 0;
  for (uint64_t update = 0; update < UPDATES; update++) {
    float x[VALUES];
    augmented(&(augmentation){.window = most}, 9, update, 0, x);
    const double start = (double)x[0], end = (double)x[VALUES - CHANNELS], share = (end - start) / (LENGTH - 1);
    assert_true(start >= 0 && end <= LENGTH - 1 + 1e-4 && share >= 1 - most - 1e-6 && share <= 1);
    for (size_t t = 0; t < LENGTH; t++)
      for (size_t c = 0; c < CHANNELS; c++)
        assert_true(fabs((double)x[t * CHANNELS + c] - (10 * (double)c + start + (double)t * share)) < 1e-4);
    least_share = fmin(least_share, share);
    last_end = fmax(last_end, end);
  }
  assert_true(least_share < 1 - 0.9 * most && last_end > LENGTH - 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_depends_on_seed_update_and_row),
      cmocka_unit_test(test_zero_settings_change_nothing),
      cmocka_unit_test(test_jitter_and_scaling_have_their_stddev),
      cmocka_unit_test(test_windows_are_stretched),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
