/* SPDX-License-Identifier: MIT */
/* stream_learner.c: a machine that is forecast while it runs, learns meanwhile, and is stopped and started again.
 *
 * Two sensors swing; half way the machine changes its speed. The learner knows nothing in advance: it forecasts three
 * steps ahead, learns from what then comes, and finds the new speed by itself. In between it goes through a file, as
 * it would when the program ends.
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
  config.goal = SPARC_LEARN_FORECAST;
  config.horizon = 3;
  sparc_learner *learner;
  if (sparc_learner_create(&config, &learner) != SPARC_OK) return fprintf(stderr, "%s\n", sparc_error()), 1;

  double phase = 0, error = 0, naive = 0;
  for (int t = 1; t <= STEPS; t++) {
    phase += t <= STEPS / 2 ? 0.2 : 0.35;
    const float x[2] = {(float)(70 + sin(phase)), (float)(3 + 0.2 * cos(phase) * sin(2 * phase))};
    float y[2]; /* both sensors three steps from now */
    if (sparc_learner_step(learner, x, y) != SPARC_OK) return fprintf(stderr, "%s\n", sparc_error()), 1;

    const sparc_learner_report report = sparc_learner_report_of(learner);
    if (report.judged) error += report.loss, naive += report.naive;
    if (t % PART != 0) continue;
    printf("step %5d  error %.1e of the naive one%s\n", t, error / naive, t == STEPS / 2 ? ", the speed changes" : "");
    if (t < STEPS) error = naive = 0;

    /* everything that going on needs is in the file */
    if (sparc_learner_save(learner, NULL, NULL, 0, "stream_learner.safetensors") != SPARC_OK) return 1;
    sparc_learner_free(learner);
    if (sparc_learner_restore("stream_learner.safetensors", &learner) != SPARC_OK) return 1;
  }
  sparc_learner_free(learner);
  remove("stream_learner.safetensors");
  return error < 0.01 * naive ? 0 : 1;
}
