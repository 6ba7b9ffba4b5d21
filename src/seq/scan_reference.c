/* SPDX-License-Identifier: MIT */
/* scan_reference.c: see scan_reference.h. One mode after the other, complex numbers as the language has them. */
#include "seq/scan_reference.h"

#include <complex.h>
#include <math.h>
#include <stddef.h>

typedef double complex number;

/* the parts of lambda of mode j at step t that its derivatives need */
typedef struct pieces {
  double e, rho, phase;
  number lambda;
} pieces;

static pieces pieces_at(const scan_reference *s, int t, int j) {
  const double r = s->controls ? s->controls[2 * (size_t)t] : 0, p = s->controls ? s->controls[2 * (size_t)t + 1] : 0;
  pieces v = {.e = s->nu[j] * exp(s->kappa_r * r), .phase = s->kappa_p * p};
  v.rho = exp(-v.e);
  v.lambda = v.rho * cexp(I * (s->theta[j] - expm1(-v.e) * v.phase));
  return v;
}

static double mask_at(const double *mask, int t) { return mask ? mask[t] : 1; }

static number get(const double *row, int H, int j) { return row ? row[j] + I * row[H + j] : 0; }

static void put(double *row, int H, int j, number value) {
  row[j] = creal(value);
  row[H + j] = cimag(value);
}

static const double *before(const scan_reference *s, int t) {
  return t > 0 ? s->h + (size_t)(t - 1) * 2 * (size_t)s->H : s->state0;
}

void scan_reference_forward(const scan_reference *s) {
  for (int t = 0; t < s->T; t++) {
    for (int j = 0; j < s->H; j++) {
      const size_t at = (size_t)t * 2 * (size_t)s->H;
      const number kept = mask_at(s->mask, t) == 0 ? 0 : get(before(s, t), s->H, j);
      put(s->h + at, s->H, j, pieces_at(s, t, j).lambda * kept + get(s->b + at, s->H, j));
    }
  }
}

void scan_reference_backward(const scan_reference *s) {
  for (int t = 0; s->dcontrols && t < 2 * s->T; t++) s->dcontrols[t] = 0;
  for (int j = 0; j < s->H; j++) {
    number g = get(s->dstate_last, s->H, j);
    s->dnu[j] = s->dtheta[j] = 0;
    for (int t = s->T - 1; t >= 0; t--) {
      const size_t at = (size_t)t * 2 * (size_t)s->H;
      const pieces v = pieces_at(s, t, j);
      const number kept = mask_at(s->mask, t) == 0 ? 0 : get(before(s, t), s->H, j);
      g += get(s->dh + at, s->H, j);
      put(s->db + at, s->H, j, g);
      /* lambda = exp(-e + i angle) with angle = theta + (1 - rho) phase */
      const number by_log = conj(v.lambda * kept) * g;
      const double by_angle = cimag(by_log), by_e = v.rho * v.phase * by_angle - creal(by_log);
      s->dtheta[j] += by_angle;
      s->dnu[j] += by_e * v.e / s->nu[j];
      if (s->dcontrols) {
        s->dcontrols[2 * (size_t)t] += s->kappa_r * v.e * by_e;
        s->dcontrols[2 * (size_t)t + 1] += s->kappa_p * (1 - v.rho) * by_angle;
      }
      g = mask_at(s->mask, t) * conj(v.lambda) * g;
    }
    put(s->dstate0, s->H, j, g);
  }
}

void real_scan_reference_forward(const real_scan_reference *s) {
  for (int t = 0; t < s->T; t++) {
    for (int j = 0; j < s->H; j++) {
      const size_t at = (size_t)t * (size_t)s->H + (size_t)j;
      const double past = t > 0 ? s->h[at - (size_t)s->H] : s->state0 ? s->state0[j] : 0;
      s->h[at] = (mask_at(s->mask, t) == 0 ? 0 : s->a[at] * past) + s->x[at];
    }
  }
}

void real_scan_reference_backward(const real_scan_reference *s) {
  for (int j = 0; j < s->H; j++) {
    double g = s->dstate_last ? s->dstate_last[j] : 0;
    for (int t = s->T - 1; t >= 0; t--) {
      const size_t at = (size_t)t * (size_t)s->H + (size_t)j;
      const double past = t > 0 ? s->h[at - (size_t)s->H] : s->state0 ? s->state0[j] : 0;
      g += s->dh[at];
      s->dx[at] = g;
      s->da[at] = mask_at(s->mask, t) == 0 ? 0 : g * past;
      g = mask_at(s->mask, t) == 0 ? 0 : g * s->a[at];
    }
    s->dstate0[j] = g;
  }
}
