/* SPDX-License-Identifier: MIT */
/* scan.h: recurrences alone, for those who form content and read states out themselves.
 *
 *   spectral   h_t = m_t lambda_t h_{t-1} + b_t  over H complex modes, with
 *              lambda_t = rho exp(i [theta + (1 - rho) kappa_p p_t]),  rho = exp(-nu exp(kappa_r r_t)):
 *              two controls per token, r and p, steer all modes. Without controls lambda = exp(-nu + i theta).
 *   real       h_t = m_t a_t h_{t-1} + x_t  over H real coordinates, with a transition for every token and coordinate.
 *
 * Transitions of the spectral scan are never stored: backward makes them again from 8 bytes per token. Arrays are
 * token-major and belong to the caller: rows of 2 H floats, re | im, or of H floats for the real scan. Results may
 * replace inputs where it says so; arrays that overlap in any other way are not allowed. Results do not depend on the
 * number of threads, not even in the last bit, and nothing is allocated after sparc_scan_create.
 */
#ifndef SPARC_SCAN_H
#define SPARC_SCAN_H

#include "sparc/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sparc_scan sparc_scan; /* opaque, immutable, shareable between threads */

typedef struct sparc_scan_config {
  int B, T, H;   /* streams, steps, modes (real scan: coordinates) */
  float kappa_r; /* retention range, 0 to 16; log 16 in the paper */
  float kappa_p; /* phase range in radians, 0 to 64; pi / 2 in the paper, beyond which tokens take longer */
  int threads;   /* exactly this many threads; 0: up to the number of processors, fewer for a small problem */
  int streaming; /* not 0: forward writes h by non-temporal stores. Worth it when h is larger than the caches and is not
                    read soon; ignored in place, or where h or H are no multiples of 64 bytes. */
  const char *kernel; /* set of kernels, see sparc/kernels.h; NULL: the best for this machine */
} sparc_scan_config;

SPARC_API sparc_status sparc_scan_create(const sparc_scan_config *config, sparc_scan **out);
SPARC_API void sparc_scan_free(sparc_scan *scan); /* may be NULL */

/* sparc_scan_kernel names the set of kernels that a scan uses. There is no scalar form: "plain" stands for the set that
 * every processor runs. */
SPARC_API const char *sparc_scan_kernel(const sparc_scan *scan);

/* ---- spectral ----------------------------------------------------------------------------------- */

/* sparc_scan_constants gives the number of floats that sparc_scan_prepare fills: what the kernels want to know of the
 * modes, derived in double. nu[H] must be finite and at least 0 (it counts as at most 1e25), theta[H] finite. Decays
 * nu exp(kappa_r r) below 2^-21 count as 2^-21, which keeps |lambda| < 1 after rounding. */
SPARC_API size_t sparc_scan_constants(const sparc_scan *scan);
SPARC_API sparc_status sparc_scan_prepare(const sparc_scan *scan, const float *nu, const float *theta,
                                          float *constants);

/* sparc_scan_order writes the permutation that sorts the modes by nu, smallest first: order[i] is the mode to put at
 * place i. Runs of 64 neighbours with small decays take a shorter way through the arithmetic. A caller who is free to
 * lay out its columns (those of a projection, say) can use this order; the scan works in whatever order it is given. */
SPARC_API sparc_status sparc_scan_order(int H, const float *nu, int *order);

typedef struct sparc_scan_data {
  const float *controls; /* [B][T][2]: r, p, from -1 to 1; NULL: none */
  const float *mask;     /* [B][T], 1: continue, 0: a new segment starts here; NULL: all ones */
  const float *state0;   /* [B][2H]; NULL: zeros */
  const float *b;        /* [B][T][2H]; backward does not read it */
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

SPARC_API sparc_status sparc_scan_forward(const sparc_scan *scan, const float *constants, const sparc_scan_data *data);

/* sparc_scan_backward is the exact adjoint. work is a 64-byte aligned block of that many bytes, never shared by
 * concurrent calls. */
SPARC_API size_t sparc_scan_work_bytes(const sparc_scan *scan);
SPARC_API sparc_status sparc_scan_backward(const sparc_scan *scan, const float *constants, const sparc_scan_data *data,
                                           const sparc_scan_gradient *gradient, void *work);

/* bytes that must be kept between forward and backward besides the states: the controls, 8 bytes per token, where a
 * scan that is given its transitions keeps those, 8 H bytes per token for H modes */
SPARC_API size_t sparc_scan_saved_bytes(const sparc_scan *scan);

/* ---- real --------------------------------------------------------------------------------------- */

typedef struct sparc_real_scan_data {
  const float *a;      /* [B][T][H] */
  const float *mask;   /* [B][T]; NULL: all ones */
  const float *state0; /* [B][H]; NULL: zeros */
  const float *x;      /* [B][T][H]; backward does not read it */
  float *h;            /* [B][T][H], written by forward, read by backward; may be x: in place */
  float *state_last;   /* [B][H], written by forward; may be NULL */
} sparc_real_scan_data;

typedef struct sparc_real_scan_gradient {
  const float *dh;          /* [B][T][H] */
  const float *dstate_last; /* [B][H]; NULL: zeros */
  float *dx;                /* [B][T][H], overwritten; may be dh: in place */
  float *da;                /* [B][T][H], overwritten; may be the a of the data: in place */
  float *dstate0;           /* [B][H], overwritten; may be NULL */
} sparc_real_scan_gradient;

SPARC_API sparc_status sparc_real_scan_forward(const sparc_scan *scan, const sparc_real_scan_data *data);
SPARC_API sparc_status sparc_real_scan_backward(const sparc_scan *scan, const sparc_real_scan_data *data,
                                                const sparc_real_scan_gradient *gradient);

/* bytes of the transitions, which must be kept between forward and backward besides the states */
SPARC_API size_t sparc_real_scan_saved_bytes(const sparc_scan *scan);

#ifdef __cplusplus
}
#endif

#endif
