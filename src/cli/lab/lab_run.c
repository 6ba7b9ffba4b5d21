/* SPDX-License-Identifier: MIT */
/* lab_run.c: `sparc lab run`: the jobs of a grid in child processes, within limits of threads and memory.
 *
 * The folder of the grid is the job list. When a process slot is free, the runner inspects a job's folder, claims it,
 * runs it and writes its result. Other runners do the same, so that runners need no communication. Jobs are ordered by
 * seed: all tasks and methods run with the first seed before the second starts.
 */
#include "base/clock.h"
#include "base/error.h"
#include "base/threads.h"
#include "cli/jobs.h"
#include "cli/lab/lab.h"
#include "lab/grid/estimate.h"
#include "run/launch.h"
#include "sparc/rl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double rescan_seconds = 2;

typedef enum entry_state {
  ENTRY_OPEN,    /* state not decided yet */
  ENTRY_OURS,    /* runs here */
  ENTRY_DONE,    /* finished, now or earlier */
  ENTRY_FAILED,  /* not retried */
  ENTRY_STOPPED, /* ran here and was interrupted */
} entry_state;

typedef struct entry {
  const grid_job *job;
  entry_state state;
  claim held;
  bool lost;     /* another runner has taken the claim */
  double seen;   /* when another runner was first seen on it; 0: never */
  bool retried;  /* a failure is retried once */
  char *printed; /* output lines; of RL and training only the last */
  double before; /* fraction done when this runner started */
  double done;   /* fraction */
  double rate;   /* budget per second; 0: unknown */
  double share;  /* of the total work; sums to 1 */
  double needs;  /* expected memory, MB */
} entry;

typedef struct runner {
  const lab_options *o;
  const grid_jobs *jobs;
  entry *list; /* (count) in order of execution */
  int count;
  int max_jobs, threads;
  double memory; /* MB, sum over running jobs */
  int running;
  double scanned, renewed; /* when */
  progress *shown;
  exit_code worst;
} runner;

/* ---- choosing ------------------------------------------------------------------------------------ */

static void note_failure(runner *r, entry *e, const char *message) {
  e->state = ENTRY_FAILED;
  if (r->worst == EXIT_DONE) r->worst = EXIT_FAILED;
  cli_message(r->o->who, "%s failed: %s", e->job->name, message);
}

/* with sparc_error() as the message */
static void note_error(runner *r, entry *e) {
  char sentence[JOB_TEXT];
  snprintf(sentence, sizeof sentence, "%s", sparc_error());
  note_failure(r, e, sentence);
}

/* inspects the job's folder; returns true if the job can be started */
static bool is_open(runner *r, entry *e) {
  job_report report;
  if (e->state != ENTRY_OPEN) return false;
  if (job_inspect(e->job, &report) != SPARC_OK) {
    note_error(r, e);
    return false;
  }
  e->done = report.done;
  switch (report.state) {
    case JOB_DONE:
      e->state = ENTRY_DONE;
      return false;
    case JOB_RUNNING:
      if (e->seen == 0) e->seen = seconds_now();
      return false;
    case JOB_CHANGED:
      note_failure(r, e, "its folder contains a run with other settings; remove it, or use another --out");
      return false;
    case JOB_FAILED:
      if (r->o->retry && !e->retried) return true;
      e->state = ENTRY_FAILED;
      if (r->worst == EXIT_DONE) r->worst = EXIT_FAILED;
      cli_message(r->o->who, "%s failed before, --retry runs it again: %s", e->job->name, report.message);
      return false;
    default:
      return true;
  }
}

static double memory_of(const runner *r, const grid_job *job) {
  if (r->o->memory_mb <= 0) return 0;
  const double measured = estimate_measured(r->jobs, job).memory_mb;
  const double known = measured > 0 ? measured : estimate_memory(job);
  return known > 0 ? known : r->o->memory_mb / r->max_jobs;
}

/* a job above the memory limit runs alone, as do benchmarks */
static bool fits(const runner *r, const entry *e) {
  if (r->running == 0) return true;
  for (int i = 0; i < r->count; i++)
    if (r->list[i].state == ENTRY_OURS && r->list[i].job->kind == GRID_BENCH) return false;
  return e->job->kind != GRID_BENCH && r->memory + e->needs <= r->o->memory_mb;
}

static job_hold take(runner *r, entry *e) {
  job_hold hold = JOB_ELSEWHERE;
  sparc_status status = job_prepare(r->jobs, e->job, &e->held, &hold);
  if (status == SPARC_OK && hold == JOB_TAKEN) status = job_write_settings(e->job);
  if (status == SPARC_OK && hold == JOB_TAKEN && r->o->retry) status = job_clear_failure(e->job);
  if (status != SPARC_OK) {
    note_error(r, e);
    claim_return(&e->held);
    return JOB_ELSEWHERE;
  }
  if (hold != JOB_TAKEN) return hold;
  e->retried = true;
  e->state = ENTRY_OURS;
  e->lost = false;
  r->memory += e->needs;
  r->running++;
  return JOB_TAKEN;
}

/* A claim of a killed runner on another machine expires after CLAIM_EXPIRY. With --job, the runner waits that long before
 * it leaves a claimed job to others, because the claim may be that of its own killed predecessor. */
static bool may_be_dead(const runner *r, const entry *e, double time) {
  const launch l = launch_read(); /* rank 0 prints the summary of all ranks, so it waits for them */
  if (l.size > 1 && l.rank == 0 && e->state == ENTRY_OPEN && e->seen > 0) return true;
  return r->o->numbers && e->state == ENTRY_OPEN && e->seen > 0 && time - e->seen < 1.1 * CLAIM_EXPIRY;
}

static int next(void *user) {
  runner *r = user;
  const double time = seconds_now();
  if (time - r->scanned < rescan_seconds && r->scanned > 0) return CLI_JOBS_LATER;
  bool waits = false;
  for (int i = 0; i < r->count; i++) {
    entry *e = &r->list[i];
    if (!is_open(r, e)) {
      waits |= may_be_dead(r, e, time);
      continue;
    }
    if (r->o->memory_mb > 0 && e->needs == 0) e->needs = memory_of(r, e->job);
    const job_hold hold = fits(r, e) ? take(r, e) : JOB_LOCKED;
    if (hold == JOB_TAKEN) return i;
    waits |= hold == JOB_LOCKED;
  }
  /* jobs claimed by other runners are left to them */
  if (!waits && r->running == 0) return CLI_JOBS_OVER;
  r->scanned = time;
  return CLI_JOBS_LATER;
}

/* ---- remaining time ------------------------------------------------------------------------------ */

/* weights jobs by their expected time, estimated from finished jobs; returns the share done before this runner */
static double weigh(runner *r) {
  const size_t all = (size_t)r->jobs->count;
  double *rates = calloc(all, sizeof *rates), *seconds = calloc(all, sizeof *seconds);
  double sum = 0, before = 0;
  for (int i = 0; rates && i < r->count; i++) rates[r->list[i].job - r->jobs->job] = r->list[i].rate;
  if (rates && seconds) estimate_seconds(r->jobs, rates, seconds);
  for (int i = 0; seconds && i < r->count; i++) sum += seconds[r->list[i].job - r->jobs->job];
  for (int i = 0; i < r->count; i++) {
    entry *e = &r->list[i];
    e->share = seconds && sum > 0 ? seconds[e->job - r->jobs->job] / sum : 1.0 / r->count;
    before += e->share * e->before;
  }
  free(rates);
  free(seconds);
  return before;
}

/* progress units: thousandths of an average job */
static long in_steps(const runner *r, double share) { return lround(1000.0 * r->count * share); }

/* ---- working ------------------------------------------------------------------------------------- */

static exit_code work(void *user, int i, int out) {
  const runner *r = user;
  const grid_job *job = r->list[i].job;
  char settings[JOB_PATH], log[JOB_PATH], *arguments[LAB_ARGUMENTS];
  lab_buffers buffers = {.threads = ""};
  job_file(job, "job.json", settings);
  job_file(job, "log.txt", log);
  if (lab_arguments(job, job->folder, settings, r->threads, &buffers, arguments) != SPARC_OK) {
    cli_message(r->o->who, "%s", sparc_error());
    return EXIT_FAILED;
  }
  return lab_become(arguments, out, log);
}

static void on_line(void *user, int i, const char *line) {
  entry *e = &((runner *)user)->list[i];
  const bool adds = e->job->kind > GRID_TRAIN && e->printed;
  const size_t before = adds ? strlen(e->printed) : 0;
  char *text = malloc(before + strlen(line) + 2);
  if (!text) return;
  sprintf(text, "%s%s%s", adds ? e->printed : "", adds ? "\n" : "", line);
  free(e->printed);
  e->printed = text;
}

static void report_done(const runner *r, const entry *e, const job_result *result) {
  const char *unit = grid_score_of(r->jobs->g, e->job->task, e->job->method).unit;
  const job_score score = job_score_of(r->jobs, e->job);
  const double seconds = result->made.seconds;
  if (r->o->json)
    cli_json_line(r->o->who, json_pack("{s:s, s:o, s:s, s:f, s:f}", "job", e->job->name, "score",
                                       isfinite(score.value) ? json_real(score.value) : json_null(), "unit", unit,
                                       "seconds", seconds, "memory_mb", result->memory_mb));
  else if (isfinite(score.value))
    progress_note(r->shown, "%-40s %s %.4g  in %.0f s", e->job->name, unit, score.value, seconds);
  else
    progress_note(r->shown, "%-40s no score: %s", e->job->name, score.reason);
  fflush(stdout);
}

static void finish(runner *r, entry *e, const cli_job_end *how) {
  job_result result = {.made.seconds = how->seconds, .memory_mb = how->memory_mb};
  if (!claim_renew(&e->held)) { /* the new owner will finish it */
    e->state = ENTRY_OPEN;
    return;
  }
  if (job_finish(e->job, e->printed ? e->printed : "", &result) != SPARC_OK) {
    char sentence[JOB_TEXT];
    snprintf(sentence, sizeof sentence, "%s", sparc_error());
    (void)job_fail(e->job, sentence);
    claim_return(&e->held);
    note_failure(r, e, sentence);
    return;
  }
  claim_drop(&e->held);
  e->state = ENTRY_DONE;
  e->done = 1;
  e->rate = result.rate;
  progress_reweigh(r->shown, in_steps(r, weigh(r)));
  report_done(r, e, &result);
}

static void give_up(runner *r, entry *e, const cli_job_end *how) {
  char message[JOB_TEXT], log[JOB_PATH];
  job_file(e->job, "log.txt", log);
  if (how->signal)
    snprintf(message, sizeof message, "killed by signal %d (%s)", how->signal, strsignal(how->signal));
  else if (!lab_last_line(log, message))
    snprintf(message, sizeof message, "exited with code %d without a message", (int)how->code);
  (void)job_fail(e->job, message);
  claim_return(&e->held);
  note_failure(r, e, message);
}

static void on_end(void *user, int i, const cli_job_end *how) {
  runner *r = user;
  entry *e = &r->list[i];
  r->running--;
  r->memory -= e->needs;
  r->scanned = 0;
  if (e->lost) {
    e->state = ENTRY_OPEN;
  } else if (how->code == EXIT_DONE) {
    finish(r, e, how);
  } else if (how->code == EXIT_INTERRUPTED || interrupt_requested()) {
    e->state = ENTRY_STOPPED;
    claim_return(&e->held);
  } else {
    give_up(r, e, how);
  }
  free(e->printed);
  e->printed = NULL;
}

static bool should_kill(void *user, int i) { return ((runner *)user)->list[i].lost; }

/* ---- claims and progress ------------------------------------------------------------------------- */

static void renew(runner *r) {
  for (int i = 0; i < r->count; i++) {
    entry *e = &r->list[i];
    if (e->state != ENTRY_OURS) continue;
    e->lost = !claim_renew(&e->held);
    job_report report;
    if (job_inspect(e->job, &report) == SPARC_OK) e->done = report.done;
  }
}

static void show(runner *r) {
  char text[160] = "";
  double done = 0;
  size_t used = 0;
  int finished = 0;
  for (int i = 0; i < r->count; i++) {
    const entry *e = &r->list[i];
    done += e->share * (e->state == ENTRY_FAILED ? 1 : e->done);
    finished += e->state == ENTRY_DONE;
    if (e->state == ENTRY_OURS && used < sizeof text)
      used += (size_t)snprintf(text + used, sizeof text - used, ", %s %.0f%%", e->job->name, 100 * e->done);
  }
  char line[256];
  snprintf(line, sizeof line, "%d of %d done%s", finished, r->count, text);
  progress_step(r->shown, in_steps(r, done), NAN, line);
}

static void tick(void *user) {
  runner *r = user;
  const double time = seconds_now();
  if (time - r->renewed >= 1) {
    r->renewed = time;
    renew(r);
  }
  show(r);
}

/* ---- warnings ------------------------------------------------------------------------------------ */

/* number of rollouts of an RL run; 0 for other kinds */
static long rollouts_of(const grid_job *job) {
  sparc_ppo_config defaults;
  const json_t *rollout = json_object_get(job->settings, "rollout");
  if (job->kind != GRID_RL ||
      sparc_ppo_defaults(json_string_value(json_object_get(job->settings, "task")), &defaults) != SPARC_OK)
    return 0;
  const long rollouts =
      job->budget / (json_is_integer(rollout) ? (long)json_integer_value(rollout) : defaults.rollout_steps);
  return rollouts > 0 ? rollouts : 1; /* a run has at least one */
}

static void warn_of_short_runs(const lab_options *o, const grid_jobs *jobs) {
  int count = 0, window = 0;
  for (int i = 0; i < jobs->count; i++) {
    const long rollouts = rollouts_of(&jobs->job[i]);
    const grid_score score = grid_score_of(jobs->g, jobs->job[i].task, jobs->job[i].method);
    if (rollouts == 0 || rollouts >= score.window) continue;
    count++;
    window = score.window;
  }
  if (count && !o->quiet)
    cli_message(o->who, "%d runs have fewer rollouts than the score window of %d and will have no score", count,
                window);
}

/* ---- all of it ----------------------------------------------------------------------------------- */

/* Whether a list such as "3,7-9" contains a number. *valid is false for a malformed list or numbers >= count. */
static bool names_number(const char *text, int number, int count, bool *valid) {
  bool found = false;
  *valid = true;
  for (const char *at = text;; at++) {
    char *end;
    if (*at < '0' || *at > '9') return *valid = false;
    const long first = strtol(at, &end, 10);
    long last = first;
    if (*end == '-' && end[1] >= '0' && end[1] <= '9') last = strtol(end + 1, &end, 10);
    if (first > last || last >= count || (*end && *end != ',')) return *valid = false;
    found |= number >= first && number <= last;
    if (!*end) return found;
    at = end;
  }
}

/* all jobs, or those of --job */
static sparc_status list_jobs(runner *r) {
  const char *numbers = r->o->numbers;
  for (int i = 0; i < r->jobs->count; i++) {
    bool valid = true;
    if (!numbers || names_number(numbers, i, r->jobs->count, &valid))
      r->list[r->count++] = (entry){.job = grid_job_in_order(r->jobs, i)};
    if (!valid)
      return fail(SPARC_INVALID, "--job is '%.60s', expected numbers and ranges such as 3,7-9 from 0 to %d", numbers,
                  r->jobs->count - 1);
  }
  return SPARC_OK;
}

static void read_progress(runner *r) {
  for (int i = 0; i < r->count; i++) {
    job_report report;
    (void)job_inspect(r->list[i].job, &report); /* errors are reported when the job's turn comes */
    r->list[i].before = r->list[i].done = report.done;
    if (!report.imported) r->list[i].rate = report.result.rate;
  }
}

static void summarise(const runner *r) {
  int finished = 0, failed = 0;
  for (int i = 0; i < r->count; i++) {
    finished += r->list[i].state == ENTRY_DONE;
    failed += r->list[i].state == ENTRY_FAILED;
  }
  const int left = r->count - finished - failed;
  if (!r->o->summary || r->o->json || r->o->quiet) return;
  printf("%d of %d runs are done", finished, r->count);
  if (failed) printf(", %d failed", failed);
  if (left) printf(", %d are unfinished%s", left, interrupt_requested() ? "" : " (claimed by other runners)");
  printf("; results are in %s\n", r->jobs->folder);
  if (finished) printf("\nNext: `sparc lab table` or `sparc lab report` with the same name and options\n");
}

exit_code lab_run(const lab_options *o, const grid_jobs *jobs) {
  if (o->dry_run) return lab_plan(o, jobs);
  const int threads = o->threads ? o->threads : launch_share(thread_count(0)), max_jobs = o->jobs ? o->jobs : threads;
  runner r = {.o = o,
              .jobs = jobs,
              .list = calloc((size_t)jobs->count, sizeof(entry)),
              .max_jobs = max_jobs,
              .threads = threads / max_jobs > 1 ? threads / max_jobs : 1};
  sparc_status status = r.list ? list_jobs(&r) : fail(SPARC_NO_MEMORY, "no memory for a list of runs");
  if (status == SPARC_OK) {
    status = grid_jobs_write(jobs);
    if (status != SPARC_OK) r.worst = EXIT_FAILED;
  }
  if (status != SPARC_OK) {
    cli_message(o->who, "%s", sparc_error());
    free(r.list);
    return r.worst != EXIT_DONE ? r.worst : cli_exit_code(status);
  }
  warn_of_short_runs(o, jobs);
  interrupt_catch();
  read_progress(&r);
  const long first = in_steps(&r, weigh(&r));
  r.shown = progress_start(o->quiet ? PROGRESS_NONE : o->progress, jobs->g->name, first, 1000L * r.count);
  cli_jobs_run(o->who, &(cli_jobs){.max_running = max_jobs,
                                   .next = next,
                                   .work = work,
                                   .on_line = on_line,
                                   .on_end = on_end,
                                   .tick = tick,
                                   .should_kill = should_kill,
                                   .user = &r});
  progress_finish(r.shown);
  summarise(&r);
  free(r.list);
  return interrupt_requested() ? EXIT_INTERRUPTED : r.worst;
}
