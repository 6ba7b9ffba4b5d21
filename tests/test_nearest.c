/* SPDX-License-Identifier: MIT */
/* test_nearest.c: the nearest neighbour by dynamic time warping is that of the plain recursion, for series of random and
 * unequal lengths, one to three channels and windows from none to the whole series. */
#include "data/nearest.h"
#include "sparc/random.h"
#include "unit.h"

#include <math.h>
#include <stdlib.h>

enum { TRAIN = 9, TEST = 40, LONGEST = 40, MAX_CHANNELS = 3, ROUNDS = 60 };

/* examples that own their values; each has its own class, or the class that a test sets */
typedef struct examples {
  float value[TEST][LONGEST * MAX_CHANNELS];
  const float *x[TEST];
  int length[TEST], label[TEST];
} examples;

static void draw(examples *e, int count, int channels, bool equal, sparc_random *random) {
  const int length = 1 + (int)sparc_random_below(random, LONGEST);
  for (int i = 0; i < count; i++) {
    e->length[i] = equal ? length : 1 + (int)sparc_random_below(random, LONGEST);
    e->label[i] = i;
    e->x[i] = e->value[i];
    for (int t = 0; t < e->length[i] * channels; t++) e->value[i][t] = (float)sparc_random_normal(random);
  }
}

static double plain_distance(const examples *a, int i, const examples *b, int k, int channels, double window) {
  const int n = a->length[i], m = b->length[k];
  int shift = (int)ceil(window * (n > m ? n : m));
  if (shift < abs(n - m)) shift = abs(n - m);
  double d[LONGEST + 1][LONGEST + 1];
  for (int p = 0; p <= n; p++)
    for (int q = 0; q <= m; q++) {
      d[p][q] = p == 0 && q == 0 ? 0 : INFINITY;
      if (p == 0 || q == 0 || abs(p - q) > shift) continue;
      double cost = 0;
      for (int c = 0; c < channels; c++)
        cost += pow((double)a->x[i][(p - 1) * channels + c] - (double)b->x[k][(q - 1) * channels + c], 2);
      d[p][q] = cost + fmin(d[p - 1][q - 1], fmin(d[p - 1][q], d[p][q - 1]));
    }
  return d[n][m];
}

static int plain_nearest(const examples *test, int i, const examples *train, int channels, double window) {
  int nearest = 0;
  double least = INFINITY;
  for (int k = 0; k < TRAIN; k++) {
    const double distance = plain_distance(test, i, train, k, channels, window);
    if (distance < least) nearest = k;
    least = fmin(least, distance);
  }
  return nearest;
}

static sparc_dataset *dataset_of(const examples *e, int count, int channels) {
  const sparc_arrays arrays = {
      .count = count, .channels = channels, .x = e->x, .lengths = e->length, .labels = e->label, .classes = TRAIN};
  sparc_dataset *out;
  assert_int_equal(sparc_dataset_from_arrays(&arrays, NULL, &out), SPARC_OK);
  return out;
}

static int correct_of(const examples *train, const examples *test, int channels, double window, int threads) {
  sparc_dataset *fit = dataset_of(train, TRAIN, channels), *held = dataset_of(test, TEST, channels);
  const nearest_config config = {.warping = true, .window = window, .threads = threads};
  int correct = -1;
  assert_int_equal(nearest_neighbour(fit, held, &config, &correct), SPARC_OK);
  sparc_dataset_free(fit);
  sparc_dataset_free(held);
  return correct;
}

static void test_warping_matches_the_plain_recursion(void **state) {
  (void)state;
  static examples train, test;
  static const double windows[] = {0, 0.05, 0.1, 0.3, 1};
  sparc_random random;
  sparc_random_init(&random, 11, "test", "nearest");
  for (int round = 0; round < ROUNDS; round++) {
    const int channels = 1 + round % MAX_CHANNELS;
    const double window = windows[round % 5];
    draw(&train, TRAIN, channels, round % 2 == 0, &random);
    draw(&test, TEST, channels, round % 4 == 0, &random);
    for (int i = 0; i < TEST; i++) test.label[i] = plain_nearest(&test, i, &train, channels, window);
    const int correct = correct_of(&train, &test, channels, window, 1 + round % 3);
    if (correct != TEST)
      fail_msg("round %d, %d channels, window %g: %d of %d neighbours are those of the plain recursion", round,
               channels, window, correct, TEST);
    test.label[round % TEST] = (test.label[round % TEST] + 1) % TRAIN;
    assert_int_equal(correct_of(&train, &test, channels, window, 1), TEST - 1);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_warping_matches_the_plain_recursion)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
