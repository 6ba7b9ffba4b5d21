/* SPDX-License-Identifier: MIT */
/* estimate.h: time and memory of a run before it starts. */
#ifndef SPARC_LAB_GRID_ESTIMATE_H
#define SPARC_LAB_GRID_ESTIMATE_H

#include "lab/grid/job.h"

typedef struct job_cost {
  double rate;      /* budget per second; 0: unknown */
  double memory_mb; /* 0: unknown */
} job_cost;

/* Speed and memory of the finished runs of the same task and method. Imported runs have no speed here: other machines
 * ran them. */
job_cost estimate_measured(const grid_jobs *jobs, const grid_job *job);

/* Estimates the total seconds of each job from the known rates (budget per second; 0: unknown) of the same task and
 * method, else of the same method, else of the same kind. Jobs without any get the mean of the others. */
void estimate_seconds(const grid_jobs *jobs, const double *rates /* (count) */, double *seconds /* (count) */);

/* Runs the first updates of a training run without a folder, and a validation on a subset. *rate is updates per second
 * including validation, excluding the loading of data. Stops after ESTIMATE_UPDATES or ESTIMATE_SECONDS. */
enum { ESTIMATE_UPDATES = 4, ESTIMATE_SECONDS = 15, ESTIMATE_EXAMPLES = 64 };
sparc_status estimate_training(const grid_job *job, int threads, double *rate);

/* Memory that an RL run allocates, in MB; 0 for other kinds or invalid settings. */
double estimate_memory(const grid_job *job);

#endif
