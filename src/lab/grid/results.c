/* SPDX-License-Identifier: MIT */
/* results.c: reads all runs and computes statistics, ranks, marks and notes. */
#include "lab/grid/results.h"

#include "base/error.h"
#include "run/data.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static field_result *field_at(const grid_results *r, int task, int method) {
  return &r->field[(size_t)task * (size_t)r->jobs->chosen.methods + (size_t)method];
}

/* ---- fields -------------------------------------------------------------------------------------- */

/* facts that results of earlier versions do not record */
static void fill_unknown(provenance *p) {
  char *const texts[] = {p->version, p->commit, p->kernels, p->machine};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    if (!*texts[i]) snprintf(texts[i], PROVENANCE_TEXT, "unknown");
}

/* adds a finished run to its field; all runs of a field must have the same data */
static sparc_status add_run(const grid_job *job, const job_report *report, const grid_job **known, field_result *f) {
  provenance made = report->result.made;
  fill_unknown(&made);
  if (*known && *made.data && strcmp(f->made.data, made.data) != 0)
    return fail(SPARC_FORMAT,
                "%s has data %s and %s has %s; runs on different data are not averaged; select seeds or remove one",
                (*known)->name, f->made.data, job->name, made.data);
  if (*made.data) *known = job;
  if (!*made.data) memcpy(made.data, f->made.data, sizeof made.data);
  provenance_join(&f->made, &made);
  f->made = made;
  f->parameters = report->result.parameters;
  f->imported += report->imported;
  return SPARC_OK;
}

static aggregate_summary summarise_finished(int seeds, const double *score) {
  double finished[GRID_MAX_SEEDS];
  int count = 0;
  for (int s = 0; s < seeds; s++)
    if (isfinite(score[s])) finished[count++] = score[s];
  return aggregate_summarise(count, finished);
}

static sparc_status read_runs(const grid_results *r, int task, int method, field_result *f, double *score) {
  const int seeds = r->jobs->chosen.seeds;
  const grid_job *known = NULL; /* a run that records its data */
  sparc_status status = SPARC_OK;
  for (int s = 0; s < seeds && status == SPARC_OK; s++) {
    const grid_job *job = grid_job_at(r->jobs, task, method, s);
    job_report report;
    status = job_inspect(job, &report);
    if (status != SPARC_OK) return status;
    f->count[report.state]++;
    f->done += report.done / seeds;
    const job_score own = report.state == JOB_DONE ? job_score_of(r->jobs, job) : (job_score){.value = NAN};
    if (own.status != SPARC_OK) return fail(own.status, "%s: %s", job->name, own.reason);
    score[s] = own.value;
    f->refused += report.state == JOB_DONE && !isfinite(score[s]);
    if (report.state == JOB_DONE) status = add_run(job, &report, &known, f);
  }
  f->score = score;
  const aggregate_summary finished = summarise_finished(seeds, score);
  if (f->count[JOB_DONE] == seeds && f->refused == 0)
    f->ours = finished;
  else
    f->partial = finished;
  return status;
}

static void read_paper(const grid *g, field_result *f) {
  f->in_paper = grid_paper(g, f->task, f->method, &f->paper, &f->paper_stddev);
  f->difference_in_paper =
      grid_paper_difference(g, f->task, f->method, &f->paper_difference, &f->paper_difference_stddev);
}

/* ---- the paper's protocol ------------------------------------------------------------------------ */

__attribute__((format(printf, 2, 3))) static void add_words(char text[DEPARTURE], const char *format, ...) {
  const size_t used = strlen(text);
  va_list arguments;
  va_start(arguments, format);
  if (used) snprintf(text + used, DEPARTURE - used, "; ");
  vsnprintf(text + strlen(text), DEPARTURE - strlen(text), format, arguments);
  va_end(arguments);
}

static bool has_examples(const grid_task *t, const grid_job *job) {
  const char *data = json_string_value(json_object_get(job->settings, "data"));
  return t->kind == GRID_TRAIN && data && !is_task(data);
}

/* departures from the paper's protocol, for fields with a number of the paper */
static void compare_protocol(const grid_jobs *jobs, const grid_job *job, field_result *f) {
  const grid_task *t = &jobs->g->task[f->task];
  const grid_protocol *p = &t->protocol;
  if (!f->in_paper) return;
  if (*p->departure) add_words(f->departure, "%s", p->departure);
  if (p->budget && p->budget != job->budget)
    add_words(f->departure, "%ld %s, the paper %ld", job->budget, t->kind == GRID_RL ? "steps" : "updates", p->budget);
  if (!p->budget && jobs->scope.scale != 1) add_words(f->departure, "%g of the steps or updates", jobs->scope.scale);
  if (jobs->scope.match_params && f->method != jobs->g->reference) add_words(f->departure, "matched parameters");
  if (!f->count[JOB_DONE] || !has_examples(t, job)) return;
  if (*f->made.departure)
    add_words(f->departure, "%s", f->made.departure);
  else if (!f->made.fit)
    add_words(f->departure, "examples not recorded");
  else if (p->fit && (f->made.fit != p->fit || f->made.validation != p->validation))
    add_words(f->departure, "%d and %d examples, the paper %d and %d", f->made.fit, f->made.validation, p->fit,
              p->validation);
}

/* ---- notes --------------------------------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static void add_note(grid_results *r, const char *format, ...) {
  const size_t used = strlen(r->note);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(r->note + used, sizeof r->note - used, format, arguments);
  va_end(arguments);
}

/* whether an earlier field of the same task has the same departure */
static bool is_reported(const grid_results *r, const field_result *f) {
  for (const field_result *other = r->field; other < f; other++)
    if (other->task == f->task && strcmp(other->departure, f->departure) == 0) return true;
  return false;
}

static bool is_marked(const field_result *f) { return (f->ours.count || f->partial.count) && *f->departure; }

/* "† not as in the paper: FordA: 150 updates, the paper 20000; UWave: ..." */
static void note_departures(grid_results *r) {
  const int fields = r->jobs->chosen.tasks * r->jobs->chosen.methods;
  const field_result *first = NULL;
  bool one = true;
  for (int i = 0; i < fields; i++) {
    const field_result *f = &r->field[i];
    if (!is_marked(f)) continue;
    if (!first) first = f;
    one &= strcmp(first->departure, f->departure) == 0;
  }
  if (!first) return;
  add_note(r, " " RESULTS_MARK " Not as in the paper: ");
  if (one) add_note(r, "%s.", first->departure);
  for (int i = 0; !one && i < fields; i++) {
    const field_result *f = &r->field[i];
    if (!is_marked(f) || is_reported(r, f)) continue;
    add_note(r, "%s%s: %s", f == first ? "" : ". ", r->jobs->g->task[f->task].title, f->departure);
  }
  if (!one) add_note(r, ".");
}

/* runs of different builds and machines */
static void note_provenance(grid_results *r) {
  const provenance *p = &r->made;
  const char *const facts[][2] = {
      {"commits", p->commit}, {"versions", p->version}, {"kernels", p->kernels}, {"machines", p->machine}};
  bool any = false;
  for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
    if (!strstr(facts[i][1], ", ")) continue;
    add_note(r, "%s%s %s", any ? "; " : " Runs differ in ", facts[i][0], facts[i][1]);
    any = true;
  }
  if (any) add_note(r, ".");
}

static void write_note(grid_results *r) {
  const int seeds = r->jobs->chosen.seeds;
  add_note(r, "%s%s", r->jobs->g->note, *r->jobs->g->note ? " " : "");
  if (seeds > 1)
    add_note(r, "Mean ± sample standard deviation over %d seeds.", seeds);
  else
    add_note(r, "One seed.");
  note_departures(r);
  note_provenance(r);
}

/* ---- tasks --------------------------------------------------------------------------------------- */

int grid_reference_of(const grid_jobs *jobs) {
  for (int m = 0; m < jobs->chosen.methods; m++)
    if (jobs->chosen.method[m] == jobs->g->reference) return m;
  return -1;
}

static void compare(const grid_results *r, int task) {
  const int reference = grid_reference_of(r->jobs);
  if (reference < 0) return;
  const field_result *other = field_at(r, task, reference);
  for (int m = 0; m < r->jobs->chosen.methods; m++) {
    field_result *f = field_at(r, task, m);
    if (m != reference && f->ours.count && other->ours.count)
      f->difference = aggregate_paired(f->ours.count, f->score, other->score);
  }
}

/* means of the methods that a method is ranked among: the baselines, if the grid has some, else all */
static int rivals_of(const grid_results *r, int task, int method, double *means) {
  const grid_jobs *jobs = r->jobs;
  bool any = false;
  int count = 0;
  for (int m = 0; m < jobs->chosen.methods; m++) any |= jobs->g->method[jobs->chosen.method[m]].baseline;
  for (int m = 0; m < jobs->chosen.methods; m++) {
    const bool rival = !any || jobs->g->method[jobs->chosen.method[m]].baseline;
    if (m == method || !rival) continue;
    const field_result *f = field_at(r, task, m);
    means[count++] = f->ours.count ? f->ours.mean : NAN;
  }
  return count;
}

static int count_rivals(const grid_results *r) {
  double means[GRID_MAX_ENTRIES];
  return r->jobs->chosen.methods ? 1 + rivals_of(r, 0, 0, means) : 0;
}

/* ranks need all methods: a rank among finished ones only would be too good */
static void rank(const grid_results *r, int task) {
  double means[GRID_MAX_ENTRIES];
  for (int m = 0; m < r->jobs->chosen.methods; m++) {
    field_result *f = field_at(r, task, m);
    const int rivals = rivals_of(r, task, m, means);
    bool complete = f->ours.count > 0;
    for (int i = 0; i < rivals; i++) complete &= !isnan(means[i]);
    const grid_score score = grid_score_of(r->jobs->g, f->task, f->method);
    if (complete) f->rank = aggregate_rank(f->ours.mean, rivals, means, score.higher);
  }
}

static void mark(const grid_results *r, int task) {
  const int methods = r->jobs->chosen.methods;
  double means[GRID_MAX_ENTRIES];
  table_mark marks[GRID_MAX_ENTRIES];
  for (int m = 0; m < methods; m++) {
    const field_result *f = field_at(r, task, m);
    means[m] = f->ours.count ? f->ours.mean : NAN;
  }
  const grid_score score = grid_score_of(r->jobs->g, r->jobs->chosen.task[task], r->jobs->chosen.method[0]);
  aggregate_marks(methods, means, score.digits, score.higher, marks);
  for (int m = 0; m < methods; m++) field_at(r, task, m)->mark = marks[m];
}

/* methods with their own score definitions are not comparable */
static bool are_comparable(const grid_jobs *jobs) {
  for (int m = 0; m < jobs->chosen.methods; m++)
    if (jobs->g->method[jobs->chosen.method[m]].score) return false;
  return jobs->chosen.methods > 1;
}

/* ---- the grid ------------------------------------------------------------------------------------ */

static void average_ranks(grid_results *r) {
  for (int m = 0; m < r->jobs->chosen.methods; m++) {
    for (int t = 0; t < r->jobs->chosen.tasks; t++) {
      const int place = field_at(r, t, m)->rank;
      r->mean_rank[m] += place;
      r->ranked[m] += place > 0;
    }
    r->mean_rank[m] = r->ranked[m] ? r->mean_rank[m] / r->ranked[m] : NAN;
  }
}

static sparc_status read_field(grid_results *r, int task, int method) {
  const selection *s = &r->jobs->chosen;
  field_result *f = field_at(r, task, method);
  f->task = s->task[task];
  f->method = s->method[method];
  const sparc_status status = read_runs(r, task, method, f, r->score + (size_t)(f - r->field) * (size_t)s->seeds);
  read_paper(r->jobs->g, f);
  compare_protocol(r->jobs, grid_job_at(r->jobs, task, method, 0), f);
  provenance all = f->made;
  provenance_join(&r->made, &all);
  r->made = all;
  return status;
}

sparc_status grid_results_read(const grid_jobs *jobs, grid_results *out) {
  const selection *s = &jobs->chosen;
  const size_t fields = (size_t)s->tasks * (size_t)s->methods;
  *out = (grid_results){.jobs = jobs,
                        .field = calloc(fields, sizeof *out->field),
                        .score = calloc(fields * (size_t)s->seeds, sizeof *out->score)};
  if (!out->field || !out->score) {
    grid_results_free(out);
    return fail(SPARC_NO_MEMORY, "no memory for the results of %zu fields", fields);
  }
  sparc_status status = SPARC_OK;
  for (int t = 0; t < s->tasks && status == SPARC_OK; t++) {
    for (int m = 0; m < s->methods && status == SPARC_OK; m++) status = read_field(out, t, m);
    if (status != SPARC_OK || !are_comparable(jobs)) continue;
    compare(out, t);
    rank(out, t);
    mark(out, t);
  }
  if (status != SPARC_OK) {
    grid_results_free(out);
    return status;
  }
  average_ranks(out);
  out->rivals = count_rivals(out);
  write_note(out);
  return SPARC_OK;
}

void grid_results_free(grid_results *r) {
  free(r->field);
  free(r->score);
  *r = (grid_results){.jobs = NULL};
}

void field_state(const grid_results *r, const field_result *f, char *text, size_t size) {
  static const job_state listed[] = {JOB_RUNNING, JOB_STOPPED, JOB_FAILED, JOB_CHANGED};
  const int seeds = r->jobs->chosen.seeds, scored = f->count[JOB_DONE] - f->refused;
  if (f->count[JOB_WAITING] == seeds) {
    snprintf(text, size, "waiting");
    return;
  }
  size_t used = (size_t)snprintf(text, size, "%d of %d done", scored, seeds);
  for (size_t i = 0; i < sizeof listed / sizeof *listed && used < size; i++)
    if (f->count[listed[i]])
      used += (size_t)snprintf(text + used, size - used, ", %d %s", f->count[listed[i]], job_state_name(listed[i]));
  if (f->refused && used < size) used += (size_t)snprintf(text + used, size - used, ", %d without a score", f->refused);
  if (f->count[JOB_RUNNING] + f->count[JOB_STOPPED] && used < size)
    snprintf(text + used, size - used, ", %.0f%%", 100 * f->done);
}
