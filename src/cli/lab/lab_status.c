/* SPDX-License-Identifier: MIT */
/* lab_status.c: `sparc lab status`: the state of every run, and counts by state. */
#include "cli/lab/lab.h"
#include "io/json.h"

#include <math.h>
#include <string.h>

static json_t *number(double value) { return isfinite(value) ? json_real(value) : json_null(); }

/* adds score, size, speed and provenance of a finished run */
static void add_result(json_t *object, const job_report *r, const job_score *score) {
  json_t *made = provenance_json(&r->result.made);
  json_object_set_new(object, "score", number(score->value));
  if (*score->reason) json_object_set_new(object, "reason", json_text(score->reason));
  json_object_set_new(object, "imported", json_boolean(r->imported));
  json_object_set_new(object, "parameters", json_integer(r->result.parameters));
  json_object_set_new(object, "rate", json_real(r->result.rate));
  json_object_set_new(object, "memory_mb", json_real(r->result.memory_mb));
  json_object_del(made, "done"); /* "done" is the fraction in this object */
  json_object_update(object, made);
  json_decref(made);
}

static json_t *json_status(const grid_jobs *jobs, const grid_job *job, const job_report *r, const job_score *score) {
  json_t *object = json_pack("{s:s, s:f, s:s, s:s, s:s, s:I, s:s, s:I, s:s, s:f}", "grid", jobs->g->name, "scale",
                             jobs->scope.scale, "job", job->name, "task", jobs->g->task[job->task].name, "method",
                             jobs->g->method[job->method].name, "seed", (json_int_t)job->seed, "digest", job->digest,
                             "budget", (json_int_t)job->budget, "state", job_state_name(r->state), "done", r->done);
  if (!object) return NULL;
  if (r->state == JOB_DONE) add_result(object, r, score);
  if (r->state == JOB_FAILED) json_object_set_new(object, "message", json_string(r->message));
  if (r->state == JOB_RUNNING) {
    json_object_set_new(object, "host", json_string(r->holder.host));
    json_object_set_new(object, "pid", json_integer(r->holder.pid));
  }
  return object;
}

static void print_with(const char *before, const char *text) {
  fputs(before, stdout);
  cli_text(text, 0);
}

static void print_score(const grid_job *job, const job_score *score, bool imported) {
  if (isfinite(score->value))
    printf("  %.5g", score->value);
  else
    print_with("  no score: ", score->reason);
  if (imported) print_with("  imported from ", job->imported);
}

static void print_job(const grid_job *job, const job_report *r, const job_score *score) {
  printf("%-44s %-8s %3.0f%%", job->name, job_state_name(r->state), 100 * r->done);
  if (r->state == JOB_DONE) print_score(job, score, r->imported);
  if (r->state == JOB_RUNNING) {
    print_with("  on ", r->holder.host);
    printf(", process %ld", r->holder.pid);
  }
  if (r->state == JOB_FAILED) print_with("  ", r->message);
  putchar('\n');
}

exit_code lab_status(const lab_options *o, const grid_jobs *jobs) {
  int count[JOB_STATES] = {0}, imported = 0;
  exit_code code = EXIT_DONE;
  for (int i = 0; i < jobs->count; i++) {
    const grid_job *job = &jobs->job[i];
    job_report r;
    job_score score = {.value = NAN};
    sparc_status status = job_inspect(job, &r);
    if (status == SPARC_OK && r.state == JOB_DONE && (o->json || !o->quiet)) {
      score = job_score_of(jobs, job);
      status = score.status;
    }
    if (status != SPARC_OK) {
      cli_message(o->who, "%s: %s", job->name, sparc_error());
      code = cli_exit_code(status);
      continue;
    }
    count[r.state]++;
    imported += r.imported;
    if (o->json)
      cli_json_line(o->who, json_status(jobs, job, &r, &score));
    else if (!o->quiet && r.state != JOB_WAITING)
      print_job(job, &r, &score);
  }
  if (o->json) return code;
  printf("%s: %d runs", jobs->folder, jobs->count);
  for (int s = 0; s < JOB_STATES; s++)
    if (count[s]) printf(", %d %s", count[s], job_state_name((job_state)s));
  if (imported) printf(" (%d imported)", imported);
  putchar('\n');
  return code;
}

typedef struct counting {
  lab_options options;
  exit_code worst;
} counting;

/* one line per experiment */
static sparc_status count_runs(void *user, const grid_jobs *jobs) {
  counting *c = user;
  const exit_code code = lab_status(&c->options, jobs);
  if (code != EXIT_DONE) c->worst = code;
  return SPARC_OK;
}

exit_code lab_status_of_all(const lab_options *o) {
  counting c = {.options = *o, .worst = EXIT_DONE};
  int experiments;
  c.options.quiet = true;
  const exit_code code = lab_each(o, NULL, count_runs, &c, &experiments);
  return code == EXIT_DONE ? c.worst : code;
}
