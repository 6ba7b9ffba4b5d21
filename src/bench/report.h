/* SPDX-License-Identifier: MIT */
/* report.h: what `sparc bench` prints: results beside the machine's limits, as text or one JSON object per line,
 * and beside the results of an earlier run. */
#ifndef SPARC_BENCH_REPORT_H
#define SPARC_BENCH_REPORT_H

#include "bench/problem.h"
#include "cli/cli.h"

typedef struct bench_settings {
  const char *who;
  int threads;
  double seconds; /* per problem */
  bool quick, json, colour;
  bool printed; /* something is on standard output already */
  json_t *old;  /* array of the results of an earlier run; NULL: none */
  bench_machine machine;
} bench_settings;

/* bench_load_old reads a file that an earlier run wrote with --json. */
sparc_status bench_load_old(const char *path, json_t **out);

/* bench_separate puts an empty line between the texts of problems and suites. */
void bench_separate(bench_settings *settings);

/* bench_report_case prints a case that was timed; it measures the limits that it needs. */
sparc_status bench_report_case(bench_settings *settings, const bench_case *c);

/* bench_time_text writes seconds with three digits and a unit, for example "12.3 ms". */
enum { TIME_TEXT = 16 };
const char *bench_time_text(double seconds, char text[TIME_TEXT]);

/* bench_json_number is null for what is not finite. */
json_t *bench_json_number(double value);

#endif
