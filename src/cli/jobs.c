/* SPDX-License-Identifier: MIT */
/* jobs.c: processes by fork. Each is the leader of its own group: a Ctrl-C reaches the first process only, which passes
 * it on once; two signals would end the others before they have saved. */
#include "cli/jobs.h"

#include "cli/progress.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef struct job {
  pid_t pid; /* 0: not begun or over */
  int pipe;  /* brings the number */
} job;

static _Noreturn void work(const cli_jobs *jobs, int i, int pipe) {
  double number = NAN;
  setpgid(0, 0);
  /* whole lines, as several processes may write to one file */
  setvbuf(stdout, NULL, _IOLBF, 1 << 16);
  exit_code code = jobs->work(jobs->user, i, &number);
  if (fflush(stdout) != 0 || write(pipe, &number, sizeof number) != (ssize_t)sizeof number) code = EXIT_FAILED;
  _exit(code);
}

static bool begin(const char *who, const cli_jobs *jobs, int i, job *out) {
  int ends[2];
  fflush(stdout);
  if (pipe(ends) == 0) {
    const pid_t pid = fork();
    if (pid == 0) work(jobs, i, ends[1]);
    close(ends[1]);
    *out = (job){pid, ends[0]};
    if (pid > 0) return true;
    close(ends[0]);
    out->pid = 0;
  }
  cli_message(who, "cannot begin a process: %s", strerror(errno));
  return false;
}

static exit_code end(const cli_jobs *jobs, int i, job *j, int status) {
  double number;
  if (read(j->pipe, &number, sizeof number) != (ssize_t)sizeof number) number = NAN;
  close(j->pipe);
  j->pid = 0;
  const exit_code code = WIFEXITED(status) ? (exit_code)WEXITSTATUS(status) : EXIT_FAILED;
  jobs->done(jobs->user, i, code, number);
  return code;
}

static void pass_on(const cli_jobs *jobs, const job *list) {
  for (int i = 0; i < jobs->count; i++)
    if (list[i].pid > 0) kill(list[i].pid, SIGTERM);
}

exit_code cli_jobs_run(const char *who, const cli_jobs *jobs) {
  const struct timespec pause = {.tv_nsec = 20000000};
  job *list = calloc((size_t)jobs->count, sizeof *list);
  exit_code worst = list ? EXIT_DONE : EXIT_FAILED;
  bool told = false, stop = !list;
  for (int next = 0, running = 0; running > 0 || (next < jobs->count && !stop);) {
    if (running < jobs->most && next < jobs->count && !stop) {
      if (begin(who, jobs, next, &list[next])) {
        next++;
        running++;
      } else {
        worst = EXIT_FAILED;
        stop = true;
      }
      continue;
    }
    for (int i = 0, status; i < next; i++) {
      if (list[i].pid <= 0 || waitpid(list[i].pid, &status, WNOHANG) <= 0) continue;
      const exit_code code = end(jobs, i, &list[i], status);
      if (worst == EXIT_DONE) worst = code;
      running--;
    }
    if (interrupt_requested() && !told) {
      told = stop = true;
      pass_on(jobs, list);
    }
    nanosleep(&pause, NULL);
  }
  free(list);
  return worst == EXIT_DONE && told ? EXIT_INTERRUPTED : worst;
}
