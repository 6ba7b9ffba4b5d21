/* SPDX-License-Identifier: MIT */
/* config.h: checks and resolves the configuration of a run. */
#ifndef SPARC_RL_CONFIG_H
#define SPARC_RL_CONFIG_H

#include "sparc/rl.h"

enum { CONFIG_TEXT = 512 };

typedef struct config_strings {
  char task[CONFIG_TEXT], task_options[CONFIG_TEXT], cell[CONFIG_TEXT], cell_options[CONFIG_TEXT];
} config_strings;

/* Check all numbers, copy the strings, and resolve H and the cell's options from state_size. out points to strings. */
sparc_status config_resolve(const sparc_ppo_config *config, sparc_ppo_config *out, config_strings *strings);

#endif
