/* SPDX-License-Identifier: MIT */
/* team.h: the shards of a run that its ranks share, each with its own streams, rollout and minibatches (struct sparc_ppo in
 * ppo.h).
 *
 * A minibatch takes as many steps of every shard, chosen by a permutation of the shard's own, so all shards have the same
 * work. Advantages are normalised over all of them, and their gradients are summed as shard_sum.h says. Normalisers see
 * observations and rewards in the order of the streams, step by step, as in a run that is not divided; between ranks
 * this takes a message for every step, without normalisers none.
 */
#ifndef SPARC_RL_TEAM_H
#define SPARC_RL_TEAM_H

#include "rl/ppo.h"

/* team_create makes the other shards of the leader's rank and what all of them share; the leader has its memory */
sparc_status team_create(sparc_ppo *leader, ppo_team **out);
void team_free(ppo_team *team); /* may be NULL; the leader stays */

sparc_status team_begin(ppo_team *team); /* the first observations of all streams */
sparc_status team_collect(ppo_team *team, bool *stop, collection *made);
sparc_status team_update(ppo_team *team, sparc_ppo_diagnostics *diagnostics);

/* What streams carry from rollout to rollout, of all shards. team_gather brings it together on all ranks, for a
 * checkpoint; team_scatter hands it to the shards of this rank, from one. */
sparc_status team_gather(ppo_team *team);
sparc_status team_scatter(ppo_team *team);

typedef struct stream_carry {
  float *observation, *start, *state;
  float *trace; /* sensitivities, or their boundary; see team_trace */
} stream_carry;
stream_carry team_carry(const ppo_team *team, size_t stream);
size_t team_trace(const sparc_ppo *ppo); /* numbers of a stream's sensitivities; 0: none */

/* the states of the environments, shard by shard */
void *team_environments(const ppo_team *team, size_t *bytes);

#endif
