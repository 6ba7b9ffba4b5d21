/* SPDX-License-Identifier: MIT */
/* moments.c: running moments by Chan's pairwise merge, which is exact for batches of any size and does not cancel;
 * samples in two passes, or by sums of differences. */
#include "base/moments.h"

#include <math.h>

static const double VARIANCE_FLOOR = 1e-8;

running_moments moments_initial(void) { return (running_moments){.mean = 0, .variance = 1, .count = 1e-4}; }

bool moments_valid(const running_moments *m) {
  return fabs(m->mean) <= MOMENTS_RANGE && m->variance >= 0 && m->variance <= MOMENTS_RANGE * MOMENTS_RANGE &&
         m->count > 0 && m->count <= 0x1p53;
}

void moments_merge(running_moments *m, double mean, double variance, double count) {
  const double delta = mean - m->mean, total = m->count + count;
  m->mean += delta * count / total;
  m->variance = (m->variance * m->count + variance * count + delta * delta * m->count * count / total) / total;
  m->count = total;
}

double moments_stddev(const running_moments *m) { return sqrt(m->variance + VARIANCE_FLOOR); }

/* ---- samples ------------------------------------------------------------------------------------- */

double mean_of(size_t n, const double *values) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) sum += values[i];
  return sum / (double)n;
}

sample_summary sample_summarise(size_t n, const double *values) {
  sample_summary s = {.mean = 0, .stddev = NAN};
  for (size_t i = 0; i < n; i++) {
    if (isnan(values[i])) continue;
    s.mean += values[i];
    s.count++;
  }
  s.mean = s.count ? s.mean / s.count : NAN;
  if (s.count < 2) return s;
  double squares = 0;
  for (size_t i = 0; i < n; i++)
    if (!isnan(values[i])) squares += (values[i] - s.mean) * (values[i] - s.mean);
  s.stddev = sqrt(squares / (s.count - 1));
  return s;
}

void sample_add(sample_sums *s, double value) {
  if (s->count++ == 0) s->first = value;
  const double off = value - s->first;
  s->sum += off;
  s->squares += off * off;
}

double sample_mean(const sample_sums *s) { return s->first + s->sum / s->count; }

double sample_variance(const sample_sums *s, double divisor) {
  return divisor > 0 ? fmax((s->squares - s->sum * s->sum / s->count) / divisor, 0) : 0;
}
