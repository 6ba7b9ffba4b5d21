/* SPDX-License-Identifier: MIT */
/* team.c: rollouts and updates of several shards, on one rank or on several. */
#include "rl/team.h"

#include "base/error.h"

#include <math.h>
#include <string.h>

struct ppo_team {
  sparc_ppo *leader;
  ranks *group; /* NULL: one process */
  int shards;
  shard_range local; /* of this rank */
  sparc_ppo **shard; /* (local.end - local.first): the leader is the first */
  shard_sum sum;
  batch_moments moments;          /* of the advantages of a minibatch */
  batch_moments *of_shard;        /* (2, shards): of each shard, and a send buffer; likewise below */
  collection_stats *stats;        /* (2, shards) */
  sparc_ppo_diagnostics *updated; /* (2, shards) */
  float *transitions; /* (2, shards, transition): observations, rewards and masks of a step, and a failure flag */
  float *carries;     /* (2, shards, carry) */
  char *environments; /* (2, shards, bytes): their states */
  size_t transition, carry, bytes;
  void *memory;
};

static int local_count(const ppo_team *t) { return t->local.end - t->local.first; }
static sparc_ppo *local_shard(const ppo_team *t, int s) { return t->shard[s - t->local.first]; }
static bool is_local(const ppo_team *t, int s) { return s >= t->local.first && s < t->local.end; }

/* ---- life cycle ---------------------------------------------------------------------------------- */

size_t team_trace(const sparc_ppo *ppo) {
  return ppo->rollout.n.trace ? ppo->rollout.n.trace : ppo->rollout.n.boundary;
}

static void carve(arena *a, ppo_team *t) {
  const size_t all = 2 * (size_t)t->shards;
  t->shard = arena_take(a, (size_t)local_count(t), sizeof *t->shard);
  t->of_shard = arena_take(a, all, sizeof *t->of_shard);
  t->stats = arena_take(a, all, sizeof *t->stats);
  t->updated = arena_take(a, all, sizeof *t->updated);
  t->transitions = arena_take(a, all * t->transition, sizeof *t->transitions);
  t->carries = arena_take(a, all * t->carry, sizeof *t->carries);
  t->environments = arena_take(a, all * t->bytes, 1);
  shard_sum_carve(a, &t->sum);
}

/* shares the arrays of the leader */
static void share(const sparc_ppo *leader, sparc_ppo *shard) {
  shard->params = leader->params;
  shard->prepared = leader->prepared;
  shard->observations.moments = leader->observations.moments;
  shard->rewards.accumulated = leader->accumulated + ppo_first_stream(shard);
}

sparc_status team_create(sparc_ppo *leader, ppo_team **out) {
  const sparc_ppo_config *c = &leader->config;
  const rollout_sizes *n = &leader->rollout.n;
  *out = NULL;
  ppo_team *t = sparc_alloc(sizeof *t);
  if (!t) return fail(SPARC_NO_MEMORY, "no memory for shards");
  *t = (ppo_team){.leader = leader,
                  .group = leader->group,
                  .shards = ppo_shards(c),
                  .local = ranks_share(leader->group, ppo_shards(c)),
                  .transition = n->N * (n->observation + 2) + 1,
                  .carry = n->N * (n->observation + 1 + n->state + team_trace(leader)),
                  .bytes = sparc_envs_info_of(leader->envs).state_bytes};
  t->sum = (shard_sum){.group = leader->group, .width = leader->n.params, .shards = t->shards, .threads = c->threads};
  *out = t;
  arena size = arena_measure();
  carve(&size, t);
  t->memory = sparc_alloc(size.used);
  if (!t->memory)
    return fail(SPARC_NO_MEMORY, "no memory for the %zu bytes that %d shards share", size.used, t->shards);
  arena block = arena_over(t->memory, size.used);
  carve(&block, t);
  memset(t->shard, 0, (size_t)local_count(t) * sizeof *t->shard);
  t->shard[0] = leader;
  sparc_status status = SPARC_OK;
  for (int i = 1; i < local_count(t) && status == SPARC_OK; i++) {
    status = ppo_describe_shard(leader, t->local.first + i, &t->shard[i]);
    if (status == SPARC_OK) share(leader, t->shard[i]);
  }
  for (int i = 0; i < local_count(t) && status == SPARC_OK; i++) {
    t->shard[i]->batch.moments = &t->moments;
    t->shard[i]->batch.whole = (size_t)(c->rollout_steps / c->minibatches);
  }
  return status;
}

void team_free(ppo_team *t) {
  if (!t) return;
  for (int i = 1; t->memory && i < local_count(t); i++) sparc_ppo_free(t->shard[i]);
  sparc_free(t->memory);
  sparc_free(t);
}

/* all (shards) <- local shards of all ranks. Those of this rank are in place; a send buffer follows `all` */
static sparc_status gather(const ppo_team *t, void *all, size_t bytes) {
  const size_t size = (size_t)local_count(t) * bytes;
  char *buffer = (char *)all + (size_t)t->shards * bytes;
  if (!t->group) return SPARC_OK;
  memcpy(buffer, (char *)all + (size_t)t->local.first * bytes, size);
  return ranks_gather(t->group, buffer, size, all);
}

/* ---- normalisers --------------------------------------------------------------------------------- */

static bool normalises(const ppo_team *t) {
  const sparc_ppo_config *c = &t->leader->config;
  return c->obsnorm != SPARC_OBSNORM_NONE || c->rewardnorm != SPARC_REWARDNORM_NONE;
}

/* the transitions of all shards, if there are normalisers */
static sparc_status exchange_transitions(ppo_team *t, sparc_status status) {
  if (!t->group || !normalises(t)) return status;
  bool failed = false;
  for (int s = t->local.first; s < t->local.end; s++) {
    const sparc_ppo *shard = local_shard(t, s);
    const size_t N = shard->rollout.n.N, x = N * shard->rollout.n.observation;
    float *to = t->transitions + (size_t)s * t->transition;
    memcpy(to, shard->step.x, x * sizeof *to);
    memcpy(to + x, shard->step.rewards, N * sizeof *to);
    memcpy(to + x + N, shard->step.next_masks, N * sizeof *to);
    to[x + 2 * N] = status == SPARC_OK ? 0 : 1;
  }
  const sparc_status sent = gather(t, t->transitions, t->transition * sizeof *t->transitions);
  for (int s = 0; s < t->shards && sent == SPARC_OK; s++)
    failed |= t->transitions[(size_t)(s + 1) * t->transition - 1] != 0;
  /* one message per step, and another after a failure */
  return sent == SPARC_OK && failed ? ranks_agree(t->group, status, NULL) : sent;
}

/* updates the normalisers from the streams of another rank; first: there are no rewards yet */
static void learn_from(ppo_team *t, int s, bool first) {
  sparc_ppo *leader = t->leader;
  const size_t N = leader->rollout.n.N, d = leader->rollout.n.observation;
  float *x = t->transitions + (size_t)s * t->transition;
  const float *rewards = x + N * d, *masks = rewards + N;
  reward_normaliser normaliser = leader->rewards;
  normaliser.accumulated = leader->accumulated + (size_t)s * N;
  for (size_t i = 0; i < N; i++) {
    observation_normalise(&leader->observations, true, x + i * d);
    if (!first && leader->config.rewardnorm != SPARC_REWARDNORM_NONE)
      (void)reward_normalise(&normaliser, i, rewards[i], masks[i] == 0);
  }
  leader->rewards.moments = normaliser.moments;
}

/* ---- rollouts ------------------------------------------------------------------------------------ */

sparc_status team_begin(ppo_team *t) {
  sparc_status status = SPARC_OK;
  for (int s = t->local.first; s < t->local.end && status == SPARC_OK; s++)
    status = sparc_envs_reset(local_shard(t, s)->envs, local_shard(t, s)->step.x);
  status = ranks_agree(t->group, status, NULL); /* a rank that failed before agrees elsewhere */
  if (status == SPARC_OK) status = exchange_transitions(t, status);
  for (int s = 0; s < t->shards && status == SPARC_OK; s++) {
    if (is_local(t, s))
      ppo_open_episodes(local_shard(t, s));
    else if (normalises(t))
      learn_from(t, s, true);
  }
  return status;
}

static sparc_status collect_one(ppo_team *t, size_t step) {
  sparc_status status = SPARC_OK;
  for (int s = t->local.first; s < t->local.end && status == SPARC_OK; s++)
    status = collect_act(local_shard(t, s), step, &t->stats[s]);
  status = exchange_transitions(t, status);
  for (int s = 0; s < t->shards && status == SPARC_OK; s++) {
    if (is_local(t, s)) {
      sparc_ppo *shard = local_shard(t, s);
      shard->rewards.moments = t->leader->rewards.moments;
      collect_receive(shard, step, &t->stats[s]);
      t->leader->rewards.moments = shard->rewards.moments;
    } else if (normalises(t)) {
      learn_from(t, s, false);
    }
  }
  return status;
}

static void join(collection_stats *all, const collection_stats *part) {
  const double seconds = all->environment_seconds;
  all->episodes += part->episodes;
  all->returns += part->returns;
  all->lengths += part->lengths;
  all->environment_seconds = fmax(seconds, part->environment_seconds);
  all->activity.gate_sum += part->activity.gate_sum;
  all->activity.gate_squares += part->activity.gate_squares;
  all->activity.gates += part->activity.gates;
  all->activity.saturated += part->activity.saturated;
  all->activity.contents += part->activity.contents;
  all->state_squares += part->state_squares;
  all->symbols = all->symbols > part->symbols ? all->symbols : part->symbols;
  all->faults += part->faults;
}

sparc_status team_collect(ppo_team *t, bool *stop, collection_stats *stats) {
  sparc_status status = ranks_agree(t->group, SPARC_OK, NULL); /* a rank that failed to write is not here */
  if (status != SPARC_OK) return status;
  for (int s = t->local.first; s < t->local.end; s++) {
    local_shard(t, s)->rollouts = t->leader->rollouts;
    collect_begin(local_shard(t, s), &t->stats[s]);
  }
  for (size_t step = 0; step < t->leader->rollout.n.T && status == SPARC_OK; step++) status = collect_one(t, step);
  for (int s = t->local.first; s < t->local.end && status == SPARC_OK; s++)
    status = collect_finish(local_shard(t, s), &t->stats[s]);
  status = ranks_agree(t->group, status, stop);
  if (status == SPARC_OK) status = gather(t, t->stats, sizeof *t->stats);
  *stats = (collection_stats){.episodes = 0};
  for (int s = 0; s < t->shards && status == SPARC_OK; s++) join(stats, &t->stats[s]);
  return status;
}

/* ---- updates ------------------------------------------------------------------------------------- */

/* of the whole minibatch, from those of its shards, which have the same number of steps */
static batch_moments join_moments(const batch_moments *part, int count) {
  batch_moments all = {0, 0};
  for (int s = 0; s < count; s++) all.mean += part[s].mean / count;
  for (int s = 0; s < count; s++) {
    const double off = part[s].mean - all.mean;
    all.variance += (part[s].variance + off * off) / count;
  }
  return all;
}

/* shards write their gradients to leaves of the sum; the optimiser uses the sum in the leader's gradient */
static sparc_status differentiate(ppo_team *t, int s, int epoch, int k) {
  sparc_ppo *shard = local_shard(t, s);
  float *const gradient = shard->gradient;
  shard->gradient = shard_sum_leaf(&t->sum);
  t->updated[s] = (sparc_ppo_diagnostics){.k1 = 0};
  const sparc_status status = differentiate_minibatch(shard, epoch, k, &t->updated[s]);
  shard->gradient = gradient;
  if (status == SPARC_OK) shard_sum_add(&t->sum, s);
  return status;
}

static sparc_status update_one(ppo_team *t, int epoch, int k, sparc_ppo_diagnostics *d) {
  for (int s = t->local.first; s < t->local.end; s++) t->of_shard[s] = minibatch_moments(local_shard(t, s), epoch, k);
  sparc_status status = gather(t, t->of_shard, sizeof *t->of_shard);
  t->moments = join_moments(t->of_shard, t->shards);
  shard_sum_begin(&t->sum);
  for (int s = t->local.first; s < t->local.end && status == SPARC_OK; s++) status = differentiate(t, s, epoch, k);
  status = ranks_agree(t->group, status, NULL);
  if (status == SPARC_OK) status = gather(t, t->updated, sizeof *t->updated);
  if (status == SPARC_OK) status = shard_sum_finish(&t->sum, t->leader->gradient);
  if (status != SPARC_OK) return status;
  *d = (sparc_ppo_diagnostics){.k1 = 0};
  for (int s = 0; s < t->shards; s++) {
    t->updated[s].explained_variance /= t->shards; /* mean over shards; the others are terms of a sum */
    add_diagnostics(d, &t->updated[s], 1);
  }
  return apply_minibatch(t->leader, epoch, k, d);
}

sparc_status team_update(ppo_team *t, sparc_ppo_diagnostics *diagnostics) {
  const sparc_ppo_config *c = &t->leader->config;
  const long steps = (long)c->epochs * c->minibatches;
  sparc_status status = SPARC_OK;
  *diagnostics = (sparc_ppo_diagnostics){.k1 = 0};
  for (long i = 0; i < steps && status == SPARC_OK; i++) {
    sparc_ppo_diagnostics d = {.k1 = 0};
    status = update_one(t, (int)(i / c->minibatches), (int)(i % c->minibatches), &d);
    add_diagnostics(diagnostics, &d, 1 / (double)steps);
  }
  return status;
}

/* ---- persistent state ----------------------------------------------------------------------------- */

stream_carry team_carry(const ppo_team *t, size_t stream) {
  const sparc_ppo *leader = t->leader;
  const rollout_sizes *n = &leader->rollout.n;
  float *at = t->carries + stream / n->N * t->carry + stream % n->N * (t->carry / n->N);
  return (stream_carry){at, at + n->observation, at + n->observation + 1, at + n->observation + 1 + n->state};
}

void *team_environments(const ppo_team *t, size_t *bytes) {
  *bytes = (size_t)t->shards * t->bytes;
  return t->environments;
}

/* the same for a stream of a shard */
static stream_carry carry_in(const sparc_ppo *shard, size_t i) {
  const rollout *r = &shard->rollout;
  const size_t last = rollout_row(r, i, r->n.T);
  return (stream_carry){r->observations + last * r->n.observation, r->masks + last, r->states + last * r->n.state,
                        r->n.trace ? r->traces + last * r->n.trace : r->boundary + (r->n.N + i) * r->n.boundary};
}

static void copy_carry(const sparc_ppo *ppo, const stream_carry *from, const stream_carry *to) {
  const rollout_sizes *n = &ppo->rollout.n;
  memcpy(to->observation, from->observation, n->observation * sizeof(float));
  *to->mask = *from->mask;
  memcpy(to->state, from->state, n->state * sizeof(float));
  memcpy(to->trace, from->trace, team_trace(ppo) * sizeof(float));
}

sparc_status team_gather(ppo_team *t) {
  for (int s = t->local.first; s < t->local.end; s++) {
    const sparc_ppo *shard = local_shard(t, s);
    for (size_t i = 0; i < shard->rollout.n.N; i++) {
      const stream_carry from = carry_in(shard, i), to = team_carry(t, ppo_first_stream(shard) + i);
      copy_carry(shard, &from, &to);
    }
    sparc_envs_save(shard->envs, t->environments + (size_t)s * t->bytes);
  }
  sparc_status status = ranks_agree(t->group, SPARC_OK, NULL);
  if (status == SPARC_OK) status = gather(t, t->carries, t->carry * sizeof *t->carries);
  return status == SPARC_OK ? gather(t, t->environments, t->bytes) : status;
}

sparc_status team_scatter(ppo_team *t) {
  sparc_status status = SPARC_OK;
  for (int s = t->local.first; s < t->local.end && status == SPARC_OK; s++) {
    const sparc_ppo *shard = local_shard(t, s);
    for (size_t i = 0; i < shard->rollout.n.N; i++) {
      const stream_carry from = team_carry(t, ppo_first_stream(shard) + i), to = carry_in(shard, i);
      copy_carry(shard, &from, &to);
    }
    status = sparc_envs_restore(shard->envs, t->environments + (size_t)s * t->bytes, t->bytes);
  }
  return status;
}
