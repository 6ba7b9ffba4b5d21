/* SPDX-License-Identifier: MIT */
/* scan_plain.c: the slots of kernels/scan.h in scalar C with the C library's functions, for machines without kernels
 * and to show what the kernels should compute. Arithmetic in double, arrays in float. */
#include "seq/scan.h"

#include <math.h>
#include <string.h>

typedef struct plain_transition {
  double rho, clock, re, im, scale, phase;
} plain_transition;

/* mode i of a tile at token t */
static plain_transition transition_at(const spectral_rows *rows, const scan_tile *k, size_t i, size_t t) {
  if (!rows->controls)
    return (plain_transition){.re = (double)k->fixed_re[i], .im = (double)k->fixed_im[i], .scale = 1};
  plain_transition l = {.scale = exp((double)rows->kappa_r * (double)rows->controls[2 * t]),
                        .phase = (double)rows->kappa_p * (double)rows->controls[2 * t + 1]};
  const double e = fmax((double)k->nu[i] * l.scale, (double)DECAY_FLOOR_F32);
  l.rho = exp(-e);
  l.clock = -expm1(-e);
  const double c = cos(l.clock * l.phase), s = sin(l.clock * l.phase);
  l.re = l.rho * ((double)k->cos[i] * c - (double)k->sin[i] * s);
  l.im = l.rho * ((double)k->cos[i] * s + (double)k->sin[i] * c);
  return l;
}

static bool starts_segment(const float *mask, size_t t) { return mask && mask[t] == 0; }

static void spectral_scan(const spectral_scan_rows *s) {
  const spectral_rows *rows = &s->rows;
  for (size_t t = 0; t < rows->tokens; t++) {
    for (size_t j = 0; j < rows->n; j++) {
      const size_t tile = j / SCAN_TILE, i = j % SCAN_TILE, re = t * 2 * rows->H + rows->first + j, im = re + rows->H;
      float *state = rows->carried + 2 * tile * SCAN_TILE + i;
      const bool reset = starts_segment(rows->mask, t);
      const double h_re = reset ? 0 : (double)state[0], h_im = reset ? 0 : (double)state[SCAN_TILE];
      const plain_transition l = transition_at(rows, &rows->tiles[tile], i, t);
      s->h[re] = state[0] = (float)(l.re * h_re - l.im * h_im + (double)s->b[re]);
      s->h[im] = state[SCAN_TILE] = (float)(l.re * h_im + l.im * h_re + (double)s->b[im]);
    }
  }
}

/* one mode at one token; adds to what the controls get */
static void adjoint_mode(const spectral_adjoint_rows *s, size_t t, size_t j, double *by_decay, double *by_turn) {
  const spectral_rows *rows = &s->rows;
  const size_t tile = j / SCAN_TILE, i = j % SCAN_TILE, re = t * 2 * rows->H + rows->first + j, im = re + rows->H;
  float *carried = rows->carried + 2 * tile * SCAN_TILE + i;
  const double g_re = (double)s->dh[re] + (double)carried[0], g_im = (double)s->dh[im] + (double)carried[SCAN_TILE];
  s->db[re] = (float)g_re;
  s->db[im] = (float)g_im;
  carried[0] = carried[SCAN_TILE] = 0;
  if (starts_segment(rows->mask, t)) return;
  const plain_transition l = transition_at(rows, &rows->tiles[tile], i, t);
  const double h_re = (double)(t > 0 ? s->h[re - 2 * rows->H] : s->before_re[j]);
  const double h_im = (double)(t > 0 ? s->h[im - 2 * rows->H] : s->before_im[j]);
  const double c_re = l.re * g_re + l.im * g_im, c_im = l.re * g_im - l.im * g_re;
  const double w_re = h_re * c_re + h_im * c_im, w_im = h_re * c_im - h_im * c_re;
  const double by_e = l.rho * l.phase * w_im - w_re;
  carried[0] = (float)c_re;
  carried[SCAN_TILE] = (float)c_im;
  s->by_nu[j] += l.scale * by_e;
  s->by_theta[j] += w_im;
  *by_decay += (double)rows->tiles[tile].nu[i] * l.scale * by_e;
  *by_turn += l.clock * w_im;
}

static void spectral_adjoint(const spectral_adjoint_rows *s) {
  const spectral_rows *rows = &s->rows;
  for (size_t t = rows->tokens; t-- > 0;) {
    double by_decay = 0, by_turn = 0;
    for (size_t j = 0; j < rows->n; j++) adjoint_mode(s, t, j, &by_decay, &by_turn);
    if (!rows->controls) continue;
    s->dcontrols[2 * t] = (float)((double)rows->kappa_r * by_decay);
    s->dcontrols[2 * t + 1] = (float)((double)rows->kappa_p * by_turn);
  }
}

static void real_scan(const real_scan_rows *s) {
  const real_rows *rows = &s->rows;
  for (size_t t = 0; t < rows->tokens; t++) {
    for (size_t j = 0; j < rows->n; j++) {
      const size_t at = t * rows->H + rows->first + j;
      const double before = starts_segment(rows->mask, t) ? 0 : (double)rows->carried[j];
      s->h[at] = rows->carried[j] = (float)((double)rows->a[at] * before + (double)s->x[at]);
    }
  }
}

static void real_adjoint(const real_adjoint_rows *s) {
  const real_rows *rows = &s->rows;
  for (size_t t = rows->tokens; t-- > 0;) {
    const bool reset = starts_segment(rows->mask, t);
    for (size_t j = 0; j < rows->n; j++) {
      const size_t at = t * rows->H + rows->first + j;
      const double g = (double)s->dh[at] + (double)rows->carried[j], a = (double)rows->a[at];
      const double before = (double)(t > 0 ? s->h[at - rows->H] : s->before[j]);
      s->dx[at] = (float)g;
      s->da[at] = reset ? 0 : (float)(g * before);
      rows->carried[j] = reset ? 0 : (float)(a * g);
    }
  }
}

const scan_kernels scan_plain = {spectral_scan, spectral_adjoint, real_scan, real_adjoint, 1};
