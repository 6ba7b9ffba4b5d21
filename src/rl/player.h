/* SPDX-License-Identifier: MIT */
/* player.h: episodes of an environment under some policy: random, the environment's own oracle, or a trained agent.
 *
 * A policy is a callback over a whole vector of environments. Many episodes are shared out evenly among a vector's
 * environments, each of which plays its share to the end, so that short episodes are not counted more often than long
 * ones.
 */
#ifndef SPARC_RL_PLAYER_H
#define SPARC_RL_PLAYER_H

#include "sparc/rl.h"

#include <stdbool.h>

enum { PLAYER_VECTOR = 64, PLAYER_MOST_EPISODES = 10000000 };

typedef struct player player;
typedef sparc_status player_policy(player *p); /* chooses p->actions */

struct player {
  sparc_envs *envs;
  sparc_env_shape shape;
  int n;
  sparc_random random; /* of the random policy and of agents */
  bool greedy;         /* agents take their most probable action */
  sparc_agent *agent;  /* NULL: the policy is none */
  float *states;       /* n rows: what the agent carries in each environment */
  player_policy *act;
  float *observations, *actions; /* n rows */
  float *rewards, *starts;       /* n */
  double *returns;               /* n */
  int *lengths;                  /* n */
};

/* player_is_agent says whether a policy is the path of an agent, which ends in .safetensors */
bool player_is_agent(const char *name);

/* player_open makes config->n environments and starts their episodes. policy: "random", "oracle" or the path of an
 * agent, *.safetensors, which draws its actions or, if greedy, takes the most probable ones; where config->name is
 * NULL, the agent's own task is played, if it is built-in or one of these plugins (the list ends with NULL; NULL:
 * none). player_close releases the player, also after a failure. */
sparc_status player_open(const sparc_envs_config *config, const char *policy, bool greedy, const char *const *plugins,
                         player *p);
void player_close(player *p);

/* player_advance takes one step with p->actions */
sparc_status player_advance(player *p);

typedef struct player_means {
  int episodes;
  double mean_return, deviation, mean_length;
} player_means;

/* player_play plays so many episodes, or fewer if `stop`, asked after every step, says so; stop may be NULL */
sparc_status player_play(player *p, int episodes, bool (*stop)(void), player_means *out);

#endif
