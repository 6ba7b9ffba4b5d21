/* SPDX-License-Identifier: MIT */
/* agent.h: internals of an agent, for diagnostics. Pointers live as long as the agent. */
#ifndef SPARC_RL_AGENT_H
#define SPARC_RL_AGENT_H

#include "sparc/rl.h"

const sparc_network *agent_network(const sparc_agent *agent);
const float *agent_params(const sparc_agent *agent);
/* the normalised observation of the last step */
const float *agent_input(const sparc_agent *agent);

#endif
