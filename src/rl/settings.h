/* SPDX-License-Identifier: MIT */
/* settings.h: the table of PPO's settings: options, configurations of runs, metadata of agents and valid ranges. */
#ifndef SPARC_RL_SETTINGS_H
#define SPARC_RL_SETTINGS_H

#include "io/settings.h"

extern const settings_table ppo_settings; /* over sparc_ppo_config, without members that change no result */

#endif
