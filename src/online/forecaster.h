/* SPDX-License-Identifier: MIT */
/* forecaster.h: forecasts of every channel of a stream by a mixture of experts, several horizons at once.
 *
 * For a channel and a horizon h: experts.h has the experts, rls.h how regressions learn, mixture.h how predictions are
 * combined, intervals.h the interval around the result, periods.h the seasonal periods.
 *
 * Scale. sigma^2 is the running mean of (y[t] - y[t-h])^2 over 1000 values. Row and target of a regression are divided
 * by the present sigma, so weights have no units. No update while sigma < 1e-9 |y| or sigma < 1e-5 of its own mean over
 * 1e5 values: an EMA stops at rounding distance while sigma goes to 0.
 *
 * Outliers. The experts see a value clipped to the one-step forecast +- max(12 standard deviations of its error over
 * 200 values, the largest recent error). Scores see it as it is. It may be a new level: predictions add .7 of what was
 * clipped, or all of it if two in a row agree; after five in a row the past moves to the new level.
 *
 * Gaps. A missing value is continued by the one-step forecast, faded; nothing is learned from it or scored by it.
 *
 * Periods. When one changes, the regressions that see it are fitted anew to the last REPLAY values.
 *
 * Channels do not see each other here. Nothing is allocated after creation; the state of a channel is a block of
 * doubles, which a file stores as it is.
 */
#ifndef SPARC_ONLINE_FORECASTER_H
#define SPARC_ONLINE_FORECASTER_H

#include "sparc/learner.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct forecaster forecaster;

/* forecaster_create checks and measures: horizons from 1 to HORIZON_MOST, each once; 0 < coverage < 1 of intervals.
 * forecaster_allocate then takes the memory of the state. */
sparc_status forecaster_create(size_t channels, const int *horizon, int horizons, double coverage, forecaster **out);
sparc_status forecaster_allocate(forecaster *f);
void forecaster_free(forecaster *f); /* f may be NULL */

/* forecaster_observe takes the values of a step, NAN where one is missing; clean gets what the experts see. With frozen
 * only states move on. */
void forecaster_observe(forecaster *f, const float *x /* channels */, bool frozen, float *clean /* channels */);

/* forecaster_predict follows it; network: predictions of the first horizon by a recurrent network */
void forecaster_predict(forecaster *f, const float *network /* channels */, float *y /* horizons, channels */);

/* of the last step. low and high are NAN before INTERVAL_AFTER targets. An anomaly of 1 lies at the edge of the
 * interval; NAN: there was none. */
void forecaster_interval(const forecaster *f, float *low, float *high /* horizons, channels */);
void forecaster_anomaly(const forecaster *f, float *score /* channels */);
sparc_forecast_score forecaster_score(const forecaster *f, int horizon /* its place */);
void forecaster_periods(const forecaster *f, size_t channel, int period[2]); /* 0: none */

void forecaster_begin(forecaster *f); /* the next values start a new sequence: what was learned stays */

/* the state, (channels, forecaster_numbers), and whether one from a file can be continued */
double *forecaster_state(forecaster *f);
size_t forecaster_numbers(const forecaster *f);
bool forecaster_valid(const forecaster *f);

#endif
