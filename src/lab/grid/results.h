/* SPDX-License-Identifier: MIT */
/* results.h: what the runs of a grid amount to, field by field, beside the paper's numbers.
 *
 * A field counts only when all of its seeds are finished with a score that is finite; until then it is unfinished and
 * says how far it is. Scores are computed from the logs by the grid's rule. Runs on different data are not averaged.
 * Differences are between runs of the same seed, ranks are of unrounded means.
 */
#ifndef SPARC_LAB_GRID_RESULTS_H
#define SPARC_LAB_GRID_RESULTS_H

#include "lab/grid/aggregate.h"
#include "lab/grid/job.h"

enum { RESULTS_NOTE = 4096, DEPARTURE = 640 };
#define RESULTS_MARK "†" /* behind a number that was not measured as in the paper */

typedef struct field_result {
  int task, method;             /* in the grid */
  int count[JOB_STATES];        /* of its runs */
  int refused;                  /* finished ones without a score */
  double done;                  /* fraction of its work */
  const double *score;          /* (seeds) NAN: none */
  long parameters;              /* 0: unknown */
  int imported;                 /* finished runs that are in another folder */
  provenance made;              /* of its finished runs together; "unknown" where they do not say */
  char departure[DEPARTURE];    /* how data, split or budget are not those of the paper's number; "": they are */
  aggregate_summary ours;       /* count 0: unfinished */
  aggregate_summary difference; /* to the reference under the same seeds; count 0: there is none */
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
  double mean_rank[GRID_MAX_ENTRIES]; /* by method, over the tasks that have a rank for it */
  int ranked[GRID_MAX_ENTRIES];       /* so many */
  int rivals;                         /* that a method is ranked among, itself included */
  provenance made;                    /* of all finished runs */
  char note[RESULTS_NOTE];            /* the grid's, what the numbers are, and what is to be known of the runs */
} grid_results;

/* grid_results_read looks at every run. The jobs must outlive the results. SPARC_FORMAT: runs of a field are on
 * different data. */
sparc_status grid_results_read(const grid_jobs *jobs, grid_results *out);
void grid_results_free(grid_results *r); /* a zeroed one is fine, too */

static inline const field_result *grid_field(const grid_results *r, int task, int method) {
  return &r->field[(size_t)task * (size_t)r->jobs->chosen.methods + (size_t)method];
}

/* the place of the reference in the selection; -1: it is not there */
int grid_reference_of(const grid_jobs *jobs);

/* field_state says in a few words why a field has no number: "2 of 3 done, 1 running, 84%" */
void field_state(const grid_results *r, const field_result *f, char *text, size_t size);

#endif
