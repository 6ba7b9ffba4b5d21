/* SPDX-License-Identifier: MIT */
/* fuzz_learner.c: libFuzzer target of sparc_learner_load. A file is rejected or gives a learner, which then predicts and
 * observes targets. */
#include "sparc/learner.h"
#include "tensor_file.h"

#include <math.h>

/* arrays have exactly the required size, so that the sanitizer detects overruns */
static void learn(sparc_learner *learner) {
  const sparc_learner_config c = *sparc_learner_info_of(learner).config;
  float *x = calloc((size_t)c.network.inputs, sizeof *x), *y = calloc((size_t)c.outputs, sizeof *y);
  require(x && y, "memory for a step");
  for (int step = 0; step < 4; step++) {
    const long before = sparc_learner_report_of(learner).steps;
    sparc_status status = sparc_learner_step(learner, x, y);
    require(status == SPARC_OK || status == SPARC_NOT_FINITE, "a loaded learner predicts");
    require(sparc_learner_report_of(learner).steps == before + 1, "and counts its steps");
    if (before + 1 <= c.horizon || c.objective == SPARC_LEARN_FORECAST) continue;
    memset(y, 0, (size_t)c.outputs * sizeof *y);
    status = c.objective == SPARC_LEARN_CLASSIFY ? sparc_learner_observe_class(learner, 0)
                                                 : sparc_learner_observe(learner, y);
    require(status == SPARC_OK || status == SPARC_NOT_FINITE, "a learner that has answered learns");
  }
  free(x);
  free(y);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char path[32];
  const int file = tensor_file(data, size, path);
  if (file < 0) return 0;
  sparc_learner *learner;
  const sparc_status status = sparc_learner_load(path, &learner);
  if (status == SPARC_OK)
    learn(learner);
  else
    require_refusal(status, path);
  sparc_learner_free(learner);
  close(file);
  return 0;
}
