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

typedef struct workforce {
  const char *who;
  const cli_jobs *jobs;
  job *list; /* (count) */
  int next, running;
  bool stop;       /* no more are begun */
  bool told;       /* those that run have been asked to stop */
  exit_code worst; /* the first that is not EXIT_DONE */
} workforce;

static _Noreturn void work(const cli_jobs *jobs, int i, int pipe) {
  double number = NAN;
  setpgid(0, 0);
  /* whole lines, as several processes may write to one file */
  setvbuf(stdout, NULL, _IOLBF, 1 << 16);
  exit_code code = jobs->work(jobs->user, i, &number);
  if (fflush(stdout) != 0 || write(pipe, &number, sizeof number) != (ssize_t)sizeof number) code = EXIT_FAILED;
  _exit((int)code);
}

static bool begin(const cli_jobs *jobs, int i, job *out) {
  int ends[2];
  fflush(stdout);
  if (pipe(ends) != 0) return false;
  const pid_t pid = fork();
  if (pid == 0) work(jobs, i, ends[1]);
  close(ends[1]);
  if (pid < 0) {
    close(ends[0]);
    return false;
  }
  *out = (job){pid, ends[0]};
  return true;
}

static void begin_next(workforce *w) {
  if (begin(w->jobs, w->next, &w->list[w->next])) {
    w->next++;
    w->running++;
    return;
  }
  cli_message(w->who, "cannot begin a process: %s", strerror(errno));
  w->worst = EXIT_FAILED;
  w->stop = true;
}

static void end(workforce *w, int i, int status) {
  job *j = &w->list[i];
  double number;
  if (read(j->pipe, &number, sizeof number) != (ssize_t)sizeof number) number = NAN;
  close(j->pipe);
  j->pid = 0;
  w->running--;
  const exit_code code = WIFEXITED(status) ? (exit_code)WEXITSTATUS(status) : EXIT_FAILED;
  if (w->worst == EXIT_DONE) w->worst = code;
  w->jobs->done(w->jobs->user, i, code, number);
}

static void end_those_over(workforce *w) {
  for (int i = 0, status; i < w->next; i++)
    if (w->list[i].pid > 0 && waitpid(w->list[i].pid, &status, WNOHANG) > 0) end(w, i, status);
}

static void pass_signal_on(workforce *w) {
  if (!interrupt_requested() || w->told) return;
  w->told = w->stop = true;
  for (int i = 0; i < w->next; i++)
    if (w->list[i].pid > 0) kill(w->list[i].pid, SIGTERM);
}

exit_code cli_jobs_run(const char *who, const cli_jobs *jobs) {
  const struct timespec moment = {.tv_nsec = 20000000};
  workforce w = {.who = who, .jobs = jobs, .list = calloc((size_t)jobs->count, sizeof(job))};
  if (!w.list) {
    cli_message(who, "no memory for %d processes", jobs->count);
    return EXIT_FAILED;
  }
  while (w.running > 0 || (w.next < jobs->count && !w.stop)) {
    while (w.running < jobs->most && w.next < jobs->count && !w.stop) begin_next(&w);
    nanosleep(&moment, NULL);
    end_those_over(&w);
    pass_signal_on(&w);
  }
  free(w.list);
  return w.worst == EXIT_DONE && w.told ? EXIT_INTERRUPTED : w.worst;
}
