/* SPDX-License-Identifier: MIT */
/* learner_settings.h: the settings of a learner without those of its network. */
#ifndef SPARC_ONLINE_LEARNER_SETTINGS_H
#define SPARC_ONLINE_LEARNER_SETTINGS_H

#include "io/settings.h"

extern const settings_table learner_settings;  /* over sparc_learner_config, without its network and outputs */
extern const char *const learner_objectives[]; /* names, by sparc_learner_objective; ends with NULL */

#endif
