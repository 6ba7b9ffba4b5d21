/* SPDX-License-Identifier: MIT */
/* train_settings.h: the settings of a network and of its training, as tables over the public configurations. */
#ifndef SPARC_TRAIN_TRAIN_SETTINGS_H
#define SPARC_TRAIN_TRAIN_SETTINGS_H

#include "io/settings.h"

extern const settings_table network_settings;   /* over sparc_network_config, without its heads */
extern const settings_table head_settings;      /* over sparc_head_config: the head of a network that is trained */
extern const settings_table symbol_settings;    /* over sparc_network_config, and */
extern const settings_table head_kind_settings; /* over sparc_head_config: what files of the third format have */
extern const settings_table training_settings;  /* over sparc_train_config, without its network */

#endif
