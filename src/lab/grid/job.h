/* SPDX-License-Identifier: MIT */
/* job.h: one run of a grid: its settings, its folder, and what stands there of it.
 *
 * The folder OUT/GRID/TASK/METHOD/sSEED is an ordinary run folder of `sparc rl` or `sparc train`. Beside their files it
 * has job.json (the settings, a file for --config), log.txt (what the command said), while somebody works in it a claim
 * (claim.h), and in the end result.json or failed.json. A result is written as a whole or not at all, after the run
 * itself is finished: whoever is killed before leaves a run that the next one resumes.
 *
 * A result has no score: that is computed from the log by the rule that the grid has now. A run with the same settings
 * that was finished elsewhere, in another grid or in a folder of kept results (store.h), counts as this one.
 */
#ifndef SPARC_LAB_GRID_JOB_H
#define SPARC_LAB_GRID_JOB_H

#include "lab/grid/claim.h"
#include "lab/grid/grid.h"
#include "lab/grid/selection.h"
#include "lab/grid/store.h"
#include "run/provenance.h"

enum { JOB_PATH = 4200, JOB_TEXT = 256 };

/* what is asked of a grid besides the part of it */
typedef struct grid_scope {
  const char *out;   /* folder of all results */
  double scale;      /* of the budgets; 1: as the grid says */
  bool match_params; /* cells with about as many parameters as the reference's, not as much state */
} grid_scope;

typedef struct grid_job {
  int task, method;
  uint64_t seed;
  grid_kind kind;
  char name[2 * GRID_NAME + 32]; /* "repeat-first/sparc/s0" */
  char folder[JOB_PATH - 64];    /* room for names in it */
  json_t *settings;              /* all that defines the run */
  char digest[STORE_DIGEST];     /* of them */
  long budget;                   /* environment steps or updates; 1 where there is nothing to count */
  const char *imported;          /* folder of a finished run with these settings that is not in `folder`; NULL: none */
} grid_job;

typedef struct grid_jobs {
  const grid *g;
  grid_scope scope;
  selection chosen;
  char folder[JOB_PATH - 256]; /* OUT/GRID, with what the scope adds to the name */
  grid_job *job;               /* (tasks, methods, seeds) of the selection */
  int count;
  store found; /* runs elsewhere */
} grid_jobs;

/* grid_jobs_create lists the runs of a part of a grid; nothing is looked at or written. The grid must outlive them. */
sparc_status grid_jobs_create(const grid *g, const selection *chosen, const grid_scope *scope, grid_jobs *out);
void grid_jobs_free(grid_jobs *jobs); /* a zeroed one is fine, too */

static inline const grid_job *grid_job_at(const grid_jobs *jobs, int task, int method, int seed) {
  return &jobs->job[((size_t)task * (size_t)jobs->chosen.methods + (size_t)method) * (size_t)jobs->chosen.seeds +
                    (size_t)seed];
}

/* grid_job_in_order is the job with this number, 0 to count - 1, in the order of the work: by seed, then by task and
 * method, so that the whole table fills up with the first seed before the second begins. */
static inline const grid_job *grid_job_in_order(const grid_jobs *jobs, int number) {
  const int fields = jobs->chosen.tasks * jobs->chosen.methods, field = number % fields;
  return grid_job_at(jobs, field / jobs->chosen.methods, field % jobs->chosen.methods, number / fields);
}

/* grid_jobs_find looks for finished runs of the jobs in folders of results like `out`, which comes first: in other
 * grids there, then in the others in their order. Runs of RL and training are the same where their settings are;
 * benchmarks and checks must have the same name, too. */
sparc_status grid_jobs_find(grid_jobs *jobs, const char *const *results, int count);

/* grid_jobs_write makes the folder and leaves a copy of the grid and its scope there (lab.json); grid_folder_open reads
 * them again, except for scope->out. *g is to be released with grid_free in any case. */
sparc_status grid_jobs_write(const grid_jobs *jobs);
sparc_status grid_folder_open(const char *folder, grid *g, grid_scope *scope);

/* grid_jobs_check demands that none of the folders below scope->out is a symbolic link (io/folder_file.h) */
sparc_status grid_jobs_check(const grid_jobs *jobs);

/* grid_scope_mark says how a scope differs from the usual: "scale 0.1, matched parameters", or "" */
void grid_scope_mark(const grid_scope *scope, char *text, size_t size);

/* ---- what stands in the folder ---- */

typedef enum job_state {
  JOB_WAITING, /* nothing is there */
  JOB_STOPPED, /* it was begun; the next runner goes on with it */
  JOB_RUNNING, /* somebody works on it */
  JOB_FAILED,  /* failed.json says why; it is tried again on request */
  JOB_CHANGED, /* what is there has other settings */
  JOB_DONE,
  JOB_STATES
} job_state;

const char *job_state_name(job_state state);

/* what is known of a finished run */
typedef struct job_result {
  long parameters;  /* 0: unknown, as what follows */
  double rate;      /* budget per second, with validations */
  double memory_mb; /* at most, of the process */
  provenance made;  /* with the seconds of the work */
} job_result;

typedef struct job_report {
  job_state state;
  double done;            /* fraction of the budget */
  job_result result;      /* of JOB_DONE */
  bool imported;          /* of JOB_DONE: the run is not in the folder of the job */
  char message[JOB_TEXT]; /* of JOB_FAILED the last that it said */
  claim_holder holder;    /* of JOB_RUNNING */
} job_report;

/* SPARC_IO, SPARC_FORMAT: one of its files is there but cannot be read, so that the state is not known */
sparc_status job_inspect(const grid_job *job, job_report *out);

typedef struct job_score {
  double value;          /* in the unit of the score; NAN: refused, as reason says */
  char reason[JOB_TEXT]; /* "": none */
  sparc_status status;   /* SPARC_IO, SPARC_NO_MEMORY: the log could not be read, so it may have a score */
} job_score;

/* job_score_of computes the score of a finished run from its log */
job_score job_score_of(const grid_jobs *jobs, const grid_job *job);

/* job_source is the folder that has the run: the job's own, or that of a finished one elsewhere */
const char *job_source(const grid_job *job);

/* job_compare finds finished runs of the same settings that disagree: on data, or on the score. It returns how many,
 * and a sentence on the first. */
int job_compare(const grid_jobs *jobs, const grid_job *job, char sentence[3 * JOB_TEXT]);

/* ---- what a runner does ---- */

typedef enum job_hold {
  JOB_TAKEN,     /* it is ours */
  JOB_ELSEWHERE, /* another runner has it, or it is done by now */
  JOB_LOCKED     /* a process without a claim writes there; it may be over soon */
} job_hold;

/* job_prepare makes the folder and takes the claim */
sparc_status job_prepare(const grid_jobs *jobs, const grid_job *job, claim *held, job_hold *hold);

/* job_write_settings writes job.json; job_clear_failure removes a failure before the job is tried again */
sparc_status job_write_settings(const grid_job *job);
sparc_status job_clear_failure(const grid_job *job);

/* job_finish writes the result.json of a run that ended well. printed has what the command printed: of RL and training
 * its last object; of the others all of them, as lines, which become the log. */
sparc_status job_finish(const grid_job *job, const char *printed, job_result *result);

/* job_export writes result.json and the score log of a finished run to a folder of results; a result that does not say
 * from which commit it is gets `commit`, unless that is NULL. *written: false if the same is there already.
 * SPARC_INVALID: what is there disagrees. */
sparc_status job_export(const grid_jobs *jobs, const grid_job *job, const char *to, const char *commit, bool *written);

sparc_status job_fail(const grid_job *job, const char *message);

/* job_file is the path of a file in the folder */
void job_file(const grid_job *job, const char *name, char path[JOB_PATH]);

/* job_curve reads a metric from the log: *count values (null becomes NAN) and the steps or the update of each; both
 * arrays to be released with free() */
sparc_status job_curve(const grid_job *job, const char *metric, double **values, double **updates, size_t *count);

#endif
