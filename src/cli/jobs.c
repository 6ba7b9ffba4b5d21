/* SPDX-License-Identifier: MIT */
/* jobs.c: child processes by fork. Each leads its own process group, so that Ctrl-C reaches only the parent, which
 * forwards it once: a second signal would end a child before it has saved. When the parent is killed, the kernel kills
 * the children (PR_SET_PDEATHSIG), so that a new runner can take over. */
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
  int task_index, pipe;
  double started;
  char *text; /* incomplete output line */
  size_t length, capacity;
} worker;

typedef struct job_pool {
  const char *who;
  const cli_jobs *jobs;
  worker *list;          /* (max_running) */
  struct pollfd *polled; /* (max_running) */
  int running;
  bool over;       /* no more jobs are started */
  bool stop_sent;  /* SIGTERM was sent to the running jobs */
  exit_code worst; /* first code other than EXIT_DONE */
} job_pool;

/* ---- starting ------------------------------------------------------------------------------------ */

static _Noreturn void work(const cli_jobs *jobs, int task_index, int pipe, pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(EXIT_FAILED); /* the parent died before prctl */
  /* line-buffered: several processes may write to one file */
  setvbuf(stdout, NULL, _IOLBF, 1 << 16);
  exit_code code = jobs->work(jobs->user, task_index, pipe);
  if (fflush(stdout) != 0) code = EXIT_FAILED;
  _exit((int)code);
}

static bool start(const cli_jobs *jobs, int task_index, worker *w) {
  int ends[2];
  fflush(stdout);
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  const pid_t parent = getpid(), pid = fork();
  if (pid == 0) work(jobs, task_index, ends[1], parent);
  close(ends[1]);
  if (pid < 0) {
    close(ends[0]);
    return false;
  }
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  *w = (worker){.pid = pid, .task_index = task_index, .pipe = ends[0], .started = seconds_now()};
  return true;
}

static worker *free_worker(const job_pool *f) {
  for (int i = 0; i < f->jobs->max_running; i++)
    if (f->list[i].pid == 0) return &f->list[i];
  return NULL;
}

static void start_jobs(job_pool *f) {
  for (worker *w; !f->over && (w = free_worker(f)) != NULL;) {
    const int task_index = f->jobs->next(f->jobs->user);
    if (task_index == CLI_JOBS_LATER) return;
    f->over = task_index == CLI_JOBS_OVER;
    if (f->over) return;
    if (start(f->jobs, task_index, w)) {
      f->running++;
      continue;
    }
    cli_message(f->who, "cannot start a process: %s", strerror(errno));
    f->worst = EXIT_FAILED;
    f->over = true;
  }
}

/* ---- output -------------------------------------------------------------------------------------- */

static void append_output(const cli_jobs *jobs, worker *w, const char *bytes, size_t count) {
  if (w->length + count + 1 > w->capacity) {
    char *text = realloc(w->text, 2 * (w->length + count) + 1);
    if (!text) return;
    w->text = text;
    w->capacity = 2 * (w->length + count) + 1;
  }
  memcpy(w->text + w->length, bytes, count);
  w->length += count;
  w->text[w->length] = '\0';
  char *line = w->text;
  for (char *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
    *end = '\0';
    jobs->on_line(jobs->user, w->task_index, line);
  }
  w->length = strlen(line);
  memmove(w->text, line, w->length + 1);
}

static void read_output(const cli_jobs *jobs, worker *w) {
  char bytes[4096];
  for (ssize_t got; (got = read(w->pipe, bytes, sizeof bytes)) > 0;) append_output(jobs, w, bytes, (size_t)got);
}

/* waits for output, at most TICK */
static void wait_for_output(const job_pool *f) {
  nfds_t count = 0;
  bool silent = false;
  for (int i = 0; i < f->jobs->max_running; i++)
    if (f->list[i].pid > 0) f->polled[count++] = (struct pollfd){.fd = f->list[i].pipe, .events = POLLIN};
  poll(f->polled, count, TICK);
  /* a pipe whose other end is closed always polls ready */
  for (nfds_t i = 0; i < count; i++) silent |= f->polled[i].revents == POLLHUP;
  if (silent) nanosleep(&(struct timespec){.tv_nsec = 1000000L * TICK / 10}, NULL);
}

/* ---- the end ------------------------------------------------------------------------------------- */

static void end(job_pool *f, worker *w, int status, const struct rusage *usage) {
  read_output(f->jobs, w);
  const cli_job_end how = {.code = WIFEXITED(status) ? (exit_code)WEXITSTATUS(status) : EXIT_FAILED,
                           .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0,
                           .seconds = seconds_now() - w->started,
                           .memory_mb = (double)usage->ru_maxrss * 1024 / 1e6};
  close(w->pipe);
  free(w->text);
  const int task_index = w->task_index;
  *w = (worker){.pid = 0};
  f->running--;
  if (f->worst == EXIT_DONE) f->worst = how.code;
  f->jobs->on_end(f->jobs->user, task_index, &how);
}

static void reap_jobs(job_pool *f) {
  for (int i = 0; i < f->jobs->max_running; i++) {
    worker *w = &f->list[i];
    int status;
    struct rusage usage;
    if (w->pid > 0 && f->jobs->should_kill && f->jobs->should_kill(f->jobs->user, w->task_index)) kill(w->pid, SIGKILL);
    if (w->pid > 0) read_output(f->jobs, w);
    if (w->pid > 0 && wait4(w->pid, &status, WNOHANG, &usage) > 0) end(f, w, status, &usage);
  }
}

static void forward_signal(job_pool *f) {
  if (!interrupt_requested() || f->stop_sent) return;
  f->stop_sent = f->over = true;
  for (int i = 0; i < f->jobs->max_running; i++)
    if (f->list[i].pid > 0) kill(f->list[i].pid, SIGTERM);
}

exit_code cli_jobs_run(const char *who, const cli_jobs *jobs) {
  const size_t max_running = (size_t)jobs->max_running;
  job_pool f = {.who = who,
                .jobs = jobs,
                .list = calloc(max_running, sizeof(worker)),
                .polled = calloc(max_running, sizeof(struct pollfd))};
  if (!f.list || !f.polled) {
    cli_message(who, "no memory for %d processes", jobs->max_running);
    f.worst = EXIT_FAILED;
    f.over = true;
  }
  while (f.running > 0 || !f.over) {
    forward_signal(&f);
    start_jobs(&f);
    wait_for_output(&f);
    reap_jobs(&f);
    if (jobs->tick) jobs->tick(jobs->user);
  }
  free(f.list);
  free(f.polled);
  return f.worst == EXIT_DONE && f.stop_sent ? EXIT_INTERRUPTED : f.worst;
}
