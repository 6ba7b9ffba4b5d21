/* SPDX-License-Identifier: MIT */
/* two_heads.c: one network, two heads, two methods for the same gradient.
 *
 * The input is noise; one head learns its leaky sum, the other its value three steps ago. Every update computes the
 * gradient over 64 steps twice: online by exact RTRL, and by backpropagation through the 64 steps. RTRL stores no past;
 * both are exact, so they agree to rounding.
 *
 * Build against the installed library: cc two_heads.c $(pkg-config --cflags --libs sparc)
 */
#include <math.h>
#include <sparc/sparc.h>
#include <stdio.h>
#include <string.h>

enum { T = 64, HEADS = 2, UPDATES = 400 };

int main(void) {
  const sparc_head_config heads[HEADS] = {{.name = "sum", .input = SPARC_HEAD_STEPS, .outputs = 1, .hidden = 8},
                                          {.name = "echo", .input = SPARC_HEAD_STEPS, .outputs = 1}};
  const sparc_network_config config = {
      .cell = "sparc", .H = 12, .inputs = 1, .embedding = SPARC_EMBED_TANH, .width = 6, .head = heads, .heads = HEADS};
  sparc_network *network;
  sparc_network_plan *plan;
  if (sparc_network_create(&config, &network) != SPARC_OK) return 1;
  if (sparc_network_plan_create(network, 1, T, 1, &plan) != SPARC_OK) return 1;
  const sparc_network_sizes n = sparc_network_sizes_of(network);
  float *params = sparc_alloc(n.params * sizeof *params), *prepared = sparc_alloc(n.prepared * sizeof *prepared);
  float *online = sparc_alloc(n.params * sizeof *online), *back = sparc_alloc(n.params * sizeof *back);
  float *state = sparc_alloc(n.state * sizeof *state), *trace = sparc_alloc(n.trace_exact * sizeof *trace);
  float *tape = sparc_alloc(n.tape * sizeof *tape);
  void *work = sparc_alloc(sparc_network_plan_work_bytes(plan, SPARC_FLOAT32));
  if (!params || !prepared || !online || !back || !state || !trace || !tape || !work) return 1;
  sparc_network_init(network, 1, params);

  sparc_random stream;
  sparc_random_init(&stream, 1, "example", "two-heads");
  double first = 0, last = 0, worst = 0;
  for (int update = 0; update < UPDATES; update++) {
    float x[T], dy[T][HEADS], sum[T], echo[T], dsum[T], decho[T], leaky = 0;
    double loss = 0, difference = 0, greatest = 0;
    for (int t = 0; t < T; t++) x[t] = (float)sparc_random_normal(&stream);
    sparc_network_prepare(network, params, prepared);
    memset(online, 0, n.params * sizeof *online);
    memset(back, 0, n.params * sizeof *back);

    /* RTRL: the gradient of a step's loss is available at the step */
    for (int t = 0; t < T; t++) {
      float y[HEADS];
      leaky = 0.8f * leaky + x[t];
      sparc_network_step_rtrl(network, prepared, SPARC_ENCODER_EXACT, state, trace, &x[t], t > 0, y, tape);
      dsum[t] = dy[t][0] = (y[0] - leaky) / T, decho[t] = dy[t][1] = (y[1] - (t < 3 ? 0 : x[t - 3])) / T;
      sparc_network_rtrl_gradient(network, prepared, SPARC_ENCODER_EXACT, trace, tape, dy[t], online, NULL);
      loss += 0.5 * T * (double)(dy[t][0] * dy[t][0] + dy[t][1] * dy[t][1]);
    }

    /* BPTT: forward over all steps, then backward */
    float *const outputs[HEADS] = {sum, echo};
    const float *const doutputs[HEADS] = {dsum, decho};
    const sparc_network_sequence sequence = {.x = x, .outputs = outputs};
    const sparc_network_gradient gradient = {.doutputs = doutputs, .dparams = back};
    if (sparc_network_forward(plan, prepared, &sequence, work) != SPARC_OK) return 1;
    if (sparc_network_backward(plan, prepared, &sequence, &gradient, work) != SPARC_OK) return 1;

    for (size_t i = 0; i < n.params; i++) {
      difference = fmax(difference, fabs((double)(online[i] - back[i])));
      greatest = fmax(greatest, fabs((double)back[i]));
      params[i] -= 0.05f * online[i];
    }
    worst = fmax(worst, difference / greatest);
    *(update < UPDATES / 2 ? &first : &last) += 2 * loss / UPDATES;
    if (update % 100 == 99) printf("update %3d  loss %.4f  gradients differ by %.1e\n", update + 1, loss, worst);
  }

  void *memory[] = {params, prepared, online, back, state, trace, tape, work};
  for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) sparc_free(memory[i]);
  sparc_network_plan_free(plan);
  sparc_network_free(network);
  return worst <= 1e-5 && last < first ? 0 : 1;
}
