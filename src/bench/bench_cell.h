/* SPDX-License-Identifier: MIT */
/* bench_cell.h: shared by problems with a cell: a cell with nonzero parameters, and the comparison with the
 * double-precision reference. */
#ifndef SPARC_BENCH_BENCH_CELL_H
#define SPARC_BENCH_BENCH_CELL_H

#include "bench/problem.h"
#include "sparc/cell.h"

typedef struct bench_cell {
  sparc_cell *cell;
  float *params, *prepared;
} bench_cell;

/* tolerances on E_norm, those of `sparc check` */
#define OUTPUT_TOLERANCE   3e-6
#define GRADIENT_TOLERANCE 1e-5

/* bench_cell_create makes the problem's cell with D inputs and H modes; H = 0 gives the state as many real
 * coordinates as the input has.
 * Parameters are those of the classification initialisation; blocks that start at zero get random numbers, so that
 * controls and gates have an effect. Sets c->kernel and c->H. */
sparc_status bench_cell_create(bench_case *c, int D, int H, bench_cell *out);
void bench_cell_free(bench_cell *cell); /* a zeroed one is allowed */

/* B streams of T steps in double by the reference: y, dx and dparams of x and dy; one block to free */
typedef struct bench_reference_result {
  double *y, *dx, *dparams;
  void *memory;
} bench_reference_result;

/* bench_reference computes outputs and gradients for x (B, T, D) and dy (B, T, O). */
sparc_status bench_reference(const bench_cell *cell, int B, int T, const float *x, const float *dy,
                             bench_reference_result *out);

/* bench_compare_blocks compares a gradient with the reference's, block by block; bench_compare_block one block. */
void bench_compare_block(bench_case *c, const sparc_block *block, double tolerance, const float *dparams,
                         const bench_reference_result *expected);
void bench_compare_blocks(bench_case *c, const bench_cell *cell, double tolerance, const float *dparams,
                          const bench_reference_result *expected);

/* bench_check_sequence compares the outputs and gradients of x (B, T, D) and dy (B, T, O) with the reference's, with
 * the kernels and number of threads of the case. */
sparc_status bench_check_sequence(bench_case *c, const bench_cell *cell, int B, int T, const float *x, const float *dy);

/* bench_check_length returns a number of tokens that the reference computes quickly. */
int bench_check_length(const bench_cell *cell);

/* bench_product_flops counts the matrix products of one token forward; backward has twice as many. bench_mode_flops
 * counts the arithmetic of the formulas per token and mode beside them: a fused multiply-add as two, functions as the
 * polynomials of src/kernels/vmath.h. Both are 0 for cells that are not counted. */
double bench_product_flops(const sparc_cell *cell);
double bench_mode_flops(const sparc_cell *cell, bool backward);

#endif
