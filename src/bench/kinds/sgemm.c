/* SPDX-License-Identifier: MIT */
/* sgemm.c: the library's matrix products, which bound every cell with projections, or those of the BLAS.
 *
 * C[M][N] = op(A)[M][K] op(B)[K][N]. Rows of C are shared by a team, each thread with a product of its own, as the
 * library does. A pass is cut along M; a reduction (ta: A is stored K x M) along K, as the sum over tokens would be.
 */
#include "base/build_info.h"
#include "base/error.h"
#include "base/memory.h"
#include "bench/problem.h"
#include "cells/tiles.h"
#include "kernels/gemm_impl.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>

typedef struct sgemm {
  size_t M, N, K;
  bool ta, tb;
  const kernels *kernels; /* NULL: the BLAS */
  size_t piece;           /* rows of C, or with ta steps of the sum */
  float *A, *B, *C;
  void *memory;
} sgemm;

/* the rows of one thread, in runs of 16 as kernels like them */
static range share_of(range rows, int thread, int threads) {
  const size_t count = (size_t)threads, unit = 16, units = (rows.n + unit - 1) / unit;
  const size_t from = units * (size_t)thread / count * unit, to = units * ((size_t)thread + 1) / count * unit;
  const size_t end = to < rows.n ? to : rows.n;
  return (range){rows.first + from, from < end ? end - from : 0};
}

static void run_piece(void *context, size_t piece, int thread, int threads) {
  const sgemm *g = context;
  const range all = {0, g->M}, terms = g->ta ? range_of(g->K, g->piece, piece) : (range){0, g->K};
  const range rows = share_of(g->ta ? all : range_of(g->M, g->piece, piece), thread, threads);
  if (rows.n == 0) return;
  const float *A = g->ta ? g->A + terms.first * g->M + rows.first : g->A + rows.first * g->K;
  const float *B = g->tb ? g->B + terms.first : g->B + terms.first * g->N;
  const size_t stride_a = g->ta ? g->M : g->K, stride_b = g->tb ? g->K : g->N;
  const float beta = terms.first ? 1 : 0;
  float *C = g->C + rows.first * g->N;
  if (g->kernels)
    gemm(g->kernels, g->ta ? TRANSPOSED : AS_IS, AS_IS, rows.n, g->N, terms.n, A, stride_a, B, stride_b, beta, C, g->N);
  else
    cblas_sgemm(CblasRowMajor, g->ta ? CblasTrans : CblasNoTrans, g->tb ? CblasTrans : CblasNoTrans, (int)rows.n,
                (int)g->N, (int)terms.n, 1, A, (int)stride_a, B, (int)stride_b, beta, C, (int)g->N);
}

/* A BLAS copies its operands anew in every call, so its pieces have to be thick; our kernel copies the right one for
 * every few rows anyway. A sum is cut in thick pieces too: each reads and writes C. Narrow products get a millisecond.
 */
static size_t piece_length(const sgemm *g, int threads) {
  enum { BLOCK_ROWS = 258 }; /* of A, which our kernel copies at a time */
  const size_t thick = g->kernels && !g->ta ? BLOCK_ROWS : 2048;
  const size_t whole = g->ta ? g->K : g->M, least = thick * (size_t)(g->ta ? 1 : threads);
  const double other = (double)(g->ta ? g->M : g->K);
  size_t length = (size_t)(0.5e8 * threads / (other * (double)g->N)) / thick * thick;
  if (length < least) length = least;
  return length < whole ? length : whole;
}

static void carve(sgemm *g, arena *a) {
  g->A = arena_take(a, g->M * g->K, sizeof(float));
  g->B = arena_take(a, g->K * g->N, sizeof(float));
  g->C = arena_take(a, g->M * g->N, sizeof(float));
}

static void destroy(bench_case *c) {
  sgemm *g = c->state;
  if (!g) return;
  sparc_free(g->memory);
  free(g);
}

static sparc_status create(bench_case *c) {
  sgemm *g = c->state = calloc(1, sizeof *g);
  if (!g) return fail(SPARC_NO_MEMORY, "%s: no memory", c->problem->text);
  const bool blas = bench_value(c->problem, "blas") != 0;
  sparc_status status = blas ? SPARC_OK : kernels_choose(c->requested_kernel, &g->kernels);
  if (status != SPARC_OK) return status;
  g->M = (size_t)bench_value(c->problem, "M");
  g->N = (size_t)bench_value(c->problem, "N");
  g->K = (size_t)bench_value(c->problem, "K");
  g->ta = bench_value(c->problem, "ta") != 0;
  g->tb = bench_value(c->problem, "tb") != 0;
  if (g->tb && !blas)
    return fail(SPARC_INVALID, "%s: the library stores right factors K x N; tb goes with blas", c->problem->text);
  c->kernel = blas ? build_blas() : g->kernels->name;
  g->piece = piece_length(g, c->threads);
  bench_team *team;
  status = bench_machine_team(c->machine, c->threads, &team);
  arena measure = arena_measure();
  carve(g, &measure);
  if (status == SPARC_OK) status = bench_afford(c, measure.used);
  if (status != SPARC_OK) return status;
  g->memory = sparc_alloc(measure.used);
  if (!g->memory) return fail(SPARC_NO_MEMORY, "%s: no memory for %zu bytes", c->problem->text, measure.used);
  arena place = arena_over(g->memory, measure.used);
  carve(g, &place);
  bench_fill(g->A, g->M * g->K, "A");
  bench_fill(g->B, g->K * g->N, "B");

  const size_t whole = g->ta ? g->K : g->M;
  bench_stage *stage = bench_stage_add(
      c, "product",
      (bench_task){.context = g, .pieces = (whole + g->piece - 1) / g->piece, .run = run_piece, .team = team});
  stage->flops = 2 * (double)g->M * (double)g->N * (double)g->K;
  stage->bytes = 4 * ((double)g->M * (double)g->K + (double)g->K * (double)g->N + (double)g->M * (double)g->N);
  c->memory = c->footprint = measure.used;
  return SPARC_OK;
}

/* entries spread over C against sums in double; the error of a sum of K terms grows with its root */
static sparc_status verify(bench_case *c) {
  const sgemm *g = c->state;
  enum { SAMPLES = 97 };
  float got[SAMPLES];
  double want[SAMPLES] = {0};
  for (size_t s = 0; s < SAMPLES; s++) {
    const size_t at = s * (g->M * g->N - 1) / (SAMPLES - 1), m = at / g->N, n = at % g->N;
    got[s] = g->C[at];
    for (size_t k = 0; k < g->K; k++)
      want[s] += (double)(g->ta ? g->A[k * g->M + m] : g->A[m * g->K + k]) *
                 (double)(g->tb ? g->B[n * g->K + k] : g->B[k * g->N + n]);
  }
  bench_compare(c, "C", 1e-6 * (1 + sqrt((double)g->K) / 16), got, want, SAMPLES);
  return SPARC_OK;
}

const bench_kind bench_kind_sgemm = {
    .name = "sgemm",
    .summary = "C[M][N] = A B as the library does it, or by the BLAS; ta: A is stored K x M, tb: B is N x K",
    .keys = {{"M", "rows", REQUIRED},
             {"N", "columns", REQUIRED},
             {"K", "terms of each sum", REQUIRED},
             {"ta", "A transposed", 0},
             {"tb", "B transposed, by the BLAS alone", 0},
             {"blas", "by the BLAS", 0}},
    .create = create,
    .verify = verify,
    .destroy = destroy,
};
