/* SPDX-License-Identifier: MIT */
/* gemm_impl.h: the one front over CBLAS, row-major, in the precision of real.
 *
 * BLAS runs single-threaded inside our tiles, so a product has the same bits for every thread count. For narrow
 * shapes BLIS is fast only when the right factor is stored K x N (spec: weights are kept in both orders).
 */
#ifndef SPARC_MATH_GEMM_IMPL_H
#define SPARC_MATH_GEMM_IMPL_H

#include "base/real.h"

#include <cblas.h>
#include <stddef.h>

typedef enum TYPED(transpose) { TYPED(AS_IS) = CblasNoTrans, TYPED(TRANSPOSED) = CblasTrans } TYPED(transpose);
#define AS_IS      TYPED(AS_IS)
#define TRANSPOSED TYPED(TRANSPOSED)

/* C[M][N] = op(A)[M][K] op(B)[K][N] + beta C; the strides are elements between rows as stored */
static inline void TYPED(gemm)(TYPED(transpose) op_a, TYPED(transpose) op_b, size_t M, size_t N, size_t K,
                               const real *A, size_t stride_a, const real *B, size_t stride_b, real beta, real *C,
                               size_t stride_c) {
#ifdef SPARC_DOUBLE
  cblas_dgemm(CblasRowMajor, (enum CBLAS_TRANSPOSE)op_a, (enum CBLAS_TRANSPOSE)op_b, (int)M, (int)N, (int)K, 1, A,
              (int)stride_a, B, (int)stride_b, beta, C, (int)stride_c);
#else
  cblas_sgemm(CblasRowMajor, (enum CBLAS_TRANSPOSE)op_a, (enum CBLAS_TRANSPOSE)op_b, (int)M, (int)N, (int)K, 1, A,
              (int)stride_a, B, (int)stride_b, beta, C, (int)stride_c);
#endif
}

/* y[N] = bias[N] + x[K] W[K][N]: one token, walked row by row so that it vectorises over N and needs no BLAS */
static inline void TYPED(project_token)(size_t K, size_t N, const real *restrict x, const real *restrict W,
                                        const real *restrict bias, real *restrict y) {
  for (size_t n = 0; n < N; n++) y[n] = bias[n];
  for (size_t k = 0; k < K; k++) {
    const real xk = x[k], *restrict row = W + k * N;
    for (size_t n = 0; n < N; n++) y[n] += xk * row[n];
  }
}

/* callers write the plain names */
#define gemm          TYPED(gemm)
#define project_token TYPED(project_token)

#endif
