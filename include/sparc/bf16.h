/* SPDX-License-Identifier: MIT */
/* bf16.h: sequences with bfloat16 inputs and outputs and float arithmetic, as in the paper's timings.
 *
 * x, y, dy and dx are bfloat16, which halves the memory between the layers of a model. States, parameters, parameter
 * gradients and all arithmetic are float. A result is bit-identical to that of the float function on the widened inputs,
 * rounded once at the end, for any number of threads.
 */
#ifndef SPARC_BF16_H
#define SPARC_BF16_H

#include "sparc/sequence.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef uint16_t sparc_bf16; /* the upper 16 bits of a float */

/* Convert n elements to bfloat16 or back. in and out must not overlap; they may be NULL when n is 0. Conversion to
 * bfloat16 rounds to nearest, ties to even; values out of range become infinity, a NaN becomes a quiet NaN with the
 * upper bits of its payload, subnormals are kept. Conversion to float is exact. */
SPARC_API void sparc_bf16_from_floats(size_t n, const float *in, sparc_bf16 *out);
SPARC_API void sparc_floats_from_bf16(size_t n, const sparc_bf16 *in, float *out);

typedef struct sparc_sequence_bf16 {
  const sparc_bf16 *x; /* [B][T][D] */
  const float *mask;   /* [B][T]; NULL: all ones */
  const float *state0; /* [B][S]; NULL: zeros */
  sparc_bf16 *y;       /* [B][T][O], written by forward; not read by backward, where it may be NULL */
  float *state_last;   /* [B][S], written by forward; may be NULL */
} sparc_sequence_bf16;

typedef struct sparc_sequence_gradient_bf16 {
  const sparc_bf16 *dy;     /* [B][T][O] */
  const float *dstate_last; /* [B][S]; NULL: zeros */
  sparc_bf16 *dx;           /* [B][T][D], overwritten; may be NULL */
  float *dstate0;           /* [B][S], overwritten; may be NULL */
  float *dparams;           /* added to; may be NULL */
} sparc_sequence_gradient_bf16;

/* Run all B streams of any plan. The sizes of saved and work are those of sparc_plan_sizes_of(plan, SPARC_BFLOAT16):
 * saved also holds y as float, because the adjoint needs exact states; work also holds x, dy and dx as float. */
SPARC_API sparc_status sparc_forward_bf16(const sparc_plan *plan, const float *prepared,
                                          const sparc_sequence_bf16 *sequence, void *saved, void *work);

/* Compute the exact adjoint of the float computation within sparc_forward_bf16, for the same sequence and saved. The
 * rounding of y counts as the identity. */
SPARC_API sparc_status sparc_backward_bf16(const sparc_plan *plan, const float *prepared,
                                           const sparc_sequence_bf16 *sequence, const void *saved,
                                           const sparc_sequence_gradient_bf16 *gradient, void *work);

#ifdef __cplusplus
}
#endif

#endif
