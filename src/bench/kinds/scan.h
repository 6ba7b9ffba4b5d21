/* SPDX-License-Identifier: MIT */
/* scan.h: figures of the kind `scan` for goals. */
#ifndef SPARC_BENCH_KINDS_SCAN_H
#define SPARC_BENCH_KINDS_SCAN_H

#include "bench/problem.h"

/* bench_scan_small gives the fraction of tiles and tokens whose decays are small enough for the shorter arithmetic. */
double bench_scan_small(const bench_case *c);

/* bench_scan_issue gives the multiply-adds in registers, as flops of the peak's vectors, that take as long as the
 * forward scan takes its operations to be issued, if nothing ever waits. */
double bench_scan_issue(const bench_case *c);

/* bench_scan_lanes gives the floats of a vector of its kernels. */
double bench_scan_lanes(const bench_case *c);

#endif
