/* SPDX-License-Identifier: MIT */
/* support_rollout.h: runners of sparc/rollout.h in both precisions. */
#ifndef SPARC_TESTS_SUPPORT_ROLLOUT_H
#define SPARC_TESTS_SUPPORT_ROLLOUT_H

#include "support.h"

/* the state of one step from state0 (or zeros) on input x (D) with the problem's parameters, and its input Jacobian
 * (S, D) unless that is NULL */
void run_jacobian_f32(const problem *p, const double *x, double mask, double *state, double *jacobian);
void run_jacobian_f64(const problem *p, const double *x, double mask, double *state, double *jacobian);

#endif
