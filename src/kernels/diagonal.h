/* SPDX-License-Identifier: MIT */
/* diagonal.h: float32 inner loops of the diagonal cells beside SPARC's fused scan: fixed spectra (RTU, LRU), RG-LRU,
 * GateLoop, the dot products after SPARC's shared controls; and Mamba-3's output gate.
 *
 * "Rows" are consecutive tokens of one stream and modes [first, first + n) of H, n <= KERNEL_TILE. A scan gets the
 * state before the first token and leaves the one after the last; an adjoint gets the cotangent of the last state from
 * the future and leaves that of the state before the first token. Equations as in src/cells.
 */
#ifndef SPARC_KERNELS_DIAGONAL_H
#define SPARC_KERNELS_DIAGONAL_H

#include <stdbool.h>
#include <stddef.h>

/* what a scan and an adjoint of complex modes carry besides the coefficients; states are (tokens, 2 H): re | im */
typedef struct complex_scan {
  float *h_re, *h_im; /* (n) */
  float *states;
} complex_scan;

typedef struct complex_adjoint {
  const float *states, *dstates;
  const float *before_re, *before_im; /* (n): the state before the first token */
  float *g_re, *g_im;                 /* (n) */
} complex_adjoint;

/* ---- fixed spectrum ------------------------------------------------------------------------------ */

/* per-mode gradients that the adjoint accumulates: the cotangents of lambda and of the gain */
enum { SPECTRUM_LAMBDA_RE, SPECTRUM_LAMBDA_IM, SPECTRUM_GAIN, SPECTRUM_SUMS };

typedef struct spectrum_rows {
  size_t H, first, n, tokens;
  const float *lambda_re, *lambda_im, *gain; /* (H) */
  const float *pre;                          /* (tokens, 2 H): content re | im */
  const float *mask;                         /* (tokens); NULL: ones */
} spectrum_rows;

/* ---- GateLoop ------------------------------------------------------------------------------------ */

/* columns of the pre-activations, H each: six projections of the input, then what the output matrix reads */
enum { LOOP_AL, LOOP_BE, LOOP_K, LOOP_V, LOOP_Q, LOOP_G, LOOP_E, LOOP_COLUMNS };

typedef struct loop_rows {
  size_t H, first, n, tokens;
  bool polar;        /* the form of the transition */
  const float *pre;  /* (tokens, LOOP_COLUMNS H) */
  const float *mask; /* (tokens); NULL: ones */
} loop_rows;

/* ---- RG-LRU -------------------------------------------------------------------------------------- */

/* per-coordinate gradients that the adjoint accumulates: by Lambda and by the biases of the two gates */
enum { RGLRU_DECAY, RGLRU_RETENTION, RGLRU_INPUT, RGLRU_SUMS };

typedef struct rglru_rows {
  size_t H, first, n, tokens;
  const float *rate, *rate_slope; /* (H): c softplus(Lambda), c sigmoid(Lambda) */
  const float *content;           /* (tokens, content_stride) */
  const float *gates;             /* (tokens, gate_stride): retention | input */
  size_t content_stride, gate_stride;
  const float *mask; /* (tokens); NULL: ones */
} rglru_rows;

typedef struct rglru_adjoint_rows {
  rglru_rows rows;
  const float *states, *dstates; /* (tokens, H) */
  const float *before;           /* (n): the state before the first token */
  float *g;                      /* (n) */
  float *dcontent;               /* (tokens, dcontent_stride) */
  size_t dcontent_stride;
  float *dgates; /* (tokens, gate_stride): by the gates' pre-activations */
  float *sums;   /* (RGLRU_SUMS, n): added to */
} rglru_adjoint_rows;

/* ---- the slots ----------------------------------------------------------------------------------- */

typedef struct diagonal_kernels {
  void (*spectrum_scan)(const spectrum_rows *rows, const complex_scan *scan);
  /* dpre (tokens, 2 H); sums (SPECTRUM_SUMS, n) are added to */
  void (*spectrum_adjoint)(const spectrum_rows *rows, const complex_adjoint *adjoint, float *dpre, float *sums);

  void (*loop_scan)(const loop_rows *rows, const complex_scan *scan);
  /* dpre (tokens, LOOP_COLUMNS H): the first four columns */
  void (*loop_adjoint)(const loop_rows *rows, const complex_adjoint *adjoint, float *dpre);
  /* one token: a and b (2, H) and, unless outer is NULL, the RTRL drivers of the first four columns (4, 2, H) given the
   * kept state (2, H) */
  void (*loop_token)(const loop_rows *rows, const float *kept, float *a, float *b, float *outer);
  /* E = silu(g) q Re h, of size up to `limit`, in all modes of n tokens */
  void (*loop_read)(size_t n, size_t H, float limit, const float *states, float *pre);
  /* dE in dpre becomes E, with the gradients of q, g and the state */
  void (*loop_read_adjoint)(size_t n, size_t H, float limit, const float *states, const float *pre, float *dstates,
                            float *dpre);

  /* h (n) and states (tokens, H) */
  void (*rglru_scan)(const rglru_rows *rows, float *h, float *states);
  void (*rglru_adjoint)(const rglru_adjoint_rows *rows);
  /* one token: a and b (H) */
  void (*rglru_token)(const rglru_rows *rows, float *a, float *b);
  /* x <- sigmoid(x + bias); false when some x + bias is not finite */
  bool (*gate)(size_t n, const float *bias, float *x);

  /* Mamba-3's gate over rows of `width`: out = o silu(z), with o of size up to `limit`; rows of z are z_stride apart */
  void (*silu_gate)(size_t n, size_t width, float limit, const float *o, const float *z, size_t z_stride, float *out);
  /* d enters as the cotangent of out and leaves as that of o; dz is laid out as z */
  void (*silu_gate_adjoint)(size_t n, size_t width, float limit, const float *o, const float *z, size_t z_stride,
                            float *d, float *dz, float *out);

  /* controls (n, 2) = tanh of x (n, D) . w + w[D] for w_r and w_p, in double and rounded once */
  void (*controls)(size_t n, size_t D, const float *x, const float *w_r, const float *w_p, float *controls);
  /* dx (n, D) += dcontrols[., 0] w_r + dcontrols[., 1] w_p */
  void (*controls_adjoint)(size_t n, size_t D, const float *dcontrols, const float *w_r, const float *w_p, float *dx);
  /* over n tokens: by_r (width) += dcontrols[., 0] x, by_p += dcontrols[., 1] x; rows of x are x_stride apart */
  void (*control_weights)(size_t n, size_t width, const float *dcontrols, const float *x, size_t x_stride, float *by_r,
                          float *by_p);
} diagonal_kernels;

/* diagonal_of returns these slots of a table, so that cells do not depend on the others. */
struct kernels;
const diagonal_kernels *diagonal_of(const struct kernels *table);

#endif
