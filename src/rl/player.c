/* SPDX-License-Identifier: MIT */
/* player.c: policies and their episodes. */
#include "rl/player.h"

#include "base/error.h"
#include "base/moments.h"
#include "envs/envs.h"

#include <math.h>
#include <string.h>

/* ---- policies ------------------------------------------------------------------------------------ */

static float *action_of(const player *p, int i) { return p->actions + (size_t)i * (size_t)p->shape.action; }

static sparc_status act_random(player *p) {
  for (int i = 0; i < p->n; i++) random_action(&p->shape, &p->random, action_of(p, i));
  return SPARC_OK;
}

static sparc_status act_oracle(player *p) { return sparc_envs_oracle(p->envs, p->actions); }

/* masks are initially 1: the initial states are zero, as after a mask of 0 */
static sparc_status act_agent(player *p) {
  sparc_status status = SPARC_OK;
  for (int i = 0; i < p->n && status == SPARC_OK; i++)
    status = sparc_agent_step(p->agent, p->states + (size_t)i * sparc_agent_info_of(p->agent).state_size,
                              p->observations + (size_t)i * (size_t)p->shape.observation, p->masks[i],
                              p->greedy ? NULL : &p->random, action_of(p, i));
  return status;
}

bool player_is_agent(const char *name) {
  const size_t length = strlen(name), suffix = strlen(".safetensors");
  return length > suffix && strcmp(name + length - suffix, ".safetensors") == 0;
}

static sparc_status load_agent(const char *path, player *p) {
  const sparc_status status = sparc_agent_load(path, &p->agent);
  p->act = act_agent;
  if (status != SPARC_OK) return status;
  p->states = sparc_alloc((size_t)p->n * sparc_agent_info_of(p->agent).state_size * sizeof *p->states);
  return p->states ? SPARC_OK : fail(SPARC_NO_MEMORY, "no memory for the states of %d agents", p->n);
}

static sparc_status find_policy(const char *name, player *p) {
  static const char *const names[] = {"random", "oracle", NULL};
  static player_policy *const acts[] = {act_random, act_oracle};
  if (player_is_agent(name)) return load_agent(name, p);
  for (int i = 0; names[i]; i++) {
    if (strcmp(names[i], name) != 0) continue;
    p->act = acts[i];
    return SPARC_OK;
  }
  return unknown_name("policy", name, names);
}

/* ---- life cycle ---------------------------------------------------------------------------------- */

/* the requested task, or that of the agent */
static sparc_envs_config task_of(const sparc_envs_config *config, const player *p) {
  sparc_envs_config c = *config;
  if (c.name || !p->agent) return c;
  c.name = sparc_agent_metadata(p->agent, "task");
  if (!c.options) c.options = sparc_agent_metadata(p->agent, "task_options");
  return c;
}

static sparc_status check_agent(const char *path, const player *p) {
  if (!p->agent) return SPARC_OK;
  const sparc_env_shape a = sparc_agent_info_of(p->agent).shape, e = p->shape;
  if (a.observation == e.observation && a.choices == e.choices && a.action == e.action) return SPARC_OK;
  return fail(SPARC_INVALID,
              "'%.200s' is an agent for %d observed numbers, %d choices and actions of %d, but %s has %d, %d and %d",
              path, a.observation, a.choices, a.action, sparc_envs_info_of(p->envs).kind->name, e.observation,
              e.choices, e.action);
}

static sparc_status allocate(player *p) {
  const size_t n = (size_t)p->n;
  p->observations = sparc_alloc(n * (size_t)p->shape.observation * sizeof *p->observations);
  p->actions = sparc_alloc(n * (size_t)p->shape.action * sizeof *p->actions);
  p->rewards = sparc_alloc(2 * n * sizeof *p->rewards);
  p->returns = sparc_alloc(n * sizeof *p->returns);
  p->lengths = sparc_alloc(n * sizeof *p->lengths);
  if (!p->observations || !p->actions || !p->rewards || !p->returns || !p->lengths)
    return fail(SPARC_NO_MEMORY, "no memory for %d environments", p->n);
  p->masks = p->rewards + n;
  for (size_t i = 0; i < n; i++) p->masks[i] = 1;
  return SPARC_OK;
}

sparc_status player_open(const sparc_envs_config *config, const char *policy, bool greedy, const char *const *plugins,
                         player *p) {
  *p = (player){.n = config->n, .greedy = greedy};
  sparc_status status = find_policy(policy, p);
  if (status != SPARC_OK) return status;
  if (greedy && !p->agent) return fail(SPARC_INVALID, "greedy requires an agent, and '%s' is none", policy);
  const sparc_envs_config c = task_of(config, p);
  if (!config->name) status = plugin_permit(c.name, policy, plugins);
  if (status == SPARC_OK) status = sparc_envs_create(&c, &p->envs);
  if (status != SPARC_OK) return status;
  p->shape = sparc_envs_info_of(p->envs).shape;
  sparc_random_init(&p->random, c.seed, "policy", "random");
  status = check_agent(policy, p);
  if (status == SPARC_OK) status = allocate(p);
  return status == SPARC_OK ? sparc_envs_reset(p->envs, p->observations) : status;
}

void player_close(player *p) {
  sparc_agent_free(p->agent);
  sparc_envs_free(p->envs);
  sparc_free(p->states);
  sparc_free(p->observations);
  sparc_free(p->actions);
  sparc_free(p->rewards);
  sparc_free(p->returns);
  sparc_free(p->lengths);
}

sparc_status player_step(player *p) {
  return sparc_envs_step(p->envs, p->actions, p->observations, p->rewards, p->masks, p->returns, p->lengths);
}

/* ---- many episodes ------------------------------------------------------------------------------- */

typedef struct tally {
  int episodes;
  sample_sums returns;
  double steps;
} tally;

static void count_episode(tally *t, double episode_return, int length) {
  t->episodes++;
  sample_add(&t->returns, episode_return);
  t->steps += length;
}

static sparc_status play_all(player *p, int episodes, bool (*stop)(void), int *played, tally *t) {
  sparc_status status = SPARC_OK;
  while (t->episodes < episodes && status == SPARC_OK && !(stop && stop())) {
    status = p->act(p);
    if (status == SPARC_OK) status = player_step(p);
    for (int i = 0; i < p->n && status == SPARC_OK; i++) {
      const int share = episodes / p->n + (i < episodes % p->n);
      if (p->masks[i] != 0 || played[i] >= share) continue;
      played[i]++;
      count_episode(t, p->returns[i], p->lengths[i]);
    }
  }
  return status;
}

sparc_status player_play(player *p, int episodes, bool (*stop)(void), player_means *out) {
  int *played = sparc_alloc((size_t)p->n * sizeof *played);
  if (!played) return fail(SPARC_NO_MEMORY, "no memory for %d environments", p->n);
  tally t = {0};
  const sparc_status status = play_all(p, episodes, stop, played, &t);
  sparc_free(played);
  *out = (player_means){.episodes = t.episodes,
                        .mean_return = sample_mean(&t.returns),
                        .stddev = sqrt(sample_variance(&t.returns, t.episodes - 1)),
                        .mean_length = t.steps / t.episodes};
  return status;
}
