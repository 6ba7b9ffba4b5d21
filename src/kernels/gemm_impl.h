/* SPDX-License-Identifier: MIT */
/* gemm_impl.h: the one front for matrix products, row-major, in the precision of real.
 *
 * Float products go to the product kernel where the table has one; double ones, and those of the table `plain`, are
 * loops in C. Both run single-threaded inside our tiles, and the bits of an element depend on neither the rows nor the
 * panels of 64 columns computed beside it: a product may be cut for any number of threads. Weights are kept in both
 * orders, because the right factor is always stored K x N; those that serve many products may lie as the kernel reads
 * them.
 */
#ifndef SPARC_KERNELS_GEMM_IMPL_H
#define SPARC_KERNELS_GEMM_IMPL_H

#include "base/real.h"
#include "kernels/kernels.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* how a matrix lies: as its rows, as its columns, or, the right factor alone, in panels */
typedef enum TYPED(transpose) { TYPED(AS_IS), TYPED(TRANSPOSED), TYPED(PREPARED) } TYPED(transpose);
#define AS_IS      TYPED(AS_IS)
#define TRANSPOSED TYPED(TRANSPOSED)
#define PREPARED   TYPED(PREPARED)

/* the width of the panels in which a prepared W[K][N] lies (see kernels/product.h); without a product it is one panel,
 * which is to say rows */
static inline size_t TYPED(prepared_panel)(const kernels *table, size_t N) {
#ifndef SPARC_DOUBLE
  if (table && table->product && table->product_panel < N) return table->product_panel;
#else
  (void)table;
#endif
  return N;
}

/* where column n of a prepared W[K][N] starts, and how far apart its elements are */
typedef struct TYPED(prepared_column) {
  size_t first, stride;
} TYPED(prepared_column);

static inline TYPED(prepared_column) TYPED(prepared_column_of)(const kernels *table, size_t K, size_t N, size_t n) {
  const size_t panel = TYPED(prepared_panel)(table, N), start = n / panel * panel;
  return (TYPED(prepared_column)){start * K + (n - start), N - start < panel ? N - start : panel};
}

/* whether a prepared W[K][N] lies in panels, which can be multiplied one by one */
static inline bool TYPED(in_panels)(const kernels *table) {
#ifdef SPARC_DOUBLE
  (void)table;
  return false;
#else
  return table && table->product;
#endif
}

/* gemm below as loops. Four terms at a time pass a row of C once, and are added in their order. */
static inline void TYPED(gemm_plain)(size_t M, size_t N, size_t K, const real *A, size_t a_row, size_t a_column,
                                     const real *B, size_t stride_b, real beta, real *C, size_t stride_c) {
  enum { TERMS = 4 };
  for (size_t m = 0; m < M; m++) {
    const real *a = A + m * a_row;
    real *restrict c = C + m * stride_c;
    size_t k = 0;
    for (size_t n = 0; beta == 0 && n < N; n++) c[n] = 0;
    for (; k + TERMS <= K; k += TERMS) {
      const real a0 = a[k * a_column], a1 = a[(k + 1) * a_column];
      const real a2 = a[(k + 2) * a_column], a3 = a[(k + 3) * a_column];
      const real *restrict b0 = B + k * stride_b, *restrict b1 = b0 + stride_b;
      const real *restrict b2 = b1 + stride_b, *restrict b3 = b2 + stride_b;
      for (size_t n = 0; n < N; n++) c[n] = c[n] + a0 * b0[n] + a1 * b1[n] + a2 * b2[n] + a3 * b3[n];
    }
    for (; k < K; k++)
      for (size_t n = 0; n < N; n++) c[n] += a[k * a_column] * B[k * stride_b + n];
  }
}

/* C[M][N] = op(A)[M][K] B[K][N] + beta C, beta 0 or 1, B as it is or prepared; the strides are elements between rows as
 * stored, N for a prepared B. table holds the kernels of the cell at work; NULL: none. */
static inline void TYPED(gemm)(const kernels *table, TYPED(transpose) op_a, TYPED(transpose) op_b, size_t M, size_t N,
                               size_t K, const real *A, size_t stride_a, const real *B, size_t stride_b, real beta,
                               real *C, size_t stride_c) {
  const size_t a_row = op_a == TRANSPOSED ? 1 : stride_a, a_column = op_a == TRANSPOSED ? stride_a : 1;
#ifdef SPARC_DOUBLE
  (void)table;
  (void)op_b;
#else
  if (table && table->product && K > 0) {
    const product_operands operands = {.M = M,
                                       .N = N,
                                       .K = K,
                                       .A = A,
                                       .a_row = a_row,
                                       .a_column = a_column,
                                       .B = B,
                                       .b_row = stride_b,
                                       .panels = op_b == PREPARED,
                                       .C = C,
                                       .c_row = stride_c,
                                       .add = beta != 0};
    table->product(&operands);
    return;
  }
#endif
  TYPED(gemm_plain)(M, N, K, A, a_row, a_column, B, stride_b, beta, C, stride_c);
}

/* y[n][N] = bias[N] + x[n][K] W[K][N], W as it is or prepared; the strides are elements between tokens; a bias of NULL
 * is zero, here and below */
static inline void TYPED(project_tokens)(const kernels *table, TYPED(transpose) op_w, size_t n, size_t K, size_t N,
                                         const real *x, size_t stride_x, const real *W, const real *bias, real *y,
                                         size_t stride_y) {
#ifndef SPARC_DOUBLE
  if (table && table->product && K > 0) {
    const product_operands operands = {.M = n,
                                       .N = N,
                                       .K = K,
                                       .A = x,
                                       .a_row = stride_x,
                                       .a_column = 1,
                                       .B = W,
                                       .b_row = N,
                                       .panels = op_w == PREPARED,
                                       .C = y,
                                       .c_row = stride_y,
                                       .bias = bias};
    table->product(&operands);
    return;
  }
#endif
  for (size_t t = 0; bias && t < n; t++) memcpy(y + t * stride_y, bias, N * sizeof *y);
  TYPED(gemm)(table, AS_IS, op_w, n, N, K, x, stride_x, W, N, bias ? 1 : 0, y, stride_y);
}

/* y[N] = bias[N] + x[K] W[K][N]: one token, walked row by row so that it vectorises over N */
static inline void TYPED(project_token)(size_t K, size_t N, const real *restrict x, const real *restrict W,
                                        const real *restrict bias, real *restrict y) {
  for (size_t n = 0; n < N; n++) y[n] = bias ? bias[n] : 0;
  for (size_t k = 0; k < K; k++) {
    const real xk = x[k], *restrict row = W + k * N;
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): a missing bias does not mean that W is missing */
    for (size_t n = 0; n < N; n++) y[n] += xk * row[n];
  }
}

/* to[columns][rows] = from[rows][columns]; the strides are elements between rows */
static inline void TYPED(transpose_rows)(const kernels *table, size_t rows, size_t columns, const real *from,
                                         size_t stride_from, real *to, size_t stride_to) {
#ifdef SPARC_DOUBLE
  (void)table;
#else
  if (table && table->transpose) {
    table->transpose(rows, columns, from, stride_from, to, stride_to);
    return;
  }
#endif
  for (size_t i = 0; i < rows; i++)
    for (size_t j = 0; j < columns; j++) to[j * stride_to + i] = from[i * stride_from + j];
}

/* callers write the plain names */
#define gemm               TYPED(gemm)
#define prepared_panel     TYPED(prepared_panel)
#define prepared_column    TYPED(prepared_column)
#define prepared_column_of TYPED(prepared_column_of)
#define project_token      TYPED(project_token)
#define project_tokens     TYPED(project_tokens)
#define transpose_rows     TYPED(transpose_rows)

#endif
