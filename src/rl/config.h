/* SPDX-License-Identifier: MIT */
/* config.h: checking and completing the configuration of a run. */
#ifndef SPARC_RL_CONFIG_H
#define SPARC_RL_CONFIG_H

#include "sparc/rl.h"

enum { CONFIG_TEXT = 512 };

/* a configuration that owns its strings */
typedef struct owned_config {
  sparc_ppo_config config;
  char task[CONFIG_TEXT], task_options[CONFIG_TEXT], cell[CONFIG_TEXT], cell_options[CONFIG_TEXT];
} owned_config;

/* checks every number, copies the strings and finds H and the cell's options for the state's budget. The result points
 * into itself and must stay where it is. */
sparc_status config_complete(const sparc_ppo_config *config, owned_config *out);

#endif
