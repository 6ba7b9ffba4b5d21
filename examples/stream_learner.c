/* SPDX-License-Identifier: MIT */
/* stream_learner.c: forecast a stream while learning from it online, with saving and loading.
 *
 * Two sensors oscillate; half way their frequency changes. The learner starts untrained, forecasts three steps ahead,
 * learns from the values that follow, and adapts to the new frequency. Every 1000 steps it is saved to a file and
 * loaded again, as if the program had been restarted.
 *
 * Build against the installed library: cc stream_learner.c $(pkg-config --cflags --libs sparc)
 */
#include <math.h>
#include <sparc/sparc.h>
#include <stdio.h>

enum { STEPS = 8000, PART = 1000 };

int main(void) {
  sparc_learner_config config = sparc_learner_defaults();
  config.network.inputs = 2;
  config.objective = SPARC_LEARN_FORECAST;
  config.horizon = 3;
  sparc_learner *learner;
  if (sparc_learner_create(&config, &learner) != SPARC_OK) return fprintf(stderr, "%s\n", sparc_error()), 1;

  double phase = 0, error = 0, baseline = 0;
  for (int t = 1; t <= STEPS; t++) {
    phase += t <= STEPS / 2 ? 0.2 : 0.35;
    const float x[2] = {(float)(70 + sin(phase)), (float)(3 + 0.2 * cos(phase) * sin(2 * phase))};
    float y[2]; /* both sensors three steps from now */
    if (sparc_learner_step(learner, x, y) != SPARC_OK) return fprintf(stderr, "%s\n", sparc_error()), 1;

    const sparc_learner_report report = sparc_learner_report_of(learner);
    if (report.scored) error += report.loss, baseline += report.baseline;
    if (t % PART != 0) continue;
    printf("step %5d  error %.1e of persistence%s\n", t, error / baseline, t == STEPS / 2 ? ", new frequency" : "");
    if (t < STEPS) error = baseline = 0;

    /* the file holds everything that is needed to continue bit-exactly */
    if (sparc_learner_save(learner, NULL, NULL, 0, "stream_learner.safetensors") != SPARC_OK) return 1;
    sparc_learner_free(learner);
    if (sparc_learner_load("stream_learner.safetensors", &learner) != SPARC_OK) return 1;
  }
  sparc_learner_free(learner);
  remove("stream_learner.safetensors");
  return error < 0.01 * baseline ? 0 : 1;
}
