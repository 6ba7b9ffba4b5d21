/* SPDX-License-Identifier: MIT */
/* normalise.c: z-scores of channels [app:classification_data]. Mean and standard deviation are those of the fit subset
 * and are stored with the model. */
#include "data/normalise.h"

#include "data/dataset.h"

#include <math.h>

/* sums f(x) = (x - centre)^power over the values of a channel that are not missing */
static double sum_channel(const sparc_dataset *d, int channel, double centre, int power, size_t *count) {
  double total = 0;
  *count = 0;
  for (int i = 0; i < d->count; i++) {
    /* one partial sum per example limits rounding errors */
    double part = 0;
    const float *x = dataset_x(d, i) + channel;
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
    const float *target = dataset_target(d, i) + k;
    const int rows = d->target_steps ? d->examples[i].length : 1;
    for (int t = 0; t < rows; t++, target += d->target_width, ++*count) {
      const double distance = *target - centre;
      total += power == 1 ? distance : distance * distance;
    }
  }
  return total;
}

/* mean and population standard deviation in two passes; a constant has the standard deviation 1. false: no value */
static bool moments(double (*sum)(const sparc_dataset *d, int which, double centre, int power, size_t *count),
                    const sparc_dataset *d, int which, double *mean, double *stddev) {
  size_t count;
  const double total = sum(d, which, 0, 1, &count);
  if (count == 0) return false;
  *mean = total / (double)count;
  *stddev = sqrt(sum(d, which, *mean, 2, &count) / (double)count);
  if (!(*stddev > 0)) *stddev = 1;
  return true;
}

sparc_status sparc_dataset_moments(const sparc_dataset *d, double *mean, double *stddev) {
  if (!d || !mean || !stddev) return fail(SPARC_INVALID, "%s is NULL", !d ? "dataset" : !mean ? "mean" : "stddev");
  for (int c = 0; c < d->channels; c++)
    if (!moments(sum_channel, d, c, &mean[c], &stddev[c]))
      return fail(SPARC_INVALID, "all values of channel %d of '%s' are missing, expected at least one", c + 1,
                  quote(d->name).text);
  return SPARC_OK;
}

void dataset_target_moments(const sparc_dataset *d, double *mean, double *stddev) {
  for (int k = 0; k < d->target_width; k++) moments(sum_target, d, k, &mean[k], &stddev[k]);
}

void normalise_rows(const float *in, float *out, int steps, int channels, const double *mean, const double *stddev) {
  if (!in || !out || !mean || !stddev) return;
  for (int t = 0; t < steps; t++)
    for (int c = 0; c < channels; c++, in++, out++) *out = (float)((*in - mean[c]) / stddev[c]);
}

static sparc_status check_results(const sparc_dataset *d, const double *mean, const double *stddev) {
  for (int i = 0; i < d->count; i++) {
    const float *x = dataset_x(d, i);
    for (int t = 0; t < d->examples[i].length; t++)
      for (int c = 0; c < d->channels; c++, x++)
        if (isinf((float)((*x - mean[c]) / stddev[c])))
          return fail(SPARC_NOT_FINITE, "example %d of '%s': value %g less %g divided by %g is too large for a float",
                      i, quote(d->name).text, *x, mean[c], stddev[c]);
  }
  return SPARC_OK;
}

sparc_status sparc_dataset_normalise(sparc_dataset *d, const double *mean, const double *stddev) {
  if (!d || !mean || !stddev) return fail(SPARC_INVALID, "%s is NULL", !d ? "dataset" : !mean ? "mean" : "stddev");
  for (int c = 0; c < d->channels; c++)
    if (!isfinite(mean[c]) || !isfinite(stddev[c]) || !(stddev[c] > 0))
      return fail(SPARC_INVALID, "mean[%d] is %g and stddev[%d] is %g, expected finite numbers and stddev above 0", c,
                  mean[c], c, stddev[c]);
  sparc_status status = check_results(d, mean, stddev);
  if (status == SPARC_OK) status = dataset_own(d);
  if (status != SPARC_OK) return status;
  for (int i = 0; i < d->count; i++) {
    float *x = dataset_values(d, i);
    normalise_rows(x, x, d->examples[i].length, d->channels, mean, stddev);
  }
  return SPARC_OK;
}
