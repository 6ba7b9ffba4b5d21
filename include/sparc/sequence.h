/* SPDX-License-Identifier: MIT */
/* sequence.h: whole sequences. Plan once (shapes, algorithm, threads, memory), run many times.
 *
 * Arrays are token-major: x[B][T][D], y[B][T][O], mask[B][T] (see cell.h), states [B][S]. Results are bit-identical for
 * any number of threads. Sequences of unequal lengths are padded: dy is zero past the end of a sequence.
 */
#ifndef SPARC_SEQUENCE_H
#define SPARC_SEQUENCE_H

#include "sparc/cell.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sparc_plan sparc_plan; /* opaque, immutable, shareable between threads */

typedef struct sparc_plan_config {
  int threads; /* exactly this many threads; 0: up to the number of processors, fewer for a small problem */
  int chunk;   /* 0: one sequential scan per stream; >= 1: the paper's Algorithm 1 with chunks of this length */
} sparc_plan_config;

typedef struct sparc_plan_sizes { /* in bytes */
  size_t saved;                   /* kept by forward for backward */
  size_t work;                    /* scratch; never shared by concurrent calls */
} sparc_plan_sizes;

typedef struct sparc_sequence {
  const float *x;      /* [B][T][D] */
  const float *mask;   /* [B][T]; NULL: all ones */
  const float *state0; /* [B][S]; NULL: zeros */
  float *y;            /* [B][T][O], written by forward, read by backward */
  float *state_last;   /* [B][S], written by forward; may be NULL */
} sparc_sequence;

typedef struct sparc_sequence_gradient {
  const float *dy;          /* [B][T][O] */
  const float *dstate_last; /* [B][S]; NULL: zeros */
  float *dx;                /* [B][T][D], overwritten; may be NULL */
  float *dstate0;           /* [B][S], overwritten; may be NULL */
  float *dparams;           /* added to; may be NULL */
} sparc_sequence_gradient;

/* Create a plan for B streams of T steps. config may be NULL. Free a plan before its cell. */
SPARC_API sparc_status sparc_plan_create(const sparc_cell *cell, int B, int T, const sparc_plan_config *config,
                                         sparc_plan **out);
SPARC_API void sparc_plan_free(sparc_plan *plan); /* plan may be NULL */

/* Return the sizes of saved and work for sparc_forward and sparc_backward (SPARC_FLOAT32), or for the functions of
 * double.h (SPARC_FLOAT64) or bf16.h (SPARC_BFLOAT16). */
SPARC_API sparc_plan_sizes sparc_plan_sizes_of(const sparc_plan *plan, sparc_precision precision);

/* Run all B streams. saved and work are 64-byte aligned. */
SPARC_API sparc_status sparc_forward(const sparc_plan *plan, const float *prepared, const sparc_sequence *sequence,
                                     void *saved, void *work);

/* Compute the exact adjoint of sparc_forward for the same sequence (including its y) and saved. */
SPARC_API sparc_status sparc_backward(const sparc_plan *plan, const float *prepared, const sparc_sequence *sequence,
                                      const void *saved, const sparc_sequence_gradient *gradient, void *work);

#ifdef __cplusplus
}
#endif

#endif
