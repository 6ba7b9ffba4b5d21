/* SPDX-License-Identifier: MIT */
/* naive.h: the error of predicting numbers without learning anything. */
#ifndef SPARC_TRAIN_NAIVE_H
#define SPARC_TRAIN_NAIVE_H

#include "sparc/train.h"

#include <stdbool.h>

/* naive_error is the mean squared error per number, in the units of the targets, of the mean target of the fit part or,
 * of a forecast, of the present value, which is to say of no change. */
double naive_error(const sparc_samples *samples, const sparc_preprocessing *preprocessing);

#endif
