/* SPDX-License-Identifier: MIT */
/* job.c: the runs of a grid, their state, scores and results. */
#include "lab/grid/job.h"

#include "base/error.h"
#include "io/atomic_file.h"
#include "io/folder_file.h"
#include "io/json.h"
#include "lab/grid/aggregate.h"
#include "lab/grid/log.h"
#include "lab/grid/match.h"
#include "run/lock.h"
#include "run/rl_settings.h"
#include "run/run_settings.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char settings_file[] = "job.json", result_file[] = "result.json", failure_file[] = "failed.json",
                  metrics_file[] = "metrics.jsonl", log_file[] = "log.txt";

/* ---- files --------------------------------------------------------------------------------------- */

static double number_in(const json_t *object, const char *key, double default_value) {
  const json_t *value = json_object_get(object, key);
  return json_is_number(value) ? json_number_value(value) : default_value;
}

/* takes the reference */
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

static sparc_status find(const grid_job *job, const char *name, bool *found) {
  char path[JOB_PATH];
  job_file(job, name, path);
  return folder_file_find(path, found);
}

/* ---- settings ------------------------------------------------------------------------------------ */

/* takes the reference to the value */
static sparc_status put_setting(grid_job *job, const char *key, json_t *value) {
  return json_object_set_new(job->settings, key, value) == 0
             ? SPARC_OK
             : fail(SPARC_NO_MEMORY, "no memory for the settings of a run");
}

static sparc_status default_updates(const char *data, long *updates) {
  *updates = sparc_train_classification().updates;
  if (!is_task(data)) return SPARC_OK;
  sparc_task *task;
  const sparc_status status = sparc_task_create(data, &task);
  if (status != SPARC_OK) return status;
  *updates = sparc_train_task(task).updates;
  sparc_task_free(task);
  return SPARC_OK;
}

static sparc_status default_steps(const char *task, long *steps) {
  sparc_ppo_config ppo;
  const sparc_status status = sparc_ppo_defaults(task, &ppo);
  if (status == SPARC_OK) *steps = ppo.rollouts * ppo.steps;
  return status;
}

/* stores the scaled budget in the settings */
static sparc_status resolve_budget(grid_job *job, double scale) {
  const char *key = job->kind == GRID_RL ? "steps" : "updates";
  job->budget = 1;
  if (job->kind > GRID_TRAIN) return SPARC_OK;
  const json_t *given = json_object_get(job->settings, key);
  sparc_status status = SPARC_OK;
  if (given)
    job->budget = (long)json_integer_value(given);
  else if (job->kind == GRID_RL)
    status = default_steps(json_string_value(json_object_get(job->settings, "task")), &job->budget);
  else
    status = default_updates(json_string_value(json_object_get(job->settings, "data")), &job->budget);
  if (status != SPARC_OK) return status;
  job->budget = (long)fmax(1, round(scale * (double)job->budget));
  status = put_setting(job, key, json_integer(job->budget));
  /* the number of validations stays the same */
  const json_t *every = json_object_get(job->settings, "validate-every");
  if (status == SPARC_OK && every && scale != 1)
    status =
        put_setting(job, "validate-every", json_integer((json_int_t)fmax(1, round(scale * json_number_value(every)))));
  return status;
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

/* whether a run found elsewhere has the job's settings; the job's own folder does not count */
static bool is_same(const grid_jobs *jobs, const grid_job *job, const store_run *run) {
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
      if (is_same(jobs, &jobs->job[i], &jobs->found.run[k])) jobs->job[i].imported = jobs->found.run[k].folder;
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
  return write_json(path, json_pack("{s:f, s:b, s:O}", "scale", jobs->scope.scale, "match_params",
                                    jobs->scope.match_params, "grid", jobs->g->file));
}

sparc_status grid_folder_open(const char *folder, grid *g, grid_scope *scope) {
  char path[JOB_PATH];
  snprintf(path, sizeof path, "%.4000s/%s", folder, grid_name);
  json_t *object;
  *g = (grid){.file = NULL};
  sparc_status status = json_read(path, 0, &object);
  if (status != SPARC_OK) return status;
  char *text = json_dumps(json_object_get(object, "grid"), 0);
  scope->scale = number_in(object, "scale", 1);
  scope->match_params = json_is_true(json_object_get(object, "match_params"));
  status = text ? grid_parse(text, strlen(text), path, g) : fail(SPARC_FORMAT, "'%.300s' describes no grid", path);
  free(text);
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

static bool same_settings(const grid_job *job, const json_t *object) {
  const char *digest = json_string_value(json_object_get(object, "digest"));
  return digest && strcmp(digest, job->digest) == 0;
}

static void read_result(const json_t *object, job_result *r) {
  r->parameters = (long)number_in(object, "parameters", 0);
  r->rate = number_in(object, "rate", 0);
  r->memory_mb = number_in(object, "memory_mb", 0);
  provenance_from(object, &r->made);
}

/* fraction of the budget in the log, whose last line may be incomplete */
static sparc_status read_fraction(const grid_job *job, double *fraction) {
  enum { TAIL = 4096 };
  char path[JOB_PATH], tail[TAIL + 1];
  FILE *file;
  job_file(job, metrics_file, path);
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
  *fraction = fmin(done, 1);
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
  sparc_status status = store_load(job->folder, result_file, &result);
  if (status == SPARC_OK && !result) status = store_load(job->folder, failure_file, &failure);
  if (status == SPARC_OK && !result) status = store_load(job->folder, settings_file, &started);
  if (status == SPARC_OK) status = compare_settings(job, started, &changed);
  if (result) changed = !same_settings(job, result);
  if (status == SPARC_OK && changed) {
    out->state = JOB_CHANGED;
  } else if (status == SPARC_OK && result) {
    out->state = JOB_DONE;
    out->done = 1;
    read_result(result, &out->result);
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
  status = store_load(job->imported, result_file, &result);
  if (same_settings(job, result)) {
    *out = (job_report){.state = JOB_DONE, .done = 1, .imported = true};
    read_result(result, &out->result);
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
      *value = number_in(object, score->metric, NAN);
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

/* whether two finished runs have different data or scores */
static bool disagree(const grid_jobs *jobs, const grid_job *job, const char *first, const char *second,
                     char sentence[3 * JOB_TEXT]) {
  job_result one, other;
  const char *const folders[] = {first, second};
  job_result *const results[] = {&one, &other};
  for (int i = 0; i < 2; i++) {
    json_t *object;
    (void)store_load(folders[i], result_file, &object);
    read_result(object, results[i]);
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
    if (strcmp(run->folder, source) == 0 || !is_same(jobs, job, run)) continue;
    count += disagree(jobs, job, source, run->folder, count ? other : sentence);
  }
  return count;
}

/* ---- running ------------------------------------------------------------------------------------- */

/* a process without a claim may hold the run's lock: a manual run, or a run whose runner has just been killed */
static sparc_status find_lock(const grid_job *job, bool *locked) {
  run_folder folder;
  run_lock lock = {.held = false};
  sparc_status status = run_folder_at(job->folder, &folder);
  if (status == SPARC_OK) status = run_lock_take(&folder, &lock);
  *locked = lock.busy;
  run_lock_release(&lock);
  return lock.busy ? SPARC_OK : status;
}

/* the files of the command and the runner must be regular files, or absent */
static sparc_status check_files(const grid_job *job) {
  const char *const names[] = {settings_file, result_file, failure_file, log_file};
  run_folder folder;
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
  if (status == SPARC_OK) status = find(job, result_file, &finished);
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
  return write_job_json(job, settings_file, json_incref(job->settings));
}

sparc_status job_clear_failure(const grid_job *job) {
  char path[JOB_PATH];
  job_file(job, failure_file, path);
  if (unlink(path) == 0 || errno == ENOENT) return SPARC_OK;
  return fail(SPARC_IO, "cannot remove '%.300s': %s", path, strerror(errno));
}

sparc_status job_fail(const grid_job *job, const char *message) {
  return write_job_json(job, failure_file, json_pack("{s:s}", "message", message));
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
  job_file(job, metrics_file, path);
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
    r->parameters = (long)number_in(last, "parameters", 0);
    json_decref(last);
    const sparc_status status = provenance_read(job->folder, &r->made);
    if (status != SPARC_OK) return status;
    if (r->made.seconds > 0) r->rate = (double)r->made.done / r->made.seconds;
  }
  return write_job_json(job, result_file, result_json(job, r));
}

/* ---- export -------------------------------------------------------------------------------------- */

static sparc_status write_kept(const grid_jobs *jobs, const grid_job *job, const char *to, const char *folder,
                               const char *commit) {
  const char *source = job_source(job);
  char path[JOB_PATH];
  json_t *result;
  sparc_status status = store_load(source, result_file, &result);
  if (status != SPARC_OK) return status;
  if (!result) return fail(SPARC_FORMAT, "'%.300s' has no result", source);
  /* results of earlier versions contain a score and no settings */
  json_object_del(result, "score");
  json_object_del(result, "reason");
  json_object_set(result, "settings", job->settings);
  if (commit && !json_object_get(result, "commit")) json_object_set_new(result, "commit", json_string(commit));
  snprintf(path, sizeof path, "%s/%s", folder, result_file);
  status = folder_make(to, folder + strlen(to) + 1);
  if (status == SPARC_OK) status = log_keep(source, grid_score_of(jobs->g, job->task, job->method).metric, folder);
  if (status == SPARC_OK) status = write_json(path, json_incref(result));
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
  if (status == SPARC_OK) status = store_load(folder, result_file, &there);
  if (status != SPARC_OK) return status;
  const bool other = there && !same_settings(job, there), same = there && !other;
  json_decref(there);
  if (other) return fail(SPARC_INVALID, "'%.300s' contains a run with other settings; remove it first", folder);
  if (same && disagree(jobs, job, job_source(job), folder, sentence))
    return fail(SPARC_INVALID, "%s; remove the wrong one", sentence);
  if (same) return SPARC_OK;
  *written = true;
  return write_kept(jobs, job, to, folder, commit);
}
