/* SPDX-License-Identifier: MIT */
/* actor_critic.c: the paper's actor-critic [eq:actor_critic_backbone] as a network configuration. Gains are those of
 * the reference, or 0 (no orthogonal weights) as in the authors' released code; the encoder is lecun_normal. */
#include "rl/actor_critic.h"

#include <stdbool.h>

sparc_status actor_critic_create(const sparc_ppo_config *config, const sparc_env_shape *shape, sparc_network **out) {
  const int actor = shape->choices ? shape->choices : shape->action;
  const bool released = config->init == SPARC_AGENT_INIT_RELEASED;
  const double hidden_gain = released ? 0 : 2;
  const sparc_head_config head[] = {{.name = "actor",
                                     .input = SPARC_HEAD_STEPS,
                                     .outputs = actor,
                                     .hidden = config->width,
                                     .hidden_gain = hidden_gain,
                                     .gain = released ? 0 : 0.01},
                                    {.name = "critic",
                                     .input = SPARC_HEAD_STEPS,
                                     .outputs = 1,
                                     .hidden = config->width,
                                     .hidden_gain = hidden_gain,
                                     .gain = released ? 0 : 1},
                                    {.name = "log_std", .input = SPARC_HEAD_CONSTANT, .outputs = shape->action}};
  const sparc_network_config network = {.cell = config->cell,
                                        .cell_options = config->cell_options,
                                        .H = config->H,
                                        .inputs = shape->observation,
                                        .embedding = SPARC_EMBED_TANH,
                                        .width = config->width,
                                        .layers = 0,
                                        .features = SPARC_FEATURES_POLICY,
                                        .init = released ? SPARC_INIT_RELEASED : SPARC_INIT_CONTROL,
                                        .head = head,
                                        .heads = shape->choices ? 2 : 3};
  return sparc_network_create(&network, out);
}
