/* SPDX-License-Identifier: MIT */
/* online.h: figures of the kind `rtrl` for goals. */
#ifndef SPARC_BENCH_KINDS_ONLINE_H
#define SPARC_BENCH_KINDS_ONLINE_H

#include "bench/problem.h"

/* bench_trace_flops gives the operations of the multiply-add units, as flops of the peak, that one step of one trace
 * cannot do without: 2 for each, whether it adds or not. With contraction, also those of its gradient. */
double bench_trace_flops(const bench_case *c, bool contraction);

#endif
