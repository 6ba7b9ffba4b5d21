/* SPDX-License-Identifier: MIT */
/* jobs.h: work that falls into independent parts, each done by a process of its own, some at a time. */
#ifndef SPARC_CLI_JOBS_H
#define SPARC_CLI_JOBS_H

#include "cli/cli.h"

enum { CLI_JOBS_LATER = -1, CLI_JOBS_OVER = -2 };

/* how a process ended */
typedef struct cli_job_end {
  exit_code code;            /* EXIT_FAILED where a signal ended it */
  int signal;                /* 0: none */
  double seconds, memory_mb; /* of wall time; at most, of main memory */
} cli_job_end;

typedef struct cli_jobs {
  int most; /* processes at a time */
  /* next is the part to begin: CLI_JOBS_LATER: none at the moment, CLI_JOBS_OVER: no more */
  int (*next)(void *user);
  /* work does the part in a process of its own; what it writes to `out` is heard. It may become another program. */
  exit_code (*work)(void *user, int part, int out);
  /* all of these in the first process: a line that a part wrote, its end, and a moment to look after things */
  void (*heard)(void *user, int part, const char *line);
  void (*ended)(void *user, int part, const cli_job_end *end);
  void (*tick)(void *user); /* NULL: not needed */
  /* whether the process of a part is to be killed, as its work counts no more; NULL: never */
  bool (*doomed)(void *user, int part);
  void *user;
} cli_jobs;

/* cli_jobs_run does all parts and returns the first code other than EXIT_DONE. SIGINT and SIGTERM are passed on, and no
 * more parts are begun then. A process ends at once when this one is killed. No thread may have been started before. */
exit_code cli_jobs_run(const char *who, const cli_jobs *jobs);

#endif
