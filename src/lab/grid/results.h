/* SPDX-License-Identifier: MIT */
/* results.h: aggregated results of a grid per task and method (a field of the table), next to the paper's numbers.
 *
 * A field has a result when all its seeds are finished with a finite score; until then it shows the mean of the finished
 * ones and its progress, and takes no part in ranks, marks and differences. Scores are computed from the logs with the
 * grid's definition. Runs on different data are not averaged. Differences are paired by seed; ranks use unrounded
 * means.
 */
#ifndef SPARC_LAB_GRID_RESULTS_H
#define SPARC_LAB_GRID_RESULTS_H

#include "lab/grid/aggregate.h"
#include "lab/grid/job.h"

enum { RESULTS_NOTE = 4096, DEPARTURE = 640 };
#define RESULTS_MARK "†" /* after a number that was not measured as in the paper */

typedef struct field_result {
  int task, method;             /* in the grid */
  int count[JOB_STATES];        /* of its runs */
  int refused;                  /* finished runs without a score */
  double done;                  /* fraction of the work */
  const double *score;          /* (seeds) NAN: none */
  long parameters;              /* 0: unknown */
  int imported;                 /* finished runs in other folders */
  provenance made;              /* of all finished runs; "unknown" if not recorded */
  char departure[DEPARTURE];    /* differences of data, split or budget to the paper; "": none */
  aggregate_summary ours;       /* count 0: unfinished */
  aggregate_summary partial;    /* over the finished runs of an unfinished field; count 0: none */
  aggregate_summary difference; /* to the reference, paired by seed; count 0: none */
  table_mark mark;              /* among the methods of the task */
  int rank;                     /* 0: none */
  bool in_paper, difference_in_paper;
  double paper, paper_stddev; /* NAN: no stddev */
  double paper_difference, paper_difference_stddev;
} field_result;

typedef struct grid_results {
  const grid_jobs *jobs;
  field_result *field;                /* (tasks, methods) of the selection */
  double *score;                      /* (tasks, methods, seeds) */
  double mean_rank[GRID_MAX_ENTRIES]; /* by method, over its ranked tasks */
  int ranked[GRID_MAX_ENTRIES];       /* number of ranked tasks, by method */
  int rivals;                         /* number of methods in the ranking */
  provenance made;                    /* of all finished runs */
  char note[RESULTS_NOTE];            /* the grid's note, meaning of the numbers, departures and provenance */
} grid_results;

/* Reads all runs. The jobs must outlive the results. Returns SPARC_FORMAT if runs of a field used different data. */
sparc_status grid_results_read(const grid_jobs *jobs, grid_results *out);
void grid_results_free(grid_results *r); /* accepts a zeroed structure */

static inline const field_result *grid_field(const grid_results *r, int task, int method) {
  return &r->field[(size_t)task * (size_t)r->jobs->chosen.methods + (size_t)method];
}

/* index of the reference in the selection; -1: not selected */
int grid_reference_of(const grid_jobs *jobs);

/* describes the progress of an unfinished field: "2 of 3 done, 1 running, 84%" */
void field_state(const grid_results *r, const field_result *f, char *text, size_t size);

#endif
