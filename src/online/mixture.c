/* SPDX-License-Identifier: MIT */
/* mixture.c: weights of experts from their losses. */
#include "online/mixture.h"

#include <math.h>

enum { CAP_AFTER = 20, ERROR_SPAN = 100 }; /* targets */

static double maximum(int n, const double *prior, const double *value) {
  double result = 0;
  for (int k = 0; k < n; k++)
    if (prior[k] > 0 && value[k] > result) result = value[k];
  return result;
}

/* mean of x with weights exp(a); disabled experts are skipped */
static double weighted(int n, const double *prior, const double *a, const double *x) {
  double top = -INFINITY, sum = 0, mean = 0;
  for (int k = 0; k < n; k++)
    if (prior[k] > 0 && a[k] > top) top = a[k];
  for (int k = 0; k < n; k++) {
    const double w = prior[k] > 0 ? exp(a[k] - top) : 0;
    sum += w;
    if (w > 0) mean += w * x[k];
  }
  return mean / sum;
}

static double power_half(const mixture *m, int n, const double *prior, const double *x) {
  double a[MAX_EXPERTS] = {0};
  const double tiny = 1e-14 * maximum(n, prior, m->loss), power = 8 * fmin(1, m->weight / 20);
  for (int k = 0; k < n; k++) {
    if (prior[k] <= 0) continue;
    a[k] = log(prior[k]) - (tiny > 0 ? power * log(m->loss[k] + tiny) : 0);
  }
  return weighted(n, prior, a, x);
}

/* eta of all experts; 0: no targets yet */
static void learning_rates(const mixture *m, int n, const double *prior, double eta[MAX_EXPERTS]) {
  const double range = maximum(n, prior, m->range), square = maximum(n, prior, m->square);
  double active = 0;
  for (int k = 0; k < n; k++) active += prior[k] > 0;
  for (int k = 0; k < n; k++) {
    eta[k] = 0;
    if (range > 0 && square > 0)
      eta[k] = fmin(0.5 / fmax(m->range[k], 1e-3 * range), sqrt(log(active) / fmax(m->square[k], 1e-6 * square)));
  }
}

static double boa_half(const mixture *m, int n, const double *prior, const double *x) {
  double a[MAX_EXPERTS] = {0}, eta[MAX_EXPERTS];
  learning_rates(m, n, prior, eta);
  for (int k = 0; k < n; k++) {
    if (prior[k] <= 0) continue;
    a[k] = log(prior[k]) + (eta[k] > 0 ? log(eta[k]) + eta[k] * m->regret[k] : 0);
  }
  return weighted(n, prior, a, x);
}

mixture_prediction mixture_predict(const mixture *m, int experts, const double *prior, const double *x) {
  const double power = power_half(m, experts, prior, x), boa = boa_half(m, experts, prior, x);
  const double sum = m->error[0] + m->error[1];
  if (!(sum > 0) || m->targets < ERROR_SPAN) return (mixture_prediction){power, boa, (power + boa) / 2};
  const double a = pow(m->error[1] / sum, 4), b = pow(m->error[0] / sum, 4);
  return (mixture_prediction){power, boa, (a * power + b * boa) / (a + b)};
}

static void observe_power(mixture *m, int n, const double *prior, const double *x, double y) {
  const double cap = m->targets < CAP_AFTER ? INFINITY : 50 * m->error[0];
  for (int k = 0; k < n; k++)
    if (prior[k] > 0) m->loss[k] = 0.99 * m->loss[k] + fmin((y - x[k]) * (y - x[k]), cap);
  m->weight = 0.99 * m->weight + 1;
}

/* errors are capped: a value that neither half predicts does not separate them */
static void observe_halves(mixture *m, mixture_prediction p, double y) {
  const double error[2] = {(y - p.power) * (y - p.power), (y - p.boa) * (y - p.boa)};
  const double cap = m->targets < CAP_AFTER ? INFINITY : 50 * fmax(m->error[0], m->error[1]);
  m->targets = fmin(m->targets + 1, ERROR_SPAN);
  for (int k = 0; k < 2; k++) m->error[k] += (fmin(error[k], cap) - m->error[k]) / m->targets;
}

static void observe_boa(mixture *m, int n, const double *prior, const double *x, double p, double y) {
  double r[MAX_EXPERTS] = {0}, eta[MAX_EXPERTS];
  for (int k = 0; k < n; k++) {
    if (prior[k] <= 0) continue;
    r[k] = 2 * (y - p) * (x[k] - p);
    m->square[k] = 0.998 * m->square[k] + r[k] * r[k];
    m->range[k] = fmax(0.98 * m->range[k], fabs(r[k]));
  }
  learning_rates(m, n, prior, eta);
  for (int k = 0; k < n; k++)
    if (prior[k] > 0) m->regret[k] = 0.998 * m->regret[k] + r[k] - eta[k] * r[k] * r[k];
}

void mixture_observe(mixture *m, int experts, const double *prior, const double *x, mixture_prediction p, double y) {
  observe_power(m, experts, prior, x, y);
  observe_boa(m, experts, prior, x, p.boa, y);
  observe_halves(m, p, y);
}

bool mixture_valid(const mixture *m) {
  for (int k = 0; k < 2; k++)
    if (!(m->error[k] >= 0 && m->error[k] <= 1e150)) return false;
  if (!(m->targets >= 0 && m->targets <= ERROR_SPAN && m->weight >= 0 && m->weight <= 100.5)) return false;
  for (int k = 0; k < MAX_EXPERTS; k++)
    if (!(m->loss[k] >= 0 && m->loss[k] <= 1e150 && fabs(m->regret[k]) <= 1e150 && m->square[k] >= 0 &&
          m->square[k] <= 1e200 && m->range[k] >= 0 && m->range[k] <= 1e150))
      return false;
  return true;
}
