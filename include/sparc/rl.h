/* SPDX-License-Identifier: MIT */
/* rl.h: a recurrent actor-critic, trained by proximal policy optimisation with exact sensitivities, and used.
 *
 * One iteration collects a rollout with fixed parameters and then takes epochs of minibatches from it. Cells with an
 * RTRL form carry exact sensitivities of their state to their parameters; the rollout keeps them, or what they can be
 * rebuilt from, and every minibatch uses them as they were collected. GRU and Mamba-3 learn by windows of four steps,
 * and any cell by windows of `tbptt` steps. Random numbers are functions of the seed and of what was counted so far, so
 * a restored run continues to the bit, on any number of threads.
 *
 *   sparc_ppo_config config;
 *   sparc_ppo *ppo;
 *   sparc_ppo_report report;
 *   sparc_ppo_defaults("repeat-previous", &config);
 *   if (sparc_ppo_create(&config, &ppo) != SPARC_OK) return complain(sparc_error());
 *   for (long k = 0; k < config.rollouts && sparc_ppo_iterate(ppo, &report) == SPARC_OK; k++) show(&report);
 *   sparc_ppo_save(ppo, NULL, 0, "agent.safetensors");
 *   sparc_ppo_free(ppo);
 */
#ifndef SPARC_RL_H
#define SPARC_RL_H

#include "sparc/env.h"
#include "sparc/network.h"
#include "sparc/safetensors.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- configuration ------------------------------------------------------------------------------ */

typedef enum sparc_obsnorm {
  SPARC_OBSNORM_NONE,
  SPARC_OBSNORM_FEATURE, /* moments of each feature */
  SPARC_OBSNORM_POOLED   /* one pair of moments for all features */
} sparc_obsnorm;

typedef enum sparc_traces {
  SPARC_TRACES_AUTO,   /* what is faster for the task and fits into memory_limit */
  SPARC_TRACES_STORED, /* the sensitivities before every step of a rollout */
  SPARC_TRACES_FREE    /* a record of every step, and those before the rollout: the same gradients */
} sparc_traces;

/* Parameters change while a rollout is used; its states and sensitivities were made by those it was collected with. */
typedef enum sparc_refresh {
  SPARC_REFRESH_NONE,   /* they stay as they are, as in the paper */
  SPARC_REFRESH_EPOCH,  /* they are recomputed before every epoch, from the carry that entered the rollout */
  SPARC_REFRESH_MEASURE /* they stay, and reports say how far the gradient is from that of recomputed ones */
} sparc_refresh;

/* how weights start: as the paper says, content and encoder lecun_normal and heads orthogonal, or as in the authors'
 * released code, where heads are lecun_normal and content as with SPARC_INIT_RELEASED */
typedef enum sparc_agent_init { SPARC_AGENT_INIT_PAPER, SPARC_AGENT_INIT_RELEASED } sparc_agent_init;

typedef struct sparc_ppo_config {
  /* the task: the name of a built-in environment or the path of a plugin, or the caller's own kind instead */
  const char *task;
  const sparc_env_kind *kind; /* NULL: by name */
  const char *task_options;   /* NULL: none */
  /* the agent */
  const char *cell;         /* see sparc_cell_kinds */
  const char *cell_options; /* NULL: defaults */
  int H;                    /* modes; 0: a state of `budget` real coordinates */
  int budget;
  int width; /* of the embedding and of both heads' hidden layers */
  sparc_agent_init init;
  uint64_t seed; /* of weights, environments, actions and minibatches */
  /* the rollout */
  long rollouts; /* of the whole run: for the caller, who counts them */
  int steps;     /* of a rollout, all streams together */
  int streams;   /* environments, each steps / streams long */
  int shards;    /* streams and minibatches are divided into so many shards, each with minibatches of its own streams,
                  * whose gradients are summed in a fixed order, so that several processes can do them
                  * (docs/cluster.md); it must divide both. 0 and 1: they are not divided */
  sparc_obsnorm obsnorm;
  int rewardnorm; /* 1: rewards are divided by the deviation of discounted returns */
  double discount, lambda;
  double action_limit; /* the environment gets continuous actions clipped to this magnitude */
  /* the update */
  int epochs, minibatches; /* of an epoch */
  double clip;             /* of ratios and of value changes */
  double value_coefficient, entropy_coefficient;
  double gradient_clip; /* greatest norm of the gradient */
  double rate;          /* of Adam, constant, for every parameter */
  sparc_traces traces;
  int interval; /* with records: sensitivities are kept before every interval-th step, too; 0: none */
  sparc_refresh refresh;
  int tbptt; /* steps of truncated backpropagation in the place of RTRL; 0: RTRL, or 4 for cells without it */
  sparc_encoder_gradient encoder;
  size_t memory_limit; /* bytes of a rollout beyond which a run is refused; 0: none */
  int threads;         /* 0: as many as there are processors */
} sparc_ppo_config;

/* sparc_ppo_defaults gives the paper's settings for a task: those of continuous control for the robots, those of
 * POPGym for all others, SPARC, seed 0. task is kept as a pointer. */
SPARC_API sparc_status sparc_ppo_defaults(const char *task, sparc_ppo_config *config);

/* What a run will take, before it starts: bytes of either way to keep sensitivities (0: the cell has no RTRL form), of
 * everything else, and the way that will be taken. */
typedef struct sparc_ppo_memory {
  size_t stored_bytes, free_bytes, other_bytes;
  sparc_traces traces; /* STORED or FREE; AUTO for windows, which keep neither */
} sparc_ppo_memory;
SPARC_API sparc_status sparc_ppo_memory_of(const sparc_ppo_config *config, sparc_ppo_memory *memory);

/* ---- training ----------------------------------------------------------------------------------- */

/* means over the minibatches of a rollout; q = l - l_old is the change of an action's log-probability */
typedef struct sparc_ppo_diagnostics {
  double k1, k2, k3; /* estimates of the divergence: mean of -q, of q^2 / 2, of e^q - 1 - q */
  double ratio, clip_fraction;
  double policy_loss, value_loss, entropy;
  double explained_variance;
  double gradient_norm; /* before clipping */
} sparc_ppo_diagnostics;

/* Stored against replayed sensitivities: the gradients of the cell's parameters for the first minibatch of each epoch,
 * by what the rollout kept and by SPARC_REFRESH_MEASURE's replay with the parameters of that moment. */
enum { SPARC_STALENESS_EPOCHS = 16 };
typedef struct sparc_ppo_staleness {
  int epochs;                            /* measured, the first ones of a rollout; 0: not asked for */
  double cosine[SPARC_STALENESS_EPOCHS]; /* between the two */
  double ratio[SPARC_STALENESS_EPOCHS];  /* norm of the stored over that of the replayed */
} sparc_ppo_staleness;

/* over the collected steps; NAN: the cell has no such thing */
typedef struct sparc_ppo_activity {
  double saturation;     /* share of content activations with a magnitude above 0.95 */
  double gate_deviation; /* of the write gate over all modes and steps together */
  double state_rms;      /* of all real coordinates */
} sparc_ppo_activity;

typedef struct sparc_ppo_report {
  long rollout, steps;             /* so far, this one included */
  int episodes;                    /* that ended in it */
  double mean_return, mean_length; /* of these, raw rewards; NAN: none ended */
  sparc_ppo_diagnostics update;
  sparc_ppo_activity activity;
  sparc_ppo_staleness staleness;
  int symbols; /* distinct observations; 0: too many to be told apart */
  long faults; /* episodes ended by an environment's non-finite numbers, so far */
  double environment_seconds, collection_seconds, update_seconds; /* collection without the environment */
} sparc_ppo_report;

typedef struct sparc_ppo sparc_ppo;

/* sparc_ppo_create makes a run with freshly drawn parameters. Strings of config are copied; a kind must outlive it. */
SPARC_API sparc_status sparc_ppo_create(const sparc_ppo_config *config, sparc_ppo **out);
SPARC_API void sparc_ppo_free(sparc_ppo *ppo); /* ppo may be NULL */

/* sparc_ppo_iterate collects one rollout and updates from it; report may be NULL. SPARC_NOT_FINITE names the tensor
 * with a non-finite gradient; the run cannot continue then, a checkpoint of it can. */
SPARC_API sparc_status sparc_ppo_iterate(sparc_ppo *ppo, sparc_ppo_report *report);

SPARC_API long sparc_ppo_rollouts_done(const sparc_ppo *ppo);
SPARC_API const sparc_ppo_config *sparc_ppo_config_of(const sparc_ppo *ppo); /* with H, options and traces chosen */
SPARC_API const sparc_network *sparc_ppo_network(const sparc_ppo *ppo);
SPARC_API const float *sparc_ppo_params(const sparc_ppo *ppo);

/* sparc_ppo_save writes everything that continuing needs, atomically: weights, moments, normalisers, environments, the
 * carried state and sensitivities, configuration, and extra (pairs of strings; NULL: none). It is an agent file, too.
 */
SPARC_API sparc_status sparc_ppo_save(const sparc_ppo *ppo, const sparc_metadata *extra, size_t extra_count,
                                      const char *path);
/* sparc_ppo_restore makes a run from such a file. kind: as in the configuration, for a task that is the caller's own;
 * else NULL. A file does not get a plugin loaded by naming one: without kind that is SPARC_INVALID. A caller who trusts
 * it opens the path with sparc_envs_create and gives the kind of that (sparc_envs_kind), which must outlive the run. */
SPARC_API sparc_status sparc_ppo_restore(const char *path, const sparc_env_kind *kind, int threads, sparc_ppo **out);

/* ---- using an agent ------------------------------------------------------------------------------ */

typedef struct sparc_agent sparc_agent; /* weights, frozen normaliser, and the carried state of one stream */

/* sparc_agent_load reads an agent, from sparc_ppo_save. Its task, sparc_agent_metadata(agent, "task"), is not opened;
 * it may be the path of a plugin: do not give it to sparc_envs_create unless you trust the file. */
SPARC_API sparc_status sparc_agent_load(const char *path, sparc_agent **out);
SPARC_API void sparc_agent_free(sparc_agent *agent); /* agent may be NULL */
SPARC_API sparc_env_shape sparc_agent_shape(const sparc_agent *agent);
SPARC_API const char *sparc_agent_metadata(const sparc_agent *agent, const char *key); /* NULL: absent */

/* sparc_agent_step takes a raw observation and gives an action as the environment wants it. start: 1 for the first
 * observation of an episode. random: where actions are drawn from; NULL: the most probable one. Nothing is allocated.
 * SPARC_NOT_FINITE: the observation, or what the network makes of it, holds a NaN or an infinity. The action is then
 * zero (choice 0 of a discrete one), the carried state and `random` stay as they were, and the next call may go on. */
SPARC_API sparc_status sparc_agent_step(sparc_agent *agent, const float *observation, int start, sparc_random *random,
                                        float *action);

/* sparc_agent_step_state does the same for a stream whose carried state the caller keeps:
 * state[sparc_agent_state_size], zero before its first observation. One agent serves any number of streams, in one
 * thread at a time. */
SPARC_API size_t sparc_agent_state_size(const sparc_agent *agent); /* floats; 0 for NULL */
SPARC_API sparc_status sparc_agent_step_state(sparc_agent *agent, float *state, const float *observation, int start,
                                              sparc_random *random, float *action);

#ifdef __cplusplus
}
#endif

#endif
