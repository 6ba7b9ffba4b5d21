/* SPDX-License-Identifier: MIT */
/* agent.h: an agent from the inside, for those who look at what it has learnt. All live as long as the agent. */
#ifndef SPARC_RL_AGENT_H
#define SPARC_RL_AGENT_H

#include "sparc/rl.h"

const sparc_network *agent_network(const sparc_agent *agent);
const float *agent_params(const sparc_agent *agent);
/* the observation of the last step as the network has read it */
const float *agent_input(const sparc_agent *agent);

#endif
