/* SPDX-License-Identifier: MIT */
/* results.c: looking at all runs, then one statistic after the other. */
#include "lab/grid/results.h"

#include "base/error.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static field_result *field_at(const grid_results *r, int task, int method) {
  return &r->field[(size_t)task * (size_t)r->jobs->chosen.methods + (size_t)method];
}

/* ---- fields -------------------------------------------------------------------------------------- */

static void look_at_runs(const grid_results *r, int task, int method, field_result *f, double *score) {
  const int seeds = r->jobs->chosen.seeds;
  for (int s = 0; s < seeds; s++) {
    job_report report;
    job_look(grid_job_at(r->jobs, task, method, s), &report);
    f->count[report.state]++;
    f->done += report.done / seeds;
    score[s] = report.state == JOB_DONE ? report.result.score : NAN;
    f->refused += report.state == JOB_DONE && !isfinite(score[s]);
    if (report.state == JOB_DONE) f->parameters = report.result.parameters;
  }
  f->score = score;
  if (f->count[JOB_DONE] == seeds && f->refused == 0) f->ours = aggregate_summarise(seeds, score);
}

static void read_paper(const grid *g, field_result *f) {
  f->in_paper = grid_paper(g, f->task, f->method, &f->paper, &f->paper_deviation);
  f->difference_in_paper =
      grid_paper_difference(g, f->task, f->method, &f->paper_difference, &f->paper_difference_deviation);
}

/* ---- tasks --------------------------------------------------------------------------------------- */

/* the place of the reference in the selection; -1: it is not there */
static int reference_of(const grid_jobs *jobs) {
  for (int m = 0; m < jobs->chosen.methods; m++)
    if (jobs->chosen.method[m] == jobs->g->reference) return m;
  return -1;
}

static void compare(const grid_results *r, int task) {
  const int reference = reference_of(r->jobs);
  if (reference < 0) return;
  const field_result *other = field_at(r, task, reference);
  for (int m = 0; m < r->jobs->chosen.methods; m++) {
    field_result *f = field_at(r, task, m);
    if (m != reference && f->ours.count && other->ours.count)
      f->difference = aggregate_paired(f->ours.count, f->score, other->score);
  }
}

/* baselines, where the grid names some, are what everything is ranked among; else all methods */
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

/* a rank among methods that are not all there would be better than it is */
static void rank(const grid_results *r, int task) {
  double means[GRID_MOST];
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
  double means[GRID_MOST];
  sheet_mark marks[GRID_MOST];
  for (int m = 0; m < methods; m++) {
    const field_result *f = field_at(r, task, m);
    means[m] = f->ours.count ? f->ours.mean : NAN;
  }
  const grid_score score = grid_score_of(r->jobs->g, r->jobs->chosen.task[task], r->jobs->chosen.method[0]);
  aggregate_marks(methods, means, score.digits, score.higher, marks);
  for (int m = 0; m < methods; m++) field_at(r, task, m)->mark = marks[m];
}

/* methods with scores of their own measure different things */
static bool are_comparable(const grid_jobs *jobs) {
  for (int m = 0; m < jobs->chosen.methods; m++)
    if (jobs->g->method[jobs->chosen.method[m]].score) return false;
  return jobs->chosen.methods > 1;
}

/* ---- all of it ----------------------------------------------------------------------------------- */

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
  for (int t = 0; t < s->tasks; t++) {
    for (int m = 0; m < s->methods; m++) {
      field_result *f = field_at(out, t, m);
      f->task = s->task[t];
      f->method = s->method[m];
      look_at_runs(out, t, m, f, out->score + (size_t)(f - out->field) * (size_t)s->seeds);
      read_paper(jobs->g, f);
    }
    if (!are_comparable(jobs)) continue;
    compare(out, t);
    rank(out, t);
    mark(out, t);
  }
  average_ranks(out);
  return SPARC_OK;
}

void grid_results_free(grid_results *r) {
  free(r->field);
  free(r->score);
  *r = (grid_results){.jobs = NULL};
}

void field_state(const grid_results *r, const field_result *f, char *text, size_t size) {
  static const job_state told[] = {JOB_RUNNING, JOB_STOPPED, JOB_FAILED, JOB_CHANGED};
  const int seeds = r->jobs->chosen.seeds, scored = f->count[JOB_DONE] - f->refused;
  if (f->count[JOB_WAITING] == seeds) {
    snprintf(text, size, "waiting");
    return;
  }
  size_t used = (size_t)snprintf(text, size, "%d of %d done", scored, seeds);
  for (size_t i = 0; i < sizeof told / sizeof *told && used < size; i++)
    if (f->count[told[i]])
      used += (size_t)snprintf(text + used, size - used, ", %d %s", f->count[told[i]], job_state_name(told[i]));
  if (f->refused && used < size) used += (size_t)snprintf(text + used, size - used, ", %d without a score", f->refused);
  if (f->count[JOB_RUNNING] + f->count[JOB_STOPPED] && used < size)
    snprintf(text + used, size - used, ", %.0f%%", 100 * f->done);
}
