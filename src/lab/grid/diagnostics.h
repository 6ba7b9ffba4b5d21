/* SPDX-License-Identifier: MIT */
/* diagnostics.h: diagnoses of a grid's trained cells, stored as OUT/GRID/diagnostics/TASK/METHOD/sSEED.json or, of
 * exported runs, as diagnosis.json in the folder of the run, and read together for tables and figures. */
#ifndef SPARC_LAB_GRID_DIAGNOSTICS_H
#define SPARC_LAB_GRID_DIAGNOSTICS_H

#include "lab/diagnose/diagnosis.h"
#include "lab/grid/job.h"

/* Whether a run is diagnosed: its method is the reference, or the selection is a subset of the methods. */
bool grid_is_diagnosed(const grid_jobs *jobs, const grid_job *job);

void grid_diagnosis_file(const grid_jobs *jobs, const grid_job *job, char path[JOB_PATH]);

/* Whether there is a diagnosis that belongs to a run with these settings. */
sparc_status grid_diagnosis_find(const grid_jobs *jobs, const grid_job *job, bool *found);

/* Diagnoses a finished run and writes the file atomically. Fails as diagnose() does, and without a checkpoint. */
sparc_status grid_diagnose(const grid_jobs *jobs, const grid_job *job, const replay_options *options);

/* Copies the diagnosis of a run, without its views, to the run's folder below `to`. *written is false if there is none,
 * or if it is there already. */
sparc_status grid_diagnosis_export(const grid_jobs *jobs, const grid_job *job, const char *to, bool *written);

/* existing diagnoses, in the order of the jobs, titled by task and, if not the reference, method */
typedef struct grid_diagnoses {
  diagnosis *run;       /* (count) */
  const grid_job **job; /* (count) */
  int count;
  int missing; /* finished runs without a diagnosis */
} grid_diagnoses;

sparc_status grid_diagnoses_read(const grid_jobs *jobs, grid_diagnoses *out);
void grid_diagnoses_free(grid_diagnoses *d); /* accepts a zeroed structure */

#endif
