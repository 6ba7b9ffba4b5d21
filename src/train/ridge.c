/* SPDX-License-Identifier: MIT */
/* ridge.c: ridge regression in its dual form, for fewer rows than features.
 *
 * With X the standardised features, G = X X^T, Y the centred targets and Q = (G + alpha I)^-1, the dual coefficients are
 * C = Q Y, the weights X^T C. Fitted values leave the residual Y - G C = alpha C; the hat matrix with an intercept is
 * G Q + 1/n = I - alpha Q + 1/n, so the residual of row i, were it left out, is
 *
 *   e_i = alpha C_i / (alpha Q_ii - 1/n).
 *
 * Q comes by Cholesky for each alpha.
 */
#include "train/ridge.h"

#include "base/error.h"
#include "base/memory.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { ALPHAS = 10 };

typedef struct ridge_memory {
  double *mean, *scale; /* (features): of standardising */
  double *gram;         /* (n, n) */
  double *factor;       /* (n, n): lower triangle L, G + alpha I = L L^T */
  double *column;       /* (n) */
  double *target;       /* (classes, n) centred, followed by (classes) means */
  double *dual;         /* (classes, n) */
  double *left, *best;  /* (n, classes): predictions of left-out rows, now and for the best alpha */
  double *best_dual;    /* (classes, n) */
} ridge_memory;

static void carve(arena *a, const ridge_problem *p, ridge_memory *m) {
  const size_t n = p->rows, F = p->features, K = p->classes;
  m->mean = arena_take(a, F, sizeof(double));
  m->scale = arena_take(a, F, sizeof(double));
  m->gram = arena_take(a, n * n, sizeof(double));
  m->factor = arena_take(a, n * n, sizeof(double));
  m->column = arena_take(a, n, sizeof(double));
  m->target = arena_take(a, K * n + K, sizeof(double));
  m->dual = arena_take(a, K * n, sizeof(double));
  m->left = arena_take(a, n * K, sizeof(double));
  m->best = arena_take(a, n * K, sizeof(double));
  m->best_dual = arena_take(a, K * n, sizeof(double));
}

/* ---- the problem --------------------------------------------------------------------------------- */

/* a feature that does not vary has the scale 0 */
static void standardise(const ridge_problem *p, const ridge_memory *m) {
  const size_t n = p->rows, F = p->features;
  memset(m->mean, 0, F * sizeof *m->mean);
  memset(m->scale, 0, F * sizeof *m->scale);
  for (size_t i = 0; i < n; i++)
    for (size_t f = 0; f < F; f++) m->mean[f] += (double)p->x[i * F + f] / (double)n;
  for (size_t i = 0; i < n; i++)
    for (size_t f = 0; f < F; f++) {
      const double d = (double)p->x[i * F + f] - m->mean[f];
      m->scale[f] += d * d / (double)n;
    }
  for (size_t f = 0; f < F; f++) m->scale[f] = m->scale[f] > 1e-16 ? 1 / sqrt(m->scale[f]) : 0;
}

static void form_gram(const ridge_problem *p, const ridge_memory *m) {
  const size_t n = p->rows, F = p->features;
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j <= i; j++) {
      const float *x = p->x + i * F, *z = p->x + j * F;
      double sum = 0;
      for (size_t f = 0; f < F; f++)
        sum += ((double)x[f] - m->mean[f]) * m->scale[f] * (((double)z[f] - m->mean[f]) * m->scale[f]);
      m->gram[i * n + j] = m->gram[j * n + i] = sum;
    }
}

static void form_targets(const ridge_problem *p, const ridge_memory *m) {
  const size_t n = p->rows, K = p->classes;
  for (size_t k = 0; k < K; k++) {
    double *y = m->target + k * n, mean = 0;
    for (size_t i = 0; i < n; i++) y[i] = p->label[i] == (int)k ? 1 : -1;
    for (size_t i = 0; i < n; i++) mean += y[i] / (double)n;
    for (size_t i = 0; i < n; i++) y[i] -= mean;
    m->target[K * n + k] = mean;
  }
}

/* ---- one penalty --------------------------------------------------------------------------------- */

static double dot(size_t n, const double *a, const double *b) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) sum += a[i] * b[i];
  return sum;
}

/* L of G + alpha I in the lower triangle; false: not positive */
static bool factorise(size_t n, const double *gram, double alpha, double *L) {
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j <= i; j++) {
      const double rest = gram[i * n + j] + (i == j ? alpha : 0) - dot(j, L + i * n, L + j * n);
      if (i == j && !(rest > 0)) return false;
      L[i * n + j] = i == j ? sqrt(rest) : rest / L[j * n + j];
    }
  return true;
}

/* c = (L L^T)^-1 y */
static void substitute(size_t n, const double *L, const double *y, double *c) {
  for (size_t i = 0; i < n; i++) c[i] = (y[i] - dot(i, L + i * n, c)) / L[i * n + i];
  for (size_t i = n; i-- > 0;) {
    c[i] /= L[i * n + i];
    for (size_t j = 0; j < i; j++) c[j] -= L[i * n + j] * c[i];
  }
}

/* element (i, i) of (L L^T)^-1: the squared norm of column i of L^-1 */
static double inverse_diagonal(size_t n, const double *L, size_t i, double *column) {
  for (size_t k = i; k < n; k++) column[k] = ((k == i ? 1 : 0) - dot(k - i, L + k * n + i, column + i)) / L[k * n + k];
  return dot(n - i, column + i, column + i);
}

/* duals and predictions of left-out rows; returns their squared error, infinite where G + alpha I has no factor */
static double try_alpha(const ridge_problem *p, const ridge_memory *m, double alpha) {
  const size_t n = p->rows, K = p->classes;
  if (!factorise(n, m->gram, alpha, m->factor)) return INFINITY;
  for (size_t k = 0; k < K; k++) substitute(n, m->factor, m->target + k * n, m->dual + k * n);
  double error = 0;
  for (size_t i = 0; i < n; i++) {
    const double rest = alpha * inverse_diagonal(n, m->factor, i, m->column) - 1 / (double)n;
    for (size_t k = 0; k < K; k++) {
      const double e = alpha * m->dual[k * n + i] / (rest > 1e-12 ? rest : 1e-12);
      m->left[i * K + k] = m->target[k * n + i] + m->target[K * n + k] - e;
      error += e * e;
    }
  }
  return error;
}

static void swap(double **a, double **b) {
  double *const other = *a;
  *a = *b;
  *b = other;
}

static sparc_status choose_alpha(const ridge_problem *p, ridge_memory *m, ridge_solution *s) {
  double least = INFINITY;
  for (int i = 0; i < ALPHAS; i++) {
    const double tried = pow(10, -3 + 6.0 * i / (ALPHAS - 1)), error = try_alpha(p, m, tried);
    if (!(error < least)) continue;
    least = error;
    s->alpha = tried;
    s->error = error / (double)(p->rows * p->classes);
    swap(&m->dual, &m->best_dual);
    swap(&m->left, &m->best);
  }
  return least < INFINITY ? SPARC_OK
                          : fail(SPARC_NOT_FINITE, "the features of the examples are not finite, or far too large");
}

/* ---- probabilities ------------------------------------------------------------------------------- */

/* mean cross-entropy of left-out rows whose scores are scaled; the part `smoothing` of a label is spread over all
 * classes */
static double cross_entropy(const ridge_problem *p, const double *score, double scale, double smoothing) {
  const size_t K = p->classes;
  double loss = 0;
  for (size_t i = 0; i < p->rows; i++, score += K) {
    const double own = score[p->label[i]];
    double sum = 0, mean = 0;
    for (size_t k = 0; k < K; k++) {
      sum += exp(scale * (score[k] - own));
      mean += scale * (score[k] - own) / (double)K;
    }
    loss += log(fmax(sum, 1)) - smoothing * mean; /* one term is exp(0) */
  }
  return loss / (double)p->rows;
}

/* Cross-entropy is convex in the scale: golden section over 0.1 to 100, on a logarithmic axis. Smoothing by one row of
 * all keeps the scale finite if every left-out row is classified correctly. */
static double choose_scale(const ridge_problem *p, const double *score) {
  const double golden = 0.6180339887498949, smoothing = 1 / (double)(p->rows + 1);
  double low = log(0.1), high = log(100);
  for (int i = 0; i < 40; i++) {
    const double a = high - golden * (high - low), b = low + golden * (high - low);
    if (cross_entropy(p, score, exp(a), smoothing) <= cross_entropy(p, score, exp(b), smoothing))
      high = b;
    else
      low = a;
  }
  return exp((low + high) / 2);
}

static double accuracy_of(const ridge_problem *p, const double *score) {
  const size_t K = p->classes;
  size_t right = 0;
  for (size_t i = 0; i < p->rows; i++) {
    size_t best = 0;
    for (size_t k = 1; k < K; k++)
      if (score[i * K + k] > score[i * K + best]) best = k;
    right += (int)best == p->label[i];
  }
  return (double)right / (double)p->rows;
}

/* ---- the solution -------------------------------------------------------------------------------- */

/* standardising becomes part of weight and bias */
static void write_class(const ridge_problem *p, const ridge_memory *m, size_t k, ridge_solution *s) {
  const size_t n = p->rows, F = p->features;
  float *weight = s->weight + k * F;
  double bias = m->target[p->classes * n + k];
  for (size_t f = 0; f < F; f++) {
    double w = 0;
    for (size_t i = 0; i < n; i++) w += m->best_dual[k * n + i] * ((double)p->x[i * F + f] - m->mean[f]);
    w *= m->scale[f] * m->scale[f];
    bias -= w * m->mean[f];
    weight[f] = (float)(s->scale * w);
  }
  s->bias[k] = (float)(s->scale * bias);
}

sparc_status ridge_solve(const ridge_problem *p, ridge_solution *s) {
  ridge_memory m;
  arena size = arena_measure();
  carve(&size, p, &m);
  void *memory = sparc_alloc(size.used);
  if (!memory) return fail(SPARC_NO_MEMORY, "no memory for the %zu bytes of a ridge regression", size.used);
  arena block = arena_over(memory, size.used);
  carve(&block, p, &m);
  standardise(p, &m);
  form_gram(p, &m);
  form_targets(p, &m);
  const sparc_status status = choose_alpha(p, &m, s);
  if (status == SPARC_OK) {
    s->scale = choose_scale(p, m.best);
    s->loss = cross_entropy(p, m.best, s->scale, 0);
    s->accuracy = accuracy_of(p, m.best);
    for (size_t k = 0; k < p->classes; k++) write_class(p, &m, k, s);
  }
  sparc_free(memory);
  return status;
}
