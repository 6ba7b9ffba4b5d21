/* SPDX-License-Identifier: MIT */
/* train.h: what files and runs need to know of training: which configurations are possible, and where it begins and
 * ends. */
#ifndef SPARC_TRAIN_TRAIN_H
#define SPARC_TRAIN_TRAIN_H

#include "base/ranks.h"
#include "train/checkpoint.h"

/* check_train_config looks at everything but the network's part, which sparc_network_create checks */
sparc_status check_train_config(const sparc_train_config *config);

/* sparc_trainer_create and sparc_trainer_load for a rank of a group, which must outlive the trainer; NULL: one process.
 * The ranks must divide the shards. */
sparc_status trainer_create(const sparc_train_config *config, const sparc_samples *samples, ranks *group,
                            sparc_trainer **out);
sparc_status trainer_load(const char *path, const sparc_samples *samples, const sparc_layer_kind *const *kinds,
                          int threads, ranks *group, sparc_trainer **out);

/* trainer_update is sparc_trainer_update on all ranks at once. *stop becomes true if it is on any of them; it may be
 * NULL. */
sparc_status trainer_update(sparc_trainer *trainer, bool *stop, sparc_update_report *report);

/* trainer_shards is the number of shards of a batch, 1 if it is not divided */
int trainer_shards(const sparc_train_config *config);

/* trainer_begin_with takes the weights of a file in the place of those that were drawn, the head's only if asked for */
sparc_status trainer_begin_with(sparc_trainer *trainer, const checkpoint *file, bool head);

/* An update in two halves. trainer_differentiate computes the gradient of the next batch, the same on all ranks, and
 * reports all but its norm; trainer_apply takes the optimiser's step along it and counts the update. */
sparc_status trainer_differentiate(sparc_trainer *trainer, bool *stop, sparc_update_report *report);
sparc_status trainer_apply(sparc_trainer *trainer, sparc_update_report *report);

/* trainer_reschedule makes the schedule one of so many updates, from the next one on, with this warm-up (-1: as it is)
 */
sparc_status trainer_reschedule(sparc_trainer *trainer, long updates, long warmup);

#endif
