/* SPDX-License-Identifier: MIT */
/* estimate.h: what a run will take, before it runs. */
#ifndef SPARC_LAB_GRID_ESTIMATE_H
#define SPARC_LAB_GRID_ESTIMATE_H

#include "lab/grid/job.h"

typedef struct job_cost {
  double rate;      /* budget per second; 0: unknown */
  double memory_mb; /* 0: unknown */
} job_cost;

/* estimate_measured takes rate and memory from the finished runs of the same task and method */
job_cost estimate_measured(const grid_jobs *jobs, const grid_job *job);

/* estimate_seconds fills in what each job takes as a whole, in the order of the jobs, from the rates that are known of
 * some (budget per second; 0: unknown): those of the same task and method, else of the method, else of the kind. Jobs
 * of which nothing is known take as long as each other. */
void estimate_seconds(const grid_jobs *jobs, const double *rates /* (count) */, double *seconds /* (count) */);

/* estimate_training does the first few updates of a training run, without a folder, and validates on a part of what it
 * validates on: *rate is updates per second with the validations that go with them, however long the data take to load.
 * It stops after the update that goes beyond ESTIMATE_SECONDS. */
enum { ESTIMATE_UPDATES = 4, ESTIMATE_SECONDS = 15, ESTIMATE_EXAMPLES = 64 };
sparc_status estimate_training(const grid_job *job, int threads, double *rate);

/* estimate_memory adds up what an RL run allocates; 0: another kind, or its settings make no sense */
double estimate_memory(const grid_job *job);

#endif
