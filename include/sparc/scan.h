/* SPDX-License-Identifier: MIT */
/* scan.h: the spectral recurrence alone, for callers that compute content and outputs themselves.
 *
 *   h_t = m_t lambda_t h_{t-1} + b_t  over H complex modes, with
 *   lambda_t = rho exp(i [theta + (1 - rho) kappa_p p_t]),  rho = exp(-nu exp(kappa_r r_t))
 *
 * Two controls per token, r and p, modulate all modes. Without controls lambda = exp(-nu + i theta). Transitions are
 * never stored: backward recomputes them from the controls, 8 bytes per token. Arrays are token-major and owned by the
 * caller; rows are 2 H floats, re | im. Results may replace inputs where stated; arrays must not overlap otherwise.
 * Results are bit-identical for any number of threads. Only sparc_scan_create allocates.
 */
#ifndef SPARC_SCAN_H
#define SPARC_SCAN_H

#include "sparc/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sparc_scan sparc_scan; /* opaque, immutable, shareable between threads */

typedef struct sparc_scan_config {
  int B, T, H;   /* streams, steps, modes */
  float kappa_r; /* retention range, 0 to 16; log 16 in the paper */
  float kappa_p; /* phase range in radians, 0 to 64; pi / 2 in the paper; larger values are slower */
  int threads;   /* exactly this many threads; 0: up to the number of processors, fewer for a small problem */
  int streaming; /* not 0: forward writes h by non-temporal stores, for an h that is larger than the caches and is not
                    read soon; ignored in place, or where h or H are not multiples of 64 bytes */
  const char *kernel; /* kernel set, see cell.h; NULL: the best for this processor; "plain" uses the baseline set */
} sparc_scan_config;

typedef struct sparc_scan_sizes {
  size_t constants; /* floats written by sparc_scan_prepare */
  size_t work;      /* bytes of scratch of sparc_scan_backward */
} sparc_scan_sizes;

typedef struct sparc_scan_data {
  const float *controls; /* [B][T][2]: r, p, from -1 to 1; NULL: none */
  const float *mask;     /* [B][T], see cell.h; NULL: all ones */
  const float *state0;   /* [B][2H]; NULL: zeros */
  const float *b;        /* [B][T][2H]; not read by backward */
  float *h;              /* [B][T][2H], written by forward, read by backward; may be b: in place */
  float *state_last;     /* [B][2H], written by forward; may be NULL */
} sparc_scan_data;

typedef struct sparc_scan_gradient {
  const float *dh;          /* [B][T][2H] */
  const float *dstate_last; /* [B][2H]; NULL: zeros */
  float *db;                /* [B][T][2H], overwritten; may be dh: in place */
  float *dcontrols;         /* [B][T][2], overwritten; may be NULL */
  float *dstate0;           /* [B][2H], overwritten; may be NULL */
  float *dnu, *dtheta;      /* [H], added to; may be NULL */
} sparc_scan_gradient;

SPARC_API sparc_status sparc_scan_create(const sparc_scan_config *config, sparc_scan **out);
SPARC_API void sparc_scan_free(sparc_scan *scan); /* scan may be NULL */
SPARC_API sparc_scan_sizes sparc_scan_sizes_of(const sparc_scan *scan);

/* Derive the constants of the kernels from nu[H] and theta[H], in double. nu must be finite and at least 0 (values above
 * 1e25 count as 1e25), theta finite. Decays nu exp(kappa_r r) below 2^-21 count as 2^-21, which keeps |lambda| < 1 after
 * rounding. Modes in ascending order of nu are fastest. */
SPARC_API sparc_status sparc_scan_prepare(const sparc_scan *scan, const float *nu, const float *theta,
                                          float *constants);

SPARC_API sparc_status sparc_scan_forward(const sparc_scan *scan, const float *constants, const sparc_scan_data *data);

/* Compute the exact adjoint of sparc_scan_forward. work is 64-byte aligned and never shared by concurrent calls. */
SPARC_API sparc_status sparc_scan_backward(const sparc_scan *scan, const float *constants, const sparc_scan_data *data,
                                           const sparc_scan_gradient *gradient, void *work);

#ifdef __cplusplus
}
#endif

#endif
