/* SPDX-License-Identifier: MIT */
/* diagnostics.c: files of diagnoses: making and finding them. A file has the digest of its run's settings: runs with
 * the same settings and seed have the same parameters, so what stands there stays true. */
#include "lab/grid/diagnostics.h"

#include "base/error.h"
#include "io/atomic_file.h"
#include "lab/diagnose/record.h"
#include "lab/run/folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool grid_diagnosed(const grid_jobs *jobs, const grid_job *job) {
  return job->kind <= GRID_TRAIN && (job->method == jobs->g->reference || jobs->chosen.methods < jobs->g->methods);
}

void grid_diagnosis_file(const grid_jobs *jobs, const grid_job *job, char path[JOB_PATH]) {
  snprintf(path, JOB_PATH, "%s/diagnostics/%s.json", jobs->folder, job->name);
}

/* NULL: there is none of this run; else a new reference */
static json_t *load(const grid_jobs *jobs, const grid_job *job) {
  char path[JOB_PATH];
  grid_diagnosis_file(jobs, job, path);
  json_t *record = json_load_file(path, 0, NULL);
  const char *digest = json_string_value(json_object_get(record, "digest"));
  if (digest && strcmp(digest, job->digest) == 0) return record;
  json_decref(record);
  return NULL;
}

bool grid_diagnosis_is_there(const grid_jobs *jobs, const grid_job *job) {
  json_t *record = load(jobs, job);
  const bool there = record != NULL;
  json_decref(record);
  return there;
}

/* ---- making -------------------------------------------------------------------------------------- */

static sparc_status write_record(const char *path, const json_t *record) {
  char *text = json_dumps(record, JSON_COMPACT | JSON_REAL_PRECISION(9));
  if (!text) return fail(SPARC_NO_MEMORY, "no memory for '%.300s'", path);
  char folder[JOB_PATH];
  snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(path, '/') - path), path);
  atomic_file file;
  sparc_status status = make_folders(folder);
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
  status = write_record(path, record);
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

/* the paper's tables are of SPARC as it is */
static bool is_paper_cell(const json_t *settings) {
  const char *cell = json_string_value(json_object_get(settings, "cell"));
  return (!cell || strcmp(cell, "sparc") == 0) && !json_object_get(settings, "variant") &&
         !json_object_get(settings, "cell-options");
}

static sparc_status add(const grid_jobs *jobs, const grid_job *job, json_t *record, grid_diagnoses *out) {
  char title[REPLAY_TITLE];
  title_of(jobs, job, title);
  sparc_status status = diagnosis_recall(record, title, &out->run[out->count]);
  if (status != SPARC_OK)
    return fail(status, "the diagnosis of %s in '%.200s' is damaged; remove it", job->name, jobs->folder);
  out->job[out->count] = job;
  if (is_paper_cell(job->settings))
    snprintf(out->run[out->count].replay.paper, sizeof out->run->replay.paper, "%s", jobs->g->task[job->task].title);
  return training_log_read(job_source(job), &out->run[out->count++].log);
}

sparc_status grid_diagnoses_read(const grid_jobs *jobs, grid_diagnoses *out) {
  const size_t most = (size_t)jobs->count + 1;
  *out = (grid_diagnoses){.run = sparc_alloc(most * sizeof *out->run), .job = sparc_alloc(most * sizeof *out->job)};
  sparc_status status = SPARC_OK;
  if (!out->run || !out->job) {
    grid_diagnoses_free(out);
    return fail(SPARC_NO_MEMORY, "no memory for %d diagnoses", jobs->count);
  }
  for (int i = 0; i < jobs->count && status == SPARC_OK; i++) {
    const grid_job *job = &jobs->job[i];
    job_report report;
    json_t *record = load(jobs, job);
    if (record) {
      status = add(jobs, job, record, out);
    } else if (grid_diagnosed(jobs, job)) {
      job_look(job, &report);
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
