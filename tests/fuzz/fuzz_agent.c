/* SPDX-License-Identifier: MIT */
/* fuzz_agent.c: libFuzzer target of the reader of agents. A file is refused or gives an agent, which then acts, drawing
 * and greedily, as its shape says. */
#include "sparc/rl.h"
#include "tensor_file.h"

#include <math.h>

static void require_action(const sparc_env_shape *shape, const float *action) {
  for (int i = 0; i < shape->action; i++) {
    require(shape->choices == 0 || (action[i] >= 0 && action[i] < (float)shape->choices), "a choice that there is");
    require(shape->choices == 0 || floorf(action[i]) == action[i], "a choice is a whole number");
  }
}

/* both arrays have exactly the size that the shape asks for, so that the sanitizer sees one element too many */
static void act(sparc_agent *agent) {
  const sparc_env_shape shape = sparc_agent_info_of(agent).shape;
  float *observation = calloc((size_t)shape.observation, sizeof *observation);
  float *action = malloc((size_t)shape.action * sizeof *action);
  require(observation && action, "memory for a step");
  sparc_random random;
  sparc_random_init(&random, 0, "fuzz", NULL);
  for (int step = 0; step < 4; step++) {
    const sparc_status status = sparc_agent_step(agent, NULL, observation, step > 0, step % 2 ? &random : NULL, action);
    require(status == SPARC_OK || status == SPARC_NOT_FINITE, "an agent that was loaded acts");
    if (status == SPARC_OK) require_action(&shape, action);
  }
  free(observation);
  free(action);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char path[32];
  const int file = tensor_file(data, size, path);
  if (file < 0) return 0;
  sparc_agent *agent;
  const sparc_status status = sparc_agent_load(path, &agent);
  if (status == SPARC_OK)
    act(agent);
  else
    require_refusal(status, path);
  sparc_agent_free(agent);
  close(file);
  return 0;
}
