/* SPDX-License-Identifier: MIT */
/* jobs.c: processes by fork. Each is the leader of its own group: a Ctrl-C reaches the first process only, which passes
 * it on once; two signals would end the others before they have saved. When the first process is killed the system
 * kills the others, so that whoever takes over finds nobody at work. */
#include "cli/jobs.h"

#include "base/clock.h"
#include "cli/progress.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TICK = 50 }; /* milliseconds */

typedef struct worker {
  pid_t pid; /* 0: free */
  int part, pipe;
  double begun;
  char *text; /* of the line that is coming in */
  size_t length, room;
} worker;

typedef struct workforce {
  const char *who;
  const cli_jobs *jobs;
  worker *list;        /* (most) */
  struct pollfd *news; /* (most) */
  int running;
  bool over;       /* no more are begun */
  bool told;       /* those that run have been asked to stop */
  exit_code worst; /* the first that is not EXIT_DONE */
} workforce;

/* ---- beginning ----------------------------------------------------------------------------------- */

static _Noreturn void work(const cli_jobs *jobs, int part, int pipe, pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(EXIT_FAILED); /* it died before that counted */
  /* whole lines, as several processes may write to one file */
  setvbuf(stdout, NULL, _IOLBF, 1 << 16);
  exit_code code = jobs->work(jobs->user, part, pipe);
  if (fflush(stdout) != 0) code = EXIT_FAILED;
  _exit((int)code);
}

static bool begin(const cli_jobs *jobs, int part, worker *w) {
  int ends[2];
  fflush(stdout);
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  const pid_t parent = getpid(), pid = fork();
  if (pid == 0) work(jobs, part, ends[1], parent);
  close(ends[1]);
  if (pid < 0) {
    close(ends[0]);
    return false;
  }
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  *w = (worker){.pid = pid, .part = part, .pipe = ends[0], .begun = seconds_now()};
  return true;
}

static worker *free_worker(const workforce *f) {
  for (int i = 0; i < f->jobs->most; i++)
    if (f->list[i].pid == 0) return &f->list[i];
  return NULL;
}

static void begin_some(workforce *f) {
  for (worker *w; !f->over && (w = free_worker(f)) != NULL;) {
    const int part = f->jobs->next(f->jobs->user);
    if (part == CLI_JOBS_LATER) return;
    f->over = part == CLI_JOBS_OVER;
    if (f->over) return;
    if (begin(f->jobs, part, w)) {
      f->running++;
      continue;
    }
    cli_message(f->who, "cannot begin a process: %s", strerror(errno));
    f->worst = EXIT_FAILED;
    f->over = true;
  }
}

/* ---- meanwhile ----------------------------------------------------------------------------------- */

static void take_in(const cli_jobs *jobs, worker *w, const char *bytes, size_t count) {
  if (w->length + count + 1 > w->room) {
    char *text = realloc(w->text, 2 * (w->length + count) + 1);
    if (!text) return;
    w->text = text;
    w->room = 2 * (w->length + count) + 1;
  }
  memcpy(w->text + w->length, bytes, count);
  w->length += count;
  w->text[w->length] = '\0';
  char *line = w->text;
  for (char *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
    *end = '\0';
    jobs->heard(jobs->user, w->part, line);
  }
  w->length = strlen(line);
  memmove(w->text, line, w->length + 1);
}

static void listen(const cli_jobs *jobs, worker *w) {
  char bytes[4096];
  for (ssize_t got; (got = read(w->pipe, bytes, sizeof bytes)) > 0;) take_in(jobs, w, bytes, (size_t)got);
}

/* until somebody writes or a moment has passed */
static void wait_for_news(const workforce *f) {
  nfds_t count = 0;
  bool silent = false;
  for (int i = 0; i < f->jobs->most; i++)
    if (f->list[i].pid > 0) f->news[count++] = (struct pollfd){.fd = f->list[i].pipe, .events = POLLIN};
  poll(f->news, count, TICK);
  /* a pipe whose other end is closed is always news */
  for (nfds_t i = 0; i < count; i++) silent |= f->news[i].revents == POLLHUP;
  if (silent) nanosleep(&(struct timespec){.tv_nsec = 1000000L * TICK / 10}, NULL);
}

/* ---- the end ------------------------------------------------------------------------------------- */

static void end(workforce *f, worker *w, int status, const struct rusage *usage) {
  listen(f->jobs, w);
  const cli_job_end how = {.code = WIFEXITED(status) ? (exit_code)WEXITSTATUS(status) : EXIT_FAILED,
                           .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0,
                           .seconds = seconds_now() - w->begun,
                           .memory_mb = (double)usage->ru_maxrss * 1024 / 1e6};
  close(w->pipe);
  free(w->text);
  const int part = w->part;
  *w = (worker){.pid = 0};
  f->running--;
  if (f->worst == EXIT_DONE) f->worst = how.code;
  f->jobs->ended(f->jobs->user, part, &how);
}

static void end_those_over(workforce *f) {
  for (int i = 0; i < f->jobs->most; i++) {
    worker *w = &f->list[i];
    int status;
    struct rusage usage;
    if (w->pid > 0 && f->jobs->doomed && f->jobs->doomed(f->jobs->user, w->part)) kill(w->pid, SIGKILL);
    if (w->pid > 0) listen(f->jobs, w);
    if (w->pid > 0 && wait4(w->pid, &status, WNOHANG, &usage) > 0) end(f, w, status, &usage);
  }
}

static void pass_signal_on(workforce *f) {
  if (!interrupt_requested() || f->told) return;
  f->told = f->over = true;
  for (int i = 0; i < f->jobs->most; i++)
    if (f->list[i].pid > 0) kill(f->list[i].pid, SIGTERM);
}

exit_code cli_jobs_run(const char *who, const cli_jobs *jobs) {
  const size_t most = (size_t)jobs->most;
  workforce f = {
      .who = who, .jobs = jobs, .list = calloc(most, sizeof(worker)), .news = calloc(most, sizeof(struct pollfd))};
  if (!f.list || !f.news) {
    cli_message(who, "no memory for %d processes", jobs->most);
    f.worst = EXIT_FAILED;
    f.over = true;
  }
  while (f.running > 0 || !f.over) {
    pass_signal_on(&f);
    begin_some(&f);
    wait_for_news(&f);
    end_those_over(&f);
    if (jobs->tick) jobs->tick(jobs->user);
  }
  free(f.list);
  free(f.news);
  return f.worst == EXIT_DONE && f.told ? EXIT_INTERRUPTED : f.worst;
}
