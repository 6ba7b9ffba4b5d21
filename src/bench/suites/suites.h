/* SPDX-License-Identifier: MIT */
/* suites.h: the suites that session.c knows by name. Each hands its records to the session's output, and is false if
 * something failed or a demand that binds was missed. */
#ifndef SPARC_BENCH_SUITES_SUITES_H
#define SPARC_BENCH_SUITES_SUITES_H

#include "bench/session.h"

bool suite_limits(bench_session *session); /* the limits of this machine, on one thread and on all */
bool suite_goals(bench_session *session);  /* the goals set for the kernels */
bool suite_train(bench_session *session);  /* the training step of a classifier against its arithmetic */
bool suite_rl(bench_session *session);     /* an iteration of PPO against its bounds, and against JAX */
bool suite_scale(bench_session *session);  /* training on several ranks, and a model of more of them */
bool suite_growth(bench_session *session); /* cost and memory as B, T and H grow, against a line and a formula */
bool suite_paper(bench_session *session);  /* the paper's efficiency figure and tables against a naive implementation */
bool suite_paper_device(bench_session *session); /* the same on the device of the settings */

#endif
