/* SPDX-License-Identifier: MIT */
/* sums_impl.h: sums over rows in double, of what is in the precision of real. */
#ifndef SPARC_MATH_SUMS_IMPL_H
#define SPARC_MATH_SUMS_IMPL_H

#include "base/real.h"
#include "kernels/kernels.h"

#include <stddef.h>

/* to[width] += the rows of from[rows][width], in their order; stride is elements between rows. table holds the kernels
 * of the cell at work; NULL: none. */
static inline void TYPED(add_rows)(const kernels *table, size_t rows, size_t width, const real *from, size_t stride,
                                   double *to) {
#ifdef SPARC_DOUBLE
  (void)table;
#else
  if (table && table->pointwise.add_rows) {
    table->pointwise.add_rows(rows, width, from, stride, to);
    return;
  }
#endif
  for (size_t t = 0; t < rows; t++)
    for (size_t i = 0; i < width; i++) to[i] += (double)from[t * stride + i];
}

/* callers write the plain name */
#define add_rows TYPED(add_rows)

#endif
