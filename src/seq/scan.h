/* SPDX-License-Identifier: MIT */
/* scan.h: the jobs of which a scan is made: a stream and a run of modes, over some of its tokens. */
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
void real_scan_forward_job(const sparc_scan *scan, const sparc_real_scan_data *data, size_t job, size_t from, size_t to,
                           float *carried);
void real_scan_backward_job(const sparc_scan *scan, const sparc_real_scan_data *data,
                            const sparc_real_scan_gradient *gradient, size_t job, size_t from, size_t to,
                            float *carried);

#endif
