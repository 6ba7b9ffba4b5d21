/* SPDX-License-Identifier: MIT */
/* support_rollout.h: runners of sparc/rtrl.h in both precisions. */
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
  problem p;            /* B = 1 */
  double *trace0;       /* (trace): before the first step */
  double *params;       /* of the minibatch */
  double *x;            /* (n, D): of the minibatch */
  double *dy;           /* (n, O) */
  int n, *steps;        /* distinct, in any order */
  int symbols, *symbol; /* (T): of the rollout's inputs; NULL: all differ */
} rollout;

rollout rollout_create(const sparc_cell_config *config, int T, int n, double change, sparc_random *stream);
void rollout_free(rollout *r);
/* gives the rollout's steps one of a few inputs each */
void rollout_draw_symbols(rollout *r, int symbols, sparc_random *stream);

/* the gradient of a minibatch, and the other results of a method */
typedef struct minibatch {
  double *dparams; /* (params) */
  double *dx;      /* (n, D) */
  double *dinput;  /* (T, D): by recorded steps */
} minibatch;

minibatch minibatch_create(const rollout *r);
void minibatch_free(minibatch *m);

/* one item after the other: a step and sparc_rtrl_update on copies of the stored states and traces */
void run_items_f32(const rollout *r, minibatch *out);
void run_items_f64(const rollout *r, minibatch *out);
/* sparc_rtrl_batch_gradient, which must leave the traces alone */
void run_batch_f32(const rollout *r, int threads, minibatch *out);
void run_batch_f64(const rollout *r, int threads, minibatch *out);

/* how recorded steps are used */
typedef struct record_options {
  int interval; /* of checkpoints; 0: none */
  bool symbols; /* steps with equal inputs together */
  bool dinput;
  int threads;
} record_options;

/* sparc_record_gradient; the boundary is the rollout's trace0 */
void run_records_f32(const rollout *r, const record_options *options, minibatch *out);
void run_records_f64(const rollout *r, const record_options *options, minibatch *out);
/* the trace before step `to`, carried on from the one before step `from`, and what the rollout itself had there */
void run_boundary_f32(const rollout *r, int from, int to, double *got, double *want);
void run_boundary_f64(const rollout *r, int from, int to, double *got, double *want);

#endif
