/* SPDX-License-Identifier: MIT */
/* random.h: the double-precision parts beneath the public draws and initialisers. */
#ifndef SPARC_BASE_RANDOM_H
#define SPARC_BASE_RANDOM_H

#include "sparc/random.h"

/* normal_quantile returns x with P(normal <= x) = 1/2 + q, for |q| < 1/2. Centred at the median so that it is an
 * exactly odd function. */
double normal_quantile(double q);

/* orthonormal_draw fills vectors [count][length], count <= length, with orthonormal vectors: the columns of Q in A = Q
 * R with R's diagonal positive, where A [length][count] is normal and drawn column by column. diagonal [count] is work.
 */
void orthonormal_draw(sparc_random *r, double *restrict vectors, double *restrict diagonal, size_t count,
                      size_t length);

#endif
