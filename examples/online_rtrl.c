/* SPDX-License-Identifier: MIT */
/* online_rtrl.c: learn from a stream with exact RTRL: no stored history, no truncation, one update per input.
 *
 * The target is a leaky sum that an event resets: s <- 0.9 s + u, and s <- u at an event. A fixed recurrence cannot
 * forget on demand; the cell has to learn to lower its retention at an event.
 *
 * Build against the installed library: cc online_rtrl.c $(pkg-config --cflags --libs sparc)
 */
#include <math.h>
#include <sparc/sparc.h>
#include <stdio.h>

enum { D = 2, H = 8, STEPS = 40000, REPORT = 5000 };

/* plain Adam over one flat array; `moments` [2][n] starts at zero */
static void adam(float *params, const float *gradient, float *moments, size_t n, int step, float rate) {
  const float scale = rate * sqrtf(1 - powf(0.999f, (float)step)) / (1 - powf(0.9f, (float)step));
  for (size_t i = 0; i < n; i++) {
    float *m = &moments[i], *v = &moments[n + i];
    *m += 0.1f * (gradient[i] - *m);
    *v += 0.001f * (gradient[i] * gradient[i] - *v);
    params[i] -= scale * *m / (sqrtf(*v) + 1e-8f);
  }
}

int main(void) {
  sparc_cell *cell;
  if (sparc_cell_create(&(sparc_cell_config){.kind = "sparc", .D = D, .H = H}, &cell) != SPARC_OK) return 1;
  const sparc_cell_sizes n = sparc_cell_sizes_of(cell);
  const size_t total = n.params + n.output; /* the cell, then a linear readout */
  float *params = sparc_alloc(total * sizeof *params), *gradient = sparc_alloc(total * sizeof *gradient);
  float *moments = sparc_alloc(2 * total * sizeof *moments), *prepared = sparc_alloc(n.prepared * sizeof *prepared);
  float *state = sparc_alloc(n.state * sizeof *state), *trace = sparc_alloc(n.trace * sizeof *trace);
  float *tape = sparc_alloc(n.tape * sizeof *tape), y[2 * H], dy[2 * H], target = 0;
  if (!params || !gradient || !moments || !prepared || !state || !trace || !tape) return 1;
  sparc_cell_init(cell, SPARC_INIT_CONTROL, 1, NULL, params);
  float *readout = params + n.params;

  sparc_random stream;
  sparc_random_init(&stream, 1, "example", "online");
  double error_sum = 0, target_sum = 0, nmse = 1;
  for (int t = 1; t <= STEPS; t++) {
    /* the next input and its target */
    const float u = (float)sparc_random_normal(&stream), event = sparc_random_uniform(&stream) < 0.1;
    const float x[D] = {u, event};
    target = (event > 0 ? 0 : 0.9f * target) + u;

    /* predict, and advance the exact sensitivities */
    if (sparc_prepare(cell, params, prepared) != SPARC_OK) return 1;
    sparc_step_rtrl(cell, prepared, state, trace, x, 1, y, tape);
    float error = -target;
    for (int i = 0; i < 2 * H; i++) error += readout[i] * y[i];

    /* the gradient of this step's squared error, through all steps so far */
    for (size_t i = 0; i < total; i++) gradient[i] = 0;
    for (int i = 0; i < 2 * H; i++) dy[i] = error * readout[i], gradient[n.params + (size_t)i] = error * y[i];
    sparc_rtrl_gradient(cell, prepared, trace, tape, dy, gradient, NULL);
    adam(params, gradient, moments, total, t, 2e-3f);

    error_sum += (double)(error * error), target_sum += (double)(target * target);
    if (t % REPORT) continue;
    nmse = error_sum / target_sum;
    printf("step %6d  normalised squared error %.4f\n", t, nmse);
    error_sum = target_sum = 0;
  }

  float *blocks[] = {params, gradient, moments, prepared, state, trace, tape};
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) sparc_free(blocks[i]);
  sparc_cell_free(cell);
  return nmse < 0.02 ? 0 : 1;
}
