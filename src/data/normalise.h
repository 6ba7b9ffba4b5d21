/* SPDX-License-Identifier: MIT */
/* normalise.h: z-scores of rows of values. */
#ifndef SPARC_DATA_NORMALISE_H
#define SPARC_DATA_NORMALISE_H

/* normalise_rows writes (in - mean) / stddev, computed in double and rounded once. in, out: [steps][channels], may be
 * the same; mean, stddev: [channels]. Does nothing if a pointer is NULL. */
void normalise_rows(const float *in, float *out, int steps, int channels, const double *mean, const double *stddev);

#endif
