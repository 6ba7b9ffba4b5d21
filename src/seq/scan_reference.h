/* SPDX-License-Identifier: MIT */
/* scan_reference.h: the scans once more, in double, one stream, as plain as the equations. Never optimised; tests and
 * `sparc bench` judge the scans by it. */
#ifndef SPARC_SEQ_SCAN_REFERENCE_H
#define SPARC_SEQ_SCAN_REFERENCE_H

/* one stream of the spectral scan; inputs may be NULL as in sparc/scan.h, results may not */
typedef struct scan_reference {
  int T, H;
  double kappa_r, kappa_p;
  const double *nu, *theta, *controls, *mask, *state0, *b; /* (H), (H), (T, 2), (T), (2 H), (T, 2 H) */
  double *h;                                               /* (T, 2 H) */
  const double *dh, *dstate_last;                          /* (T, 2 H), (2 H) */
  double *db, *dcontrols, *dstate0, *dnu, *dtheta;         /* overwritten; dcontrols alone may be NULL */
} scan_reference;

void scan_reference_forward(const scan_reference *s);
void scan_reference_backward(const scan_reference *s); /* after forward */

/* one stream of the real scan */
typedef struct real_scan_reference {
  int T, H;
  const double *a, *mask, *state0, *x;
  double *h;
  const double *dh, *dstate_last;
  double *dx, *da, *dstate0; /* overwritten */
} real_scan_reference;

void real_scan_reference_forward(const real_scan_reference *s);
void real_scan_reference_backward(const real_scan_reference *s);

#endif
