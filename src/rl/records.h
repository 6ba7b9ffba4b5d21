/* SPDX-License-Identifier: MIT */
/* records.h: rollouts for the trace-free gradient: storage of step records, and their use when the rollout is complete.
 */
#ifndef SPARC_RL_RECORDS_H
#define SPARC_RL_RECORDS_H

#include "nn/network_encoder_impl.h"
#include "nn/network_step_impl.h"
#include "rl/ppo.h"

/* Copy the weights that the rollout is collected with, and start the grouped traces. */
void records_begin(sparc_ppo *ppo);
/* Store the records of step t of all streams from their tapes. */
sparc_status records_keep(sparc_ppo *ppo, size_t t);
/* Describe the past of every stream for the update, and compute the sensitivities before the next rollout. */
sparc_status records_finish(sparc_ppo *ppo);

#endif
