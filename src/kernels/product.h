/* SPDX-License-Identifier: MIT */
/* product.h: the float32 matrix product, as a slot of the kernel table.
 *
 * The shapes of this library are tall and narrow: many tokens, weights of some ten to some thousand rows and columns. A
 * product for them needs no packing of the left factor and only a panel of the right one at a time, unlike a
 * general BLAS; `sparc bench sgemm:...` compares both.
 */
#ifndef SPARC_KERNELS_PRODUCT_H
#define SPARC_KERNELS_PRODUCT_H

#include <stdbool.h>
#include <stddef.h>

/* C[M][N] = start + A[M][K] B[K][N], K > 0. A may lie transposed: element (i, k) is A[i * a_row + k * a_column], where
 * one of the two is 1; rows of B and C are b_row and c_row apart. start is C itself with `add`, else the row `bias`
 * (N), else zero.
 *
 * Or B is packed in panels already, as the product reads it: its first product_panel columns as rows of so many, then
 * the next, and at last as rows of what is left. */
typedef struct product_operands {
  size_t M, N, K;
  const float *A;
  size_t a_row, a_column;
  const float *B;
  size_t b_row; /* unused with panels */
  bool panels;
  float *C;
  size_t c_row;
  const float *bias; /* may be NULL */
  bool add;
} product_operands;

typedef void product_fn(const product_operands *operands);

/* to[columns][rows] = from[rows][columns], rows from_row and to_row apart: how weights get into panels */
typedef void transpose_fn(size_t rows, size_t columns, const float *from, size_t from_row, float *to, size_t to_row);

#endif
