/* SPDX-License-Identifier: MIT */
/* job_files.h: files of a job's folder, shared by the files that implement job.h. */
#ifndef SPARC_LAB_GRID_JOB_FILES_H
#define SPARC_LAB_GRID_JOB_FILES_H

#include "lab/grid/job.h"

#define JOB_SETTINGS_FILE "job.json"
#define JOB_RESULT_FILE   "result.json"
#define JOB_FAILURE_FILE  "failed.json"
#define JOB_METRICS_FILE  "metrics.jsonl"
#define JOB_LOG_FILE      "log.txt"

/* a number of an object, or default_value */
double job_number(const json_t *object, const char *key, double default_value);

/* Write a JSON file atomically, to a path or to the job's folder; both take the reference. */
sparc_status job_write_json_at(const char *path, json_t *object);
sparc_status job_write_json(const grid_job *job, const char *name, json_t *object);

/* contents of result.json; whether its digest is that of the job */
void job_read_result(const json_t *object, job_result *r);
bool job_has_settings(const grid_job *job, const json_t *object);

/* whether a run found elsewhere has the job's settings; the job's own folder does not count */
bool job_is_same(const grid_jobs *jobs, const grid_job *job, const store_run *run);

/* whether two finished runs have different data or scores; describes the difference */
bool job_disagree(const grid_jobs *jobs, const grid_job *job, const char *first, const char *second,
                  char sentence[3 * JOB_TEXT]);

#endif
