/* SPDX-License-Identifier: MIT */
/* bf16.h: bfloat16 at the boundary, float inside, as in the paper's timings.
 *
 * Inputs, outputs and their gradients may be bfloat16: half the memory between the layers of a model. States,
 * parameters, parameter gradients and all arithmetic stay float. A call gives exactly the bits of the float call on the
 * widened inputs, rounded once at the end; so results do not depend on the number of threads here either.
 */
#ifndef SPARC_BF16_H
#define SPARC_BF16_H

#include "sparc/sequence.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef uint16_t sparc_bf16; /* the upper 16 bits of a float */

/* Conversions. To bfloat16 rounds to nearest, ties to even; what is too large becomes infinity, a NaN becomes a quiet
 * NaN with the upper bits of its payload, subnormals are kept. To float is exact. */
SPARC_API sparc_bf16 sparc_bf16_from_float(float value);
SPARC_API float sparc_float_from_bf16(sparc_bf16 value);

/* the same for n elements; in and out may not overlap, and may be NULL when n is 0 */
SPARC_API void sparc_bf16_from_floats(size_t n, const float *in, sparc_bf16 *out);
SPARC_API void sparc_floats_from_bf16(size_t n, const sparc_bf16 *in, float *out);

typedef struct sparc_sequence_bf16 {
  const sparc_bf16 *x; /* [B][T][D] */
  const float *mask;   /* [B][T], 1: continue, 0: a new segment starts here; NULL: all ones */
  const float *state0; /* [B][S]; NULL: zeros */
  sparc_bf16 *y;       /* [B][T][O], written by forward; backward does not look at it and it may then be NULL */
  float *state_last;   /* [B][S], written by forward; may be NULL */
} sparc_sequence_bf16;

typedef struct sparc_sequence_gradient_bf16 {
  const sparc_bf16 *dy;     /* [B][T][O] */
  const float *dstate_last; /* [B][S]; NULL: zeros */
  sparc_bf16 *dx;           /* [B][T][D], overwritten; may be NULL */
  float *dstate0;           /* [B][S], overwritten; may be NULL */
  float *dparams;           /* added to; may be NULL */
} sparc_sequence_gradient_bf16;

/* bytes to allocate in place of those of sparc_plan_saved_bytes and sparc_plan_work_bytes: saved also holds y as float,
 * because the adjoint needs exact states; work also holds x, dy and dx as float */
SPARC_API size_t sparc_plan_saved_bytes_bf16(const sparc_plan *plan);
SPARC_API size_t sparc_plan_work_bytes_bf16(const sparc_plan *plan);

/* sparc_forward_bf16 is sparc_forward for any plan, with blocks of the sizes above. */
SPARC_API sparc_status sparc_forward_bf16(const sparc_plan *plan, const float *prepared,
                                          const sparc_sequence_bf16 *sequence, void *saved, void *work);

/* sparc_backward_bf16 is the exact adjoint of the float computation within sparc_forward_bf16, for the same sequence
 * and saved; the rounding of y counts as the identity. */
SPARC_API sparc_status sparc_backward_bf16(const sparc_plan *plan, const float *prepared,
                                           const sparc_sequence_bf16 *sequence, const void *saved,
                                           const sparc_sequence_gradient_bf16 *gradient, void *work);

#ifdef __cplusplus
}
#endif

#endif
