/* SPDX-License-Identifier: MIT */
/* scan.h: the jobs of a scan (a stream and a range of modes, over some of its tokens), and the real scan
 *   h_t = m_t a_t h_{t-1} + x_t  over H real coordinates, with a transition for every token and coordinate. */
#ifndef SPARC_SEQ_SCAN_H
#define SPARC_SEQ_SCAN_H

#include "kernels/scan.h"
#include "sparc/scan.h"

struct sparc_scan {
  sparc_scan_config config;
  const scan_kernels *kernels;
  const char *name;      /* of the kernels */
  int width, real_width; /* modes, or coordinates, of a job */
  int sum_width;         /* modes of a job whose sums over modes are added to those of others: by the shape alone */
  int threads;
};

/* scan_kernel_name returns the kernel set of a scan. There is no scalar form: "plain" uses the baseline set. */
const char *scan_kernel_name(const sparc_scan *scan);

/* scan_order writes the permutation that sorts the modes by nu, smallest first: order[i] is the mode to put at place i.
 * Runs of 64 neighbours with small decays take a shorter path through the arithmetic; a scan accepts any order. */
sparc_status scan_order(int H, const float *nu, int *order);

typedef struct real_scan_data {
  const float *a;      /* [B][T][H] */
  const float *mask;   /* [B][T]; NULL: all ones */
  const float *state0; /* [B][H]; NULL: zeros */
  const float *x;      /* [B][T][H]; not read by backward */
  float *h;            /* [B][T][H], written by forward, read by backward; may be x: in place */
  float *state_last;   /* [B][H], written by forward; may be NULL */
} real_scan_data;

typedef struct real_scan_gradient {
  const float *dh;          /* [B][T][H] */
  const float *dstate_last; /* [B][H]; NULL: zeros */
  float *dx;                /* [B][T][H], overwritten; may be dh: in place */
  float *da;                /* [B][T][H], overwritten; may be the a of the data: in place */
  float *dstate0;           /* [B][H], overwritten; may be NULL */
} real_scan_gradient;

sparc_status real_scan_forward(const sparc_scan *scan, const real_scan_data *data);
sparc_status real_scan_backward(const sparc_scan *scan, const real_scan_data *data, const real_scan_gradient *gradient);

/* Job number `job` is a stream and a run of modes of it. The backward with controls has jobs of its own. */
size_t scan_jobs(const sparc_scan *scan);
size_t scan_backward_jobs(const sparc_scan *scan, const sparc_scan_data *data);
size_t real_scan_jobs(const sparc_scan *scan);

/* scan_forward_job runs the steps [from, to) of a job. carried is SCAN_CARRIED floats, the state of its modes as the
 * kernels keep it, zero at the start of a stream without state0. */
enum { SCAN_CARRIED = 2 * SCAN_MODES };
void scan_forward_job(const sparc_scan *scan, const scan_tile *tiles, const sparc_scan_data *data, size_t job,
                      size_t from, size_t to, float *carried);

/* dcontrols (jobs of a stream, B, T, 2) is overwritten, sums (B, 2, H) added to */
void scan_backward_job(const sparc_scan *scan, const scan_tile *tiles, const sparc_scan_data *data,
                       const sparc_scan_gradient *gradient, size_t job, size_t from, size_t to, float *carried,
                       float *dcontrols, double *sums);

/* the real scan: carried is SCAN_CARRIED floats too */
void real_scan_forward_job(const sparc_scan *scan, const real_scan_data *data, size_t job, size_t from, size_t to,
                           float *carried);
void real_scan_backward_job(const sparc_scan *scan, const real_scan_data *data, const real_scan_gradient *gradient,
                            size_t job, size_t from, size_t to, float *carried);

#endif
