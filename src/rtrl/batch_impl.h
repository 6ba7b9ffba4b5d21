/* SPDX-License-Identifier: MIT */
/* batch_impl.h: the gradient of a minibatch of steps, in the two parts that stored traces and recorded steps share:
 * what the items' own steps have of it, and the contraction of traces that are only read. */
#ifndef SPARC_RTRL_BATCH_IMPL_H
#define SPARC_RTRL_BATCH_IMPL_H

#include "base/memory.h"
#include "rtrl/rtrl_impl.h"

/* ---- many traces (traces.c) ---------------------------------------------------------------------- */

/* Traces and their cotangents: dparams += sum_i Re(conj(g_i) f Z_i), f the factors of the sinks. */
typedef struct TYPED(trace_batch) {
  const sparc_cell *cell;
  size_t n;        /* traces so far */
  const real **Z;  /* (n) */
  real *g;         /* (n, channels, S) */
  real *partials;  /* (mode tiles, shared sinks, D) */
  real *dparams;   /* (params) */
  size_t channels; /* the cotangent itself, then one for every factor that is multiplied into it beforehand */
} TYPED(trace_batch);

/* allocates n traces; measures when the arena does */
TYPED(trace_batch) TYPED(open_trace_batch)(arena *a, const sparc_cell *cell, size_t n);
/* one more: cotangent y (S), factors of sinks from these constants */
void TYPED(add_trace)(TYPED(trace_batch) * batch, const real *constants, const real *Z, const real *y);
void TYPED(contract_traces)(TYPED(trace_batch) * batch, real *dparams, int threads);

/* ---- the items' own steps (batch.c) -------------------------------------------------------------- */

typedef struct TYPED(item_batch) {
  const sparc_cell *cell;
  TYPED(prepared_view) weights;
  size_t n;
  real *tapes;    /* (n, tape) */
  const real *dy; /* (n, O) */
  real *dparams;  /* += */
  real *dx;       /* (n, D) or NULL */
  real *y;        /* (n, S): m conj(a) g, the cotangents of the carried states, on return */
  real *x, *pre, *shared, *states, *dstates, *dpre, *dshared; /* rows of n items */
  double *sum_partials, *sums;                                /* (item tiles, sums, H), (sums, H) */
} TYPED(item_batch);

TYPED(item_batch) TYPED(open_item_batch)(arena *a, const sparc_cell *cell, size_t n);
/* dparams, dx and y of n single steps whose carried states are constants */
void TYPED(item_gradients)(TYPED(item_batch) * batch, int threads);
/* whether item i carries anything over from the step before it */
bool TYPED(item_has_past)(const TYPED(item_batch) * batch, size_t i);

/* elements of real after an arena's measurement, with space to align any pointer, and the arena over such work */
static inline size_t TYPED(work_elements)(const arena *a) { return (a->used + CACHE_LINE) / sizeof(real) + 1; }
static inline arena TYPED(work_arena)(real *work) {
  const uintptr_t at = (uintptr_t)work, aligned = (at + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
  return arena_over((char *)work + (aligned - at), (size_t)-1);
}

#endif
