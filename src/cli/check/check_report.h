/* SPDX-License-Identifier: MIT */
/* check_report.h: compares results and prints the verdicts of `sparc check`. */
#ifndef SPARC_CLI_CHECK_CHECK_REPORT_H
#define SPARC_CLI_CHECK_CHECK_REPORT_H

#include "cli/check/paths.h"

typedef struct check_error {
  double absolute;   /* E_abs = max |got - want| */
  double normalised; /* E_norm = E_abs / max(1, max |want|) [eq:gpu_numerical_error] */
} check_error;

typedef struct check_report {
  const char *who;
  bool in_double, json, quiet, colour;
  bool hashes;      /* print a hash of the floats of every path */
  double tolerance; /* for every tensor; below 0: those of the precision */
  int file_width;   /* columns of the longest file name */

  size_t files, compared, beyond;
  bool has_heading;
  check_error worst[MAX_SLOTS]; /* of the current file, over its paths, by slot */
} check_report;

/* report_begin starts a file, report_path judges what one path gave, report_end closes the file. */
void report_begin(check_report *report);
void report_path(check_report *report, const vector_file *vector, const check_path *path, const path_result *result);
void report_end(const check_report *report, const vector_file *vector);

/* report_summary prints the last line. */
void report_summary(const check_report *report);

#endif
