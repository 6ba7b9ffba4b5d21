/* SPDX-License-Identifier: MIT */
/* test_ridge.c: ridge regression in closed form: its weights are where the penalised squared error has no slope, its
 * leave-one-out figures are those of fits that leave one row out, and constant features count for nothing. */
#include "sparc/random.h"
#include "train/ridge.h"
#include "unit.h"

#include <math.h>
#include <string.h>

enum { ROWS = 14, FEATURES = 9, CLASSES = 3, UNKNOWNS = FEATURES + 1 };

typedef struct fixture {
  float x[ROWS * FEATURES];
  int label[ROWS];
  float weight[CLASSES * FEATURES], bias[CLASSES];
  double z[ROWS][FEATURES]; /* standardised by all rows */
  double stddev[FEATURES];
  ridge_solution solution;
} fixture;

static void standardise(fixture *f) {
  for (int j = 0; j < FEATURES; j++) {
    double mean = 0, square = 0;
    for (int i = 0; i < ROWS; i++) mean += (double)f->x[i * FEATURES + j] / ROWS;
    for (int i = 0; i < ROWS; i++) square += pow((double)f->x[i * FEATURES + j] - mean, 2) / ROWS;
    f->stddev[j] = sqrt(square);
    for (int i = 0; i < ROWS; i++) f->z[i][j] = square > 0 ? ((double)f->x[i * FEATURES + j] - mean) / f->stddev[j] : 0;
  }
}

static void make(fixture *f) {
  memset(f, 0, sizeof *f);
  sparc_random stream;
  sparc_random_init(&stream, 7, "test", "ridge");
  for (int i = 0; i < ROWS; i++) {
    f->label[i] = i % CLASSES;
    for (int j = 0; j < FEATURES; j++)
      f->x[i * FEATURES + j] = (float)(3 + (j % CLASSES == f->label[i]) + 0.8 * sparc_random_normal(&stream));
    f->x[i * FEATURES + FEATURES - 1] = 5; /* a feature that does not vary */
  }
  standardise(f);
  f->solution = (ridge_solution){.weight = f->weight, .bias = f->bias};
  const ridge_problem problem = {ROWS, FEATURES, CLASSES, f->x, f->label};
  assert_int_equal(ridge_solve(&problem, &f->solution), SPARC_OK);
}

static double target(const fixture *f, int row, int class) { return f->label[row] == class ? 1 : -1; }

static void test_weights_are_stationary(void **state) {
  (void)state;
  fixture f;
  make(&f);
  for (int k = 0; k < CLASSES; k++) {
    double slope[UNKNOWNS] = {0}, most = 0;
    for (int i = 0; i < ROWS; i++) {
      double score = (double)f.bias[k];
      for (int j = 0; j < FEATURES; j++) score += (double)f.weight[k * FEATURES + j] * (double)f.x[i * FEATURES + j];
      const double error = score / f.solution.scale - target(&f, i, k);
      for (int j = 0; j < FEATURES; j++) slope[j] += error * f.z[i][j];
      slope[FEATURES] += error;
    }
    for (int j = 0; j < FEATURES; j++)
      slope[j] += f.solution.alpha * (double)f.weight[k * FEATURES + j] * f.stddev[j] / f.solution.scale;
    for (int j = 0; j < UNKNOWNS; j++) most = fmax(most, fabs(slope[j]));
    if (!(most < 1e-4)) fail_msg("class %d: a slope of %g, expected none", k, most);
    assert_true(f.weight[k * FEATURES + FEATURES - 1] == 0);
  }
}

/* Gaussian elimination with pivots */
static void eliminate(double a[UNKNOWNS][UNKNOWNS + 1], double *out) {
  for (int c = 0; c < UNKNOWNS; c++) {
    int pivot = c;
    for (int r = c; r < UNKNOWNS; r++)
      if (fabs(a[r][c]) > fabs(a[pivot][c])) pivot = r;
    for (int j = 0; j <= UNKNOWNS; j++) {
      const double other = a[c][j];
      a[c][j] = a[pivot][j];
      a[pivot][j] = other;
    }
    for (int r = 0; r < UNKNOWNS; r++) {
      const double factor = a[r][c] / a[c][c];
      for (int j = c; r != c && j <= UNKNOWNS; j++) a[r][j] -= factor * a[c][j];
    }
  }
  for (int c = 0; c < UNKNOWNS; c++) out[c] = a[c][UNKNOWNS] / a[c][c];
}

/* the score of a row by the normal equations of all others, the intercept without a penalty */
static double score_left_out(const fixture *f, int row, int class) {
  double a[UNKNOWNS][UNKNOWNS + 1] = {{0}}, solution[UNKNOWNS];
  for (int i = 0; i < ROWS; i++)
    for (int p = 0; i != row && p < UNKNOWNS; p++) {
      const double zp = p < FEATURES ? f->z[i][p] : 1;
      for (int q = 0; q < UNKNOWNS; q++) a[p][q] += zp * (q < FEATURES ? f->z[i][q] : 1);
      a[p][UNKNOWNS] += zp * target(f, i, class);
    }
  for (int p = 0; p < FEATURES; p++) a[p][p] += f->solution.alpha;
  eliminate(a, solution);
  double score = solution[FEATURES];
  for (int p = 0; p < FEATURES; p++) score += solution[p] * f->z[row][p];
  return score;
}

static void test_leave_one_out(void **state) {
  (void)state;
  fixture f;
  make(&f);
  double loss = 0, right = 0;
  for (int i = 0; i < ROWS; i++) {
    double score[CLASSES], sum = 0;
    int best = 0;
    for (int k = 0; k < CLASSES; k++) score[k] = f.solution.scale * score_left_out(&f, i, k);
    for (int k = 0; k < CLASSES; k++) {
      sum += exp(score[k] - score[f.label[i]]);
      if (score[k] > score[best]) best = k;
    }
    loss += log(sum) / ROWS;
    right += best == f.label[i];
  }
  if (!(fabs(loss - f.solution.loss) < 1e-9)) fail_msg("loss %.12g, by refitting %.12g", f.solution.loss, loss);
  assert_true(f.solution.accuracy == right / ROWS);
  assert_true(right > ROWS / 2.0 && right < ROWS); /* the problem is neither hopeless nor trivial */
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_weights_are_stationary),
                                     cmocka_unit_test(test_leave_one_out)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
