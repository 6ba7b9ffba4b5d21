/* SPDX-License-Identifier: MIT */
/* job.c: from a grid to its runs, and from a folder to the state of one. */
#include "lab/grid/job.h"

#include "base/cpu.h"
#include "base/error.h"
#include "io/atomic_file.h"
#include "lab/grid/aggregate.h"
#include "lab/grid/match.h"
#include "lab/rl/rl_settings.h"
#include "lab/run/lock.h"
#include "lab/run/run_settings.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char settings_file[] = "job.json", result_file[] = "result.json", failure_file[] = "failed.json",
                  metrics_file[] = "metrics.jsonl";

/* ---- files --------------------------------------------------------------------------------------- */

static double number_in(const json_t *object, const char *key, double otherwise) {
  const json_t *value = json_object_get(object, key);
  return json_is_number(value) ? json_number_value(value) : otherwise;
}

/* takes over the reference */
static sparc_status write_json(const char *path, json_t *object) {
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

static sparc_status write_job_json(const grid_job *job, const char *name, json_t *object) {
  char path[JOB_PATH];
  job_file(job, name, path);
  return write_json(path, object);
}

static bool has(const grid_job *job, const char *name) {
  char path[JOB_PATH];
  job_file(job, name, path);
  return access(path, F_OK) == 0;
}

/* ---- settings ------------------------------------------------------------------------------------ */

/* FNV-1a: settings are told apart, not protected */
static void digest_of(const json_t *settings, char digest[JOB_DIGEST]) {
  uint64_t hash = 14695981039346656037u;
  char *text = json_dumps(settings, JSON_COMPACT | JSON_SORT_KEYS);
  for (const char *c = text; c && *c; c++) hash = (hash ^ (unsigned char)*c) * 1099511628211u;
  free(text);
  snprintf(digest, JOB_DIGEST, "%016llx", (unsigned long long)hash);
}

static sparc_status usual_updates(const char *data, long *updates) {
  *updates = sparc_train_classification().updates;
  if (!is_task(data)) return SPARC_OK;
  sparc_task *task;
  const sparc_status status = sparc_task_create(data, &task);
  if (status != SPARC_OK) return status;
  *updates = sparc_train_task(task).updates;
  sparc_task_free(task);
  return SPARC_OK;
}

static sparc_status usual_steps(const char *task, long *steps) {
  sparc_ppo_config ppo;
  const sparc_status status = sparc_ppo_defaults(task, &ppo);
  if (status == SPARC_OK) *steps = ppo.rollouts * ppo.steps;
  return status;
}

/* the length of the run becomes part of its settings, so that it shows there */
static sparc_status settle_budget(grid_job *job, double scale) {
  const char *key = job->kind == GRID_RL ? "steps" : "updates";
  job->budget = 1;
  if (job->kind > GRID_TRAIN) return SPARC_OK;
  const json_t *said = json_object_get(job->settings, key);
  sparc_status status = SPARC_OK;
  if (said)
    job->budget = (long)json_integer_value(said);
  else if (job->kind == GRID_RL)
    status = usual_steps(json_string_value(json_object_get(job->settings, "task")), &job->budget);
  else
    status = usual_updates(json_string_value(json_object_get(job->settings, "data")), &job->budget);
  if (status != SPARC_OK) return status;
  job->budget = (long)fmax(1, round(scale * (double)job->budget));
  if (json_object_set_new(job->settings, key, json_integer(job->budget)) != 0)
    return fail(SPARC_NO_MEMORY, "no memory for the settings of a run");
  /* validations keep their number */
  const json_t *every = json_object_get(job->settings, "validate-every");
  if (every && scale != 1)
    json_object_set_new(job->settings, "validate-every",
                        json_integer((json_int_t)fmax(1, round(scale * json_number_value(every)))));
  return SPARC_OK;
}

static sparc_status settle(const grid_jobs *jobs, grid_job *job) {
  const grid *g = jobs->g;
  job->settings = grid_settings(g, job->task, job->method);
  if (!job->settings) return fail(SPARC_NO_MEMORY, "no memory for the settings of a run");
  sparc_status status = settle_budget(job, jobs->scope.scale);
  if (status == SPARC_OK && jobs->scope.match_params && job->kind <= GRID_TRAIN && job->method != g->reference) {
    int budget = 0;
    status = match_params(g, job->task, job->method, &budget);
    if (status == SPARC_OK) json_object_set_new(job->settings, "budget", json_integer(budget));
  }
  if (job->kind <= GRID_TRAIN) json_object_set_new(job->settings, "seed", json_integer((json_int_t)job->seed));
  digest_of(job->settings, job->digest);
  return status;
}

/* ---- lists --------------------------------------------------------------------------------------- */

void grid_scope_mark(const grid_scope *scope, char *text, size_t size) {
  char scale[48] = "";
  if (scope->scale != 1) snprintf(scale, sizeof scale, "scale %g", scope->scale);
  snprintf(text, size, "%s%s%s", scale, *scale && scope->match_params ? ", " : "",
           scope->match_params ? "matched parameters" : "");
}

/* OUT/popgym, OUT/popgym-x0.1, OUT/popgym-x0.1-params */
static sparc_status name_folder(grid_jobs *jobs) {
  char scale[48] = "";
  if (jobs->scope.scale != 1) snprintf(scale, sizeof scale, "-x%g", jobs->scope.scale);
  const int length = snprintf(jobs->folder, sizeof jobs->folder, "%s/%s%s%s", jobs->scope.out, jobs->g->name, scale,
                              jobs->scope.match_params ? "-params" : "");
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
  return settle(jobs, job);
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

void grid_jobs_free(grid_jobs *jobs) {
  for (int i = 0; i < jobs->count; i++) json_decref(jobs->job[i].settings);
  free(jobs->job);
  *jobs = (grid_jobs){.g = NULL};
}

/* ---- the folder of a grid ------------------------------------------------------------------------ */

static const char grid_name[] = "lab.json";

sparc_status grid_jobs_write(const grid_jobs *jobs) {
  char path[JOB_PATH];
  snprintf(path, sizeof path, "%s/%s", jobs->folder, grid_name);
  const sparc_status status = make_folders(jobs->folder);
  if (status != SPARC_OK) return status;
  return write_json(path, json_pack("{s:f, s:b, s:O}", "scale", jobs->scope.scale, "match_params",
                                    jobs->scope.match_params, "grid", jobs->g->file));
}

sparc_status grid_folder_open(const char *folder, grid *g, grid_scope *scope) {
  char path[JOB_PATH];
  snprintf(path, sizeof path, "%.4000s/%s", folder, grid_name);
  json_error_t error;
  json_t *object = json_load_file(path, 0, &error), *inner = json_object_get(object, "grid");
  char *text = json_dumps(inner, 0);
  *g = (grid){.file = NULL};
  scope->scale = number_in(object, "scale", 1);
  scope->match_params = json_is_true(json_object_get(object, "match_params"));
  const sparc_status status =
      text ? grid_parse(text, strlen(text), path, g) : fail(SPARC_FORMAT, "'%.300s' describes no grid", path);
  free(text);
  json_decref(object);
  return status;
}

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

static json_t *load(const grid_job *job, const char *name) {
  char path[JOB_PATH];
  job_file(job, name, path);
  return json_load_file(path, 0, NULL);
}

static bool same_settings(const grid_job *job, const json_t *object) {
  const char *digest = json_string_value(json_object_get(object, "digest"));
  return digest && strcmp(digest, job->digest) == 0;
}

static void read_result(const json_t *object, job_result *r) {
  r->score = number_in(object, "score", NAN);
  r->parameters = (long)number_in(object, "parameters", 0);
  r->seconds = number_in(object, "seconds", 0);
  r->rate = number_in(object, "rate", 0);
  r->memory_mb = number_in(object, "memory_mb", 0);
  text_in(object, "reason", r->reason, sizeof r->reason);
  text_in(object, "machine", r->machine, sizeof r->machine);
  text_in(object, "version", r->version, sizeof r->version);
}

/* how far the log has come; it is written in blocks, so a line may be cut off at the end */
static double fraction_done(const grid_job *job) {
  enum { TAIL = 4096 };
  char path[JOB_PATH], tail[TAIL + 1];
  job_file(job, metrics_file, path);
  FILE *file = fopen(path, "r");
  if (!file) return 0;
  if (fseek(file, -TAIL, SEEK_END) != 0) rewind(file);
  tail[fread(tail, 1, TAIL, file)] = '\0';
  fclose(file);
  double done = 0;
  for (char *line = tail, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
    *end = '\0';
    const char *key = strstr(line, job->kind == GRID_RL ? "\"steps\":" : "\"update\":");
    if (key) done = strtod(strchr(key, ':') + 1, NULL) / (double)job->budget;
  }
  return fmin(done, 1);
}

/* what was begun with other settings is not this job */
static bool was_changed(const grid_job *job) {
  json_t *began = load(job, settings_file);
  char digest[JOB_DIGEST] = "";
  if (began) digest_of(began, digest);
  json_decref(began);
  return *digest && strcmp(digest, job->digest) != 0;
}

void job_look(const grid_job *job, job_report *out) {
  *out = (job_report){.state = JOB_WAITING, .result = {.score = NAN}};
  json_t *result = load(job, result_file), *failure = result ? NULL : load(job, failure_file);
  if (result ? !same_settings(job, result) : was_changed(job)) {
    out->state = JOB_CHANGED;
  } else if (result) {
    out->state = JOB_DONE;
    out->done = 1;
    read_result(result, &out->result);
  } else {
    out->done = fraction_done(job);
    if (claim_look(job->folder, &out->holder))
      out->state = JOB_RUNNING;
    else if (failure)
      out->state = JOB_FAILED;
    else if (has(job, settings_file))
      out->state = JOB_STOPPED;
    text_in(failure, "message", out->message, sizeof out->message);
  }
  json_decref(result);
  json_decref(failure);
}

/* ---- logs ---------------------------------------------------------------------------------------- */

typedef struct curve {
  double *values, *updates;
  size_t count, room;
} curve;

static bool append(curve *c, double update, double value) {
  if (c->count == c->room) {
    const size_t room = c->room ? 2 * c->room : 256;
    double *values = realloc(c->values, room * sizeof *values);
    if (values) c->values = values;
    double *updates = realloc(c->updates, room * sizeof *updates);
    if (updates) c->updates = updates;
    if (!values || !updates) return false;
    c->room = room;
  }
  c->values[c->count] = value;
  c->updates[c->count++] = update;
  return true;
}

sparc_status job_curve(const grid_job *job, const char *metric, double **values, double **updates, size_t *count) {
  char path[JOB_PATH], *line = NULL;
  size_t size = 0;
  curve c = {.count = 0};
  bool room = true;
  const char *along = job->kind == GRID_RL ? "steps" : "update";
  job_file(job, metrics_file, path);
  FILE *file = fopen(path, "r");
  if (!file) return fail(SPARC_IO, "cannot read '%.300s': %s", path, strerror(errno));
  while (room && getline(&line, &size, file) > 0) {
    json_t *object = json_loads(line, 0, NULL);
    const json_t *value = json_object_get(object, metric);
    if (value) room = append(&c, number_in(object, along, NAN), json_is_number(value) ? json_number_value(value) : NAN);
    json_decref(object);
  }
  free(line);
  fclose(file);
  if (!room) {
    free(c.values);
    free(c.updates);
    return fail(SPARC_NO_MEMORY, "no memory for the log '%.200s'", path);
  }
  *values = c.values;
  *updates = c.updates;
  *count = c.count;
  return SPARC_OK;
}

/* ---- the work of a runner ------------------------------------------------------------------------ */

/* whoever writes a run there without a claim: a run by hand, or one that is still dying with its runner */
static bool is_locked(const grid_job *job) {
  run_folder folder;
  run_lock lock = {.held = false};
  const bool locked = run_folder_at(job->folder, &folder) == SPARC_OK && run_lock_take(&folder, &lock) != SPARC_OK;
  run_lock_release(&lock);
  return locked;
}

sparc_status job_prepare(const grid_job *job, claim *held, job_hold *hold) {
  bool taken = false;
  *hold = JOB_TAKEN;
  sparc_status status = make_folders(job->folder);
  if (status == SPARC_OK) status = claim_take(job->folder, held, &taken);
  if (status != SPARC_OK) return status;
  /* it may have been finished between a look and the claim */
  if (taken && has(job, result_file)) {
    claim_drop(held);
    taken = false;
  }
  if (!taken) {
    *hold = JOB_ELSEWHERE;
  } else if (is_locked(job)) {
    claim_return(held);
    *hold = JOB_LOCKED;
  }
  return SPARC_OK;
}

sparc_status job_write_settings(const grid_job *job) {
  return write_job_json(job, settings_file, json_incref(job->settings));
}

void job_clear_failure(const grid_job *job) {
  char path[JOB_PATH];
  job_file(job, failure_file, path);
  unlink(path);
}

sparc_status job_fail(const grid_job *job, const char *message) {
  return write_job_json(job, failure_file, json_pack("{s:s}", "message", message));
}

/* the one value of the metric among the printed lines that have all of `where` */
static sparc_status find_printed(const grid_score *score, const char *printed, double *value) {
  int found = 0;
  char *copy = strdup(printed), *rest = copy;
  if (!copy) return fail(SPARC_NO_MEMORY, "no memory for what was printed");
  for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
    json_t *object = json_loads(line, 0, NULL), *wanted;
    const char *key;
    bool fits = json_is_number(json_object_get(object, score->metric));
    json_object_foreach((json_t *)score->where, key, wanted) fits &= json_equal(json_object_get(object, key), wanted);
    if (fits) {
      *value = number_in(object, score->metric, NAN);
      found++;
    }
    json_decref(object);
  }
  free(copy);
  if (found == 1) return SPARC_OK;
  return fail(SPARC_FORMAT, "%d of the printed lines have a %s where the score wants one", found, score->metric);
}

static sparc_status score_run(const grid_job *job, const grid_score *score, const char *printed, double *value) {
  if (job->kind > GRID_TRAIN) {
    const sparc_status status = find_printed(score, printed, value);
    return status == SPARC_OK ? aggregate_score(1, value, score, value) : status;
  }
  double *values, *updates;
  size_t count;
  sparc_status status = job_curve(job, score->metric, &values, &updates, &count);
  if (status != SPARC_OK) return status;
  status = aggregate_score(count, values, score, value);
  free(values);
  free(updates);
  return status;
}

static json_t *number_or_null(double value) { return isfinite(value) ? json_real(value) : json_null(); }

static json_t *result_json(const grid_job *job, const job_result *r) {
  char host[CLAIM_HOST] = "", when[32] = "";
  const time_t now = time(NULL);
  struct tm utc;
  gethostname(host, sizeof host - 1);
  if (gmtime_r(&now, &utc)) strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return json_pack("{s:o, s:s, s:s, s:I, s:f, s:f, s:f, s:s, s:s, s:s, s:i, s:s}", "score", number_or_null(r->score),
                   "reason", r->reason, "digest", job->digest, "parameters", (json_int_t)r->parameters, "seconds",
                   r->seconds, "rate", r->rate, "memory_mb", r->memory_mb, "machine", r->machine, "version",
                   sparc_version(), "host", host, "pid", (int)getpid(), "finished", when);
}

sparc_status job_finish(const grid_jobs *jobs, const grid_job *job, const char *printed, job_result *r) {
  const grid_score score = grid_score_of(jobs->g, job->task, job->method);
  json_t *last = job->kind <= GRID_TRAIN ? json_loads(printed, 0, NULL) : NULL;
  r->parameters = (long)number_in(last, "parameters", 0);
  r->rate = number_in(last, job->kind == GRID_RL ? "steps_per_second" : "updates_per_second", 0);
  json_decref(last);
  snprintf(r->machine, sizeof r->machine, "%s", cpu_detect().brand);
  r->reason[0] = '\0';
  const sparc_status status = score_run(job, &score, printed, &r->score);
  /* a run whose window is short or not finite is finished, but has no score */
  if (status == SPARC_NOT_FINITE || status == SPARC_INVALID) {
    r->score = NAN;
    snprintf(r->reason, sizeof r->reason, "%s", sparc_error());
  } else if (status != SPARC_OK) {
    return status;
  }
  return write_job_json(job, result_file, result_json(job, r));
}
