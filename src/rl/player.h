/* SPDX-License-Identifier: MIT */
/* player.h: episodes of an environment with a policy: random, the environment's oracle, or a trained agent.
 *
 * A policy is a callback over a vector of environments. Episodes are distributed evenly over the environments, each of
 * which completes its share, so that short episodes are not over-represented.
 */
#ifndef SPARC_RL_PLAYER_H
#define SPARC_RL_PLAYER_H

#include "sparc/rl.h"

#include <stdbool.h>

enum { PLAYER_VECTOR = 64, PLAYER_MAX_EPISODES = 10000000 };

typedef struct player player;
typedef sparc_status player_policy(player *p); /* writes p->actions */

struct player {
  sparc_envs *envs;
  sparc_env_shape shape;
  int n;
  sparc_random random; /* of the random policy and of agents */
  bool greedy;         /* agents take their most probable action */
  sparc_agent *agent;  /* NULL: another policy */
  float *states;       /* n rows: recurrent state of the agent in each environment */
  player_policy *act;
  float *observations, *actions; /* n rows */
  float *rewards, *masks;        /* n */
  double *returns;               /* n */
  int *lengths;                  /* n */
};

/* Whether a policy is the path of an agent (*.safetensors). */
bool player_is_agent(const char *name);

/* Create config->n environments and start their episodes. policy: "random", "oracle" or the path of an agent
 * (*.safetensors), which draws its actions or, if greedy, takes the most probable ones. config->name NULL: the task of
 * the agent, if it is built-in or one of these plugins (terminated by NULL; NULL: none). Call player_close also after a
 * failure. */
sparc_status player_open(const sparc_envs_config *config, const char *policy, bool greedy, const char *const *plugins,
                         player *p);
void player_close(player *p);

/* Advance by one step with p->actions. */
sparc_status player_step(player *p);

typedef struct player_means {
  int episodes;
  double mean_return, stddev, mean_length;
} player_means;

/* Play `episodes` episodes, or fewer if `stop`, called after every step, returns true. stop may be NULL. */
sparc_status player_play(player *p, int episodes, bool (*stop)(void), player_means *out);

#endif
