/* SPDX-License-Identifier: MIT */
/* rl_run.h: a whole reinforcement-learning run: rollouts, checkpoints and metrics in a folder.
 *
 *   sparc_rl_run_config config = sparc_rl_run_defaults();
 *   config.ppo.task = "repeat-previous";
 *   config.folder = "runs/mine";
 *   sparc_rl_run *run;
 *   if (sparc_rl_run_create(&config, &run) != SPARC_OK ||
 *       sparc_rl_run_execute(run, NULL, NULL) != SPARC_OK) return report(sparc_error());
 *   printf("%g\n", sparc_rl_run_result_of(run).score);
 *   sparc_rl_run_free(run);
 *
 * The folder gets config.json, metrics.jsonl, metrics.csv, and last.safetensors, which is an agent, too. Nothing in them
 * depends on time or threads: a run that was stopped or killed and then resumed leaves the same bytes as one that was
 * left alone. provenance.json says what made the run and how long that took. `sparc rl` is this with a progress line.
 */
#ifndef SPARC_RL_RUN_H
#define SPARC_RL_RUN_H

#include "sparc/rl.h"
#include "sparc/run.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- configuration ----------------------------------------------------------------------------- */

/* Only ppo.task is required. sparc_ppo_defaults() of the task replaces members that are not given. A member is given if
 * it is not 0 or NULL; to give a member the value 0, mark it after the assignment or set it by its name, as in
 * sparc/run.h. */
typedef struct sparc_rl_run_config {
  sparc_ppo_config ppo; /* its kind is not used; its rollouts, budget and memory_limit follow from what stands below */
  const char *variant;  /* short for the cell option variant=NAME */
  int budget;           /* instead of ppo.H: real coordinates of the cell's state */
  long total_steps;     /* of the whole run; whole rollouts of them, at least one */
  long memory_limit_mb; /* megabytes of a rollout beyond which the run is refused */
  const char *folder;   /* NULL: nothing is written */
  int resume;           /* 1: continue the run in the folder, which must have one, with the same settings */
  int resume_or_create; /* 1: as resume, but begin the run if the folder has none */
  int force;            /* 1: replace the run in the folder */
  uint64_t given[2];    /* bit set of marked members */
} sparc_rl_run_config;

/* A configuration in which nothing is given. */
SPARC_API sparc_rl_run_config sparc_rl_run_defaults(void);

/* As sparc_run_config_set() and sparc_run_config_mark(), with the options of `sparc rl`. */
SPARC_API sparc_status sparc_rl_run_config_set(sparc_rl_run_config *config, const char *name, const char *value);
SPARC_API sparc_status sparc_rl_run_config_mark(sparc_rl_run_config *config, const void *member);

/* ---- what happens ------------------------------------------------------------------------------ */

typedef struct sparc_rl_run sparc_rl_run; /* opaque; used by one thread at a time */

typedef struct sparc_rl_run_event {
  sparc_run_stage stage; /* SPARC_RUN_UPDATE: a rollout is collected and learnt from; nothing is validated */
  const sparc_rl_run *run;
  const sparc_ppo_report *report; /* of SPARC_RUN_UPDATE, else NULL */
  const char *message;            /* of SPARC_RUN_FAILED, the sentence of sparc_error(); else NULL */
} sparc_rl_run_event;

/* Called in the thread that executes the run. A value other than 0 asks the run to save and stop before its next
 * rollout. */
typedef int (*sparc_rl_run_fn)(void *user, const sparc_rl_run_event *event);

/* ---- runs -------------------------------------------------------------------------------------- */

/* sparc_rl_run_create settles and checks the configuration; the folder is not touched yet. Strings are copied. A task
 * that is the path of a plugin is loaded, so it must come from someone who may execute code. SPARC_INVALID: the
 * configuration makes no sense; SPARC_IO, SPARC_FORMAT: a plugin does not load, or there is no run to resume;
 * SPARC_NO_MEMORY: it needs more than its limit. */
SPARC_API sparc_status sparc_rl_run_create(const sparc_rl_run_config *config, sparc_rl_run **out);

/* sparc_rl_run_open makes the run of a folder once more, from its config.json, to be continued. SPARC_INVALID: its task
 * is a plugin, which is not loaded because a file says so: create the run with that task and resume. threads 0: one. */
SPARC_API sparc_status sparc_rl_run_open(const char *folder, int threads, sparc_rl_run **out);
SPARC_API void sparc_rl_run_free(sparc_rl_run *run); /* run may be NULL */

/* sparc_rl_run_execute goes on until the last rollout, until fn asks it to stop, or until something fails. SPARC_OK: the
 * run is finished or stopped, as its result says. A stopped run may be executed again and goes on; so does one that is
 * opened again, to the same bits. SPARC_INVALID: the folder holds another run. fn may be NULL. */
SPARC_API sparc_status sparc_rl_run_execute(sparc_rl_run *run, sparc_rl_run_fn fn, void *user);

typedef struct sparc_rl_run_result {
  int finished;     /* 1: all rollouts are done; 0: stopped, failed or not begun */
  int unwritten;    /* 1: it failed because a file of the run could not be written */
  long first, done; /* rollouts when the run was created or resumed, and now */
  long saved;       /* rollouts in the last checkpoint; -1: none */
  double seconds;   /* spent in rollouts and checkpoints since `first` */
  double score;     /* mean of the last scored rollouts' mean returns; NAN: one of them finished no episode */
  int scored;       /* rollouts that the score is of: 100, or all of a shorter run */
} sparc_rl_run_result;

SPARC_API sparc_rl_run_result sparc_rl_run_result_of(const sparc_rl_run *run);

/* sparc_rl_run_config_of is the configuration with everything settled; its strings live as long as the run */
SPARC_API sparc_rl_run_config sparc_rl_run_config_of(const sparc_rl_run *run);
SPARC_API sparc_ppo_memory sparc_rl_run_memory_of(const sparc_rl_run *run);

/* sparc_rl_run_ppo is what learns, NULL before SPARC_RUN_STARTED */
SPARC_API const sparc_ppo *sparc_rl_run_ppo(const sparc_rl_run *run);

#ifdef __cplusplus
}
#endif

#endif
