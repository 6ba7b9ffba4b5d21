/* SPDX-License-Identifier: MIT */
/* job.c: the runs of a grid: settings, folders, and files of a job. */
#include "base/error.h"
#include "io/atomic_file.h"
#include "io/folder_file.h"
#include "io/json.h"
#include "lab/grid/job_files.h"
#include "lab/grid/match.h"
#include "run/rl_settings.h"
#include "run/run_settings.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- files --------------------------------------------------------------------------------------- */

double job_number(const json_t *object, const char *key, double default_value) {
  const json_t *value = json_object_get(object, key);
  return json_is_number(value) ? json_number_value(value) : default_value;
}

sparc_status job_write_json_at(const char *path, json_t *object) {
  char *text = object ? json_dumps(object, JSON_INDENT(2)) : NULL;
  json_decref(object);
  if (!text) return fail(SPARC_NO_MEMORY, "no memory for '%.300s'", path);
  atomic_file file;
  sparc_status status = atomic_file_begin(&file, path);
  if (status == SPARC_OK) {
    fprintf(file.stream, "%s\n", text);
    status = atomic_file_commit(&file);
  }
  free(text);
  return status;
}

void job_file(const grid_job *job, const char *name, char path[JOB_PATH]) {
  snprintf(path, JOB_PATH, "%s/%s", job->folder, name);
}

sparc_status job_write_json(const grid_job *job, const char *name, json_t *object) {
  char path[JOB_PATH];
  job_file(job, name, path);
  return job_write_json_at(path, object);
}

/* ---- settings ------------------------------------------------------------------------------------ */

/* takes the reference to the value */
static sparc_status put_setting(grid_job *job, const char *key, json_t *value) {
  return json_object_set_new(job->settings, key, value) == 0
             ? SPARC_OK
             : fail(SPARC_NO_MEMORY, "no memory for the settings of a run");
}

static sparc_status default_updates(const char *data, long *updates) {
  *updates = sparc_train_defaults(NULL).updates;
  if (!is_task(data)) return SPARC_OK;
  sparc_task *task;
  const sparc_status status = sparc_task_create(data, &task);
  if (status != SPARC_OK) return status;
  *updates = sparc_train_defaults(task).updates;
  sparc_task_free(task);
  return SPARC_OK;
}

static long scaled(double scale, long length) { return (long)fmax(1, fmin(round(scale * (double)length), 0x1p53)); }

static sparc_status default_steps(const char *task, long *steps) {
  sparc_ppo_config ppo;
  const sparc_status status = sparc_ppo_defaults(task, &ppo);
  if (status == SPARC_OK) *steps = ppo.rollouts * ppo.rollout_steps;
  return status;
}

/* a length as a setting is written: 30, 3e1 or "30" */
static sparc_status read_length(const grid_job *job, const char *key, long *value) {
  const json_t *given = json_object_get(job->settings, key);
  char number[SETTING_TEXT_SIZE] = "";
  if (json_is_string(given)) snprintf(number, sizeof number, "%s", json_string_value(given));
  if (json_is_number(given)) snprintf(number, sizeof number, "%.17g", json_number_value(given));
  if (setting_parse_whole(number, 1, LONG_MAX, value)) return SPARC_OK;
  return fail(SPARC_FORMAT, "%s: %s is '%.40s', expected a whole number from 1", job->name, key, number);
}

/* stores the scaled budget in the settings */
static sparc_status resolve_budget(grid_job *job, double scale) {
  const char *key = job->kind == GRID_RL ? "steps" : "updates";
  job->budget = 1;
  if (job->kind > GRID_TRAIN) return SPARC_OK;
  sparc_status status = SPARC_OK;
  if (json_object_get(job->settings, key))
    status = read_length(job, key, &job->budget);
  else if (job->kind == GRID_RL)
    status = default_steps(json_string_value(json_object_get(job->settings, "task")), &job->budget);
  else
    status = default_updates(json_string_value(json_object_get(job->settings, "data")), &job->budget);
  if (status != SPARC_OK) return status;
  job->budget = scaled(scale, job->budget);
  status = put_setting(job, key, json_integer(job->budget));
  /* the number of validations stays the same */
  if (status != SPARC_OK || scale == 1 || !json_object_get(job->settings, "validate-every")) return status;
  long every;
  status = read_length(job, "validate-every", &every);
  return status == SPARC_OK ? put_setting(job, "validate-every", json_integer(scaled(scale, every))) : status;
}

static sparc_status resolve_settings(const grid_jobs *jobs, grid_job *job) {
  const grid *g = jobs->g;
  job->settings = grid_settings(g, job->task, job->method);
  if (!job->settings) return fail(SPARC_NO_MEMORY, "no memory for the settings of a run");
  sparc_status status = resolve_budget(job, jobs->scope.scale);
  if (status == SPARC_OK && jobs->scope.match_params && job->kind <= GRID_TRAIN && job->method != g->reference) {
    int state_size = 0;
    status = match_params(g, job->task, job->method, &state_size);
    if (status == SPARC_OK) status = put_setting(job, "budget", json_integer(state_size));
  }
  if (status == SPARC_OK && job->kind <= GRID_TRAIN)
    status = put_setting(job, "seed", json_integer((json_int_t)job->seed));
  return status == SPARC_OK ? store_digest(job->settings, job->digest) : status;
}

/* ---- lists --------------------------------------------------------------------------------------- */

void grid_scope_mark(const grid_scope *scope, char *text, size_t size) {
  char scale[48] = "";
  if (scope->scale != 1) snprintf(scale, sizeof scale, "scale %g", scope->scale);
  snprintf(text, size, "%s%s%s", scale, *scale && scope->match_params ? ", " : "",
           scope->match_params ? "matched parameters" : "");
}

enum { FOLDER_NAME = GRID_NAME + 64 };

/* popgym, popgym-x0.1, popgym-x0.1-params */
static void folder_name(const grid *g, const grid_scope *scope, char name[FOLDER_NAME]) {
  char scale[48] = "";
  if (scope->scale != 1) snprintf(scale, sizeof scale, "-x%g", scope->scale);
  snprintf(name, FOLDER_NAME, "%s%s%s", g->name, scale, scope->match_params ? "-params" : "");
}

static sparc_status name_folder(grid_jobs *jobs) {
  char name[FOLDER_NAME];
  folder_name(jobs->g, &jobs->scope, name);
  const int length = snprintf(jobs->folder, sizeof jobs->folder, "%s/%s", jobs->scope.out, name);
  return length < (int)sizeof jobs->folder
             ? SPARC_OK
             : fail(SPARC_INVALID, "the name of folder '%.200s' is too long", jobs->scope.out);
}

static sparc_status add(grid_jobs *jobs, int task, int method, uint64_t seed) {
  grid_job *job = &jobs->job[jobs->count++];
  *job = (grid_job){.task = task, .method = method, .seed = seed, .kind = jobs->g->task[task].kind};
  snprintf(job->name, sizeof job->name, "%s/%s/s%llu", jobs->g->task[task].name, jobs->g->method[method].name,
           (unsigned long long)seed);
  snprintf(job->folder, sizeof job->folder, "%s/%s", jobs->folder, job->name);
  return resolve_settings(jobs, job);
}

sparc_status grid_jobs_create(const grid *g, const selection *chosen, const grid_scope *scope, grid_jobs *out) {
  *out = (grid_jobs){.g = g, .scope = *scope, .chosen = *chosen};
  sparc_status status = name_folder(out);
  if (status != SPARC_OK) return status;
  out->job = calloc((size_t)chosen->tasks * (size_t)chosen->methods * (size_t)chosen->seeds, sizeof *out->job);
  if (!out->job) return fail(SPARC_NO_MEMORY, "no memory for a list of runs");
  for (int t = 0; t < chosen->tasks; t++)
    for (int m = 0; m < chosen->methods; m++)
      for (int s = 0; s < chosen->seeds && status == SPARC_OK; s++)
        status = add(out, chosen->task[t], chosen->method[m], chosen->seed[s]);
  if (status != SPARC_OK) grid_jobs_free(out);
  return status;
}

bool job_is_same(const grid_jobs *jobs, const grid_job *job, const store_run *run) {
  char name[JOB_PATH];
  snprintf(name, sizeof name, "%s/%s", strrchr(jobs->folder, '/') + 1, job->name);
  return strcmp(run->digest, job->digest) == 0 && strcmp(run->folder, job->folder) != 0 &&
         (job->kind <= GRID_TRAIN || strcmp(run->name, name) == 0);
}

sparc_status grid_jobs_find(grid_jobs *jobs, const char *const *results, int count) {
  sparc_status status = store_add(&jobs->found, jobs->scope.out);
  for (int i = 0; i < count && status == SPARC_OK; i++) status = store_add(&jobs->found, results[i]);
  for (int i = 0; i < jobs->count && status == SPARC_OK; i++)
    for (int k = jobs->found.count - 1; k >= 0; k--)
      if (job_is_same(jobs, &jobs->job[i], &jobs->found.run[k])) jobs->job[i].imported = jobs->found.run[k].folder;
  return status;
}

void grid_jobs_free(grid_jobs *jobs) {
  store_free(&jobs->found);
  for (int i = 0; i < jobs->count; i++) json_decref(jobs->job[i].settings);
  free(jobs->job);
  *jobs = (grid_jobs){.g = NULL};
}

/* ---- the folder of a grid ------------------------------------------------------------------------ */

static const char grid_name[] = "lab.json";

sparc_status grid_jobs_write(const grid_jobs *jobs) {
  char path[JOB_PATH];
  snprintf(path, sizeof path, "%s/%s", jobs->folder, grid_name);
  const sparc_status status = folder_make(jobs->scope.out, strrchr(jobs->folder, '/') + 1);
  if (status != SPARC_OK) return status;
  return job_write_json_at(path, json_pack("{s:f, s:b, s:O}", "scale", jobs->scope.scale, "match_params",
                                           jobs->scope.match_params, "grid", jobs->g->file));
}

/* a file cannot choose another folder than its own */
static sparc_status check_folder_name(const char *folder, const grid *g, const grid_scope *scope) {
  char expected[FOLDER_NAME], *const path = realpath(folder, NULL);
  if (!path) return fail(SPARC_IO, "cannot open '%.300s': %s", folder, strerror(errno));
  folder_name(g, scope, expected);
  const char *const name = strrchr(path, '/') + 1;
  const sparc_status status =
      strcmp(name, expected) == 0
          ? SPARC_OK
          : fail(SPARC_FORMAT, "'%.300s': %s in it is of the folder '%.100s'", folder, grid_name, expected);
  free(path);
  return status;
}

sparc_status grid_folder_open(const char *folder, grid *g, grid_scope *scope) {
  char path[JOB_PATH];
  snprintf(path, sizeof path, "%.4000s/%s", folder, grid_name);
  json_t *object;
  *g = (grid){.file = NULL};
  sparc_status status = json_read(path, 0, &object);
  if (status != SPARC_OK) return status;
  char *text = json_dumps(json_object_get(object, "grid"), 0);
  scope->scale = job_number(object, "scale", 1);
  scope->match_params = json_is_true(json_object_get(object, "match_params"));
  status = text ? grid_parse(text, strlen(text), path, g) : fail(SPARC_FORMAT, "'%.300s' describes no grid", path);
  free(text);
  if (status == SPARC_OK && !(scope->scale >= GRID_SCALE_MIN && scope->scale <= GRID_SCALE_MAX))
    status = fail(SPARC_FORMAT, "'%.300s': scale is %g, expected %g to %g", path, scope->scale, GRID_SCALE_MIN,
                  GRID_SCALE_MAX);
  if (status == SPARC_OK) status = check_folder_name(folder, g, scope);
  json_decref(object);
  return status;
}

sparc_status grid_jobs_check(const grid_jobs *jobs) {
  static const char *const beside[] = {"figures", "diagnostics"};
  const char *below = strrchr(jobs->folder, '/') + 1;
  char path[JOB_PATH];
  sparc_status status = folder_check(jobs->scope.out, below);
  for (size_t i = 0; i < sizeof beside / sizeof *beside && status == SPARC_OK; i++)
    status = folder_check(jobs->folder, beside[i]);
  for (int i = 0; i < jobs->count && status == SPARC_OK; i++) {
    status = folder_check(jobs->folder, jobs->job[i].name);
    snprintf(path, sizeof path, "diagnostics/%.*s", (int)(strrchr(jobs->job[i].name, '/') - jobs->job[i].name),
             jobs->job[i].name);
    if (status == SPARC_OK) status = folder_check(jobs->folder, path);
  }
  return status;
}
