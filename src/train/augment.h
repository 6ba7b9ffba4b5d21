/* SPDX-License-Identifier: MIT */
/* augment.h: other examples of the same class, made of those that there are. */
#ifndef SPARC_TRAIN_AUGMENT_H
#define SPARC_TRAIN_AUGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct augmentation {
  double jitter;  /* deviation of noise that is added to every value */
  double scaling; /* deviation of a factor about 1, one for each channel */
  double window;  /* most of the steps that is left out, as a part of all; what remains is stretched to the length */
} augmentation;

bool augments(const augmentation *a);

/* augment changes an example x (length, channels) in place: a window of it, its factors, its noise. What is drawn
 * depends on the seed, the update and the row of the batch alone. room holds as much as x. */
void augment(const augmentation *a, uint64_t seed, uint64_t update, size_t row, size_t length, size_t channels,
             float *x, float *room);

#endif
