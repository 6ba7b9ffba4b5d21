/* SPDX-License-Identifier: MIT */
/* agent.c: run a trained agent in a program: load it, feed observations, get actions.
 *
 *   agent [FILE]    plays an episode of cart-pole with an agent saved by `sparc rl cartpole`; without FILE it first
 *                   trains one for a few seconds
 *
 * Build against the installed library: cc agent.c $(pkg-config --cflags --libs sparc)
 */
#include <sparc/rl.h>
#include <stdio.h>

static int complain(void) { return fprintf(stderr, "%s\n", sparc_error()), 1; }

static int train(const char *path) {
  sparc_ppo_config config;
  sparc_ppo *ppo = NULL;
  sparc_ppo_defaults("cartpole", &config);
  config.threads = 1; /* more threads hardly help so small an agent */
  sparc_status status = sparc_ppo_create(&config, &ppo);
  for (int k = 0; k < 8 && status == SPARC_OK; k++) status = sparc_ppo_iterate(ppo, NULL);
  if (status == SPARC_OK) status = sparc_ppo_save(ppo, NULL, 0, path);
  sparc_ppo_free(ppo);
  return status == SPARC_OK ? 0 : complain();
}

static int play(sparc_agent *agent, sparc_envs *envs) {
  float observation[2], action, reward, mask = 0;
  double total = 0;
  int length = 0;
  if (sparc_envs_reset(envs, observation) != SPARC_OK) return complain();
  while (length == 0) {
    if (sparc_agent_step(agent, NULL, observation, mask, NULL, &action) != SPARC_OK) return complain();
    if (sparc_envs_step(envs, &action, observation, &reward, &mask, &total, &length) != SPARC_OK) return complain();
  }
  printf("the pole stood for %d steps\n", length);
  return 0;
}

int main(int count, char **arguments) {
  const char *path = count > 1 ? arguments[1] : "agent.safetensors";
  sparc_agent *agent;
  sparc_envs *envs;
  if (count < 2 && train(path) != 0) return 1;
  if (sparc_agent_load(path, &agent) != SPARC_OK) return complain();
  if (sparc_envs_create(&(sparc_envs_config){.name = "cartpole", .n = 1, .seed = 7}, &envs) != SPARC_OK)
    return complain();
  const int failed = play(agent, envs);
  sparc_envs_free(envs);
  sparc_agent_free(agent);
  if (count < 2) remove(path);
  return failed;
}
