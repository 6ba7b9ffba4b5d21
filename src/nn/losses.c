/* SPDX-License-Identifier: MIT */
/* losses.c: mean pooling over time, cross-entropy and mean squared error.
 *
 * Sums run in double. The logarithm of a softmax is taken from the difference to the largest logit, so no logit is too
 * large; a NaN or an infinity among the inputs makes the loss non-finite and so stops a training run.
 */
#include "base/threads.h"
#include "nn/layers_impl.h"

#include <string.h>

/* ---- mean over time -------------------------------------------------------------------------------- */

/* features pooled at a time: their sums stay in the first-level cache */
enum { COLUMNS = 256 };

void TYPED(mean_pool_forward)(size_t n, size_t width, const real *u, const real *sum0, size_t count, real *pooled,
                              real *sum) {
  for (size_t first = 0; first < width; first += COLUMNS) {
    const size_t rest = width - first, columns = rest < COLUMNS ? rest : COLUMNS;
    double sums[COLUMNS] = {0};
    for (size_t i = 0; sum0 && i < columns; i++) sums[i] = (double)sum0[first + i];
    TYPED(ordered_sum)(sums, u + first, n, width, columns);
    for (size_t i = 0; i < columns; i++) pooled[first + i] = (real)(sums[i] / (double)count);
    for (size_t i = 0; sum && i < columns; i++) sum[first + i] = (real)sums[i];
  }
}

void TYPED(mean_pool_backward)(size_t n, size_t width, const real *dpooled, size_t count, const real *dsum,
                               int accumulate, real *du) {
  for (size_t t = 0; t < n; t++, du += width)
    for (size_t i = 0; i < width; i++) {
      const real d = (dpooled ? dpooled[i] / (real)count : 0) + (dsum ? dsum[i] : 0);
      du[i] = accumulate ? du[i] + d : d;
    }
}

/* ---- cross-entropy --------------------------------------------------------------------------------- */

static double largest(size_t count, const real *values) {
  double best = (double)values[0];
  for (size_t i = 1; i < count; i++) best = (double)values[i] > best ? (double)values[i] : best;
  return best;
}

static double sum_of_exponentials(size_t count, const real *values, double shift) {
  double sum = 0;
  for (size_t i = 0; i < count; i++) sum += exp((double)values[i] - shift);
  return sum;
}

static double mean_below(size_t count, const real *values, double top) {
  double sum = 0;
  for (size_t i = 0; i < count; i++) sum += (double)values[i] - top;
  return sum / (double)count;
}

double TYPED(cross_entropy_soft)(size_t n, size_t classes, const real *logits, const int *labels, const double *weights,
                                 double smoothing, real *probabilities, real *dlogits) {
  const double share = smoothing / (double)classes;
  double loss = 0;
  for (size_t b = 0; b < n; b++) {
    const real *z = logits + b * classes;
    const size_t label = (size_t)labels[b];
    const double weight = weights ? weights[label] : 1;
    const double top = largest(classes, z), sum = sum_of_exponentials(classes, z, top);
    for (size_t i = 0; i < classes; i++) {
      const double p = exp((double)z[i] - top) / sum, q = i == label ? 1 - smoothing + share : share;
      probabilities[b * classes + i] = (real)p;
      if (dlogits) dlogits[b * classes + i] = (real)(weight * (p - q) / (double)n);
    }
    double expected = (double)z[label] - top;
    if (smoothing > 0) expected += smoothing * (mean_below(classes, z, top) - expected);
    loss += weight * (log(sum) - expected);
  }
  return loss / (double)n;
}

double TYPED(cross_entropy)(size_t n, size_t classes, const real *logits, const int *labels, real *probabilities,
                            real *dlogits) {
  return TYPED(cross_entropy_soft)(n, classes, logits, labels, NULL, 0, probabilities, dlogits);
}

/* ---- mean squared error ----------------------------------------------------------------------------- */

double TYPED(mean_squared_error)(size_t count, const real *prediction, const real *target, real *d) {
  double sum = 0;
  for (size_t i = 0; i < count; i++) {
    const double error = (double)prediction[i] - (double)target[i];
    sum += error * error;
    if (d) d[i] = (real)(2 * error / (double)count);
  }
  return sum / (double)count;
}
