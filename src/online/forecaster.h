/* SPDX-License-Identifier: MIT */
/* forecaster.h: multi-horizon forecasts of every channel of a stream by a mixture of experts.
 *
 * For a channel and a horizon h: experts.h defines the experts, rls.h their regressions, mixture.h the weights,
 * intervals.h the prediction interval, periods.h the seasonal periods.
 *
 * Scale. sigma^2 is the running mean of (y[t] - y[t-h])^2 over 1000 values. Row and target of a regression are divided
 * by the current sigma, so weights have no units. No update while sigma < 1e-9 |y| or sigma < 1e-5 of its own mean over
 * 1e5 values: an EMA stops at rounding distance while sigma goes to 0.
 *
 * Outliers. The experts see a value clipped to the one-step forecast +- max(12 standard deviations of its error over
 * 200 values, the largest recent error). Scores use the raw value. It may be a new level: predictions add .7 of what was
 * clipped, or all of it if two in a row agree; after five in a row the history is shifted to the new level.
 *
 * Gaps. A missing value is replaced by the damped one-step forecast; it is neither learned from nor scored.
 *
 * Periods. When one changes, the regressions that use it are refitted to the last REPLAY values.
 *
 * Channels are independent. Nothing is allocated after creation; the state of a channel is a block of doubles, stored as
 * is.
 */
#ifndef SPARC_ONLINE_FORECASTER_H
#define SPARC_ONLINE_FORECASTER_H

#include "sparc/learner.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct forecaster forecaster;

/* forecaster_create checks its arguments and computes sizes: distinct horizons from 1 to MAX_HORIZON; coverage of the
 * intervals in (0, 1). forecaster_allocate then allocates the state. */
sparc_status forecaster_create(size_t channels, const int *horizon, int horizons, double coverage, forecaster **out);
sparc_status forecaster_allocate(forecaster *f);
void forecaster_free(forecaster *f); /* f may be NULL */

/* forecaster_observe takes the values of a step, NAN if missing; clean receives what the experts see. If frozen, weights
 * do not change. */
void forecaster_observe(forecaster *f, const float *x /* channels */, bool frozen, float *clean /* channels */);

/* forecaster_predict is called next; network: predictions of the recurrent network for the first horizon */
void forecaster_predict(forecaster *f, const float *network /* channels */, float *y /* horizons, channels */);

/* Of the last step. low and high are NAN before INTERVAL_AFTER targets. An anomaly of 1 lies at the edge of the
 * interval; NAN: no interval. */
void forecaster_interval(const forecaster *f, float *low, float *high /* horizons, channels */);
void forecaster_anomaly(const forecaster *f, float *score /* channels */);
sparc_forecast_score forecaster_score(const forecaster *f, int horizon /* index */);
void forecaster_periods(const forecaster *f, size_t channel_index, int period[2]); /* 0: none */

void forecaster_reset_state(forecaster *f); /* the next values start a new sequence; learned weights are kept */

/* the state (channels, forecaster_numbers), and whether a loaded one is valid */
double *forecaster_state(forecaster *f);
size_t forecaster_numbers(const forecaster *f);
bool forecaster_valid(const forecaster *f);

#endif
