/* SPDX-License-Identifier: MIT */
/* jobs.h: work that falls into independent parts, each done by a process of its own, some at a time. */
#ifndef SPARC_CLI_JOBS_H
#define SPARC_CLI_JOBS_H

#include "cli/cli.h"

typedef struct cli_jobs {
  int count, most; /* parts, and processes at a time */
  /* does part i in a process of its own, and leaves a number */
  exit_code (*work)(void *user, int i, double *number);
  /* hears in the first process that part i is done */
  void (*done)(void *user, int i, exit_code code, double number);
  void *user;
} cli_jobs;

/* cli_jobs_run does all parts and returns the first code other than EXIT_DONE. SIGINT and SIGTERM are passed on, and no
 * more parts are begun then. No thread may have been started before. */
exit_code cli_jobs_run(const char *who, const cli_jobs *jobs);

#endif
