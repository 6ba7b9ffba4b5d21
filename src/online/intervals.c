/* SPDX-License-Identifier: MIT */
/* intervals.c: running scale of the errors and adaptive factor. */
#include "online/intervals.h"

#include <math.h>

enum { CAP_AFTER = 20, MAX_CAPPED = 100 };             /* targets */
static const double MIN_FACTOR = 0.1, MAX_FACTOR = 50; /* of q */

/* q of errors with a normal distribution: quantile / mean |error|; Newton's method on erf */
static double normal_factor(double coverage) {
  double z = 1;
  for (int i = 0; i < 40; i++) {
    const double density = sqrt(2 / acos(-1)) * exp(-z * z / 2);
    z = fmax(0, fmin(8, z + (coverage - erf(z / sqrt(2))) / fmax(density, 1e-6)));
  }
  return z * sqrt(acos(-1) / 2);
}

interval_state interval_initial(double coverage) {
  return (interval_state){.factor = fmax(MIN_FACTOR, fmin(normal_factor(coverage), MAX_FACTOR))};
}

double interval_width(const interval_state *i) { return i->targets < INTERVAL_AFTER ? -1 : i->factor * i->scale; }

void interval_observe(interval_state *i, double coverage, double error, double width) {
  const double cap = i->targets < CAP_AFTER || i->scale == 0 ? INFINITY : pow(10, i->capped + 1) * i->scale;
  const double size = fmin(fabs(error), cap);
  i->capped = fabs(error) > cap ? fmin(i->capped + 1, MAX_CAPPED) : 0;
  i->targets++;
  if (width >= 0) {
    const double gain = fmax(0.05, 0.5 / sqrt(i->targets));
    i->factor *= exp(gain * ((fabs(error) > width) - (1 - coverage)));
    i->factor = fmax(MIN_FACTOR, fmin(i->factor, MAX_FACTOR));
  }
  i->scale += (size - i->scale) / fmin(i->targets, 50);
}

bool interval_valid(const interval_state *i) {
  return i->scale >= 0 && i->scale <= 1e150 && i->factor >= MIN_FACTOR && i->factor <= MAX_FACTOR && i->targets >= 0 &&
         i->targets <= 0x1p53 && i->targets == floor(i->targets) && i->capped >= 0 && i->capped <= MAX_CAPPED;
}
