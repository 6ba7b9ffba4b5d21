/* SPDX-License-Identifier: MIT */
/* cell_impl.h: the arithmetic of a cell, in one precision (see base/real.h).
 *
 * Diagonal affine cells, h_t = m_t a_t . h_{t-1} + b_t with a_t and b_t functions of x_t alone, fill in affine_ops; the
 * engine in cells/affine makes cell_ops of them, and src/rtrl continues from its steps. The work is cut into four stages,
 * each with its backward:
 *
 *   project       pre[:, :projected] = W x + bias          engine, from the cell's projection table
 *   activate      the rest of pre and the shared controls  cell, token by token
 *   coefficients  a_t, b_t of a tile of modes              cell, recomputed where needed, never stored
 *   output        y from h and pre                         cell; NULL: y is the state itself
 *
 * Cells of another form (GRU, Mamba-3) fill cell_ops themselves.
 */
#ifndef SPARC_CELLS_CELL_IMPL_H
#define SPARC_CELLS_CELL_IMPL_H

#include "base/real.h"
#include "cells/cell.h"
#include "cells/plan.h"
#include "cells/tiles.h"

enum { MAX_SUMS = 8 };

/* one token as a cell sees it */
typedef struct TYPED(token) {
  const real *pre;    /* (pre) */
  const real *shared; /* (shared) */
  real mask;          /* m_t */
  const real *x;      /* (D): the input */
} TYPED(token);

/* a_t and b_t of up to MODE_TILE modes; the im parts stay unused by real cells */
typedef struct TYPED(coefficients) {
  real a_re[MODE_TILE], a_im[MODE_TILE];
  real b_re[MODE_TILE], b_im[MODE_TILE];
} TYPED(coefficients);

/* what the adjoint of one token and tile starts from: kept = m_t h_{t-1} and mu = dL/dh_t */
typedef struct TYPED(cotangent) {
  const real *kept_re, *kept_im; /* (n) */
  const real *mu_re, *mu_im;     /* (n) */
  real *dx;                      /* (D): where a cell with direct_input writes its modes' part */
} TYPED(cotangent);

/* consecutive tokens of one stream and a run of modes, for the fused loops below */
typedef struct TYPED(span) {
  size_t first, n; /* modes, n <= WIDE_TILE */
  size_t tokens;
  const real *pre;    /* (tokens, pre) */
  const real *shared; /* (tokens, shared) */
  const real *mask;   /* (tokens); NULL: ones */
  const real *x;      /* (tokens, D) */
  real *dx;           /* adjoint of cells with direct_input: rows of D, dx_stride apart, to be overwritten */
  size_t dx_stride;   /* D, or 0: dx is not requested, one row takes it all */
  size_t earlier;     /* adjoint: rows of all arrays before these, which come next */
  real *dmodes; /* adjoint: (tokens, shared, H), gets what every mode has of dshared; NULL: dshared gets the sum */
} TYPED(span);

/* coefficients and recurrence of many tokens at once, and all modes of one token */
typedef struct TYPED(fused_ops) {
  /* h (parts, n) is the state before the first token, and after the last one on return; states (tokens, S) receives
   * every state */
  void (*scan)(const sparc_cell *cell, const real *constants, const TYPED(span) * span, real *h, real *states);
  /* before (parts, n) is the state before the first token; g (parts, n) the cotangent of the last state from the
   * future, and of `before` on return; dshared (tokens, shared) is overwritten, sums (sums, n) added to. Spans are
   * short, so that sums in float lose nothing: see adjoint_span in cells/affine/tokens_impl.h. */
  void (*scan_adjoint)(const sparc_cell *cell, const real *constants, const TYPED(span) * span, const real *before,
                       const real *states, const real *dstates, real *g, real *dpre, real *dshared, real *sums);
  /* dshared (tokens, shared) from dmodes (tokens, shared, H): the sums over modes [first, first + n) as scan_adjoint
   * would have formed them; NULL: only it can */
  void (*shared_sums)(const sparc_cell *cell, size_t tokens, size_t first, size_t n, const real *dmodes, real *dshared);
  /* a and b (S) of one token; NULL: the cell's coefficients do it */
  void (*coefficients)(const sparc_cell *cell, const real *constants, const TYPED(token) * token, const real *kept,
                       real *a, real *b);
  /* the same with the token's RTRL drivers; NULL: the cell's drivers do it */
  void (*drivers)(const sparc_cell *cell, const real *constants, const TYPED(token) * token, const real *kept, real *a,
                  real *b, real *outer, real *scalar);
} TYPED(fused_ops);

typedef struct TYPED(affine_ops) {
  /* the cell's constants from params, in double */
  void (*derive)(const sparc_cell *cell, const real *params, real *constants);

  /* n tokens; NULL when pre is all projected and nothing is shared */
  void (*activate)(const sparc_cell *cell, const real *constants, size_t n, const real *x, real *pre, real *shared);
  /* turns dpre and dshared into cotangents of the projected columns and of the shared pre-activations; with
   * direct_input dx (n, D) is the cotangent of the content and gets its share; it may be NULL */
  void (*activate_backward)(const sparc_cell *cell, const real *constants, size_t n, const real *pre,
                            const real *shared, real *dpre, real *dshared, real *dx);
  /* adds to dx (n, D) what the shared pre-activations have of it; NULL: nothing */
  void (*shared_backward)(const sparc_cell *cell, const real *constants, size_t n, const real *dshared, real *dx);
  /* adds to dparams what is not a projection and not a per-mode sum, over n tokens: part `part` of weight_parts, which
   * may run side by side. dy NULL: nothing came through the output. */
  void (*weight_gradient)(const sparc_cell *cell, size_t part, size_t n, const real *x, const real *pre,
                          const real *dpre, const real *dshared, const real *dy, real *dparams);
  size_t (*weight_parts)(const sparc_cell *cell);

  /* modes [first, first + n) of one token */
  void (*coefficients)(const sparc_cell *cell, const real *constants, const TYPED(token) * token, int first, int n,
                       TYPED(coefficients) * out);
  /* writes a_t to transition (its b stays untouched) and dpre, adds to dshared (shared) and to the per-mode sums;
   * columns that only the output uses stay untouched */
  void (*adjoint)(const sparc_cell *cell, const real *constants, const TYPED(token) * token, int first, int n,
                  const TYPED(cotangent) * cotangent, TYPED(coefficients) * transition, real *dpre, double *dshared,
                  double (*sums)[MODE_TILE]);
  /* adds the gradients of per-mode parameters, given the sums (sums, H) */
  void (*sums_gradient)(const sparc_cell *cell, const real *constants, const double *sums, real *dparams);

  /* the fused loops that serve a cell with these constants; NULL, or a result of NULL: none, and the engine continues
   * with coefficients, adjoint and drivers */
  const TYPED(fused_ops) * (*fused)(const sparc_cell *cell, const real *constants);

  /* n tokens; states (n, S); NULL: y is the state. The backward writes dstates and the output's columns of dpre. */
  void (*output)(const sparc_cell *cell, const real *constants, size_t n, const real *states, real *pre, real *y);
  void (*output_backward)(const sparc_cell *cell, const real *constants, size_t n, const real *states, const real *pre,
                          const real *dy, real *dstates, real *dpre);

  /* adds what the content and the write gates of one token are; NULL: the cell has neither */
  void (*activity)(const sparc_cell *cell, const real *constants, const TYPED(token) * token, cell_activity *sums);

  /* RTRL drivers of one token: outer (outer, parts, H) and scalar (scalar, parts, H); kept = m_t h_{t-1} (S),
   * a and b (S) as used in the step; NULL: no RTRL form */
  void (*drivers)(const sparc_cell *cell, const real *constants, const TYPED(token) * token, const real *kept,
                  const real *a, const real *b, real *outer, real *scalar);
  /* cells with columns: derivatives (1 + columns, H) of the state by what the first of the sums belongs to, then by the
   * mode's own columns of pre, of which sum s > 0 is column s added up over tokens */
  void (*column_drivers)(const sparc_cell *cell, const real *constants, const TYPED(token) * token, const real *kept,
                         real *columns);
  /* the drivers that follow from the first, `own`, and the others */
  void (*spread_columns)(const sparc_cell *cell, const real *constants, const TYPED(token) * token, const real *own,
                         const real *columns, real *outer, real *scalar);
  /* RTRL: adds to dparams the gradient of this token's own use of parameters that no trace and no output_only
   * projection covers; dpre holds the cotangents of the projected columns; NULL: nothing */
  void (*direct_gradient)(const sparc_cell *cell, const real *x, const real *pre, const real *dpre, const real *dy,
                          real *dparams);
} TYPED(affine_ops);

/* the arrays of a sequence call, as in sparc/sequence.h */
typedef struct TYPED(sequence_call) {
  const real *x, *mask, *state0; /* mask and state0 may be NULL */
  real *y, *state_last;          /* state_last may be NULL */
  const real *dy, *dstate_last;  /* backward only; dstate_last may be NULL */
  real *dx, *dstate0, *dparams;  /* backward only; each may be NULL */
  void *saved, *work;            /* the backward only reads saved */
} TYPED(sequence_call);

/* what only learning calls: the inference library's tables do not name it, so that the linker leaves it out */
#ifdef SPARC_INFERENCE
#define LEARNING(function) NULL
#else
#define LEARNING(function) function
#endif

/* what every kind of cell can do */
typedef struct TYPED(cell_ops) {
  void (*prepare)(const sparc_cell *cell, const real *params, real *prepared);
  /* one input for each of n streams: states (n, S), x (n, D), masks (n) or NULL for ones, y (n, O) or NULL, tapes
   * (n, tape). The streams may share one reading of the weights; the bits of a stream do not depend on n. */
  void (*step)(const sparc_cell *cell, const real *prepared, size_t n, real *states, const real *x, const real *masks,
               real *y, real *tapes);
  size_t (*saved_count)(const sparc_plan *plan); /* elements */
  size_t (*work_count)(const sparc_plan *plan);
  void (*forward)(const sparc_plan *plan, const real *prepared, const TYPED(sequence_call) * call);
  void (*backward)(const sparc_plan *plan, const real *prepared, const TYPED(sequence_call) * call);
  const TYPED(affine_ops) * affine; /* the arithmetic of the rest, where the affine engine fills it, and of
                                       RTRL; NULL for cells of another form */
} TYPED(cell_ops);

static inline const TYPED(cell_ops) * TYPED(ops_of)(const sparc_cell *cell) {
#ifdef SPARC_DOUBLE
  return (const TYPED(cell_ops) *)cell->ops_f64;
#else
  return (const TYPED(cell_ops) *)cell->ops_f32;
#endif
}

/* some rows, or columns, of a prepared W[K][N], whose panels prepared_panel of kernels/gemm_impl.h describes, from as
 * many rows of parameters, `stride` apart, that are cut at +-limit */
void TYPED(put_rows)(const sparc_cell *cell, size_t K, size_t N, range rows, const real *from, size_t stride,
                     double limit, real *W);
void TYPED(put_columns)(const sparc_cell *cell, size_t K, size_t N, range columns, const real *from, size_t stride,
                        double limit, real *W);

/* a parameter as the products read it */
static inline real TYPED(weight_of)(real parameter, double limit) { return (real)bounded((double)parameter, limit); }

#endif
