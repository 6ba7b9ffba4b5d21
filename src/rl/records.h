/* SPDX-License-Identifier: MIT */
/* records.h: rollouts without stored sensitivities: what a step leaves, and what is made of it when the rollout is
 * complete. */
#ifndef SPARC_RL_RECORDS_H
#define SPARC_RL_RECORDS_H

#include "nn/network_encoder_impl.h"
#include "nn/network_step_impl.h"
#include "rl/ppo.h"

/* keeps the copy of the weights that the rollout is collected with, and starts the grouped traces */
void records_begin(sparc_ppo *ppo);
/* keeps step t of all streams, whose tapes are filled */
sparc_status records_keep(sparc_ppo *ppo, size_t t);
/* describes the past of every stream for the update, and finds the sensitivities that the next rollout starts from */
sparc_status records_finish(sparc_ppo *ppo);

#endif
