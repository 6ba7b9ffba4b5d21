/* SPDX-License-Identifier: MIT */
/* jobs.h: run independent jobs in child processes, a limited number at a time. */
#ifndef SPARC_CLI_JOBS_H
#define SPARC_CLI_JOBS_H

#include "cli/cli.h"

enum { CLI_JOBS_LATER = -1, CLI_JOBS_OVER = -2 };

/* result of a child process */
typedef struct cli_job_end {
  exit_code code;            /* EXIT_FAILED if a signal ended it */
  int signal;                /* 0: none */
  double seconds, memory_mb; /* wall time; peak resident memory */
} cli_job_end;

typedef struct cli_jobs {
  int max_running; /* concurrent processes */
  /* Index of the next job to start, CLI_JOBS_LATER if none is ready, CLI_JOBS_OVER if there are no more. */
  int (*next)(void *user);
  /* Runs the job in a child process. Lines written to `out` reach on_line. It may exec another program. */
  exit_code (*work)(void *user, int task_index, int out);
  /* Called in the parent: for each output line of a job, at its end, and about every 50 ms (tick; may be NULL). */
  void (*on_line)(void *user, int task_index, const char *line);
  void (*on_end)(void *user, int task_index, const cli_job_end *end);
  void (*tick)(void *user);
  /* Returns true if the process of a job must be killed because its result is no longer needed; NULL: never. */
  bool (*should_kill)(void *user, int task_index);
  void *user;
} cli_jobs;

/* Runs all jobs and returns the first exit code other than EXIT_DONE. SIGINT and SIGTERM are forwarded to the children
 * and no further job is started. Children are killed when this process dies. Must be called before any thread exists. */
exit_code cli_jobs_run(const char *who, const cli_jobs *jobs);

#endif
