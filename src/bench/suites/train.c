/* SPDX-License-Identifier: MIT */
/* train.c: `sparc bench train`: how near a training step comes to what its arithmetic must cost.
 *
 * A step forward and backward is compared with its matrix products at the rates that products of these shapes reach in
 * the same run, plus its scans at the rate of the fused kernels. What is missing to 100 % is everything between them:
 * norms, activations, controls, dropout, sums, and moving activations through memory.
 */
#include "bench/suites/suites.h"

#include <stdio.h>

enum { STEP, WIDEN, NARROW, REDUCE, SCAN, PARTS };
static const double DEMAND = 60; /* percent */

static void describe(const bench_training *t, char text[PARTS][PROBLEM_TEXT]) {
  const int tokens = t->B * t->T, W = t->width;
  snprintf(text[STEP], PROBLEM_TEXT, "train:B%d:T%d:W%d:L%d", t->B, t->T, W, t->layers);
  snprintf(text[WIDEN], PROBLEM_TEXT, "sgemm:M%d:N%d:K%d", tokens, 2 * W, W);
  snprintf(text[NARROW], PROBLEM_TEXT, "sgemm:M%d:N%d:K%d", tokens, W, 2 * W);
  snprintf(text[REDUCE], PROBLEM_TEXT, "sgemm:M%d:N%d:K%d:ta", 2 * W, W, tokens);
  snprintf(text[SCAN], PROBLEM_TEXT, "fused:B%d:T%d:H%d", t->B, t->T, W);
}

static void conclude(const bench_case *cases, bench_training *t) {
  /* content, readout and GLU: each is a product of one of these shapes forward, one backward, and a reduction */
  const double each = 3 * t->layers;
  double flops = 0;
  for (int i = WIDEN; i <= REDUCE; i++) {
    t->products += each * bench_seconds(&cases[i], "product");
    flops += each * cases[i].stage[0].flops;
  }
  t->gflop_per_s = 1e-9 * flops / t->products;
  t->scans = t->layers * (bench_seconds(&cases[SCAN], "forward") + bench_seconds(&cases[SCAN], "backward"));
  t->forward = bench_seconds(&cases[STEP], "forward");
  t->backward = bench_seconds(&cases[STEP], "backward");
  t->step = bench_seconds(&cases[STEP], "forward+backward");
  t->update = bench_seconds(&cases[STEP], "update");
  t->reached = 100 * (t->products + t->scans) / t->step;
  t->threads = cases[STEP].threads;
  t->kernel = cases[STEP].kernel;
}

bool suite_train(bench_session *session) {
  bench_training training = {
      .B = 32, .T = session->settings.quick ? 128 : 784, .width = 64, .layers = 4, .demand = DEMAND};
  char text[PARTS][PROBLEM_TEXT];
  const char *texts[PARTS];
  bench_problem problems[PARTS];
  bench_case cases[PARTS];
  describe(&training, text);
  for (int i = 0; i < PARTS; i++) texts[i] = text[i];
  if (!bench_open_all(session, texts, NULL, PARTS, problems, cases)) return false;
  const sparc_status status = bench_run(cases, PARTS, session->settings.seconds, 1);
  if (status == SPARC_OK) {
    conclude(cases, &training);
    session->output->training(session->context, &training);
  }
  bench_close_all(cases, PARTS);
  if (status != SPARC_OK) return bench_failed(session, status);
  return training.reached >= DEMAND || session->settings.quick;
}
