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

/* An update in two halves. trainer_differentiate computes the gradient of the next batch and reports all but its norm;
 * trainer_apply takes the optimiser's step along it and counts the update. Between the two, trainer_gradient (params)
 * may be changed, for example to the sum over the shards of a batch. */
sparc_status trainer_differentiate(sparc_trainer *trainer, sparc_update_report *report);
float *trainer_gradient(sparc_trainer *trainer);
sparc_status trainer_apply(sparc_trainer *trainer, sparc_update_report *report);

/* trainer_reschedule makes the schedule one of so many updates, from the next one on, with this warm-up (-1: as it is)
 */
sparc_status trainer_reschedule(sparc_trainer *trainer, long updates, long warmup);

#endif
