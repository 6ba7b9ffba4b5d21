/* SPDX-License-Identifier: MIT */
/* bank.h: a layer that is a bank of spectral filters, and its initialisation from sample signals. */
#ifndef SPARC_NN_BANK_H
#define SPARC_NN_BANK_H

#include "nn/layer.h"

extern const sparc_layer_kind layer_bank;
extern const sparc_layer_ops bank_ops_f32;
extern const sparc_layer_ops_f64 bank_ops_f64;

/* Offsets in the layer's params. Feature p M + m reads mode m. */
typedef struct bank {
  size_t C, M, P; /* channels, modes, thresholds of each */
  bool windows;   /* features have windows in time */
  size_t decay;   /* (M): nu, |lambda| = exp(-exp(nu)) */
  size_t angle;   /* (M): theta, arg lambda */
  size_t input;   /* (M, 2 C): weights of values and of differences */
  size_t re, im;  /* (P, M): weights of the mode's real and imaginary part */
  size_t bias;    /* (P, M) */
  size_t center;  /* (P, M): steps from the start of the segment */
  size_t focus;   /* (P, M): 1 / half-width in steps, 0: no window */
  size_t rest;    /* (P, M): weight of the steps from the span on */
  size_t span;    /* (1): logarithm of the number of steps that windows lie in */
} bank;

static inline const bank *bank_of(const sparc_layer *layer) { return layer->own; }

/* elements of a state: Re h, Im h, the last input and, for windows, the number of steps in the segment */
static inline size_t bank_state(const bank *at) { return 2 * at->M + at->C + at->windows; }

/* a sequence of inputs; (length, channels) */
typedef struct bank_signal {
  const float *x;
  int length;
} bank_signal;

/* bank_calibrate draws the layer's params: time constants from one step to a quarter of the longest signal,
 * log-uniformly, at most one oscillation in a time constant, directions at random, and thresholds at random quantiles
 * of the features on the signals. With `windows`, which the layer must have, half of the features get a window anywhere
 * in the longest signal; their quantiles are those inside it. */
sparc_status bank_calibrate(const sparc_layer *layer, uint64_t seed, bool windows, size_t signals,
                            const bank_signal *signal, float *params);

#endif
