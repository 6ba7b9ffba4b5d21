/* SPDX-License-Identifier: MIT */
/* diagnostics.c: reads and writes files of diagnoses. A file contains the digest of its run's settings: runs with equal
 * settings and seed have equal parameters, so the file remains valid. Exported runs have theirs in their own folder. */
#include "lab/grid/diagnostics.h"

#include "base/error.h"
#include "io/atomic_file.h"
#include "io/folder_file.h"
#include "io/json.h"
#include "lab/diagnose/diagnosis_record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool grid_is_diagnosed(const grid_jobs *jobs, const grid_job *job) {
  return job->kind <= GRID_TRAIN && (job->method == jobs->g->reference || jobs->chosen.methods < jobs->g->methods);
}

void grid_diagnosis_file(const grid_jobs *jobs, const grid_job *job, char path[JOB_PATH]) {
  snprintf(path, JOB_PATH, "%s/diagnostics/%s.json", jobs->folder, job->name);
}

static const char exported_name[] = "diagnosis.json";

static sparc_status load_from(const char *path, const grid_job *job, json_t **record) {
  bool found;
  *record = NULL;
  sparc_status status = folder_file_find(path, &found);
  if (status != SPARC_OK) return status;
  status = json_read(path, 0, record);
  const char *digest = json_string_value(json_object_get(*record, "digest"));
  if ((status != SPARC_OK && status != SPARC_FORMAT) || (digest && strcmp(digest, job->digest) == 0)) return status;
  json_decref(*record);
  *record = NULL;
  return SPARC_OK;
}

/* a new reference; NULL: missing, of another run, or damaged */
static sparc_status load(const grid_jobs *jobs, const grid_job *job, json_t **record) {
  char path[JOB_PATH];
  grid_diagnosis_file(jobs, job, path);
  const sparc_status status = load_from(path, job, record);
  if (status != SPARC_OK || *record || !job->imported) return status;
  if (snprintf(path, sizeof path, "%s/%s", job->imported, exported_name) >= (int)sizeof path) return SPARC_OK;
  return load_from(path, job, record);
}

sparc_status grid_diagnosis_find(const grid_jobs *jobs, const grid_job *job, bool *found) {
  json_t *record;
  const sparc_status status = load(jobs, job, &record);
  *found = record != NULL;
  json_decref(record);
  return status;
}

/* ---- making -------------------------------------------------------------------------------------- */

/* path: below the folder root */
static sparc_status write_record(const char *root, const char *path, const json_t *record) {
  char *text = json_dumps(record, JSON_COMPACT | JSON_REAL_PRECISION(9));
  if (!text) return fail(SPARC_NO_MEMORY, "no memory for '%.300s'", path);
  char folder[JOB_PATH];
  const char *below = path + strlen(root) + 1;
  snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(below, '/') - below), below);
  atomic_file file;
  sparc_status status = folder_make(root, folder);
  if (status == SPARC_OK) status = atomic_file_begin(&file, path);
  if (status == SPARC_OK) {
    fprintf(file.stream, "%s\n", text);
    status = atomic_file_commit(&file);
  }
  free(text);
  return status;
}

sparc_status grid_diagnose(const grid_jobs *jobs, const grid_job *job, const replay_options *options) {
  diagnosis d;
  json_t *record = NULL;
  char path[JOB_PATH];
  sparc_status status = diagnose(job_source(job), options, &d);
  if (status != SPARC_OK) return status;
  status = diagnosis_record(&d, &record);
  diagnosis_free(&d);
  if (status != SPARC_OK) return status;
  grid_diagnosis_file(jobs, job, path);
  json_object_set_new(record, "digest", json_string(job->digest));
  json_object_set_new(record, "version", json_string(sparc_version()));
  status = write_record(jobs->folder, path, record);
  json_decref(record);
  return status;
}

sparc_status grid_diagnosis_export(const grid_jobs *jobs, const grid_job *job, const char *to, bool *written) {
  char path[JOB_PATH];
  json_t *record, *there = NULL;
  *written = false;
  const int length =
      snprintf(path, sizeof path, "%s%s/%s/%s", to, strrchr(jobs->folder, '/'), job->name, exported_name);
  if (length >= (int)sizeof path) return fail(SPARC_INVALID, "the name of folder '%.200s' is too long", to);
  sparc_status status = load(jobs, job, &record);
  if (status != SPARC_OK || !record) return status;
  status = load_from(path, job, &there);
  if (status == SPARC_OK && !there) {
    json_object_set_new(record, "views", json_array());
    status = write_record(to, path, record);
    *written = status == SPARC_OK;
  }
  json_decref(there);
  json_decref(record);
  return status;
}

/* ---- reading ------------------------------------------------------------------------------------- */

static void title_of(const grid_jobs *jobs, const grid_job *job, char title[REPLAY_TITLE]) {
  const char *task = jobs->g->task[job->task].title, *method = jobs->g->method[job->method].title;
  if (job->method == jobs->g->reference)
    snprintf(title, REPLAY_TITLE, "%s", task);
  else
    snprintf(title, REPLAY_TITLE, "%s, %s", task, method);
}

/* the paper's tables are of the full SPARC cell */
static bool is_paper_cell(const json_t *settings) {
  const char *cell = json_string_value(json_object_get(settings, "cell"));
  return (!cell || strcmp(cell, "sparc") == 0) && !json_object_get(settings, "variant") &&
         !json_object_get(settings, "cell-options");
}

static sparc_status add(const grid_jobs *jobs, const grid_job *job, json_t *record, grid_diagnoses *out) {
  char title[REPLAY_TITLE];
  title_of(jobs, job, title);
  sparc_status status = diagnosis_from_record(record, title, &out->run[out->count]);
  if (status != SPARC_OK)
    return fail(status, "the diagnosis of %s in '%.200s' is damaged; remove it", job->name, jobs->folder);
  out->job[out->count] = job;
  if (is_paper_cell(job->settings))
    snprintf(out->run[out->count].replay.paper, sizeof out->run->replay.paper, "%s", jobs->g->task[job->task].title);
  return training_log_read(job_source(job), &out->run[out->count++].log);
}

sparc_status grid_diagnoses_read(const grid_jobs *jobs, grid_diagnoses *out) {
  const size_t capacity = (size_t)jobs->count + 1;
  *out = (grid_diagnoses){.run = sparc_alloc(capacity * sizeof *out->run),
                          .job = sparc_alloc(capacity * sizeof *out->job)};
  sparc_status status = SPARC_OK;
  if (!out->run || !out->job) {
    grid_diagnoses_free(out);
    return fail(SPARC_NO_MEMORY, "no memory for %d diagnoses", jobs->count);
  }
  for (int i = 0; i < jobs->count && status == SPARC_OK; i++) {
    const grid_job *job = &jobs->job[i];
    job_report report;
    json_t *record;
    status = load(jobs, job, &record);
    if (record) {
      status = add(jobs, job, record, out);
    } else if (status == SPARC_OK && grid_is_diagnosed(jobs, job)) {
      status = job_inspect(job, &report);
      out->missing += report.state == JOB_DONE;
    }
  }
  if (status != SPARC_OK) grid_diagnoses_free(out);
  return status;
}

void grid_diagnoses_free(grid_diagnoses *d) {
  for (int i = 0; i < d->count; i++) diagnosis_free(&d->run[i]);
  sparc_free(d->run);
  sparc_free(d->job);
  *d = (grid_diagnoses){.count = 0};
}
