/* SPDX-License-Identifier: MIT */
/* support.h: random problems for any cell and all ways to solve them, for the property tests.
 *
 * A problem holds doubles that are exactly representable in float, so that the error of a float run is that of its
 * arithmetic alone. Runners return doubles whatever precision they compute in.
 */
#ifndef SPARC_TESTS_SUPPORT_H
#define SPARC_TESTS_SUPPORT_H

#include "sparc/sparc.h"

#include <stdbool.h>

typedef enum mask_kind { MASK_NONE, MASK_ONES, MASK_ZEROS, MASK_FIRST, MASK_RANDOM, MASK_KINDS } mask_kind;

typedef struct problem {
  sparc_cell *cell;
  sparc_cell_sizes n;
  int B, T, D;
  double *params, *x, *mask, *state0, *dy, *dstate_last; /* mask and state0 may be NULL */
  double trace0; /* every number of the trace before the first step: 0, or something that a reset must drop */
} problem;

typedef struct result {
  double *y, *state_last, *dx, *dstate0, *dparams;
  double *trace; /* of stream 0 after its last step, by runners of RTRL; NULL without RTRL */
} result;

/* problem_random draws sizes, options, mask and numbers for one kind from the stream */
problem problem_random(const char *kind, sparc_random *stream);
/* problem_create draws the numbers for a given configuration */
problem problem_create(const sparc_cell_config *config, int B, int T, mask_kind mask, sparc_random *stream);
void problem_free(problem *p);
/* problem_text describes a problem for failure messages; the text lives until the next call */
const char *problem_text(const problem *p);

result result_create(const problem *p);
void result_free(result *r);
void result_clear(const problem *p, result *r);

/* forward and backward in one plan; dstate_last is left out when with_last is false */
void run_sequence_f32(const problem *p, const sparc_plan_config *config, bool with_last, result *r);
void run_sequence_f64(const problem *p, const sparc_plan_config *config, bool with_last, result *r);
/* one step after the other: y and state_last */
void run_steps_f32(const problem *p, result *r);
void run_steps_f64(const problem *p, result *r);
/* RTRL: y, state_last, and dparams as the sum over steps of the contraction with dy; dx is the local gradient */
void run_rtrl_f32(const problem *p, result *r);
void run_rtrl_f64(const problem *p, result *r);
/* the same with the trace update and its contraction in one pass */
void run_rtrl_update_f32(const problem *p, result *r);
void run_rtrl_update_f64(const problem *p, result *r);
/* the plain double reference */
void run_reference(const problem *p, bool with_last, result *r);

/* max |got - want| / max(1, max |want|); infinite when got has a NaN */
double e_norm(size_t count, const double *got, const double *want);

/* expect fails the running test with the problem's description when error > tolerance */
void expect_close(const problem *p, const char *what, double error, double tolerance);

/* compares every array that both results have filled for this problem; gradients get their own tolerance */
void expect_same_sequence(const problem *p, const char *what, const result *got, const result *want,
                          double output_tolerance, double gradient_tolerance);
/* dparams block by block; of those that RTRL has in full */
void expect_same_blocks(const problem *p, const char *what, const double *got, const double *want, double tolerance);
/* elements of the trace of a block; 0: none, or no such block */
size_t trace_size(const sparc_cell *cell, const char *block);

void expect_traced_blocks(const problem *p, const char *what, const double *got, const double *want, double tolerance);
/* the largest E_norm of a block of dparams, or of a block that RTRL has in full */
double blocks_error(const problem *p, const double *got, const double *want, bool traced);

#endif
