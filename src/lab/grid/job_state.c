/* SPDX-License-Identifier: MIT */
/* job_state.c: the state of a job and the score of a finished one. */
#include "base/error.h"
#include "io/folder_file.h"
#include "lab/grid/aggregate.h"
#include "lab/grid/job_files.h"
#include "lab/grid/log.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the state ----------------------------------------------------------------------------------- */

const char *job_state_name(job_state state) {
  static const char *const names[JOB_STATES] = {
      [JOB_WAITING] = "waiting", [JOB_STOPPED] = "stopped", [JOB_RUNNING] = "running",
      [JOB_FAILED] = "failed",   [JOB_CHANGED] = "changed", [JOB_DONE] = "done"};
  return names[state];
}

static void text_in(const json_t *object, const char *key, char *text, size_t size) {
  const char *value = json_string_value(json_object_get(object, key));
  snprintf(text, size, "%s", value ? value : "");
}

bool job_has_settings(const grid_job *job, const json_t *object) {
  const char *digest = json_string_value(json_object_get(object, "digest"));
  return digest && strcmp(digest, job->digest) == 0;
}

void job_read_result(const json_t *object, job_result *r) {
  const double parameters = job_number(object, "parameters", 0);
  r->parameters = parameters > 0 && parameters <= 0x1p53 ? (long)parameters : 0;
  r->rate = job_number(object, "rate", 0);
  r->memory_mb = job_number(object, "memory_mb", 0);
  provenance_from(object, &r->made);
}

/* fraction of the budget in the log, whose last line may be incomplete */
static sparc_status read_fraction(const grid_job *job, double *fraction) {
  enum { TAIL = 4096 };
  char path[JOB_PATH], tail[TAIL + 1];
  FILE *file;
  job_file(job, JOB_METRICS_FILE, path);
  *fraction = 0;
  const sparc_status status = folder_file_stream(path, "r", &file);
  if (status != SPARC_OK || !file) return status;
  if (fseek(file, -TAIL, SEEK_END) != 0) rewind(file);
  tail[fread(tail, 1, TAIL, file)] = '\0';
  const bool unreadable = ferror(file) != 0;
  fclose(file);
  if (unreadable) return fail(SPARC_IO, "cannot read '%.300s'", path);
  double done = 0;
  for (char *line = tail, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
    *end = '\0';
    const char *key = strstr(line, job->kind == GRID_RL ? "\"steps\":" : "\"update\":");
    if (key) done = strtod(strchr(key, ':') + 1, NULL) / (double)job->budget;
  }
  *fraction = fmax(0, fmin(done, 1));
  return SPARC_OK;
}

/* *changed: job.json has other settings */
static sparc_status compare_settings(const grid_job *job, const json_t *started, bool *changed) {
  char digest[STORE_DIGEST];
  *changed = false;
  const sparc_status status = started ? store_digest(started, digest) : SPARC_OK;
  if (status == SPARC_OK && started) *changed = strcmp(digest, job->digest) != 0;
  return status;
}

/* state without a result: running, failed, stopped or waiting */
static sparc_status inspect_unfinished(const grid_job *job, const json_t *started, const json_t *failure,
                                       job_report *out) {
  bool held = false;
  sparc_status status = read_fraction(job, &out->done);
  if (status == SPARC_OK) status = claim_inspect(job->folder, &out->holder, &held);
  out->state = held ? JOB_RUNNING : failure ? JOB_FAILED : started ? JOB_STOPPED : JOB_WAITING;
  text_in(failure, "message", out->message, sizeof out->message);
  return status;
}

static sparc_status inspect_own_folder(const grid_job *job, job_report *out) {
  json_t *result = NULL, *failure = NULL, *started = NULL;
  bool changed = false;
  sparc_status status = store_load(job->folder, JOB_RESULT_FILE, &result);
  if (status == SPARC_OK && !result) status = store_load(job->folder, JOB_FAILURE_FILE, &failure);
  if (status == SPARC_OK && !result) status = store_load(job->folder, JOB_SETTINGS_FILE, &started);
  if (status == SPARC_OK) status = compare_settings(job, started, &changed);
  if (result) changed = !job_has_settings(job, result);
  if (status == SPARC_OK && changed) {
    out->state = JOB_CHANGED;
  } else if (status == SPARC_OK && result) {
    out->state = JOB_DONE;
    out->done = 1;
    job_read_result(result, &out->result);
  } else if (status == SPARC_OK) {
    status = inspect_unfinished(job, started, failure, out);
  }
  json_decref(result);
  json_decref(failure);
  json_decref(started);
  return status;
}

sparc_status job_inspect(const grid_job *job, job_report *out) {
  json_t *result;
  *out = (job_report){.state = JOB_WAITING};
  sparc_status status = inspect_own_folder(job, out);
  if (status != SPARC_OK || out->state == JOB_DONE || !job->imported) return status;
  status = store_load(job->imported, JOB_RESULT_FILE, &result);
  if (job_has_settings(job, result)) {
    *out = (job_report){.state = JOB_DONE, .done = 1, .imported = true};
    job_read_result(result, &out->result);
  }
  json_decref(result);
  return status;
}

const char *job_source(const grid_job *job) {
  job_report own = {.state = JOB_WAITING};
  if (!job->imported) return job->folder;
  (void)inspect_own_folder(job, &own); /* callers have checked the state before */
  return own.state == JOB_DONE ? job->folder : job->imported;
}

/* ---- scores -------------------------------------------------------------------------------------- */

sparc_status job_curve(const grid_job *job, const char *metric, double **values, double **updates, size_t *count) {
  return log_read(job_source(job), metric, job->kind == GRID_RL ? "steps" : "update", values, updates, count);
}

/* the metric's value in the only output line that matches `where` */
static sparc_status find_printed(const grid_score *score, char *printed, double *value) {
  int found = 0;
  for (char *rest = printed, *line; (line = strsep(&rest, "\n")) != NULL;) {
    json_t *object = json_loads(line, 0, NULL), *expected;
    const char *key;
    bool fits = json_is_number(json_object_get(object, score->metric));
    json_object_foreach((json_t *)score->where, key, expected) {
      fits &= json_equal(json_object_get(object, key), expected);
    }
    if (fits) {
      *value = job_number(object, score->metric, NAN);
      found++;
    }
    json_decref(object);
  }
  if (found == 1) return SPARC_OK;
  return fail(SPARC_FORMAT, "%d output lines with %s match the score, expected one", found, score->metric);
}

static sparc_status score_printed(const char *folder, const grid_score *score, double *value) {
  char *printed;
  sparc_status status = log_text(folder, &printed);
  if (status == SPARC_OK) status = find_printed(score, printed, value);
  free(printed);
  return status == SPARC_OK ? aggregate_score(1, value, score, value) : status;
}

static sparc_status score_logged(const char *folder, const grid_score *score, double *value) {
  double *values, *places;
  size_t count;
  sparc_status status = log_read(folder, score->metric, "update", &values, &places, &count);
  if (status != SPARC_OK) return status;
  status = aggregate_score(count, values, score, value);
  free(values);
  free(places);
  return status;
}

/* a log that is too short, damaged or not finite has no score */
static job_score score_in(const grid_jobs *jobs, const grid_job *job, const char *folder) {
  const grid_score rule = grid_score_of(jobs->g, job->task, job->method);
  job_score score = {.value = NAN};
  double value = NAN;
  const sparc_status status = (job->kind > GRID_TRAIN ? score_printed : score_logged)(folder, &rule, &value);
  if (status == SPARC_OK)
    score.value = value;
  else
    snprintf(score.reason, sizeof score.reason, "%s", sparc_error());
  if (status == SPARC_IO || status == SPARC_NO_MEMORY) score.status = status;
  return score;
}

job_score job_score_of(const grid_jobs *jobs, const grid_job *job) { return score_in(jobs, job, job_source(job)); }

bool job_disagree(const grid_jobs *jobs, const grid_job *job, const char *first, const char *second,
                  char sentence[3 * JOB_TEXT]) {
  job_result one, other;
  const char *const folders[] = {first, second};
  job_result *const results[] = {&one, &other};
  for (int i = 0; i < 2; i++) {
    json_t *object;
    (void)store_load(folders[i], JOB_RESULT_FILE, &object);
    job_read_result(object, results[i]);
    json_decref(object);
  }
  const double a = score_in(jobs, job, first).value, b = score_in(jobs, job, second).value;
  if (*one.made.data && *other.made.data && strcmp(one.made.data, other.made.data) != 0)
    snprintf(sentence, (size_t)3 * JOB_TEXT, "'%.200s' has data %s and '%.200s' has %s for equal settings", first,
             one.made.data, second, other.made.data);
  else if (a != b && isfinite(a) && isfinite(b))
    snprintf(sentence, (size_t)3 * JOB_TEXT, "'%.200s' has the score %.9g and '%.200s' has %.9g for equal settings",
             first, a, second, b);
  else
    return false;
  return true;
}

int job_compare(const grid_jobs *jobs, const grid_job *job, char sentence[3 * JOB_TEXT]) {
  char other[3 * JOB_TEXT] = "";
  const char *source = job_source(job);
  job_report report;
  int count = 0;
  if (!job->imported || job_inspect(job, &report) != SPARC_OK) return 0;
  for (int k = 0; report.state == JOB_DONE && k < jobs->found.count; k++) {
    const store_run *run = &jobs->found.run[k];
    if (strcmp(run->folder, source) == 0 || !job_is_same(jobs, job, run)) continue;
    count += job_disagree(jobs, job, source, run->folder, count ? other : sentence);
  }
  return count;
}
