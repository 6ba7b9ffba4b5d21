/* SPDX-License-Identifier: MIT */
/* suites.h: the named suites of `sparc bench`. Each prints its own table and returns the exit code. */
#ifndef SPARC_BENCH_SUITES_SUITES_H
#define SPARC_BENCH_SUITES_SUITES_H

#include "bench/report.h"

/* the limits of this machine, on one thread and on all */
exit_code bench_suite_limits(bench_settings *settings);

/* the goals set for the kernels: measured, demanded, stretch, verdict; EXIT_FAILED when a demand is missed */
exit_code bench_suite_goals(bench_settings *settings);

/* cost and memory as B, T and H grow, against a line and a formula; EXIT_FAILED when either is missed */
exit_code bench_suite_growth(bench_settings *settings);

/* the shapes of the paper's efficiency figure and of its tables against the naive implementation */
exit_code bench_suite_paper(bench_settings *settings);

/* the training step of a classifier against its arithmetic; EXIT_FAILED when it misses the demand */
exit_code bench_suite_train(bench_settings *settings);

/* bench_report_failure says why the last call failed, and gives its exit code. */
exit_code bench_report_failure(const bench_settings *settings, sparc_status status);

/* bench_suite_open parses and opens several problems, and reports a failure. threads[i] == 0, or NULL: as the settings
 * say; kernels[i] == NULL, or NULL: as the environment says. The problems must outlive the cases. */
exit_code bench_suite_open(bench_settings *settings, const char *const *texts, const int *threads,
                           const char *const *kernels, size_t count, bench_problem *problems, bench_case *cases);
void bench_suite_close(bench_case *cases, size_t count);

#endif
