/* SPDX-License-Identifier: MIT */
/* ppo.h: the state of a run, in float: parameters, one rollout, and scratch memory of collection and update. */
#ifndef SPARC_RL_PPO_H
#define SPARC_RL_PPO_H

#include "base/shard_sum.h"
#include "rl/config.h"
#include "rl/gradient_impl.h"
#include "rl/normaliser.h"
#include "rl/rollout.h"

/* how the gradient through time is computed */
typedef enum gradient_method {
  STORED_TRACES, /* from sensitivities before every step */
  TRACE_FREE,    /* from records of all steps */
  TBPTT          /* truncated backpropagation over windows of steps */
} gradient_method;

/* one step of all streams */
typedef struct step_scratch {
  float *x;          /* (N, observation): input of the network, then output of the environments */
  float *masks;      /* (N) */
  float *states;     /* (N, state) */
  float *y;          /* (N, outputs) */
  float *tapes;      /* (N, tape) */
  float *clipped;    /* (N, action): actions for the environments */
  float *rewards;    /* (N): raw */
  float *next_masks; /* (N): of the observations that the environments return */
  double *returns;   /* (N): of episodes that ended */
  int *lengths;      /* (N) */
} step_scratch;

/* the items of a minibatch */
typedef struct minibatch_index {
  int *order;           /* (steps of a rollout, or windows): permutation of the epoch */
  int *rows;            /* (M): of the rollout */
  const float **traces; /* (M) */
  size_t *first;        /* (N + 1): index of the first item of each stream, if items are sorted by stream */
  int *steps;           /* (M): step within the stream */
} minibatch_index;

/* states and sensitivities before every step, rows as in a rollout */
typedef struct carries {
  float *states, *traces;
} carries;

typedef struct ppo_team ppo_team; /* team.h */

/* A run whose streams are divided into shards has one such structure per shard of this rank. The configuration is that
 * of the run, the arrays are those of the shard's streams. The first shard is the leader: it owns the weights, the
 * optimiser moments and the normalisers, which the others use. */
struct sparc_ppo {
  sparc_ppo_config config; /* resolved; its strings are `strings` */
  config_strings strings;
  int shard;      /* index */
  ranks *group;   /* NULL: one process */
  bool borrows;   /* uses the weights of a leader */
  ppo_team *team; /* of a leader with several shards or ranks; else NULL */
  sparc_envs *envs;
  sparc_env_shape shape;
  policy policy;
  sparc_network *network;
  sparc_network_sizes n;
  gradient_method gradient_method;
  sparc_ppo_memory needs;

  void *memory; /* NULL: described only */
  float *params, *moments, *gradient, *prepared;
  float *collected_with; /* (prepared): the cell's weights at the time of collection */
  observation_normaliser observations;
  reward_normaliser rewards;
  double *accumulated;      /* (streams): of all shards; `rewards` points to a part of it */
  sparc_random *action_rng; /* (N): random streams of actions */
  long rollouts;            /* done */
  rollout rollout;
  carries replayed;              /* recomputed with current parameters; NULL: refresh is none */
  float *replayed_gradient;      /* (params): of SPARC_REFRESH_MEASURE */
  sparc_ppo_staleness staleness; /* of the last update */
  step_scratch step;
  minibatch batch;
  minibatch_index index;
  stream_past *past;        /* (N) */
  sparc_network_plan *plan; /* of TBPTT */
  void *plan_work;
};

static inline int ppo_shards(const sparc_ppo_config *c) { return c->shards > 1 ? c->shards : 1; }
static inline size_t ppo_first_stream(const sparc_ppo *ppo) { return (size_t)ppo->shard * ppo->rollout.n.N; }

/* Distribute a described run, not started or loaded yet, over a group of ranks. */
sparc_status ppo_join(sparc_ppo *ppo, ranks *group);
/* Describe another shard of a described run, its leader. */
sparc_status ppo_describe_shard(const sparc_ppo *leader, int shard, sparc_ppo **out);
/* sparc_ppo_iterate on all ranks at once. *stop becomes true if it is true on any rank. */
sparc_status ppo_iterate(sparc_ppo *ppo, bool *stop, sparc_ppo_report *report);

/* the configuration of n environments */
sparc_envs_config ppo_task_of(const sparc_ppo_config *c, int n);

size_t machine_memory(void); /* bytes */

/* A run is created in two steps: ppo_describe checks the configuration, creates environments and network, probes the
 * task and computes the required memory; ppo_start allocates it and draws weights and first observations. */
sparc_status ppo_describe(const sparc_ppo_config *config, sparc_ppo **out);
sparc_status ppo_start(sparc_ppo *ppo);

/* The memory that a run with this configuration needs. */
sparc_status ppo_memory_of(const sparc_ppo_config *config, sparc_ppo_memory *memory);

/* Use the observations in step.x as the first of new episodes. */
void ppo_open_episodes(sparc_ppo *ppo);

/* Load weights and state of a run from a file into a described run of the same configuration (except for the result of
 * `traces` auto), which stays with its owner on failure. described NULL: create one, whose task may be one of these
 * plugins (terminated by NULL; NULL: none). */
typedef struct ppo_source {
  const char *path;
  const sparc_env_kind *kind; /* NULL: as stored in the file */
  const char *const *plugins;
  int threads;
  sparc_ppo *described;
} ppo_source;
sparc_status ppo_restore(const ppo_source *from, sparc_ppo **out);

/* Reset all environments, for the next rollout. */
sparc_status ppo_begin_episodes(sparc_ppo *ppo);

/* Allocate the memory of a described run. ppo_choose_traces selects the gradient method again, for other traces and
 * memory limit than described. */
sparc_status ppo_allocate(sparc_ppo *ppo);
void ppo_choose_traces(sparc_ppo *ppo, sparc_traces traces, size_t memory_limit);

/* statistics of a rollout: its finished episodes, activity of the cell, time */
typedef struct collection_stats {
  int episodes;
  double returns, lengths; /* summed */
  double environment_seconds;
  cell_activity activity;
  double state_squares; /* summed over all coordinates */
  int symbols;          /* distinct observations, 0: too many or not counted; maximum over shards */
  long faults;          /* of the environments, since their creation */
} collection_stats;

/* Fill the rollout with current parameters, including advantages and targets. */
sparc_status collect(sparc_ppo *ppo, collection_stats *stats);
/* The same in parts: steps t = 0, 1, ... in order, between begin and finish. */
void collect_begin(sparc_ppo *ppo, collection_stats *stats);
sparc_status collect_step(sparc_ppo *ppo, size_t t, collection_stats *stats);
/* A step in two parts: act steps network and environments, receive stores the transition and updates normalisers. */
sparc_status collect_act(sparc_ppo *ppo, size_t t, collection_stats *stats);
void collect_receive(sparc_ppo *ppo, size_t t, collection_stats *stats);
sparc_status collect_finish(sparc_ppo *ppo, collection_stats *stats);
/* Fill ppo->replayed: recompute every step of the rollout with current parameters, from the state before it. */
sparc_status replay(sparc_ppo *ppo);
/* All epochs of updates; diagnostics are means over the minibatches. */
sparc_status update(sparc_ppo *ppo, sparc_ppo_diagnostics *diagnostics);
/* The same in parts: minibatches k = 0, 1, ... of an epoch in order. minibatch_moments selects minibatch k and returns
 * mean and variance of its advantages. */
batch_moments minibatch_moments(sparc_ppo *ppo, int epoch, int k);
void add_diagnostics(sparc_ppo_diagnostics *sum, const sparc_ppo_diagnostics *d, double share);
sparc_status update_minibatch(sparc_ppo *ppo, int epoch, int k, sparc_ppo_diagnostics *d);
/* A minibatch in two parts: compute its gradient in ppo->gradient, and take an optimiser step. The gradient may be
 * changed in between, for example to the sum over shards. */
sparc_status differentiate_minibatch(sparc_ppo *ppo, int epoch, int k, sparc_ppo_diagnostics *d);
sparc_status apply_minibatch(sparc_ppo *ppo, int epoch, int k, sparc_ppo_diagnostics *d);

#endif
