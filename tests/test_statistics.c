/* SPDX-License-Identifier: MIT */
/* test_statistics.c: every statistic of lab/diagnose on two modes over two steps, worked out by hand. */
#include "lab/diagnose/statistics.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>

static const double LOG2 = 0.69314718055994530942, PI = 3.14159265358979323846;

/* Mode 0 keeps half of its amplitude and mode 1 a quarter, by their own decay log 2; gains are 1 and 3. */
static fragment by_hand(sparc_mode mode[4]) {
  const sparc_mode hand[4] = {
      /* step 0: mode 0, then mode 1 */
      {.nu = LOG2,
       .e = LOG2,
       .rho = 0.5,
       .offset = PI / 6,
       .uncoupled = PI / 3,
       .gain = 1,
       .norm = 1,
       .gate = 1,
       .z_re = 2,
       .z_im = 0,
       .u_re = 0.96,
       .u_im = 0,
       .kept_re = 2,
       .kept_im = 0,
       .h_re = 1,
       .h_im = 1},
      {.nu = LOG2,
       .e = 2 * LOG2,
       .rho = 0.25,
       .offset = -PI / 4,
       .uncoupled = -PI / 2,
       .gain = 3,
       .norm = 0.5,
       .gate = 0.5,
       .z_re = 0,
       .z_im = 1,
       .u_re = 0,
       .u_im = 0.8,
       .kept_re = 0,
       .kept_im = 4,
       .h_re = 3,
       .h_im = 1},
      /* step 1 */
      {.nu = LOG2,
       .e = LOG2,
       .rho = 0.5,
       .offset = PI / 6,
       .uncoupled = PI / 3,
       .gain = 1,
       .norm = 2,
       .gate = 2,
       .z_re = -3,
       .z_im = 1,
       .u_re = -0.99,
       .u_im = 0.5,
       .kept_re = 0,
       .kept_im = 0,
       .h_re = 0,
       .h_im = 2},
      {.nu = LOG2,
       .e = 2 * LOG2,
       .rho = 0.25,
       .offset = 0,
       .uncoupled = 0,
       .gain = 3,
       .norm = 1.5,
       .gate = 0.5,
       .z_re = 1,
       .z_im = 0,
       .u_re = 0.7,
       .u_im = 0,
       .kept_re = 1,
       .kept_im = 1,
       .h_re = 0,
       .h_im = 0},
  };
  for (int i = 0; i < 4; i++) mode[i] = hand[i];
  return (fragment){.mode = mode, .T = 2, .H = 2};
}

static void expect(const fragment *f, statistic_id id, double want) {
  const double got = fragment_statistic(f, id);
  if (!(fabs(got - want) <= 1e-12 * fmax(1, fabs(want))))
    fail_msg("%s is %.15g, expected %.15g", statistic_table[id].key, got, want);
}

static void test_by_hand(void **state) {
  (void)state;
  sparc_mode mode[4];
  const fragment f = by_hand(mode);

  /* mode 0 has the gates 1 and 2 around 1.5, mode 1 does not vary */
  expect(&f, GATE_DEVIATION, 0.5 / 2);
  /* 0.96 and -0.99 of eight numbers */
  expect(&f, SATURATION, 2.0 / 8);

  /* |u|^2 and |z|^2 of the four, times gain^2, norm^2, gate^2 */
  const double u[] = {0.96 * 0.96, 0.64, 0.99 * 0.99 + 0.25, 0.49}, z[] = {4, 1, 10, 1};
  const double gain[] = {1, 9, 1, 9}, norm[] = {1, 0.25, 4, 2.25}, gate[] = {1, 0.25, 4, 0.25};
  double write = 0, neutral = 0, linear = 0, unscaled = 0;
  for (int i = 0; i < 4; i++) {
    write += gain[i] * norm[i] * gate[i] * u[i];
    neutral += gain[i] * norm[i] * u[i];
    linear += gain[i] * norm[i] * gate[i] * z[i];
    unscaled += gain[i] * gate[i] * u[i];
  }
  expect(&f, GATE_RATIO, write / neutral);
  expect(&f, CONTENT_RATIO, write / linear);
  expect(&f, NORM_RATIO, write / unscaled);

  expect(&f, INPUT_MAGNITUDE, (2 + 1 + 3 + 1 + 1) / 8.0);
  /* a content of 0 comes from 0, where the slope is 1 */
  expect(&f, CONTENT_SLOPE, (1 - 0.9216 + 1 + 1 + 1 - 0.64 + 1 - 0.9801 + 1 - 0.25 + 1 - 0.49 + 1) / 8);

  expect(&f, GAIN, 2);
  expect(&f, GAIN_RATIO, (1 + 0.5 + 2 + 1.5) / 4);
  expect(&f, GAIN_RATIO_DEVIATION, 0.5);
  expect(&f, GAIN_PRODUCT, (1 + 1.5 + 2 + 4.5) / 4);

  expect(&f, DECAY_SCALE, 1.5);
  /* energies 4, 16 and 2 before; after the transitions 1, 1 and 1/8; with the modes' own decays 1, 4 and 1/2 */
  expect(&f, SURVIVAL, 2.125 / 22);
  expect(&f, RELATIVE_SURVIVAL, 2.125 / 5.5);

  expect(&f, PHASE_DEGREES, (30 + 45 + 30) / 4.0);
  expect(&f, CLOCK_RATIO, 105.0 / 210);
  expect(&f, STATE_RMS, sqrt((2 + 10 + 4) / 8.0));
}

/* statistics that do not apply are NAN */
static void test_absent(void **state) {
  (void)state;
  sparc_mode mode[4];
  const fragment f = by_hand(mode);
  for (int i = 0; i < 4; i++) {
    mode[i].gate = NAN;
    mode[i].uncoupled = mode[i].offset = 0;
    mode[i].kept_re = mode[i].kept_im = 0;
    mode[i].u_re = mode[i].z_re;
    mode[i].u_im = mode[i].z_im;
  }
  static const statistic_id absent[] = {GATE_DEVIATION, GATE_RATIO, CONTENT_RATIO,     NORM_RATIO,
                                        SATURATION,     SURVIVAL,   RELATIVE_SURVIVAL, CLOCK_RATIO};
  for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
    if (!isnan(fragment_statistic(&f, absent[i]))) fail_msg("%s is a number", statistic_table[absent[i]].key);
  expect(&f, GAIN, 2);
  expect(&f, CONTENT_SLOPE, 1);
}

/* a real cell has one coordinate per mode */
static void test_real(void **state) {
  (void)state;
  sparc_mode mode[4];
  const fragment f = by_hand(mode);
  for (int i = 0; i < 4; i++) mode[i].z_im = mode[i].u_im = mode[i].kept_im = mode[i].h_im = NAN;
  expect(&f, SATURATION, 2.0 / 4);
  expect(&f, SURVIVAL, (1 + 1.0 / 16) / 5);
  expect(&f, STATE_RMS, sqrt((1 + 9) / 4.0));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_by_hand), cmocka_unit_test(test_absent),
                                     cmocka_unit_test(test_real)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
