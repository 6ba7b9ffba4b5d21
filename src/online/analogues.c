/* SPDX-License-Identifier: MIT */
/* analogues.c: distances to stretches of the past and their weights. */
#include "online/analogues.h"

#include <math.h>

static const double PRIOR = 0.1;                          /* a / S */
static const double MIN_CLOSENESS = 1e-4;                 /* of min q / q; its power stays a normal number */
static const double spans[ANALOGUE_SPANS] = {8, 32, 128}; /* sharpen_by_span squares log2(S / 2) times */

enum { LANES = 4 }; /* sums side by side: the order is fixed, and the compiler may keep them in registers */

static long lags_of(long values) { return values - 2 < ANALOGUE_LAGS ? values - 2 : ANALOGUE_LAGS; }

void analogues_prepare(analogue_workspace *w) {
  for (int k = 0; k < ANALOGUE_SPANS; k++) {
    w->count[k][0] = 0;
    for (int n = 1; n <= ANALOGUE_COUNTS; n++) w->count[k][n] = w->count[k][n - 1] * (1 - 1 / spans[k]) + 1;
  }
}

void analogues_observe(analogue_bank *a, const analogue_workspace *w, long values) {
  const double *restrict y = w->value, d = y[0] - y[1];
  double *restrict D0 = a->distance[0], *restrict D1 = a->distance[1], *restrict D2 = a->distance[2];
  const long lags = lags_of(values);
  const double keep[ANALOGUE_SPANS] = {1 - 1 / spans[0], 1 - 1 / spans[1], 1 - 1 / spans[2]};
  for (long m = 1; m <= lags; m++) {
    const double e = d - (y[m] - y[m + 1]), square = e * e;
    D0[m] = keep[0] * D0[m] + square;
    D1[m] = keep[1] * D1[m] + square;
    D2[m] = keep[2] * D2[m] + square;
  }
}

/* 1 / q; lag m has been compared values - 1 - m times */
static void closeness(const double *restrict D, const double *restrict N, long values, double prior, double square,
                      double *restrict to) {
  const long lags = lags_of(values), full = values - 1 - ANALOGUE_COUNTS < lags ? values - 1 - ANALOGUE_COUNTS : lags;
  const double unrelated = prior * 2 * square;
  for (long m = 1; m <= full; m++) to[m] = (N[ANALOGUE_COUNTS] + prior) / (D[m] + unrelated);
  for (long m = full > 0 ? full + 1 : 1; m <= lags; m++) to[m] = (N[values - 1 - m] + prior) / (D[m] + unrelated);
}

static double largest(const double *x, long n) {
  double top[LANES] = {0};
  long i = 0;
  for (; i + LANES <= n; i += LANES)
    for (int k = 0; k < LANES; k++) top[k] = x[i + k] > top[k] ? x[i + k] : top[k];
  for (; i < n; i++) top[0] = x[i] > top[0] ? x[i] : top[0];
  return fmax(fmax(top[0], top[1]), fmax(top[2], top[3]));
}

/* inlined with a constant number of squarings, which stay in registers */
static inline void sharpen(double *restrict w, long n, double scale, int squarings) {
  for (long i = 0; i < n; i++) {
    double x = w[i] * scale > MIN_CLOSENESS ? w[i] * scale : MIN_CLOSENESS;
    for (int k = 0; k < squarings; k++) x *= x;
    w[i] = x;
  }
}

static void sharpen_by_span(double *w, long n, double scale, int k) {
  if (k == 0) sharpen(w, n, scale, 2);
  if (k == 1) sharpen(w, n, scale, 4);
  if (k == 2) sharpen(w, n, scale, 6);
}

void analogues_weigh(const analogue_bank *a, analogue_workspace *w, long values, double square) {
  const long lags = lags_of(values);
  for (int k = 0; k < ANALOGUE_SPANS && lags > 0; k++) {
    double *to = w->weight[k];
    closeness(a->distance[k], w->count[k], values, PRIOR * spans[k], square, to);
    sharpen_by_span(to + 1, lags, 1 / largest(to + 1, lags), k);
  }
}

static double total(const double sum[LANES]) { return (sum[0] + sum[2]) + (sum[1] + sum[3]); }

/* means of y[t+h-m] - y[t-m] and of y[t-m] - y[t] with weights w_m; n lags from h on */
static void means(const double *restrict w, const double *restrict y, long h, long n, double *change, double *level) {
  const double *then = y + h;
  double weight[LANES] = {0}, changes[LANES] = {0}, levels[LANES] = {0};
  long i = 0;
  w += h;
  for (; i + LANES <= n; i += LANES)
    for (int k = 0; k < LANES; k++) {
      weight[k] += w[i + k];
      changes[k] += w[i + k] * (y[i + k] - then[i + k]);
      levels[k] += w[i + k] * (then[i + k] - y[0]);
    }
  for (; i < n; i++) {
    weight[0] += w[i];
    changes[0] += w[i] * (y[i] - then[i]);
    levels[0] += w[i] * (then[i] - y[0]);
  }
  if (!(total(weight) > 0)) return;
  *change = total(changes) / total(weight);
  *level = total(levels) / total(weight);
}

void analogues_features(const analogue_workspace *w, long values, long h, double *x) {
  const long n = lags_of(values) - h + 1;
  for (int k = 0; k < ANALOGUE_SPANS; k++) {
    x[k] = x[ANALOGUE_SPANS + k] = 0;
    if (n > 0) means(w->weight[k], w->value, h, n, x + k, x + ANALOGUE_SPANS + k);
  }
}

bool analogues_valid(const analogue_bank *a) {
  for (int k = 0; k < ANALOGUE_SPANS; k++)
    for (int m = 0; m <= ANALOGUE_LAGS; m++)
      if (!(a->distance[k][m] >= 0 && a->distance[k][m] <= 1e150)) return false;
  return true;
}
