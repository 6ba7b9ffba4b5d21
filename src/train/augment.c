/* SPDX-License-Identifier: MIT */
/* augment.c: windows, factors and noise, drawn from the stream (seed, "augment", "UPDATE.ROW"). Values are
 * normalised, so a standard deviation of 0.1 is a tenth of that of a channel in the data. */
#include "train/augment.h"

#include "sparc/random.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool augments(const augmentation *a) { return a->jitter > 0 || a->scaling > 0 || a->window > 0; }

/* step t is the old value at start + t share, by linear interpolation */
static void stretch(double start, double share, size_t length, size_t channels, float *x, float *old) {
  memcpy(old, x, length * channels * sizeof *x);
  for (size_t t = 0; t < length; t++, x += channels) {
    const double at = start + (double)t * share;
    size_t below = (size_t)at;
    if (below + 2 > length) below = length - 2;
    const double above = at - (double)below;
    const float *const left = old + below * channels, *const right = left + channels;
    for (size_t c = 0; c < channels; c++) x[c] = (float)((1 - above) * (double)left[c] + above * (double)right[c]);
  }
}

static void cut_window(const augmentation *a, sparc_random *stream, size_t length, size_t channels, float *x,
                       float *buffer) {
  const double share = 1 - a->window * sparc_random_uniform(stream);
  const double start = (1 - share) * (double)(length - 1) * sparc_random_uniform(stream);
  stretch(start, share, length, channels, x, buffer);
}

static void scale(const augmentation *a, sparc_random *stream, size_t length, size_t channels, float *x) {
  for (size_t c = 0; c < channels; c++) {
    const double factor = 1 + a->scaling * sparc_random_normal(stream);
    for (size_t t = 0; t < length; t++) x[t * channels + c] = (float)(factor * (double)x[t * channels + c]);
  }
}

void augment(const augmentation *a, uint64_t seed, uint64_t update, size_t row, size_t length, size_t channels,
             float *x, float *buffer) {
  char name[48];
  snprintf(name, sizeof name, "%" PRIu64 ".%zu", update, row);
  sparc_random stream;
  sparc_random_init(&stream, seed, "augment", name);
  if (a->window > 0 && length > 1) cut_window(a, &stream, length, channels, x, buffer);
  if (a->scaling > 0) scale(a, &stream, length, channels, x);
  for (size_t i = 0; a->jitter > 0 && i < length * channels; i++)
    x[i] = (float)((double)x[i] + a->jitter * sparc_random_normal(&stream));
}
