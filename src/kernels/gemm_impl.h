/* SPDX-License-Identifier: MIT */
/* gemm_impl.h: the one front for matrix products, row-major, in the precision of real.
 *
 * Float products go to the product kernel where the table has one; double ones, and those with B transposed, to CBLAS
 * or, in the inference library, to plain loops.
 * All run single-threaded inside our tiles, so a product has the same bits for every thread count. Weights are kept in
 * both orders, because either is fast only when the right factor is stored K x N; those that serve many products may
 * lie as the kernel reads them.
 */
#ifndef SPARC_KERNELS_GEMM_IMPL_H
#define SPARC_KERNELS_GEMM_IMPL_H

#include "base/real.h"
#include "kernels/kernels.h"

#ifndef SPARC_INFERENCE
#include <cblas.h>
#endif
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

/* whether the bits of an element depend on neither the rows nor the panels of 64 columns computed beside it; a BLAS
 * promises nothing of the kind */
static inline bool TYPED(elements_independent)(const kernels *table) {
#ifdef SPARC_DOUBLE
  (void)table;
  return false;
#else
  return table && table->product;
#endif
}

/* gemm below, without kernels of ours; B lies as its rows or columns */
static inline void TYPED(gemm_portable)(bool columns_a, bool columns_b, size_t M, size_t N, size_t K, const real *A,
                                        size_t stride_a, const real *B, size_t stride_b, real beta, real *C,
                                        size_t stride_c) {
#ifdef SPARC_INFERENCE
  const size_t a_row = columns_a ? 1 : stride_a, a_column = columns_a ? stride_a : 1;
  const size_t b_row = columns_b ? 1 : stride_b, b_column = columns_b ? stride_b : 1;
  for (size_t m = 0; m < M; m++) {
    real *c = C + m * stride_c;
    for (size_t n = 0; beta == 0 && n < N; n++) c[n] = 0;
    for (size_t k = 0; k < K; k++) {
      const real a = A[m * a_row + k * a_column], *b = B + k * b_row;
      for (size_t n = 0; n < N; n++) c[n] += a * b[n * b_column];
    }
  }
#else
  const enum CBLAS_TRANSPOSE op_a = columns_a ? CblasTrans : CblasNoTrans;
  const enum CBLAS_TRANSPOSE op_b = columns_b ? CblasTrans : CblasNoTrans;
#ifdef SPARC_DOUBLE
  cblas_dgemm(CblasRowMajor, op_a, op_b, (int)M, (int)N, (int)K, 1, A, (int)stride_a, B, (int)stride_b, beta, C,
              (int)stride_c);
#else
  cblas_sgemm(CblasRowMajor, op_a, op_b, (int)M, (int)N, (int)K, 1, A, (int)stride_a, B, (int)stride_b, beta, C,
              (int)stride_c);
#endif
#endif
}

/* C[M][N] = op(A)[M][K] op(B)[K][N] + beta C, beta 0 or 1; the strides are elements between rows as stored, N for a
 * prepared B. table holds the kernels of the cell at work; NULL: none. */
static inline void TYPED(gemm)(const kernels *table, TYPED(transpose) op_a, TYPED(transpose) op_b, size_t M, size_t N,
                               size_t K, const real *A, size_t stride_a, const real *B, size_t stride_b, real beta,
                               real *C, size_t stride_c) {
  const bool transposed = op_a == TRANSPOSED;
#ifdef SPARC_DOUBLE
  (void)table;
#else
  if (table && table->product && op_b != TRANSPOSED && K > 0) {
    const product_operands operands = {.M = M,
                                       .N = N,
                                       .K = K,
                                       .A = A,
                                       .a_row = transposed ? 1 : stride_a,
                                       .a_column = transposed ? stride_a : 1,
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
  TYPED(gemm_portable)
  (transposed, op_b == TRANSPOSED, M, N, K, A, stride_a, B, stride_b, beta, C, stride_c);
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

/* y[N] = bias[N] + x[K] W[K][N]: one token, walked row by row so that it vectorises over N and needs no BLAS */
static inline void TYPED(project_token)(size_t K, size_t N, const real *restrict x, const real *restrict W,
                                        const real *restrict bias, real *restrict y) {
  for (size_t n = 0; n < N; n++) y[n] = bias ? bias[n] : 0;
  for (size_t k = 0; k < K; k++) {
    const real xk = x[k], *restrict row = W + k * N;
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): a missing bias does not mean that W is missing */
    for (size_t n = 0; n < N; n++) y[n] += xk * row[n];
  }
}

/* project_tokens of a prepared W for so few tokens that a BLAS is not worth its call */
static inline void TYPED(project_few)(const kernels *table, size_t n, size_t K, size_t N, const real *x,
                                      size_t stride_x, const real *W, const real *bias, real *y, size_t stride_y) {
#ifdef SPARC_DOUBLE
  (void)table;
#else
  if (table && table->product) {
    TYPED(project_tokens)(table, PREPARED, n, K, N, x, stride_x, W, bias, y, stride_y);
    return;
  }
#endif
  for (size_t t = 0; t < n; t++) TYPED(project_token)(K, N, x + t * stride_x, W, bias, y + t * stride_y);
}

/* callers write the plain names */
#define gemm               TYPED(gemm)
#define project_few        TYPED(project_few)
#define prepared_panel     TYPED(prepared_panel)
#define prepared_column    TYPED(prepared_column)
#define prepared_column_of TYPED(prepared_column_of)
#define project_token      TYPED(project_token)
#define project_tokens     TYPED(project_tokens)

#endif
