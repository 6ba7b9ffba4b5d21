/* SPDX-License-Identifier: MIT */
/* estimate.c: from finished runs, from a short trial, or from memory sizes. */
#include "lab/grid/estimate.h"

#include "base/clock.h"
#include "base/error.h"
#include "run/rl_run.h"
#include "run/run.h"
#include "run/run_settings.h"

#include <math.h>

enum { PROGRAM_MB = 40 }; /* code, libraries and process overhead */

job_cost estimate_measured(const grid_jobs *jobs, const grid_job *job) {
  job_cost cost = {.rate = 0};
  double sum = 0;
  int count = 0;
  for (int i = 0; i < jobs->count; i++) {
    const grid_job *other = &jobs->job[i];
    if (other->task != job->task || other->method != job->method) continue;
    job_report report;
    if (job_inspect(other, &report) != SPARC_OK || report.state != JOB_DONE) continue;
    cost.memory_mb = fmax(cost.memory_mb, report.result.memory_mb);
    if (report.imported || report.result.rate <= 0) continue;
    sum += 1 / report.result.rate;
    count++;
  }
  if (count > 0) cost.rate = count / sum;
  return cost;
}

/* ---- shares of the work -------------------------------------------------------------------------- */

enum { LEVELS = 3 };

/* whether jobs are similar: level 0 task and method, 1 method, 2 kind */
static bool are_similar(const grid_job *a, const grid_job *b, int level) {
  if (a->kind != b->kind) return false;
  return level == 2 || (a->method == b->method && (level == 1 || a->task == b->task));
}

static double mean_rate(const grid_jobs *jobs, const double *rates, const grid_job *job, int level) {
  double sum = 0;
  int count = 0;
  for (int i = 0; i < jobs->count; i++) {
    if (rates[i] <= 0 || !are_similar(job, &jobs->job[i], level)) continue;
    sum += 1 / rates[i];
    count++;
  }
  return count ? count / sum : 0;
}

void estimate_seconds(const grid_jobs *jobs, const double *rates, double *seconds) {
  double sum = 0;
  int known = 0;
  for (int i = 0; i < jobs->count; i++) {
    double rate = 0;
    for (int level = 0; rate == 0 && level < LEVELS; level++) rate = mean_rate(jobs, rates, &jobs->job[i], level);
    seconds[i] = rate > 0 ? (double)jobs->job[i].budget / rate : 0;
    sum += seconds[i];
    known += rate > 0;
  }
  for (int i = 0; i < jobs->count; i++)
    if (seconds[i] == 0) seconds[i] = known ? sum / known : 1;
}

/* ---- trial run ----------------------------------------------------------------------------------- */

typedef struct trial {
  double last; /* time of the last event */
  double updating, validating;
  int updates;
  bool validated;
} trial;

/* stops the run after enough updates */
static int watch(void *user, const sparc_run_event *event) {
  trial *t = user;
  const double time = seconds_now(), spent = time - t->last;
  t->last = time;
  if (event->stage == SPARC_RUN_UPDATE) {
    t->updating += spent;
    t->updates++;
  } else if (event->stage == SPARC_RUN_VALIDATED) {
    t->validating = spent;
    t->validated = true;
  }
  return t->updates >= ESTIMATE_UPDATES || t->updating > ESTIMATE_SECONDS;
}

/* seconds of a validation, extrapolated from a subset */
static sparc_status time_validation(const sparc_run *run, double *seconds) {
  sparc_samples some = sparc_run_data_of(run).validation;
  sparc_evaluation unused;
  const int all = some.count;
  *seconds = 0;
  if (all == 0) return SPARC_OK;
  if (some.count > ESTIMATE_EXAMPLES) some.count = ESTIMATE_EXAMPLES;
  const double started = seconds_now();
  const sparc_status status = sparc_trainer_evaluate(run_trainer(run), &some, &unused);
  *seconds = (seconds_now() - started) * all / some.count;
  return status;
}

static sparc_status time_run(const sparc_run_config *config, double *rate) {
  sparc_run *run;
  trial t = {.last = 0};
  sparc_status status = sparc_run_create(config, &run);
  if (status != SPARC_OK) return status;
  status = sparc_run_execute(run, watch, &t);
  if (status == SPARC_OK && !t.validated) status = time_validation(run, &t.validating);
  const double every = (double)sparc_run_config_of(run).validate_every;
  if (status == SPARC_OK && t.updates > 0) *rate = 1 / (t.updating / t.updates + t.validating / every);
  sparc_run_free(run);
  return status;
}

sparc_status estimate_training(const grid_job *job, int threads, double *rate) {
  sparc_run_config config = {.data = NULL};
  const settings_binding binding = run_binding(&config);
  settings_source *source = sparc_alloc(sizeof *source);
  *rate = 0;
  if (!source) return fail(SPARC_NO_MEMORY, "no memory for the settings of a run");
  sparc_status status = settings_read_json(&binding, "settings", json_incref(job->settings), source);
  if (status == SPARC_OK) status = settings_apply(&binding, source);
  config.folder = NULL;
  config.train.threads = threads;
  if (status == SPARC_OK) status = time_run(&config, rate);
  settings_source_free(source);
  sparc_free(source);
  return status;
}

/* ---- memory -------------------------------------------------------------------------------------- */

double estimate_memory(const grid_job *job) {
  if (job->kind != GRID_RL) return 0;
  sparc_rl_run_config config = {.folder = NULL};
  const settings_binding binding = rl_binding(&config);
  settings_source *source = sparc_alloc(sizeof *source);
  if (!source) return 0;
  sparc_rl_run *run = NULL;
  double bytes = 0;
  sparc_status status = settings_read_json(&binding, "settings", json_incref(job->settings), source);
  if (status == SPARC_OK) status = settings_apply(&binding, source);
  config.folder = job->folder;
  if (status == SPARC_OK) status = sparc_rl_run_create(&config, &run);
  if (status == SPARC_OK) {
    const sparc_ppo_memory m = sparc_rl_run_result_of(run).memory;
    const size_t past[] = {
        [SPARC_TRACES_AUTO] = 0, [SPARC_TRACES_STORED] = m.stored_bytes, [SPARC_TRACES_FREE] = m.free_bytes};
    bytes = (double)past[m.traces] + (double)m.other_bytes;
  }
  sparc_rl_run_free(run);
  settings_source_free(source);
  sparc_free(source);
  return status == SPARC_OK ? PROGRAM_MB + bytes / 1e6 : 0;
}
