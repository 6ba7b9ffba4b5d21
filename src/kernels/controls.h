/* SPDX-License-Identifier: MIT */
/* controls.h: the dot products behind SPARC's two shared controls, as a slot of the kernel table. */
#ifndef SPARC_KERNELS_CONTROLS_H
#define SPARC_KERNELS_CONTROLS_H

#include <stddef.h>

/* out (n, 2) = x (n, D) . weight (2, D + 1), whose last column is the bias. Sums are in double: a rounding error in a
 * control would move every mode of the token at once. */
typedef void controls_fn(size_t n, size_t D, const float *x, const float *weight, double *out);

#endif
