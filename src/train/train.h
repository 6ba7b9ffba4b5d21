/* SPDX-License-Identifier: MIT */
/* train.h: training internals for files and runs. */
#ifndef SPARC_TRAIN_TRAIN_H
#define SPARC_TRAIN_TRAIN_H

#include "base/ranks.h"
#include "train/checkpoint.h"

/* check_train_config checks everything but the network part, which sparc_network_create checks */
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

/* trainer_load_weights replaces the initial weights by those of a file; head: including those of the head */
sparc_status trainer_load_weights(sparc_trainer *trainer, const checkpoint *file, bool head);

/* An update in two parts. trainer_differentiate computes the gradient of the next batch, the same on all ranks, and
 * reports everything but its norm; trainer_apply takes the optimiser step and counts the update. */
sparc_status trainer_differentiate(sparc_trainer *trainer, bool *stop, sparc_update_report *report);
sparc_status trainer_apply(sparc_trainer *trainer, sparc_update_report *report);

/* trainer_reschedule changes the length and the warm-up (-1: unchanged) of the schedule, from the next update on */
sparc_status trainer_reschedule(sparc_trainer *trainer, long updates, long warmup);

#endif
