/* SPDX-License-Identifier: MIT */
/* diagnostics.h: what lies inside the trained cells of a grid: each diagnosed run as a file beside the runs,
 * OUT/GRID/diagnostics/TASK/METHOD/sSEED.json, and all of them together for tables and figures. */
#ifndef SPARC_LAB_GRID_DIAGNOSTICS_H
#define SPARC_LAB_GRID_DIAGNOSTICS_H

#include "lab/diagnose/diagnosis.h"
#include "lab/grid/job.h"

/* grid_is_diagnosed says whether a run is among those that are looked into unless others are asked for: its method is the
 * reference, or the selection leaves methods out */
bool grid_is_diagnosed(const grid_jobs *jobs, const grid_job *job);

void grid_diagnosis_file(const grid_jobs *jobs, const grid_job *job, char path[JOB_PATH]);

/* grid_diagnosis_find tells whether there is the file, of the run with these settings */
sparc_status grid_diagnosis_find(const grid_jobs *jobs, const grid_job *job, bool *found);

/* grid_diagnose looks into a finished run and writes the file, as a whole or not at all. Fails as diagnose() does, and
 * where the run left no checkpoint. */
sparc_status grid_diagnose(const grid_jobs *jobs, const grid_job *job, const replay_options *options);

/* those that have been made, in the order of the jobs, titled by task and, where there are several, method */
typedef struct grid_diagnoses {
  diagnosis *run;       /* (count) */
  const grid_job **job; /* (count) */
  int count;
  int missing; /* finished runs that are to be diagnosed and are not */
} grid_diagnoses;

sparc_status grid_diagnoses_read(const grid_jobs *jobs, grid_diagnoses *out);
void grid_diagnoses_free(grid_diagnoses *d); /* a zeroed one is fine, too */

#endif
