/* SPDX-License-Identifier: MIT */
/* job_run.c: claiming a job, writing its result or failure, and export. */
#include "base/error.h"
#include "io/atomic_file.h"
#include "io/folder_file.h"
#include "lab/grid/job_files.h"
#include "lab/grid/log.h"
#include "run/lock.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- claims -------------------------------------------------------------------------------------- */

static sparc_status find(const grid_job *job, const char *name, bool *found) {
  char path[JOB_PATH];
  job_file(job, name, path);
  return folder_file_find(path, found);
}

/* a process without a claim may hold the run's lock: a manual run, or a run whose runner has just been killed */
static sparc_status find_lock(const grid_job *job, bool *locked) {
  run_folder folder = {.path = ""};
  run_lock lock = {.held = false};
  sparc_status status = run_folder_at(job->folder, &folder);
  if (status == SPARC_OK) status = run_lock_take(&folder, &lock);
  *locked = lock.busy;
  run_lock_release(&lock);
  return lock.busy ? SPARC_OK : status;
}

/* the files of the command and the runner must be regular files, or absent */
static sparc_status check_files(const grid_job *job) {
  const char *const names[] = {JOB_SETTINGS_FILE, JOB_RESULT_FILE, JOB_FAILURE_FILE, JOB_LOG_FILE};
  run_folder folder = {.path = ""};
  bool found;
  sparc_status status = run_folder_at(job->folder, &folder);
  if (status == SPARC_OK) status = run_folder_find(&folder, &found);
  for (size_t i = 0; i < sizeof names / sizeof *names && status == SPARC_OK; i++) status = find(job, names[i], &found);
  return status;
}

/* after taking the claim */
static sparc_status decide(const grid_job *job, claim *held, job_hold *hold) {
  bool finished = false, locked = false;
  sparc_status status = check_files(job);
  if (status == SPARC_OK) status = find(job, JOB_RESULT_FILE, &finished);
  if (status == SPARC_OK && !finished) status = find_lock(job, &locked);
  /* another runner may have finished it before the claim */
  if (status == SPARC_OK && finished)
    claim_drop(held);
  else if (status != SPARC_OK || locked)
    claim_return(held);
  *hold = finished ? JOB_ELSEWHERE : locked ? JOB_LOCKED : JOB_TAKEN;
  return status;
}

sparc_status job_prepare(const grid_jobs *jobs, const grid_job *job, claim *held, job_hold *hold) {
  bool taken = false;
  *hold = JOB_ELSEWHERE;
  sparc_status status = folder_make(jobs->folder, job->name);
  if (status == SPARC_OK) status = claim_take(job->folder, held, &taken);
  return status == SPARC_OK && taken ? decide(job, held, hold) : status;
}

sparc_status job_write_settings(const grid_job *job) {
  return job_write_json(job, JOB_SETTINGS_FILE, json_incref(job->settings));
}

sparc_status job_clear_failure(const grid_job *job) {
  char path[JOB_PATH];
  job_file(job, JOB_FAILURE_FILE, path);
  if (unlink(path) == 0 || errno == ENOENT) return SPARC_OK;
  return fail(SPARC_IO, "cannot remove '%.300s': %s", path, strerror(errno));
}

sparc_status job_fail(const grid_job *job, const char *message) {
  return job_write_json(job, JOB_FAILURE_FILE, json_pack("{s:s}", "message", message));
}

/* takes the reference of `object` */
static json_t *add_result(json_t *object, const grid_job *job, const job_result *r) {
  json_t *made = provenance_json(&r->made);
  const int failed = json_object_set_new(object, "digest", json_string(job->digest)) |
                     json_object_set(object, "settings", job->settings) |
                     json_object_set_new(object, "parameters", json_integer(r->parameters)) |
                     json_object_set_new(object, "rate", json_real(r->rate)) |
                     json_object_set_new(object, "memory_mb", json_real(r->memory_mb)) |
                     json_object_update(object, made);
  json_decref(made);
  if (!failed) return object;
  json_decref(object);
  return NULL;
}

static json_t *result_json(const grid_job *job, const job_result *r) {
  char host[CLAIM_HOST] = "", when[32] = "";
  const time_t now = time(NULL);
  struct tm utc;
  gethostname(host, sizeof host - 1);
  if (gmtime_r(&now, &utc)) strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return add_result(json_pack("{s:s, s:i, s:s}", "host", host, "pid", (int)getpid(), "finished", when), job, r);
}

static sparc_status write_printed(const grid_job *job, const char *printed) {
  char path[JOB_PATH];
  atomic_file file;
  job_file(job, JOB_METRICS_FILE, path);
  sparc_status status = atomic_file_begin(&file, path);
  if (status != SPARC_OK) return status;
  fprintf(file.stream, "%s\n", printed);
  return atomic_file_commit(&file);
}

sparc_status job_finish(const grid_job *job, const char *printed, job_result *r) {
  if (job->kind > GRID_TRAIN) {
    const double seconds = r->made.seconds;
    const sparc_status status = write_printed(job, printed);
    if (status != SPARC_OK) return status;
    r->made = provenance_of_build(NULL, 0);
    r->made.seconds = seconds;
  } else {
    json_t *last = json_loads(printed, 0, NULL);
    r->parameters = (long)job_number(last, "parameters", 0);
    json_decref(last);
    const sparc_status status = provenance_read(job->folder, &r->made);
    if (status != SPARC_OK) return status;
    if (r->made.seconds > 0) r->rate = (double)r->made.done / r->made.seconds;
  }
  return job_write_json(job, JOB_RESULT_FILE, result_json(job, r));
}

/* ---- export -------------------------------------------------------------------------------------- */

static sparc_status write_kept(const grid_jobs *jobs, const grid_job *job, const char *to, const char *folder,
                               const char *commit) {
  const char *source = job_source(job);
  char path[JOB_PATH];
  json_t *result;
  sparc_status status = store_load(source, JOB_RESULT_FILE, &result);
  if (status != SPARC_OK) return status;
  if (!result) return fail(SPARC_FORMAT, "'%.300s' has no result", source);
  /* results of earlier versions contain a score and no settings */
  json_object_del(result, "score");
  json_object_del(result, "reason");
  json_object_set(result, "settings", job->settings);
  if (commit && !json_object_get(result, "commit")) json_object_set_new(result, "commit", json_string(commit));
  snprintf(path, sizeof path, "%s/%s", folder, JOB_RESULT_FILE);
  status = folder_make(to, folder + strlen(to) + 1);
  if (status == SPARC_OK) status = log_keep(source, grid_score_of(jobs->g, job->task, job->method).metric, folder);
  if (status == SPARC_OK) status = job_write_json_at(path, json_incref(result));
  json_decref(result);
  return status;
}

sparc_status job_export(const grid_jobs *jobs, const grid_job *job, const char *to, const char *commit, bool *written) {
  char folder[JOB_PATH - 64], sentence[3 * JOB_TEXT];
  *written = false;
  if (snprintf(folder, sizeof folder, "%s%s/%s", to, strrchr(jobs->folder, '/'), job->name) >= (int)sizeof folder)
    return fail(SPARC_INVALID, "the name of folder '%.200s' is too long", to);
  json_t *there;
  sparc_status status = folder_check(to, folder + strlen(to) + 1);
  if (status == SPARC_OK) status = store_load(folder, JOB_RESULT_FILE, &there);
  if (status != SPARC_OK) return status;
  const bool other = there && !job_has_settings(job, there), same = there && !other;
  json_decref(there);
  if (other) return fail(SPARC_INVALID, "'%.300s' contains a run with other settings; remove it first", folder);
  if (same && job_disagree(jobs, job, job_source(job), folder, sentence))
    return fail(SPARC_INVALID, "%s; remove the wrong one", sentence);
  if (same) return SPARC_OK;
  *written = true;
  return write_kept(jobs, job, to, folder, commit);
}
