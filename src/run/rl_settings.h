/* SPDX-License-Identifier: MIT */
/* rl_settings.h: the settings of a reinforcement-learning run and the resolution of those that are not given. */
#ifndef SPARC_RUN_RL_SETTINGS_H
#define SPARC_RUN_RL_SETTINGS_H

#include "io/settings.h"
#include "run/cell_choice.h"
#include "sparc/rl_run.h"

static inline bool rl_resumes(const sparc_rl_run_config *c) { return c->resume || c->resume_or_create; }

/* Bind the settings of PPO (rl/settings.h) and of the run to a configuration. */
settings_binding rl_binding(sparc_rl_run_config *config);

/* Fill in settings that are not given. The options of the cell are written to `options`. */
sparc_status rl_resolve(sparc_rl_run_config *config, char options[CELL_OPTIONS_SIZE]);

/* The default folder of a run: runs/repeat-previous-sparc-s0 */
sparc_status rl_default_folder(const sparc_rl_run_config *config, char *path, size_t size);

#endif
