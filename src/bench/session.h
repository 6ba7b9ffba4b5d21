/* SPDX-License-Identifier: MIT */
/* session.h: what the suites share: the session behind bench.h, several problems at once, and results beside the
 * machine's limits. */
#ifndef SPARC_BENCH_SESSION_H
#define SPARC_BENCH_SESSION_H

#include "bench/bench.h"
#include "bench/problem.h"

struct bench_session {
  bench_settings settings;
  const bench_output *output;
  void *context;
  bench_machine machine;
};

/* bench_failed reports the last failure to the output and returns false. */
bool bench_failed(const bench_session *session, sparc_status status);

/* bench_open_all parses and opens several problems, and reports a failure. threads[i] == 0, or NULL: as in the
 * settings. The problems must outlive the cases. */
bool bench_open_all(bench_session *session, const char *const *texts, const int *threads, size_t count,
                    bench_problem *problems, bench_case *cases);
void bench_close_all(bench_case *cases, size_t count);

/* bench_describe makes the record of a case that was timed; it measures the limits that it needs. */
sparc_status bench_describe(bench_session *session, const bench_case *c, bench_result *out);

/* bench_return_memory makes the C library give every larger block that is freed back to the system, so that the next
 * problem does not find it again and its growth can be measured. */
void bench_return_memory(void);

#endif
