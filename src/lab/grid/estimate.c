/* SPDX-License-Identifier: MIT */
/* estimate.c: by what others took, by trying, or by adding up. */
#include "lab/grid/estimate.h"

#include "base/error.h"
#include "lab/rl/rl_run.h"
#include "lab/run/run_settings.h"

#include <math.h>

enum { PROGRAM_MB = 40 }; /* code, libraries, and what the system keeps for a process */

job_cost estimate_measured(const grid_jobs *jobs, const grid_job *job) {
  job_cost cost = {.rate = 0};
  double sum = 0;
  int count = 0;
  for (int i = 0; i < jobs->count; i++) {
    const grid_job *other = &jobs->job[i];
    if (other->task != job->task || other->method != job->method) continue;
    job_report report;
    job_look(other, &report);
    if (report.state != JOB_DONE) continue;
    cost.memory_mb = fmax(cost.memory_mb, report.result.memory_mb);
    if (report.result.rate <= 0) continue;
    sum += 1 / report.result.rate;
    count++;
  }
  if (count > 0) cost.rate = count / sum;
  return cost;
}

/* asks the run to stop when enough is known */
static int is_enough(void *user, const sparc_run_event *event) {
  (void)user;
  const sparc_run_result r = sparc_run_result_of(event->run);
  return r.done - r.first >= ESTIMATE_UPDATES || r.seconds > ESTIMATE_SECONDS;
}

static sparc_status time_updates(const sparc_run_config *config, double *rate) {
  sparc_run *run;
  sparc_status status = sparc_run_create(config, &run);
  if (status != SPARC_OK) return status;
  status = sparc_run_execute(run, is_enough, NULL);
  const sparc_run_result r = sparc_run_result_of(run);
  if (status == SPARC_OK) *rate = r.seconds > 0 ? (double)(r.done - r.first) / r.seconds : 0;
  sparc_run_free(run);
  return status;
}

sparc_status estimate_training(const grid_job *job, int threads, double *rate) {
  sparc_run_config config = sparc_run_defaults();
  const settings_form form = run_form(&config);
  settings_source *source = sparc_alloc(sizeof *source);
  *rate = 0;
  if (!source) return fail(SPARC_NO_MEMORY, "no memory for the settings of a run");
  settings_clear(&form);
  sparc_status status = settings_read_json(&form, "settings", json_incref(job->settings), source);
  if (status == SPARC_OK) status = settings_apply(&form, source);
  config.folder = NULL;
  config.train.threads = threads;
  config.validate_every = config.train.updates;
  if (status == SPARC_OK) status = time_updates(&config, rate);
  settings_source_free(source);
  sparc_free(source);
  return status;
}

double estimate_memory(const grid_job *job) {
  if (job->kind != GRID_RL) return 0;
  rl_config config = {.folder = NULL};
  const settings_form form = rl_form(&config);
  settings_source *source = sparc_alloc(sizeof *source);
  if (!source) return 0;
  settings_clear(&form);
  rl_run *run = NULL;
  double bytes = 0;
  sparc_status status = settings_read_json(&form, "settings", json_incref(job->settings), source);
  if (status == SPARC_OK) status = settings_apply(&form, source);
  config.folder = job->folder;
  if (status == SPARC_OK) status = rl_run_create(&config, &run);
  if (status == SPARC_OK) {
    const sparc_ppo_memory m = rl_run_memory(run);
    const size_t past[] = {
        [SPARC_TRACES_AUTO] = 0, [SPARC_TRACES_STORED] = m.stored_bytes, [SPARC_TRACES_FREE] = m.free_bytes};
    bytes = (double)past[m.traces] + (double)m.other_bytes;
  }
  rl_run_free(run);
  settings_source_free(source);
  sparc_free(source);
  return status == SPARC_OK ? PROGRAM_MB + bytes / 1e6 : 0;
}
