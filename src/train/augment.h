/* SPDX-License-Identifier: MIT */
/* augment.h: data augmentation of training examples. */
#ifndef SPARC_TRAIN_AUGMENT_H
#define SPARC_TRAIN_AUGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct augmentation {
  double jitter;  /* standard deviation of noise added to every value */
  double scaling; /* standard deviation of a factor around 1, one per channel */
  double window;  /* largest fraction of steps cut off; the rest is stretched to the full length */
} augmentation;

bool augments(const augmentation *a);

/* augment modifies an example x (length, channels) in place: window, factors, noise. Random numbers depend on the seed,
 * the update and the row of the batch only. buffer is as large as x. */
void augment(const augmentation *a, uint64_t seed, uint64_t update, size_t row, size_t length, size_t channels,
             float *x, float *buffer);

#endif
