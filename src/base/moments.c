/* SPDX-License-Identifier: MIT */
/* moments.c: moments by Chan's pairwise merge, which is exact for batches of any size and does not cancel. */
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

double moments_deviation(const running_moments *m) { return sqrt(m->variance + VARIANCE_FLOOR); }
