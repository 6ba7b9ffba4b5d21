/* SPDX-License-Identifier: MIT */
/* settings.h: the settings of PPO, from which options, configurations of runs, the metadata of agents and the ranges
 * that a caller of the library is held to are made. */
#ifndef SPARC_RL_SETTINGS_H
#define SPARC_RL_SETTINGS_H

#include "io/settings.h"

extern const settings_table ppo_settings; /* over sparc_ppo_config, without what changes no result */

#endif
