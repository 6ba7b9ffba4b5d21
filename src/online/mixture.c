/* SPDX-License-Identifier: MIT */
/* mixture.c: weights of experts from their losses. */
#include "online/mixture.h"

#include <math.h>

enum { CAP_AFTER = 20, EQUAL = 30, UNIT_SPAN = 10, ERROR_SPAN = 100 }; /* targets */

static const double CAP = 50, AGGREGATE_POWER = 8, AGGREGATE_DECAY = 0.9995;
static const double POWER = 0.4; /* of a loss for every target it counts */
static const struct {
  double decay, targets; /* targets: at most these count for the power */
} powers[MIXTURE_POWERS] = {[MIXTURE_RELATIVE] = {0.99, 80}, [MIXTURE_RECENT] = {0.95, 20}};

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

static double by_power(const mixture *m, int q, int n, const double *prior, const double *x) {
  double a[MAX_EXPERTS] = {0};
  const double tiny = 1e-14 * maximum(n, prior, m->loss[q]);
  const double power = POWER * fmin(m->weight[q], powers[q].targets);
  for (int k = 0; k < n; k++) {
    if (prior[k] <= 0) continue;
    a[k] = log(prior[k]) - (tiny > 0 ? power * log(m->loss[q][k] + tiny) : 0);
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

static double by_boa(const mixture *m, int n, const double *prior, const double *x) {
  double a[MAX_EXPERTS] = {0}, eta[MAX_EXPERTS];
  learning_rates(m, n, prior, eta);
  for (int k = 0; k < n; k++) {
    if (prior[k] <= 0) continue;
    a[k] = log(prior[k]) + (eta[k] > 0 ? log(eta[k]) + eta[k] * m->regret[k] : 0);
  }
  return weighted(n, prior, a, x);
}

mixture_prediction mixture_predict(const mixture *m, int experts, const double *prior, const double *x) {
  static const double equal[MIXTURE_AGGREGATES] = {1, 1, 1};
  mixture_prediction p;
  for (int q = 0; q < MIXTURE_POWERS; q++) p.aggregate[q] = by_power(m, q, experts, prior, x);
  p.aggregate[MIXTURE_BOA] = by_boa(m, experts, prior, x);
  double a[MIXTURE_AGGREGATES] = {0};
  const double tiny = 1e-14 * maximum(MIXTURE_AGGREGATES, equal, m->aggregate_loss);
  for (int q = 0; q < MIXTURE_AGGREGATES && tiny > 0 && m->targets >= EQUAL; q++)
    a[q] = -AGGREGATE_POWER * log(m->aggregate_loss[q] + tiny);
  p.mean = weighted(MIXTURE_AGGREGATES, equal, a, p.aggregate);
  return p;
}

static double square_of(double x) { return x * x; }

/* squared errors in units of u, capped: a value that nothing predicts does not separate experts */
static double relative_loss(const mixture *m, double error) {
  return m->unit > 0 ? fmin(square_of(error) / m->unit, CAP) : fmin(square_of(error), CAP);
}

/* of absolute losses; none while s2 is 0: it would stay 0 after a constant start */
static double loss_cap(const mixture *m) { return m->targets < CAP_AFTER || m->error == 0 ? INFINITY : CAP * m->error; }

static void observe_powers(mixture *m, int n, const double *prior, const double *x, double y) {
  const double cap = loss_cap(m);
  for (int k = 0; k < n; k++) {
    if (prior[k] <= 0) continue;
    double *relative = &m->loss[MIXTURE_RELATIVE][k], *recent = &m->loss[MIXTURE_RECENT][k];
    *relative = powers[MIXTURE_RELATIVE].decay * *relative + relative_loss(m, y - x[k]);
    *recent = powers[MIXTURE_RECENT].decay * *recent + fmin(square_of(y - x[k]), cap);
  }
  for (int q = 0; q < MIXTURE_POWERS; q++) m->weight[q] = powers[q].decay * m->weight[q] + 1;
}

static void observe_aggregates(mixture *m, const mixture_prediction *p, double y) {
  double least = INFINITY;
  for (int q = 0; q < MIXTURE_AGGREGATES; q++) {
    double *loss = &m->aggregate_loss[q];
    *loss = AGGREGATE_DECAY * *loss + relative_loss(m, y - p->aggregate[q]);
    least = fmin(least, square_of(y - p->aggregate[q]));
  }
  const double error = square_of(y - p->aggregate[MIXTURE_RECENT]);
  const double cap = loss_cap(m);
  m->targets = fmin(m->targets + 1, ERROR_SPAN);
  m->unit += (m->unit > 0 ? fmin(least, CAP * m->unit) - m->unit : least) / fmin(m->targets, UNIT_SPAN);
  m->error += (fmin(error, cap) - m->error) / m->targets;
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

void mixture_observe(mixture *m, int experts, const double *prior, const double *x, const mixture_prediction *p,
                     double y) {
  observe_powers(m, experts, prior, x, y);
  observe_boa(m, experts, prior, x, p->aggregate[MIXTURE_BOA], y);
  observe_aggregates(m, p, y);
}

static bool within(double value, double high) { return value >= 0 && value <= high; }

bool mixture_valid(const mixture *m) {
  bool valid = within(m->targets, ERROR_SPAN) && within(m->unit, 1e150) && within(m->error, 1e150);
  for (int q = 0; q < MIXTURE_AGGREGATES; q++)
    valid = valid && within(m->aggregate_loss[q], 1.01 * CAP / (1 - AGGREGATE_DECAY));
  for (int q = 0; q < MIXTURE_POWERS; q++) {
    valid = valid && within(m->weight[q], 1.01 / (1 - powers[q].decay));
    for (int k = 0; k < MAX_EXPERTS; k++) valid = valid && within(m->loss[q][k], 1e150);
  }
  for (int k = 0; k < MAX_EXPERTS; k++)
    valid = valid && within(fabs(m->regret[k]), 1e150) && within(m->square[k], 1e200) && within(m->range[k], 1e150);
  return valid;
}
