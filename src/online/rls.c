/* SPDX-License-Identifier: MIT */
/* rls.c: rotations, the ridge and back substitution. */
#include "online/rls.h"

#include <math.h>
#include <string.h>

size_t rls_numbers(int n) { return (size_t)n * (size_t)n + 2 * (size_t)n + 1; }

rls rls_over(double *state, int n, double forgetting, const double *precision) {
  const size_t square = (size_t)n * (size_t)n;
  return (rls){.n = n,
               .forgetting = forgetting,
               .precision = precision,
               .R = state,
               .z = state + square,
               .w = state + square + n,
               .updates = state + square + 2 * (size_t)n};
}

void rls_reset(const rls *r) {
  memset(r->R, 0, rls_numbers(r->n) * sizeof *r->R);
  for (int i = 0; i < r->n; i++) r->R[i * r->n + i] = sqrt(r->precision[i]);
}

/* four sums side by side: the order is fixed, and the compiler may keep them in one register */
static double dot(const double *restrict a, const double *restrict b, int n) {
  double sum[4] = {0};
  int i = 0;
  for (; i + 4 <= n; i += 4)
    for (int k = 0; k < 4; k++) sum[k] += a[i + k] * b[i + k];
  for (; i < n; i++) sum[0] += a[i] * b[i];
  return (sum[0] + sum[2]) + (sum[1] + sum[3]);
}

double rls_predict(const rls *r, const double *x) { return dot(r->w, x, r->n); }

static void rotate_row(double *restrict row, double *restrict x, int n, double c, double s, double fade) {
  const double c_fade = c * fade, s_fade = s * fade;
  for (int j = 0; j < n; j++) {
    const double old = row[j];
    row[j] = c_fade * old + s * x[j];
    x[j] = c * x[j] - s_fade * old;
  }
}

/* rotates the row x, zero before `first`, into R; x is used up */
static void add_row(const rls *r, double *x, double target, int first, double fade) {
  const int n = r->n;
  for (int i = first; i < n; i++) {
    double *row = r->R + (size_t)i * (size_t)n;
    const double a = fade * row[i], length = sqrt(a * a + x[i] * x[i]);
    const double c = a / length, s = x[i] / length, z = fade * r->z[i];
    row[i] = length;
    rotate_row(row + i + 1, x + i + 1, n - i - 1, c, s, fade);
    r->z[i] = c * z + s * target;
    target = c * target - s * z;
  }
}

static void add_ridge(const rls *r) {
  double x[MAX_WEIGHTS] = {0};
  const int k = (int)fmod(*r->updates / RIDGE_EVERY, r->n);
  x[k] = sqrt(RIDGE_EVERY * r->n * (1 - r->forgetting) * r->precision[k]);
  if (x[k] > 0) add_row(r, x, 0, k, 1);
}

static void solve(const rls *r) {
  const int n = r->n;
  for (int i = n - 1; i >= 0; i--) {
    const double *row = r->R + (size_t)i * (size_t)n;
    r->w[i] = (r->z[i] - dot(row + i + 1, r->w + i + 1, n - i - 1)) / row[i];
  }
}

void rls_update(const rls *r, const double *x, double target) {
  double row[MAX_WEIGHTS];
  memcpy(row, x, (size_t)r->n * sizeof *row);
  add_row(r, row, target, 0, sqrt(r->forgetting));
  *r->updates += 1;
  if (fmod(*r->updates, RIDGE_EVERY) == 0) add_ridge(r);
  solve(r);
}

bool rls_valid(const rls *r) {
  for (int i = 0; i < r->n; i++)
    if (!(r->R[i * r->n + i] >= 1e-150)) return false;
  const size_t all = rls_numbers(r->n);
  for (size_t i = 0; i < all; i++)
    if (!(fabs(r->R[i]) <= 1e150)) return false;
  return *r->updates >= 0 && *r->updates <= 0x1p53 && *r->updates == floor(*r->updates);
}
