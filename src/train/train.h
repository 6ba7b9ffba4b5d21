/* SPDX-License-Identifier: MIT */
/* train.h: what files and runs need to know of training: which configurations are possible, and where it begins and
 * ends. */
#ifndef SPARC_TRAIN_TRAIN_H
#define SPARC_TRAIN_TRAIN_H

#include "train/checkpoint.h"

/* check_train_config looks at everything but the network's part, which sparc_network_create checks */
sparc_status check_train_config(const sparc_train_config *config);

/* trainer_begin_with takes the weights of a file in the place of those that were drawn, the head's only if asked for */
sparc_status trainer_begin_with(sparc_trainer *trainer, const checkpoint *file, bool head);

/* trainer_reschedule makes the schedule one of so many updates, from the next one on */
sparc_status trainer_reschedule(sparc_trainer *trainer, long updates);

#endif
