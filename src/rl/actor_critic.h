/* SPDX-License-Identifier: MIT */
/* actor_critic.h: the network of an agent. */
#ifndef SPARC_RL_ACTOR_CRITIC_H
#define SPARC_RL_ACTOR_CRITIC_H

#include "sparc/rl.h"

/* the actor-critic for a task of this shape: tanh embedding, bare cell with its policy features, two heads with a tanh
 * layer each and, for continuous actions, a learned log_std. config's H and cell_options must be set. */
sparc_status actor_critic_create(const sparc_ppo_config *config, const sparc_env_shape *shape, sparc_network **out);

#endif
