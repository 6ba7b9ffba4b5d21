/* SPDX-License-Identifier: MIT */
/* rl_settings.h: the settings of a reinforcement-learning run: which there are, and what takes the place of those that
 * were not given. */
#ifndef SPARC_RUN_RL_SETTINGS_H
#define SPARC_RUN_RL_SETTINGS_H

#include "io/settings.h"
#include "run/cell_choice.h"
#include "sparc/rl.h"

/* "Not given" is as settings.h has it; sparc_ppo_defaults of the task takes the place. */
typedef struct rl_config {
  sparc_ppo_config ppo; /* its rollouts, budget and memory_limit follow from what stands below */
  const char *variant;  /* short for the cell option variant=NAME */
  int budget;           /* instead of modes */
  long total_steps;     /* of the whole run; whole rollouts of them, at least one */
  long memory_limit_mb; /* 0: none */
  const char *folder;
  int resume;           /* 1: continue the run in the folder, which must have one, with the same settings */
  int resume_or_create; /* 1: as resume, but begin the run if the folder has none */
  int force;            /* 1: replace the run in the folder */
} rl_config;

static inline bool rl_resumes(const rl_config *c) { return c->resume || c->resume_or_create; }

/* rl_form binds the settings of PPO (rl/settings.h) and of the run around it to a configuration */
settings_form rl_form(rl_config *config);

/* rl_settle fills in what was not given; the text of the cell's options goes to `options` */
sparc_status rl_settle(rl_config *config, char options[CELL_OPTIONS_SIZE]);

/* rl_default_folder names the folder of a run: runs/repeat-previous-sparc-s0 */
sparc_status rl_default_folder(const rl_config *config, char *path, size_t size);

#endif
