/* SPDX-License-Identifier: MIT */
/* ppo.h: lower bounds of the work of one PPO iteration. */
#ifndef SPARC_BENCH_KINDS_PPO_H
#define SPARC_BENCH_KINDS_PPO_H

#include "bench/problem.h"
#include "rl/ppo.h"

typedef struct bench_ppo_work {
  int steps, items; /* collected; of all minibatches */
  gradient_method gradient_method;
  bool is_default;                /* what auto selects */
  double layer_flops, cell_flops; /* products of one step forward: encoder and heads; the cell */
  double written, read;           /* bytes of sensitivities or records: by the collection, which reads
                                   * them as well if they are sensitivities, and by the update */
  size_t kept;                    /* bytes of them that there are */
  double reached;                 /* recorded steps that the adjoint scans of all minibatches went through */
} bench_ppo_work;

/* bench_ppo_work_of counts what one iteration of an open problem does. */
bench_ppo_work bench_ppo_work_of(const bench_case *c);

#endif
