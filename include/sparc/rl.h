/* SPDX-License-Identifier: MIT */
/* rl.h: recurrent actor-critics: training by proximal policy optimisation with exact sensitivities, and inference.
 *
 * An iteration collects a rollout with fixed parameters and then makes several epochs of minibatch updates from it.
 * Cells with an RTRL form carry exact sensitivities of their state to their parameters; the rollout stores them, or
 * records from which they are recomputed, and every minibatch uses them as collected. GRU and Mamba-3 learn by truncated
 * backpropagation over four steps, other cells optionally over `tbptt` steps. Random numbers depend only on the seed and
 * on counts, so a loaded run continues bit-exactly, on any number of threads.
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

/* Normalisation of observations by running moments. */
typedef enum sparc_obsnorm {
  SPARC_OBSNORM_NONE,
  SPARC_OBSNORM_FEATURE, /* moments per feature */
  SPARC_OBSNORM_POOLED   /* one mean and variance for all features */
} sparc_obsnorm;

typedef enum sparc_rewardnorm {
  SPARC_REWARDNORM_NONE,
  SPARC_REWARDNORM_RETURN /* rewards are divided by the standard deviation of discounted returns */
} sparc_rewardnorm;

/* Storage of sensitivities in a rollout. Both methods give the same gradients. */
typedef enum sparc_traces {
  SPARC_TRACES_AUTO,   /* the faster method for the task that fits into memory_limit */
  SPARC_TRACES_STORED, /* the sensitivities before every step */
  SPARC_TRACES_FREE    /* a record per step, and the sensitivities before the rollout */
} sparc_traces;

/* Parameters change during the epochs of a rollout; its states and sensitivities were computed with earlier ones. */
typedef enum sparc_refresh {
  SPARC_REFRESH_NONE,   /* use them as collected, as in the paper */
  SPARC_REFRESH_EPOCH,  /* recompute them before every epoch, from the state before the rollout */
  SPARC_REFRESH_MEASURE /* use them as collected, and report the difference to recomputed ones */
} sparc_refresh;

/* Initial weights. Paper: content and encoder lecun_normal, heads orthogonal. Released: as in the authors' released
 * code, heads lecun_normal and content as with SPARC_INIT_RELEASED. */
typedef enum sparc_agent_init { SPARC_AGENT_INIT_PAPER, SPARC_AGENT_INIT_RELEASED } sparc_agent_init;

typedef struct sparc_ppo_config {
  /* task */
  const char *task;           /* a built-in environment or the path of a plugin */
  const sparc_env_kind *kind; /* instead of a name: a custom kind; NULL: by name */
  const char *task_options;   /* NULL: none */
  /* network */
  const char *cell;         /* see sparc_cell_kinds */
  const char *cell_options; /* NULL: defaults */
  int H;                    /* modes; 0: from state_size */
  int state_size;           /* real coordinates of the cell's state; used if H is 0 */
  int width;                /* of the embedding and of both heads' hidden layers */
  sparc_agent_init init;
  uint64_t seed; /* of weights, environments, actions and minibatches */
  /* rollouts */
  long rollouts;     /* of the whole run; the caller's loop counts them */
  int rollout_steps; /* per rollout, over all streams */
  int streams;       /* parallel environments, rollout_steps / streams steps each */
  int shards;        /* parts of streams and minibatches, for several processes (docs/cluster.md). Each has minibatches
                      * of its own streams; gradients are summed in a fixed order. Must divide both. 0, 1: undivided */
  sparc_obsnorm obsnorm;
  sparc_rewardnorm rewardnorm;
  double discount, gae_lambda;
  double action_limit; /* continuous actions are clipped to this magnitude before they reach the environment */
  /* updates */
  int epochs, minibatches; /* minibatches per epoch */
  double clip_range;       /* of probability ratios and of value changes */
  double value_coefficient, entropy_coefficient;
  double max_gradient_norm; /* gradients are scaled down to it */
  double learning_rate;     /* of Adam, constant, for all parameters */
  sparc_traces traces;
  int trace_interval; /* with records: sensitivities are also stored before every trace_interval-th step; 0: no */
  sparc_refresh refresh;
  int tbptt; /* steps of truncated backpropagation instead of RTRL; 0: RTRL, or 4 for cells without an RTRL form */
  sparc_encoder_gradient encoder;
  size_t memory_limit; /* bytes of a run; 0: no limit, but `traces` auto uses at most half of the machine's memory */
  int threads;         /* 0: all processors */
} sparc_ppo_config;

/* Write the paper's settings for a task: those of continuous control for robots, those of POPGym for all others; cell
 * SPARC, seed 0. config->task points to the argument. */
SPARC_API sparc_status sparc_ppo_defaults(const char *task, sparc_ppo_config *config);

/* ---- training ----------------------------------------------------------------------------------- */

/* Means over the minibatches of a rollout; q = l - l_old is the change of an action's log-probability. */
typedef struct sparc_ppo_diagnostics {
  double k1, k2, k3; /* estimates of the KL divergence: mean of -q, of q^2 / 2, of e^q - 1 - q */
  double ratio, clip_fraction;
  double policy_loss, value_loss, entropy;
  double explained_variance;
  double gradient_norm; /* before clipping */
} sparc_ppo_diagnostics;

/* Stale against recomputed sensitivities (SPARC_REFRESH_MEASURE): gradients of the cell's parameters for the first
 * minibatch of each epoch. */
enum { SPARC_STALENESS_EPOCHS = 16 };
typedef struct sparc_ppo_staleness {
  int epochs;                            /* measured, from the first of a rollout; 0: not measured */
  double cosine[SPARC_STALENESS_EPOCHS]; /* between the two gradients */
  double ratio[SPARC_STALENESS_EPOCHS];  /* of norms, stale to recomputed */
} sparc_ppo_staleness;

/* Statistics of the collected steps; NAN: not defined for the cell. */
typedef struct sparc_ppo_activity {
  double saturation;     /* share of content activations with a magnitude above 0.95 */
  double gate_deviation; /* standard deviation of the write gate over all modes and steps */
  double state_rms;      /* over all real coordinates */
} sparc_ppo_activity;

typedef struct sparc_ppo_report {
  long rollout, steps;             /* so far, including this rollout */
  int episodes;                    /* that ended in this rollout */
  double mean_return, mean_length; /* of these episodes, raw rewards; NAN: none ended */
  sparc_ppo_diagnostics update;
  sparc_ppo_activity activity;
  sparc_ppo_staleness staleness;
  int symbols;                                                    /* distinct observations; 0: too many to be counted */
  long faults;                                                    /* episodes ended by non-finite numbers, so far */
  double environment_seconds, collection_seconds, update_seconds; /* collection: without the environment */
} sparc_ppo_report;

typedef struct sparc_ppo sparc_ppo; /* opaque; used by one thread at a time */

/* Create a run with random initial parameters. Strings of config are copied; config->kind must outlive the run. */
SPARC_API sparc_status sparc_ppo_create(const sparc_ppo_config *config, sparc_ppo **out);
SPARC_API void sparc_ppo_free(sparc_ppo *ppo); /* ppo may be NULL */

/* Collect one rollout and update the parameters from it. report may be NULL. SPARC_NOT_FINITE names the tensor with a
 * non-finite gradient; the run cannot continue then, but its last checkpoint can. */
SPARC_API sparc_status sparc_ppo_iterate(sparc_ppo *ppo, sparc_ppo_report *report);

/* Memory of a run in bytes. */
typedef struct sparc_ppo_memory {
  size_t stored_bytes, free_bytes; /* sensitivities by either method; 0: the cell has no RTRL form */
  size_t other_bytes;              /* everything else */
  sparc_traces traces;             /* the method in use, STORED or FREE; AUTO: truncated backpropagation, none stored */
} sparc_ppo_memory;

typedef struct sparc_ppo_info {
  const sparc_ppo_config *config; /* with H, cell_options and traces resolved; lives as long as the run */
  long rollouts_done;
  size_t parameters;
  sparc_ppo_memory memory;
} sparc_ppo_info;

SPARC_API sparc_ppo_info sparc_ppo_info_of(const sparc_ppo *ppo); /* zero for NULL */

/* Write a checkpoint atomically: weights, optimiser moments, normalisers, environments, states, sensitivities,
 * configuration, and extra metadata (extra_count pairs; may be NULL). The file can be loaded as an agent, too. */
SPARC_API sparc_status sparc_ppo_save(const sparc_ppo *ppo, const sparc_metadata *extra, size_t extra_count,
                                      const char *path);
/* Load a checkpoint. kind: the custom kind of the task; NULL: the task is built-in. A file that names a plugin is
 * refused with SPARC_INVALID if kind is NULL. To trust it, open the path by sparc_envs_create and pass the kind of
 * sparc_envs_info_of; the environments must outlive the run. */
SPARC_API sparc_status sparc_ppo_load(const char *path, const sparc_env_kind *kind, int threads, sparc_ppo **out);

/* ---- inference ---------------------------------------------------------------------------------- */

/* Weights, frozen normaliser, and the recurrent state of one stream. Opaque; used by one thread at a time. */
typedef struct sparc_agent sparc_agent;

/* Load an agent from a file of sparc_ppo_save. Its task, sparc_agent_metadata(agent, "task"), is not opened. It can be
 * the path of a plugin: pass it to sparc_envs_create only if the file is trusted. */
SPARC_API sparc_status sparc_agent_load(const char *path, sparc_agent **out);
SPARC_API void sparc_agent_free(sparc_agent *agent); /* agent may be NULL */

typedef struct sparc_agent_info {
  sparc_env_shape shape; /* of the task */
  size_t state_size;     /* floats of a recurrent state */
} sparc_agent_info;

SPARC_API sparc_agent_info sparc_agent_info_of(const sparc_agent *agent);              /* zero for NULL */
SPARC_API const char *sparc_agent_metadata(const sparc_agent *agent, const char *key); /* NULL: absent */

/* Compute the action for a raw observation and advance the recurrent state. mask: 0 for the first observation of an
 * episode, else 1, as sparc_envs_step writes it. random: the stream that actions are drawn from; NULL: the most probable
 * action. Allocates nothing. Returns SPARC_NOT_FINITE if the observation or an output of the network is not finite: the
 * action is then zero, the state and `random` are unchanged, and the next call can continue. state: state_size floats of
 * a stream, initially zero, so that one agent serves any number of streams; NULL: the agent's own. */
SPARC_API sparc_status sparc_agent_step(sparc_agent *agent, float *state, const float *observation, float mask,
                                        sparc_random *random, float *action);

#ifdef __cplusplus
}
#endif

#endif
