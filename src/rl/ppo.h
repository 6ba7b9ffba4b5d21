/* SPDX-License-Identifier: MIT */
/* ppo.h: the inside of a run, which computes in float: what persists, one rollout, and the scratch of its two halves.
 */
#ifndef SPARC_RL_PPO_H
#define SPARC_RL_PPO_H

#include "base/shard_sum.h"
#include "rl/config.h"
#include "rl/gradient_impl.h"
#include "rl/normaliser.h"
#include "rl/rollout.h"

/* where the gradient through time comes from */
typedef enum time_gradient { BY_TRACES, BY_RECORDS, BY_WINDOWS } time_gradient;

/* one step of all streams */
typedef struct step_scratch {
  float *x;                /* (N, observation): what goes in, and what the environments give */
  float *masks;            /* (N) */
  float *states;           /* (N, state) */
  float *y;                /* (N, outputs) */
  float *tapes;            /* (N, tape) */
  float *sent;             /* (N, action): what the environments get */
  float *rewards, *starts; /* (N): raw */
  double *returns;         /* (N): of episodes that ended */
  int *lengths;            /* (N) */
} step_scratch;

/* which items a minibatch has, beside what gradient_impl.h needs of them */
typedef struct choice {
  int *order;           /* (steps of a rollout, or windows): the epoch's permutation */
  int *rows;            /* (M): of the rollout */
  const float **traces; /* (M) */
  size_t *first;        /* (N + 1): where the items of each stream begin, when they are sorted by stream */
  int *steps;           /* (M): steps of their streams */
} choice;

/* the carry before every step, rows as in a rollout */
typedef struct carries {
  float *states, *traces;
} carries;

typedef struct ppo_team ppo_team; /* team.h */

/* A run whose streams are divided into shards is one such structure for each shard of this rank. Their configuration is
 * that of the run, their arrays are those of the shard's streams. The first of them leads: it has the weights, the
 * optimiser and the normalisers, which the others use. */
struct sparc_ppo {
  owned_config own;
  int shard;      /* its number */
  ranks *group;   /* NULL: one process */
  bool borrows;   /* the weights of a leader */
  ppo_team *team; /* of a leader with several shards, or several ranks; else NULL */
  sparc_envs *envs;
  sparc_env_shape shape;
  policy policy;
  sparc_network *network;
  sparc_network_sizes n;
  time_gradient way;
  sparc_ppo_memory needs;

  void *memory; /* NULL: it is described, and not more */
  float *params, *moments, *gradient, *prepared;
  float *collected_with; /* (prepared): the cell's weights as they were when the rollout was collected */
  observation_normaliser observations;
  reward_normaliser rewards;
  double *accumulated;  /* (streams): of all shards; `rewards` has its part of it */
  sparc_random *acting; /* (N): where the streams' actions come from */
  long rollouts;        /* done */
  rollout rollout;
  carries replayed;              /* the rollout's carries with current parameters; NULL: refresh is none */
  float *replayed_gradient;      /* (params): to compare */
  sparc_ppo_staleness staleness; /* of the last update */
  step_scratch step;
  minibatch batch;
  choice choice;
  stream_past *past;        /* (N) */
  sparc_network_plan *plan; /* of windows */
  void *plan_work;
};

static inline int ppo_shards(const sparc_ppo_config *c) { return c->shards > 1 ? c->shards : 1; }
static inline size_t ppo_first_stream(const sparc_ppo *ppo) { return (size_t)ppo->shard * ppo->rollout.n.N; }

/* ppo_join makes a described run, before it starts or is restored, one that a group of ranks does together */
sparc_status ppo_join(sparc_ppo *ppo, ranks *group);
/* ppo_describe_shard describes another shard of a described run, which leads it */
sparc_status ppo_describe_shard(const sparc_ppo *leader, int shard, sparc_ppo **out);
/* ppo_iterate is sparc_ppo_iterate on all ranks at once. *stop becomes true if it is on any of them. */
sparc_status ppo_iterate(sparc_ppo *ppo, bool *stop, sparc_ppo_report *report);

/* n environments as the configuration asks for */
sparc_envs_config ppo_task_of(const sparc_ppo_config *c, int n);

size_t machine_memory(void); /* bytes */

/* A run begins in two steps: ppo_describe checks the configuration, makes environments and network, probes the task
 * and finds out what memory it needs; ppo_start takes the memory and draws weights and first observations. */
sparc_status ppo_describe(const sparc_ppo_config *config, sparc_ppo **out);
sparc_status ppo_start(sparc_ppo *ppo);

/* ppo_open_episodes takes the first observations, in step.x, as the beginnings of episodes */
void ppo_open_episodes(sparc_ppo *ppo);

/* ppo_restore takes memory, weights and all that a run carries from a file. It fills in a described run of the same
 * configuration, apart from what `traces` auto chose, which is left to its owner on failure; `described` NULL: it
 * describes one, whose task may be one of these plugins (the list ends with NULL; NULL: none). */
typedef struct ppo_source {
  const char *path;
  const sparc_env_kind *kind; /* NULL: as the file says */
  const char *const *plugins;
  int threads;
  sparc_ppo *described;
} ppo_source;
sparc_status ppo_restore(const ppo_source *from, sparc_ppo **out);

/* ppo_begin_episodes resets all environments; the next rollout starts there. */
sparc_status ppo_begin_episodes(sparc_ppo *ppo);

/* ppo_allocate takes the memory of a described run. With other traces and limit than were described it chooses its
 * gradient through time again. */
sparc_status ppo_allocate(sparc_ppo *ppo);
void ppo_choose_traces(sparc_ppo *ppo, sparc_traces traces, size_t memory_limit);

/* what the episodes that ended in a rollout amount to, and where its time went */
typedef struct collection {
  int episodes;
  double returns, lengths; /* summed */
  double environment_seconds;
  cell_activity activity;
  double state_squares; /* summed over all coordinates */
  int symbols;          /* distinct observations, 0: too many or not counted; the most of any shard */
  long faults;          /* of the environments, since the beginning */
} collection;

/* fills the rollout, advantages and targets included, with the present parameters */
sparc_status collect(sparc_ppo *ppo, collection *made);
/* the same in pieces: steps t = 0, 1, ... in their order between begin and finish */
void collect_begin(sparc_ppo *ppo, collection *made);
sparc_status collect_step(sparc_ppo *ppo, size_t t, collection *made);
/* a step in two halves: the environments' answer, and what is made of it; the latter moves the normalisers */
sparc_status collect_move(sparc_ppo *ppo, size_t t, collection *made);
void collect_receive(sparc_ppo *ppo, size_t t, collection *made);
sparc_status collect_finish(sparc_ppo *ppo, collection *made);
/* fills ppo->replayed: every step of the rollout once more, with current parameters, from the carry that entered it */
sparc_status replay(sparc_ppo *ppo);
/* all epochs over the rollout; diagnostics are means over the minibatches */
sparc_status update(sparc_ppo *ppo, sparc_ppo_diagnostics *diagnostics);
/* the same in pieces: minibatches k = 0, 1, ... of an epoch in their order */
/* mean and variance of the advantages of minibatch k, which is chosen; of the shards of an epoch in their order */
batch_moments minibatch_moments(sparc_ppo *ppo, int epoch, int k);
void add_diagnostics(sparc_ppo_diagnostics *sum, const sparc_ppo_diagnostics *d, double share);
sparc_status update_minibatch(sparc_ppo *ppo, int epoch, int k, sparc_ppo_diagnostics *d);
/* a minibatch in two halves: its gradient goes to ppo->gradient, and the optimiser takes a step along it. Between the
 * two, the gradient may be changed, for example to the sum over the shards of a minibatch. */
sparc_status differentiate_minibatch(sparc_ppo *ppo, int epoch, int k, sparc_ppo_diagnostics *d);
sparc_status apply_minibatch(sparc_ppo *ppo, int epoch, int k, sparc_ppo_diagnostics *d);

#endif
