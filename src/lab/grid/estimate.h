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

/* estimate_memory adds up what an RL run allocates; 0: another kind, or its settings make no sense */
double estimate_memory(const grid_job *job);

#endif
