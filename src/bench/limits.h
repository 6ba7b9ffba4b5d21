/* SPDX-License-Identifier: MIT */
/* limits.h: peak rates of this machine, measured in the same run as the problems that are compared with them. */
#ifndef SPARC_BENCH_LIMITS_H
#define SPARC_BENCH_LIMITS_H

#include "bench/problem.h"

typedef enum bench_level { LEVEL_L2, LEVEL_L3, LEVEL_MEMORY, LEVELS } bench_level;
typedef enum bench_flow {
  FLOW_COPY,
  FLOW_COPY_NT,
  FLOW_TRIAD,
  FLOW_TRIAD_NT,
  FLOW_INPLACE,
  FLOW_SUBTRACT,
  FLOWS
} bench_flow;

const char *bench_level_name(bench_level level);

/* bench_level_kib gives the size, per array and thread, that fits a level of the memory; 0: no such level. */
size_t bench_level_kib(bench_level level, int threads);

/* bench_level_of returns the level that holds a problem of so many bytes. */
bench_level bench_level_of(size_t bytes, int threads);

/* bench_limit_peak gives multiply-adds in GFLOP/s, bench_limit_flows the rates of a level in GB/s (0 where the machine
 * has no such store). Each is measured once per run and number of threads. */
sparc_status bench_limit_peak(bench_machine *machine, int threads, double *rate);
sparc_status bench_limit_flows(bench_machine *machine, int threads, bench_level level, double rate[FLOWS]);

#endif
