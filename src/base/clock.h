/* SPDX-License-Identifier: MIT */
/* clock.h: seconds of the system's clocks. */
#ifndef SPARC_BASE_CLOCK_H
#define SPARC_BASE_CLOCK_H

#include <time.h>

double clock_seconds(clockid_t clock);
double seconds_now(void); /* monotonic, from an arbitrary start: for durations */

#endif
