/* SPDX-License-Identifier: MIT */
/* lab_plan.c: `sparc lab run --dry-run`: remaining runs, time and memory.
 *
 * Speeds are those of finished runs of the same task and method, unless imported from other machines. Without any, the
 * start of such a run is measured: a few updates of training, or two rollouts of reinforcement learning in a temporary
 * folder.
 */
#include "base/clock.h"
#include "base/error.h"
#include "base/threads.h"
#include "cli/jobs.h"
#include "cli/lab/lab.h"
#include "lab/grid/estimate.h"

#include <ftw.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* a probe that takes longer is killed; loading data counts here, but not in the measured speed */
enum { PROBE_ROLLOUTS = 2, PROBE_SECONDS = 600 };

/* a field of the table */
typedef struct line {
  const grid_job *job; /* its first run */
  int left;            /* unfinished runs */
  double budget;       /* their remaining steps or updates */
  job_cost cost;
  char reason[JOB_TEXT]; /* why the rate is unknown */
} line;

typedef struct planner {
  const lab_options *o;
  line *list;
  int lines, next, threads;
  char folder[64]; /* temporary, of probes */
  double started;
  progress *shown;
} planner;

/* ---- probes -------------------------------------------------------------------------------------- */

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *walk) {
  (void)status, (void)kind, (void)walk;
  return remove(path);
}

static bool needs_probe(const line *l) { return l->left > 0 && l->cost.rate == 0 && l->job->kind <= GRID_TRAIN; }

static int next_probe(void *user) {
  planner *p = user;
  while (p->next < p->lines && !needs_probe(&p->list[p->next])) p->next++;
  p->started = seconds_now();
  progress_step(p->shown, p->next, NAN, p->next < p->lines ? p->list[p->next].job->name : "");
  return p->next < p->lines ? p->next++ : CLI_JOBS_OVER;
}

/* writes the settings of a short version of an RL job */
static sparc_status write_probe(const grid_job *job, const char *path) {
  json_t *settings = json_deep_copy(job->settings);
  const json_t *rollout = json_object_get(settings, "rollout");
  const long steps = json_is_integer(rollout) ? (long)json_integer_value(rollout) : 2048;
  if (settings) json_object_set_new(settings, "steps", json_integer(PROBE_ROLLOUTS * steps));
  const bool written = settings && json_dump_file(settings, path, 0) == 0;
  json_decref(settings);
  return written ? SPARC_OK : fail(SPARC_IO, "cannot write '%.200s'", path);
}

static void probe_files(const planner *p, int i, char settings[96], char run[96], char log[96]) {
  snprintf(settings, 96, "%s/%d.json", p->folder, i);
  snprintf(run, 96, "%s/%d", p->folder, i);
  snprintf(log, 96, "%s/%d.txt", p->folder, i);
}

/* on failure, writes the reason to the log */
static exit_code probe_training(const planner *p, const grid_job *job, int out, const char *log) {
  double rate;
  if (estimate_training(job, p->threads, &rate) == SPARC_OK) {
    dprintf(out, "{\"updates_per_second\": %.9g}\n", rate);
    return EXIT_DONE;
  }
  FILE *file = fopen(log, "w");
  if (file) fprintf(file, "%s\n", sparc_error());
  if (file) fclose(file);
  return EXIT_FAILED;
}

static exit_code probe(void *user, int i, int out) {
  const planner *p = user;
  const grid_job *job = p->list[i].job;
  char settings[96], run[96], log[96], *arguments[LAB_ARGUMENTS];
  lab_buffers buffers = {.threads = ""};
  probe_files(p, i, settings, run, log);
  if (job->kind == GRID_TRAIN) return probe_training(p, job, out, log);
  if (write_probe(job, settings) != SPARC_OK ||
      lab_arguments(job, run, settings, p->threads, &buffers, arguments) != SPARC_OK) {
    cli_message(p->o->who, "%s", sparc_error());
    return EXIT_FAILED;
  }
  return lab_become(arguments, out, log);
}

/* the last line has the speed */
static void read_rate(void *user, int i, const char *text) {
  line *l = &((planner *)user)->list[i];
  json_t *object = json_loads(text, 0, NULL);
  const json_t *rate = json_object_get(object, l->job->kind == GRID_RL ? "steps_per_second" : "updates_per_second");
  if (json_is_number(rate)) l->cost.rate = json_number_value(rate);
  json_decref(object);
}

static void end_probe(void *user, int i, const cli_job_end *how) {
  planner *p = user;
  line *l = &p->list[i];
  char settings[96], run[96], log[96];
  probe_files(p, i, settings, run, log);
  if (how->code == EXIT_DONE)
    l->cost.memory_mb = how->memory_mb;
  else if (how->signal)
    snprintf(l->reason, sizeof l->reason, "the first steps take more than %d seconds", PROBE_SECONDS);
  else if (!lab_last_line(log, l->reason))
    snprintf(l->reason, sizeof l->reason, "the first steps failed");
}

static bool is_timed_out(void *user, int i) {
  (void)i;
  return seconds_now() - ((const planner *)user)->started > PROBE_SECONDS;
}

static exit_code probe_all(planner *p) {
  const char *root = getenv("TMPDIR");
  snprintf(p->folder, sizeof p->folder, "%s/sparc-lab-XXXXXX", root && strlen(root) < 32 ? root : "/tmp");
  if (!mkdtemp(p->folder)) {
    cli_message(p->o->who, "cannot make the folder '%s'", p->folder);
    return EXIT_FAILED;
  }
  interrupt_catch();
  p->shown = progress_start(p->o->quiet ? PROGRESS_NONE : p->o->progress, "measuring", 0, p->lines);
  const exit_code code = cli_jobs_run(p->o->who, &(cli_jobs){.max_running = 1,
                                                             .next = next_probe,
                                                             .work = probe,
                                                             .on_line = read_rate,
                                                             .on_end = end_probe,
                                                             .should_kill = is_timed_out,
                                                             .user = p});
  progress_finish(p->shown);
  nftw(p->folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
  return code == EXIT_INTERRUPTED || interrupt_requested() ? EXIT_INTERRUPTED : EXIT_DONE;
}

/* ---- the plan ------------------------------------------------------------------------------------ */

static sparc_status list_lines(const grid_jobs *jobs, planner *p) {
  const selection *s = &jobs->chosen;
  for (int t = 0; t < s->tasks; t++)
    for (int m = 0; m < s->methods; m++) {
      line *l = &p->list[p->lines++];
      *l = (line){.job = grid_job_at(jobs, t, m, 0)};
      for (int i = 0; i < s->seeds; i++) {
        const grid_job *job = grid_job_at(jobs, t, m, i);
        job_report report;
        const sparc_status status = job_inspect(job, &report);
        if (status != SPARC_OK) return status;
        if (report.state == JOB_DONE || report.state == JOB_CHANGED) continue;
        l->left++;
        l->budget += (1 - report.done) * (double)job->budget;
      }
      l->cost = estimate_measured(jobs, l->job);
      if (l->cost.memory_mb == 0) l->cost.memory_mb = estimate_memory(l->job);
    }
  return SPARC_OK;
}

/* benchmarks run for a fixed time */
static double seconds_of(const line *l) {
  if (l->left == 0) return 0;
  if (l->job->kind > GRID_TRAIN) return 3.0 * l->left;
  return l->cost.rate > 0 ? l->budget / l->cost.rate : NAN;
}

static json_t *json_line(const grid_jobs *jobs, const line *l) {
  const double seconds = seconds_of(l);
  return json_pack("{s:s, s:s, s:i, s:I, s:o, s:o, s:o}", "task", jobs->g->task[l->job->task].name, "method",
                   jobs->g->method[l->job->method].name, "runs", l->left, "budget", (json_int_t)l->job->budget, "rate",
                   l->cost.rate > 0 ? json_real(l->cost.rate) : json_null(), "hours",
                   isnan(seconds) ? json_null() : json_real(seconds / 3600), "memory_mb",
                   l->cost.memory_mb > 0 ? json_real(l->cost.memory_mb) : json_null());
}

static void print_number(const char *format, double value) {
  char text[32];
  snprintf(text, sizeof text, format, value);
  printf(" %10s", value > 0 ? text : "-");
}

static void print_line(const line *l) {
  char field[2 * GRID_NAME + 2];
  const double seconds = seconds_of(l);
  snprintf(field, sizeof field, "%.*s", (int)(strrchr(l->job->name, '/') - l->job->name), l->job->name);
  printf("%-38s %5d %11ld", field, l->left, l->job->budget);
  print_number("%.4g", l->cost.rate);
  print_number("%.3g", isnan(seconds) ? 0 : seconds / 3600);
  print_number("%.0f", l->cost.memory_mb);
  if (*l->reason) {
    fputs("  ", stdout);
    cli_text(l->reason, 0);
  }
  putchar('\n');
}

static void print_plan(const grid_jobs *jobs, const planner *p, int max_jobs) {
  double seconds = 0, largest = 0;
  int left = 0, unknown = 0;
  if (!p->o->json) printf("%-38s %5s %11s %10s %10s %10s\n", "run", "runs", "budget", "per second", "hours", "MB");
  for (int i = 0; i < p->lines; i++) {
    const line *l = &p->list[i];
    if (p->o->json)
      cli_json_line(p->o->who, json_line(jobs, l));
    else
      print_line(l);
    left += l->left;
    largest = fmax(largest, l->left ? l->cost.memory_mb : 0);
    if (isnan(seconds_of(l)))
      unknown += l->left;
    else
      seconds += seconds_of(l);
  }
  if (p->o->json) return;
  char mark[96];
  grid_scope_mark(&jobs->scope, mark, sizeof mark);
  printf("%s%s%s%s: %d runs, %.3g hours of work, %.3g with %d at a time, %.0f MB for the largest\n", jobs->g->name,
         *mark ? " (" : "", mark, *mark ? ")" : "", left, seconds / 3600, seconds / 3600 / max_jobs, max_jobs, largest);
  if (unknown) printf("%d runs have no estimate and are not included\n", unknown);
}

/* the caller frees p->list in any case */
static exit_code make_plan(const lab_options *o, const grid_jobs *jobs, int threads, planner *p) {
  *p = (planner){.o = o,
                 .list = calloc((size_t)jobs->chosen.tasks * (size_t)jobs->chosen.methods, sizeof(line)),
                 .threads = threads};
  if (!p->list) {
    cli_message(o->who, "no memory for a plan");
    return EXIT_FAILED;
  }
  const sparc_status status = list_lines(jobs, p);
  if (status != SPARC_OK) cli_message(o->who, "%s", sparc_error());
  return status == SPARC_OK ? probe_all(p) : cli_exit_code(status);
}

exit_code lab_plan(const lab_options *o, const grid_jobs *jobs) {
  const int threads = o->threads ? o->threads : thread_count(0), max_jobs = o->jobs ? o->jobs : threads;
  planner p;
  const exit_code code = make_plan(o, jobs, threads / max_jobs > 1 ? threads / max_jobs : 1, &p);
  if (code == EXIT_DONE) print_plan(jobs, &p, max_jobs);
  free(p.list);
  return code;
}

exit_code lab_estimate(const lab_options *o, const grid_jobs *jobs, int threads, job_cost *costs) {
  planner p;
  const exit_code code = make_plan(o, jobs, threads, &p);
  for (int i = 0; code == EXIT_DONE && i < p.lines; i++) costs[i] = p.list[i].cost;
  free(p.list);
  return code;
}
