/* SPDX-License-Identifier: MIT */
/* rl_settings.h: the settings of a reinforcement-learning run: which there are, and what takes the place of those that
 * were not given. */
#ifndef SPARC_RUN_RL_SETTINGS_H
#define SPARC_RUN_RL_SETTINGS_H

#include "io/settings.h"
#include "run/cell_choice.h"
#include "sparc/rl_run.h"

static inline bool rl_resumes(const sparc_rl_run_config *c) { return c->resume || c->resume_or_create; }

/* rl_form binds the settings of PPO (rl/settings.h) and of the run around it to a configuration */
settings_form rl_form(sparc_rl_run_config *config);

/* rl_settle fills in what was not given; the text of the cell's options goes to `options` */
sparc_status rl_settle(sparc_rl_run_config *config, char options[CELL_OPTIONS_SIZE]);

/* rl_default_folder names the folder of a run: runs/repeat-previous-sparc-s0 */
sparc_status rl_default_folder(const sparc_rl_run_config *config, char *path, size_t size);

#endif
