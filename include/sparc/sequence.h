/* SPDX-License-Identifier: MIT */
/* sequence.h: whole sequences. Plan once (shapes, algorithm, threads, memory), run many times.
 *
 * Arrays are token-major: x[B][T][D], y[B][T][O], mask[B][T], states [B][S]. Results do not depend on the
 * number of threads, not even in the last bit. Unequal lengths are expressed by the mask and by zero dy.
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

typedef struct sparc_sequence {
  const float *x;      /* [B][T][D] */
  const float *mask;   /* [B][T], 1: continue, 0: a new segment starts here; NULL: all ones */
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

/* sparc_plan_create makes a plan for B streams of T steps. config may be NULL. */
SPARC_API sparc_status sparc_plan_create(const sparc_cell *cell, int B, int T, const sparc_plan_config *config,
                                         sparc_plan **out);
SPARC_API void sparc_plan_free(sparc_plan *plan); /* plan may be NULL; free it before its cell */

/* bytes to allocate for what forward keeps for backward, and for scratch (never shared by concurrent calls) */
SPARC_API size_t sparc_plan_saved_bytes(const sparc_plan *plan);
SPARC_API size_t sparc_plan_work_bytes(const sparc_plan *plan);

/* sparc_forward runs all B streams. saved and work are 64-byte aligned blocks of the sizes above. */
SPARC_API sparc_status sparc_forward(const sparc_plan *plan, const float *prepared, const sparc_sequence *sequence,
                                     void *saved, void *work);

/* sparc_backward is the exact adjoint of sparc_forward for the same sequence (including its y) and saved. */
SPARC_API sparc_status sparc_backward(const sparc_plan *plan, const float *prepared, const sparc_sequence *sequence,
                                      const void *saved, const sparc_sequence_gradient *gradient, void *work);

#ifdef __cplusplus
}
#endif

#endif
