/* SPDX-License-Identifier: MIT */
/* ppo.h: what an iteration of PPO cannot do without, counted by the problem that was set up. */
#ifndef SPARC_BENCH_KINDS_PPO_H
#define SPARC_BENCH_KINDS_PPO_H

#include "bench/problem.h"
#include "sparc/rl.h"

/* where the gradient through time comes from: the cell's traces, smaller ones (rtrl/columns_impl.h) or records, windows */
typedef enum bench_ppo_way { BENCH_TRACES, BENCH_RECORDS, BENCH_WINDOWS } bench_ppo_way;

typedef struct bench_ppo_work {
  int steps, items; /* collected; of all minibatches */
  bench_ppo_way way;
  bool is_default;                /* the choice of auto */
  double layer_flops, cell_flops; /* products of one step forward: encoder and heads; the cell */
  double written, read;           /* bytes of sensitivities or records: by the collection, which reads
                                   * them as well if they are sensitivities, and by the update */
  size_t kept;                    /* bytes of them that there are */
  double reached;                 /* recorded steps that the adjoint scans of all minibatches went through */
} bench_ppo_work;

/* bench_ppo_work_of counts what one iteration of an open problem does. */
bench_ppo_work bench_ppo_work_of(const bench_case *c);

#endif
