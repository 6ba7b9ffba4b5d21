/* SPDX-License-Identifier: MIT */
/* team.h: the shards of a run, distributed over ranks, each with its own streams, rollout and minibatches (struct
 * sparc_ppo in ppo.h).
 *
 * A minibatch has the same number of steps from every shard, drawn by a permutation per shard. Advantages are normalised
 * over all shards, and gradients are summed in the order of shard_sum.h. Normalisers process observations and rewards in
 * the order of streams, step by step, as in an undivided run; this takes one message per step between ranks, and none
 * without normalisers.
 */
#ifndef SPARC_RL_TEAM_H
#define SPARC_RL_TEAM_H

#include "rl/ppo.h"

/* Create the other shards of the leader's rank and their shared memory. The leader is allocated before. */
sparc_status team_create(sparc_ppo *leader, ppo_team **out);
void team_free(ppo_team *team); /* may be NULL; does not free the leader */

sparc_status team_begin(ppo_team *team); /* the first observations of all streams */
sparc_status team_collect(ppo_team *team, bool *stop, collection_stats *stats);
sparc_status team_update(ppo_team *team, sparc_ppo_diagnostics *diagnostics);

/* The persistent state of all streams. team_gather collects it on all ranks, for a checkpoint; team_scatter copies it
 * from a checkpoint to the shards of this rank. */
sparc_status team_gather(ppo_team *team);
sparc_status team_scatter(ppo_team *team);

typedef struct stream_carry {
  float *observation, *mask, *state;
  float *trace; /* sensitivities, or their boundary: see team_trace */
} stream_carry;
stream_carry team_carry(const ppo_team *team, size_t stream);
size_t team_trace(const sparc_ppo *ppo); /* numbers of a stream's sensitivities; 0: none */

/* the states of the environments, shard by shard */
void *team_environments(const ppo_team *team, size_t *bytes);

#endif
