/* SPDX-License-Identifier: MIT */
/* overall.c: normalised scores of the tasks that can be compared, and their statistics. */
#include "lab/grid/overall.h"

#include "base/error.h"

#include <math.h>
#include <stdlib.h>

static bool is_included(const grid_results *r, int task) {
  const selection *s = &r->jobs->chosen;
  bool complete = !isnan(r->jobs->g->task[s->task[task]].random);
  for (int m = 0; m < s->methods; m++) complete &= grid_field(r, task, m)->ours.count > 0;
  return complete;
}

/* scores (seeds) of one field */
static void normalise(const grid_results *r, int task, int method, double *out) {
  const field_result *f = grid_field(r, task, method);
  const grid_task *t = &r->jobs->g->task[f->task];
  for (int i = 0; i < r->jobs->chosen.seeds; i++) out[i] = (f->score[i] - t->random) / (t->optimal - t->random);
}

static void fill(const grid_results *r, overall *o) {
  const selection *s = &r->jobs->chosen;
  double *out = o->score;
  for (int m = 0; m < s->methods; m++)
    for (int t = 0; t < s->tasks; t++) {
      if (!is_included(r, t)) continue;
      normalise(r, t, m, out);
      out += s->seeds;
    }
}

run_scores overall_scores(const grid_results *r, const overall *o, int method) {
  const int seeds = r->jobs->chosen.seeds;
  return (run_scores){o->tasks, seeds, o->score + (size_t)method * (size_t)o->tasks * (size_t)seeds};
}

static sparc_status compare(const grid_results *r, overall *o, int method) {
  const run_scores own = overall_scores(r, o, method);
  const int reference = grid_reference_of(r->jobs);
  o->improved[method] = (interval){NAN, NAN, NAN};
  const sparc_status status = interval_of_iqm(&own, &o->iqm[method]);
  if (status != SPARC_OK || reference < 0 || reference == method) return status;
  const run_scores other = overall_scores(r, o, reference);
  return interval_of_improvement(&own, &other, &o->improved[method]);
}

int overall_tasks(const grid_results *r) {
  int count = 0;
  for (int t = 0; t < r->jobs->chosen.tasks; t++) count += is_included(r, t);
  return count;
}

sparc_status overall_read(const grid_results *r, overall *out) {
  const selection *s = &r->jobs->chosen;
  *out = (overall){.tasks = overall_tasks(r)};
  if (out->tasks == 0) return SPARC_OK;
  out->score = calloc((size_t)s->methods * (size_t)out->tasks * (size_t)s->seeds, sizeof *out->score);
  if (!out->score) return fail(SPARC_NO_MEMORY, "no memory for the scores of %d tasks", out->tasks);
  fill(r, out);
  sparc_status status = SPARC_OK;
  for (int m = 0; m < s->methods && status == SPARC_OK; m++) status = compare(r, out, m);
  return status;
}

void overall_free(overall *o) {
  free(o->score);
  *o = (overall){.tasks = 0};
}
