/* SPDX-License-Identifier: MIT */
/* baseline.h: baseline errors of regression and forecasting. */
#ifndef SPARC_TRAIN_BASELINE_H
#define SPARC_TRAIN_BASELINE_H

#include "sparc/train.h"

#include <stdbool.h>

/* baseline_error is the mean squared error per number, in the units of the targets, of predicting the mean target of the
 * fit part, or, for forecasts, the current value (persistence). */
double baseline_error(const sparc_samples *samples, const sparc_preprocessing *preprocessing);

#endif
