/* SPDX-License-Identifier: MIT */
/* normalise.c: one z-score for all values of a channel [app:classification_data]. It is fitted on the fit subset; its
 * two numbers belong to the model. */
#include "data/dataset.h"

#include <math.h>

/* sums f(x) = (x - centre)^power over the values of a channel that are there */
static double sum_channel(const sparc_dataset *d, int channel, double centre, int power, size_t *count) {
  double total = 0;
  *count = 0;
  for (int i = 0; i < d->count; i++) {
    /* one sum for each example keeps the running total from swallowing small terms */
    double part = 0;
    const float *x = sparc_dataset_series(d, i) + channel;
    for (int t = 0; t < d->examples[i].length; t++) {
      const float value = x[(size_t)t * (size_t)d->channels];
      if (isnan(value)) continue;
      const double distance = value - centre;
      part += power == 1 ? distance : distance * distance;
      ++*count;
    }
    total += part;
  }
  return total;
}

/* likewise over number k of the targets */
static double sum_target(const sparc_dataset *d, int k, double centre, int power, size_t *count) {
  double total = 0;
  *count = 0;
  for (int i = 0; i < d->count; i++) {
    const float *target = sparc_dataset_target(d, i) + k;
    const int rows = d->target_steps ? d->examples[i].length : 1;
    for (int t = 0; t < rows; t++, target += d->target_width, ++*count) {
      const double distance = *target - centre;
      total += power == 1 ? distance : distance * distance;
    }
  }
  return total;
}

/* mean and population deviation in two passes; a constant has the deviation 1. false: there is no value */
static bool fit_scale(double (*sum)(const sparc_dataset *d, int which, double centre, int power, size_t *count),
                      const sparc_dataset *d, int which, double *mean, double *deviation) {
  size_t count;
  const double total = sum(d, which, 0, 1, &count);
  if (count == 0) return false;
  *mean = total / (double)count;
  *deviation = sqrt(sum(d, which, *mean, 2, &count) / (double)count);
  if (!(*deviation > 0)) *deviation = 1;
  return true;
}

sparc_status sparc_normalisation_fit(const sparc_dataset *fit, double *mean, double *deviation) {
  if (!fit || !mean || !deviation)
    return fail(SPARC_INVALID, "%s is NULL", !fit ? "fit" : !mean ? "mean" : "deviation");
  for (int c = 0; c < fit->channels; c++)
    if (!fit_scale(sum_channel, fit, c, &mean[c], &deviation[c]))
      return fail(SPARC_INVALID, "all values of channel %d of '%s' are missing, expected at least one", c + 1,
                  quote(fit->name).text);
  return SPARC_OK;
}

void dataset_target_scale(const sparc_dataset *d, double *mean, double *deviation) {
  for (int k = 0; k < d->target_width; k++) fit_scale(sum_target, d, k, &mean[k], &deviation[k]);
}

void sparc_normalise(const float *in, float *out, int steps, int channels, const double *mean,
                     const double *deviation) {
  if (!in || !out || !mean || !deviation) return;
  for (int t = 0; t < steps; t++)
    for (int c = 0; c < channels; c++, in++, out++) *out = (float)((*in - mean[c]) / deviation[c]);
}

static sparc_status check_results(const sparc_dataset *d, const double *mean, const double *deviation) {
  for (int i = 0; i < d->count; i++) {
    const float *x = sparc_dataset_series(d, i);
    for (int t = 0; t < d->examples[i].length; t++)
      for (int c = 0; c < d->channels; c++, x++)
        if (isinf((float)((*x - mean[c]) / deviation[c])))
          return fail(SPARC_NOT_FINITE, "example %d of '%s': value %g less %g divided by %g is too large for a float",
                      i, quote(d->name).text, *x, mean[c], deviation[c]);
  }
  return SPARC_OK;
}

sparc_status sparc_dataset_normalise(sparc_dataset *d, const double *mean, const double *deviation) {
  if (!d || !mean || !deviation)
    return fail(SPARC_INVALID, "%s is NULL", !d ? "dataset" : !mean ? "mean" : "deviation");
  for (int c = 0; c < d->channels; c++)
    if (!isfinite(mean[c]) || !isfinite(deviation[c]) || !(deviation[c] > 0))
      return fail(SPARC_INVALID,
                  "mean[%d] is %g and deviation[%d] is %g, expected finite numbers and deviation above 0", c, mean[c],
                  c, deviation[c]);
  sparc_status status = check_results(d, mean, deviation);
  if (status == SPARC_OK) status = dataset_own(d);
  if (status != SPARC_OK) return status;
  for (int i = 0; i < d->count; i++) {
    float *x = dataset_values(d, i);
    sparc_normalise(x, x, d->examples[i].length, d->channels, mean, deviation);
  }
  return SPARC_OK;
}
