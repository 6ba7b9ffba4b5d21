/* SPDX-License-Identifier: MIT */
/* rl_run.h: a whole reinforcement-learning run: rollouts, checkpoints and metrics in a folder.
 *
 * The folder gets config.json, metrics.jsonl, metrics.csv and last.safetensors, which is an agent, too. Nothing in them
 * depends on time or threads: a run that was stopped or killed and then resumed leaves the same bytes as one that was
 * left alone. provenance.json says what made the run and how long that took. `sparc rl` is this with a progress line.
 */
#ifndef SPARC_RUN_RL_RUN_H
#define SPARC_RUN_RL_RUN_H

#include "run/provenance.h"
#include "run/rl_settings.h"

typedef struct rl_run rl_run; /* opaque; used by one thread at a time */

typedef enum rl_stage {
  RL_STARTED, /* the folder and the agent are ready */
  RL_ROLLOUT  /* a rollout is collected and learnt from */
} rl_stage;

typedef struct rl_event {
  rl_stage stage;
  const rl_run *run;
  const sparc_ppo_report *report; /* of RL_ROLLOUT, else NULL */
} rl_event;

/* A value other than 0 asks the run to save and stop before its next rollout. */
typedef int (*rl_run_fn)(void *user, const rl_event *event);

typedef struct rl_result {
  int finished;     /* 1: all rollouts are done; 0: stopped, failed or not begun */
  int unwritten;    /* 1: it failed because a file of the run could not be written */
  long first, done; /* rollouts when the run was begun or resumed, and now */
  long saved;       /* rollouts in the last checkpoint; -1: none */
  double seconds;   /* spent in the rollouts since `first` */
  double score;     /* mean of the last scored rollouts' mean returns; NAN: one of them finished no episode */
  int scored;       /* rollouts that the score is of; fewer than SCORE_WINDOW: the run was short */
} rl_result;

/* rl_run_create settles and checks the configuration, whose strings must outlive the run; the folder is not touched
 * yet. SPARC_INVALID: it makes no sense; SPARC_IO, SPARC_FORMAT: a plugin does not load; SPARC_NO_MEMORY: it needs more
 * than its limit. A task that is a plugin is loaded: whoever takes it from a file asks plugin_permit first. */
sparc_status rl_run_create(const rl_config *config, rl_run **out);
void rl_run_free(rl_run *run); /* run may be NULL */

/* rl_run_execute goes on until the last rollout, until fn asks it to stop, or until something fails. SPARC_INVALID: the
 * folder holds another run. fn may be NULL. */
sparc_status rl_run_execute(rl_run *run, rl_run_fn fn, void *user);

rl_result rl_run_result(const rl_run *run);
const rl_config *rl_run_config(const rl_run *run); /* with everything settled */
sparc_ppo_memory rl_run_memory(const rl_run *run);
const sparc_ppo *rl_run_ppo(const rl_run *run); /* NULL before RL_STARTED */
const provenance *rl_run_provenance(const rl_run *run);

extern const char *const rl_metrics[]; /* the keys of rl_report_json; ends with NULL */

/* rl_report_json adds what a report says, without times, to an object; NULL (for NULL, too) without memory */
json_t *rl_report_json(json_t *object, const sparc_ppo_report *report);

#endif
