/* SPDX-License-Identifier: MIT */
/* support_rollout.h: runners of sparc/rollout.h in both precisions. */
#ifndef SPARC_TESTS_SUPPORT_ROLLOUT_H
#define SPARC_TESTS_SUPPORT_ROLLOUT_H

#include "support.h"

/* the state of one step from state0 (or zeros) on input x (D) with the problem's parameters, and its input Jacobian
 * (S, D) unless that is NULL */
void run_jacobian_f32(const problem *p, const double *x, double mask, double *state, double *jacobian);
void run_jacobian_f64(const problem *p, const double *x, double mask, double *state, double *jacobian);

/* A rollout: one stream of T steps from state0 and a trace of its own, with the problem's parameters, and a minibatch
 * of steps of it under other parameters. Everything is drawn from the problem's stream, in double. */
typedef struct rollout {
  problem p;      /* B = 1 */
  double *trace0; /* (trace): before the first step */
  double *params; /* of the minibatch */
  double *x;      /* (n, D): of the minibatch */
  double *dy;     /* (n, O) */
  int n, *steps;  /* distinct, in any order */
} rollout;

rollout rollout_create(const sparc_cell_config *config, int T, int n, double change, sparc_random *stream);
void rollout_free(rollout *r);

/* the gradient of a minibatch, and what else a way to it gives */
typedef struct minibatch {
  double *dparams; /* (params) */
  double *dx;      /* (n, D) */
} minibatch;

minibatch minibatch_create(const rollout *r);
void minibatch_free(minibatch *m);

/* one item after the other: a step and sparc_rtrl_update on copies of the stored states and traces */
void run_items_f32(const rollout *r, minibatch *out);
void run_items_f64(const rollout *r, minibatch *out);
/* sparc_rtrl_batch_gradient, which must leave the traces alone */
void run_batch_f32(const rollout *r, int threads, minibatch *out);
void run_batch_f64(const rollout *r, int threads, minibatch *out);

#endif
