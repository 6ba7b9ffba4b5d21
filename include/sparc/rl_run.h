/* SPDX-License-Identifier: MIT */
/* rl_run.h: a complete reinforcement-learning run: rollouts, checkpoints and metrics in a folder.
 *
 *   sparc_rl_run_config config = {.folder = "runs/mine"};
 *   config.ppo.task = "repeat-previous";
 *   sparc_rl_run *run;
 *   if (sparc_rl_run_create(&config, &run) != SPARC_OK ||
 *       sparc_rl_run_execute(run, NULL, NULL) != SPARC_OK) return report(sparc_error());
 *   printf("%g\n", sparc_rl_run_result_of(run).score);
 *   sparc_rl_run_free(run);
 *
 * The folder contains config.json, metrics.jsonl, metrics.csv, and last.safetensors, which is also an agent. They do not
 * depend on time or threads: a run that was stopped or killed and then resumed writes the same bytes as an
 * uninterrupted one. provenance.json describes build, machine and duration. `sparc rl` adds a progress line.
 */
#ifndef SPARC_RL_RUN_H
#define SPARC_RL_RUN_H

#include "sparc/rl.h"
#include "sparc/run.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- configuration ----------------------------------------------------------------------------- */

/* Only ppo.task is required; zero-initialise the rest. sparc_ppo_defaults() of the task replaces members that are not
 * given. A member is given if it is not 0 or NULL, or if it was set by name, as in sparc/run.h. */
typedef struct sparc_rl_run_config {
  sparc_ppo_config ppo; /* kind is not used; rollouts, state_size and memory_limit follow from the members below */
  const char *variant;  /* short for the cell option variant=NAME */
  int state_size;       /* instead of ppo.H: real coordinates of the cell's state */
  long total_steps;     /* of the whole run, rounded down to whole rollouts, at least one */
  long memory_limit_mb; /* refuse a run that needs more megabytes */
  const char *folder;   /* NULL: nothing is written */
  int resume;           /* 1: continue the run in the folder, which must exist and have the same settings; a greater
                           total_steps extends it */
  int resume_or_create; /* 1: as resume, but start the run if the folder has none */
  int force;            /* 1: replace the run in the folder */
  uint64_t given[2];    /* bit set of members that were set by name */
} sparc_rl_run_config;

/* As sparc_run_config_set(), with the options of `sparc rl`. */
SPARC_API sparc_status sparc_rl_run_config_set(sparc_rl_run_config *config, const char *name, const char *value);

/* ---- events ------------------------------------------------------------------------------------ */

typedef struct sparc_rl_run sparc_rl_run; /* opaque; used by one thread at a time */

typedef struct sparc_rl_run_event {
  sparc_run_stage stage; /* SPARC_RUN_UPDATE: a rollout was collected and learned from; there is no validation */
  const sparc_rl_run *run;
  const sparc_ppo_report *report; /* of SPARC_RUN_UPDATE, else NULL */
  const char *message;            /* of SPARC_RUN_FAILED, the text of sparc_error(); else NULL */
} sparc_rl_run_event;

/* Called in the thread that executes the run. A nonzero result saves and stops the run before its next rollout. */
typedef int (*sparc_rl_run_fn)(void *user, const sparc_rl_run_event *event);

/* ---- runs -------------------------------------------------------------------------------------- */

/* Resolve and check the configuration; the folder is not touched yet. Strings are copied. A task that is the path of a
 * plugin is loaded, which executes its code. SPARC_INVALID: a setting is invalid; SPARC_IO, SPARC_FORMAT: a plugin does
 * not load, or there is no run to resume; SPARC_NO_MEMORY: the run exceeds its limit. */
SPARC_API sparc_status sparc_rl_run_create(const sparc_rl_run_config *config, sparc_rl_run **out);

/* Create the run of a folder from its config.json, to continue it. Returns SPARC_INVALID if the task is a plugin: files
 * cannot request to load code; create the run with that task and `resume` instead. threads 0: one. */
SPARC_API sparc_status sparc_rl_run_load(const char *folder, int threads, sparc_rl_run **out);
SPARC_API void sparc_rl_run_free(sparc_rl_run *run); /* run may be NULL */

/* Execute the run until its last rollout, until fn stops it, or until an error. SPARC_OK: the run is finished or
 * stopped, see its result. A stopped run continues bit-exactly when it is executed again, or loaded and executed.
 * SPARC_INVALID: the folder contains another run. fn may be NULL. */
SPARC_API sparc_status sparc_rl_run_execute(sparc_rl_run *run, sparc_rl_run_fn fn, void *user);

typedef struct sparc_rl_run_result {
  int finished;     /* 1: all rollouts are done; 0: stopped, failed or not started */
  int io_failed;    /* 1: failed because a file of the run could not be written */
  long first, done; /* rollouts when the run was created or resumed, and now */
  long saved;       /* rollouts in the last checkpoint; -1: none */
  double seconds;   /* of rollouts and checkpoints since `first` */
  double score;     /* mean over the scored rollouts of their mean returns; NAN: one of them finished no episode */
  int scored;       /* number of scored rollouts, the last ones: 100, or all of a shorter run */
  sparc_ppo_memory memory; /* of the run, known before it is executed */
} sparc_rl_run_result;

SPARC_API sparc_rl_run_result sparc_rl_run_result_of(const sparc_rl_run *run);

/* The resolved configuration; its strings live as long as the run. */
SPARC_API sparc_rl_run_config sparc_rl_run_config_of(const sparc_rl_run *run);

#ifdef __cplusplus
}
#endif

#endif
