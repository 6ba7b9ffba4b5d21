/* SPDX-License-Identifier: MIT */
/* job.h: one run of a grid: settings, folder and state.
 *
 * The folder OUT/GRID/TASK/METHOD/sSEED is an ordinary run folder of `sparc rl` or `sparc train`. It also contains
 * job.json (the settings, a file for --config), log.txt (the command's standard error), a claim while it runs (claim.h),
 * and finally result.json or failed.json. result.json is written atomically after the run has finished; an interrupted
 * run is resumed by the next runner.
 *
 * result.json has no score: scores are computed from the log with the grid's current definition. A finished run with the
 * same settings in another grid or results folder (store.h) counts as this one.
 */
#ifndef SPARC_LAB_GRID_JOB_H
#define SPARC_LAB_GRID_JOB_H

#include "lab/grid/claim.h"
#include "lab/grid/grid.h"
#include "lab/grid/selection.h"
#include "lab/grid/store.h"
#include "run/provenance.h"

enum { JOB_PATH = 4200, JOB_TEXT = 256 };

#define GRID_SCALE_MIN 1e-6
#define GRID_SCALE_MAX 1000.0

/* options of a grid's runs beside the selection */
typedef struct grid_scope {
  const char *out;   /* results folder */
  double scale;      /* factor of steps and updates */
  bool match_params; /* match parameters instead of state size to the reference */
} grid_scope;

typedef struct grid_job {
  int task, method;
  uint64_t seed;
  grid_kind kind;
  char name[2 * GRID_NAME + 32]; /* "repeat-first/sparc/s0" */
  char folder[JOB_PATH - 64];    /* leaves space for file names */
  json_t *settings;              /* define the run */
  char digest[STORE_DIGEST];     /* of the settings */
  long budget;                   /* environment steps or updates; 1 for other kinds */
  const char *imported;          /* folder of a finished run with these settings elsewhere; NULL: none */
} grid_job;

typedef struct grid_jobs {
  const grid *g;
  grid_scope scope;
  selection chosen;
  char folder[JOB_PATH - 256]; /* OUT/GRID with the suffix of the scope */
  grid_job *job;               /* (tasks, methods, seeds) of the selection */
  int count;
  store found; /* finished runs of the results folders */
} grid_jobs;

/* Lists the selected runs of a grid; reads and writes no files. The grid must outlive them. */
sparc_status grid_jobs_create(const grid *g, const selection *chosen, const grid_scope *scope, grid_jobs *out);
void grid_jobs_free(grid_jobs *jobs); /* accepts a zeroed structure */

static inline const grid_job *grid_job_at(const grid_jobs *jobs, int task, int method, int seed) {
  return &jobs->job[((size_t)task * (size_t)jobs->chosen.methods + (size_t)method) * (size_t)jobs->chosen.seeds +
                    (size_t)seed];
}

/* The job with this number, 0 to count - 1, in order of execution: by seed, then by task and method, so that the table
 * is complete for the first seed before the second starts. */
static inline const grid_job *grid_job_in_order(const grid_jobs *jobs, int number) {
  const int fields = jobs->chosen.tasks * jobs->chosen.methods, field = number % fields;
  return grid_job_at(jobs, field / jobs->chosen.methods, field % jobs->chosen.methods, number / fields);
}

/* Finds finished runs of the jobs in other grids of `out`, then in the results folders in their order. Runs of RL and
 * training are identified by their settings, benchmarks and checks also by their name. */
sparc_status grid_jobs_find(grid_jobs *jobs, const char *const *results, int count);

/* grid_jobs_write creates the folder and writes the grid and its scope to lab.json; grid_folder_open reads them, except
 * for scope->out. Call grid_free on *g in any case. */
sparc_status grid_jobs_write(const grid_jobs *jobs);
sparc_status grid_folder_open(const char *folder, grid *g, grid_scope *scope);

/* fails if a folder below scope->out is a symbolic link (io/folder_file.h) */
sparc_status grid_jobs_check(const grid_jobs *jobs);

/* describes a scope other than the default: "scale 0.1, matched parameters", or "" */
void grid_scope_mark(const grid_scope *scope, char *text, size_t size);

/* ---- state ---- */

typedef enum job_state {
  JOB_WAITING, /* not started */
  JOB_STOPPED, /* interrupted; the next runner resumes it */
  JOB_RUNNING, /* claimed by a live process */
  JOB_FAILED,  /* failed.json has the reason; retried on request */
  JOB_CHANGED, /* the folder contains a run with other settings */
  JOB_DONE,
  JOB_STATES
} job_state;

const char *job_state_name(job_state state);

/* contents of result.json */
typedef struct job_result {
  long parameters;  /* 0: unknown, as below */
  double rate;      /* steps or updates per second, including validation */
  double memory_mb; /* peak, of the process */
  provenance made;  /* includes the seconds */
} job_result;

typedef struct job_report {
  job_state state;
  double done;            /* fraction of the budget */
  job_result result;      /* of JOB_DONE */
  bool imported;          /* of JOB_DONE: the run is in another folder */
  char message[JOB_TEXT]; /* of JOB_FAILED: last line of output */
  claim_holder holder;    /* of JOB_RUNNING */
} job_report;

/* Reads the state of a job. Returns SPARC_IO or SPARC_FORMAT if a file exists but cannot be read. */
sparc_status job_inspect(const grid_job *job, job_report *out);

typedef struct job_score {
  double value;          /* in the unit of the score; NAN: none */
  char reason[JOB_TEXT]; /* why there is no score; "": there is one */
  sparc_status status;   /* SPARC_IO, SPARC_NO_MEMORY: the log could not be read */
} job_score;

/* computes the score of a finished run from its log */
job_score job_score_of(const grid_jobs *jobs, const grid_job *job);

/* folder of the run: the job's own, or that of an imported run */
const char *job_source(const grid_job *job);

/* Counts finished runs with the same settings but other data or another score, and describes the first. */
int job_compare(const grid_jobs *jobs, const grid_job *job, char sentence[3 * JOB_TEXT]);

/* ---- running ---- */

typedef enum job_hold {
  JOB_TAKEN,     /* claimed by this runner */
  JOB_ELSEWHERE, /* claimed by another runner, or finished */
  JOB_LOCKED     /* the run folder is locked by a process without a claim */
} job_hold;

/* creates the folder and takes the claim */
sparc_status job_prepare(const grid_jobs *jobs, const grid_job *job, claim *held, job_hold *hold);

/* job_write_settings writes job.json; job_clear_failure removes failed.json before a retry */
sparc_status job_write_settings(const grid_job *job);
sparc_status job_clear_failure(const grid_job *job);

/* Writes result.json of a successful run. `printed` is the command's output: the last line for RL and training; all
 * lines for other kinds, which become the log. */
sparc_status job_finish(const grid_job *job, const char *printed, job_result *result);

/* Copies result.json and the score log of a finished run to the results folder `to`. `commit` (may be NULL) is recorded
 * if the result has none. *written is false if the same run exists there. Returns SPARC_INVALID if another one does. */
sparc_status job_export(const grid_jobs *jobs, const grid_job *job, const char *to, const char *commit, bool *written);

sparc_status job_fail(const grid_job *job, const char *message);

/* path of a file in the job's folder */
void job_file(const grid_job *job, const char *name, char path[JOB_PATH]);

/* Reads a metric from the log: *count values (null becomes NAN) and the step or update of each. Free both arrays with
 * free(). */
sparc_status job_curve(const grid_job *job, const char *metric, double **values, double **updates, size_t *count);

#endif
