/* SPDX-License-Identifier: MIT */
/* curves.c: [eq:app_curve_smoothing] within runs, [eq:app_three_seed_statistics] over them. */
#include "lab/grid/curves.h"

#include "base/error.h"
#include "lab/grid/aggregate.h"
#include "rl/score.h"

#include <stdlib.h>

/* smoothed values of every run, truncated to the shortest */
typedef struct trajectories {
  int runs;
  size_t count;
  double *x;      /* of the first run; all runs have the same positions */
  double **value; /* (runs) */
} trajectories;

static void free_trajectories(trajectories *t) {
  for (int i = 0; t->value && i < t->runs; i++) free(t->value[i]);
  free(t->value);
  free(t->x);
}

static sparc_status read_run(const grid_job *job, const grid_score *score, trajectories *t, int run) {
  double *values = NULL, *x = NULL;
  size_t count = 0;
  if (job_curve(job, score->metric, &values, &x, &count) == SPARC_OK && count > 0) {
    t->value[run] = calloc(count, sizeof **t->value);
    if (!t->value[run]) {
      free(values);
      free(x);
      return fail(SPARC_NO_MEMORY, "no memory for a curve of %zu points", count);
    }
    score_curve(count, values, (size_t)score->window, t->value[run]);
  }
  if (run == 0 || count < t->count) t->count = count;
  if (run == 0)
    t->x = x;
  else
    free(x);
  free(values);
  return SPARC_OK;
}

/* every stride-th point from the first full window on, and the last */
static size_t choose_points(const trajectories *t, const grid_score *score, size_t max_points, size_t *chosen) {
  const size_t first = (size_t)score->window - 1;
  if (t->count <= first) return 0;
  const size_t stride = (t->count - first + max_points - 1) / max_points;
  size_t points = 0;
  for (size_t i = first; i < t->count; i += stride) chosen[points++] = i;
  if (chosen[points - 1] != t->count - 1) chosen[points++] = t->count - 1;
  return points;
}

static void summarise(const trajectories *t, const grid_score *score, size_t i, size_t to, grid_curve *out) {
  double values[GRID_MAX_SEEDS];
  for (int run = 0; run < t->runs; run++) values[run] = score->offset + score->scale * t->value[run][i];
  const aggregate_summary s = aggregate_summarise(t->runs, values);
  out->x[to] = t->x[i];
  out->mean[to] = s.mean;
  out->stddev[to] = s.stddev;
}

/* without all logs there is no curve */
static bool are_complete(const trajectories *t) {
  for (int run = 0; run < t->runs; run++)
    if (!t->value[run]) return false;
  return t->x != NULL;
}

static sparc_status build(const trajectories *t, const grid_score *score, size_t max_points, grid_curve *out) {
  if (!are_complete(t)) return SPARC_OK;
  size_t *chosen = calloc(max_points + 2, sizeof *chosen);
  out->x = calloc(3 * (max_points + 2), sizeof *out->x);
  if (!chosen || !out->x) {
    free(chosen);
    return fail(SPARC_NO_MEMORY, "no memory for a curve of %zu points", max_points);
  }
  out->mean = out->x + max_points + 2;
  out->stddev = out->mean + max_points + 2;
  out->count = choose_points(t, score, max_points, chosen);
  for (size_t i = 0; i < out->count; i++) summarise(t, score, chosen[i], i, out);
  free(chosen);
  return SPARC_OK;
}

sparc_status grid_curve_read(const grid_jobs *jobs, int task, int method, size_t max_points, grid_curve *out) {
  const selection *s = &jobs->chosen;
  const grid_score score = grid_score_of(jobs->g, s->task[task], s->method[method]);
  *out = (grid_curve){.count = 0};
  if (jobs->g->task[s->task[task]].kind > GRID_TRAIN) return SPARC_OK;
  trajectories t = {.runs = s->seeds, .value = calloc((size_t)s->seeds, sizeof *t.value)};
  if (!t.value) return fail(SPARC_NO_MEMORY, "no memory for curves");
  sparc_status status = SPARC_OK;
  for (int i = 0; i < s->seeds && status == SPARC_OK; i++)
    status = read_run(grid_job_at(jobs, task, method, i), &score, &t, i);
  if (status == SPARC_OK) status = build(&t, &score, max_points, out);
  free_trajectories(&t);
  if (status != SPARC_OK) grid_curve_free(out);
  return status;
}

void grid_curve_free(grid_curve *c) {
  free(c->x);
  *c = (grid_curve){.count = 0};
}
