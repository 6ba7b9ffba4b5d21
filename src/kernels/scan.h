/* SPDX-License-Identifier: MIT */
/* scan.h: recurrences alone, as slots of the kernel table: content is given, transitions are computed on the fly.
 *
 *   spectral   h_t = m_t lambda_t h_{t-1} + b_t,   lambda = rho exp(i [theta + (1 - rho) kappa_p p]),
 *              rho = exp(-nu exp(kappa_r r))       [eq:sara_transition, eq:app_masked_scan]
 *   fixed      the same without controls: lambda = exp(-nu + i theta)
 *   real       h_t = m_t a_t h_{t-1} + x_t, with a given for every token
 *
 * Rows are token-major, (tokens, 2 H) with re | im or (tokens, H) for the real scan. A call handles consecutive tokens
 * of one stream and a run of modes.
 */
#ifndef SPARC_KERNELS_SCAN_H
#define SPARC_KERNELS_SCAN_H

#include "kernels/sparc_rules.h"

#include <stdbool.h>
#include <stddef.h>

enum {
  SCAN_TILE = 64,   /* modes that decide together how much arithmetic a token needs */
  SCAN_MODES = 512, /* the widest run of modes of a call: its state and constants fit the first-level cache */
};

/* Constants of SCAN_TILE modes. They lie side by side, for a dozen arrays of their own would compete for the same lines
 * of the first-level cache. Modes beyond the last one have the decay of the last one and no frequency. */
typedef struct scan_tile {
  float nu[SCAN_TILE], cos[SCAN_TILE], sin[SCAN_TILE]; /* of theta */
  float fixed_re[SCAN_TILE], fixed_im[SCAN_TILE];      /* lambda without controls */
  float largest, smallest;                             /* nu of the tile */
  float unused[14];                                    /* whole cache lines, and an odd number of them */
} scan_tile;

/* the modes [first, first + n) of H; first is a multiple of SCAN_TILE */
typedef struct spectral_rows {
  size_t H, first, n, tokens;
  float kappa_r, kappa_p;
  const scan_tile *tiles; /* that of the mode `first`, and the following ones */
  const float *controls;  /* (tokens, 2): r, p; NULL: none */
  const float *mask;      /* (tokens); NULL: ones */
  float *carried; /* (tiles, 2, SCAN_TILE): the state before the first token, after the last one on return; backward,
                     the cotangent of the last state from the future, of the state before the first token on return */
} spectral_rows;

typedef struct spectral_scan_rows {
  spectral_rows rows;
  const float *b;   /* (tokens, 2 H) */
  float *h;         /* (tokens, 2 H); may be b */
  bool nontemporal; /* non-temporal stores, where there are such and h is aligned for them */
} spectral_scan_rows;

typedef struct spectral_adjoint_rows {
  spectral_rows rows;
  const float *h;                     /* (tokens, 2 H): the state after each token */
  const float *before_re, *before_im; /* (n): the state before the first token */
  const float *dh;                    /* (tokens, 2 H) */
  float *db;                          /* (tokens, 2 H); may be dh */
  size_t earlier;                     /* rows of h and dh before these, which come next */
  float *dcontrols;                   /* (tokens, 2): overwritten with the sums over this run of modes */
  double *by_nu, *by_theta;           /* (n): added to */
} spectral_adjoint_rows;

/* the coordinates [first, first + n) of H */
typedef struct real_rows {
  size_t H, first, n, tokens;
  const float *a;    /* (tokens, H) */
  const float *mask; /* (tokens); NULL: ones */
  float *carried;    /* (n) */
} real_rows;

typedef struct real_scan_rows {
  real_rows rows;
  const float *x; /* (tokens, H) */
  float *h;       /* (tokens, H); may be x */
  bool nontemporal;
} real_scan_rows;

typedef struct real_adjoint_rows {
  real_rows rows;
  const float *h;      /* (tokens, H): the state after each token */
  const float *before; /* (n): the state before the first token */
  const float *dh;     /* (tokens, H) */
  float *dx;           /* (tokens, H); may be dh */
  float *da;           /* (tokens, H); may be a */
} real_adjoint_rows;

typedef struct scan_kernels {
  void (*spectral)(const spectral_scan_rows *rows);
  void (*spectral_adjoint)(const spectral_adjoint_rows *rows);
  void (*real)(const real_scan_rows *rows);
  void (*real_adjoint)(const real_adjoint_rows *rows);
  size_t lanes; /* floats of a vector, with which operations are counted */
} scan_kernels;

/* Operations of the multiply-add units per vector of modes in the spectral scan: without an exponent (small decays) and
 * with one. What the units could do at most follows from them. */
enum { SCAN_SMALL_OPERATIONS = 25, SCAN_GENERAL_OPERATIONS = 36 };

/* below this decay, ln 2 / 2, rho = exp(-decay) is above 1 / sqrt 2 and its exponent is known */
#define SMALL_DECAY 0.34657359f

/* the largest phase that the short sine and cosine are made for: pi / 2 rounded up */
#define LARGEST_PHASE 0x1.921fb6p0f

/* how much arithmetic the transitions of a tile need at a token */
typedef enum scan_path { SCAN_SMALL, SCAN_GENERAL, SCAN_EXTREME, SCAN_FIXED } scan_path;

/* scan_path_of chooses by the decays of a tile, exp(kappa_r r) and kappa_p p. Phases beyond pi / 2, and decays beyond
 * those of a finite exponent or below the floor that keeps |lambda| < 1 after rounding, are extreme. */
static inline scan_path scan_path_of(const scan_tile *tile, float scale, float phase) {
  const float low = tile->smallest * scale, high = tile->largest * scale;
  /* exp(-87) is the last power of e that is not denormal */
  if (!(low >= DECAY_FLOOR_F32 && high <= 87 && phase >= -LARGEST_PHASE && phase <= LARGEST_PHASE)) return SCAN_EXTREME;
  return high < SMALL_DECAY ? SCAN_SMALL : SCAN_GENERAL;
}

#endif
