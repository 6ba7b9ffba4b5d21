/* SPDX-License-Identifier: MIT */
/* rollout.c: the memory of a rollout. */
#include "rl/rollout.h"

#include <string.h>

static float *take(arena *a, size_t rows, size_t streams, size_t width) {
  return arena_take(a, rows * streams * width, sizeof(float));
}

void rollout_carve(arena *a, rollout *r) {
  const size_t N = r->n.N, T = r->n.T;
  r->observations = take(a, T + 1, N, r->n.observation);
  r->starts = take(a, T + 1, N, 1);
  r->states = take(a, T + 1, N, r->n.state);
  r->actions = take(a, T, N, r->n.action);
  r->rewards = take(a, T, N, 1);
  r->log_probabilities = take(a, T, N, 1);
  r->values = take(a, T + 1, N, 1);
  r->advantages = take(a, T, N, 1);
  r->targets = take(a, T, N, 1);
  r->traces = take(a, T + 1, N, r->n.trace);
  r->records = take(a, 1, N, r->n.records);
  r->boundary = take(a, 2, N, r->n.boundary);
  r->checkpoints = take(a, r->n.checkpoints, N, r->n.boundary);
  r->symbols.width = r->n.observation;
  symbols_carve(a, &r->symbols);
  r->inputs = take(a, MOST_SYMBOLS, 1, r->n.input);
  r->grouped = take(a, T + 1, N, r->n.grouped);
}

/* rows 0 <- rows T of `count` arrays, one behind the other */
static void carry_over(float *rows, size_t count, size_t T, size_t width) {
  for (size_t i = 0; i < count; i++, rows += (T + 1) * width) memcpy(rows, rows + T * width, width * sizeof *rows);
}

void rollout_begin(rollout *r) {
  const size_t N = r->n.N, T = r->n.T;
  carry_over(r->observations, 1, T, N * r->n.observation);
  carry_over(r->starts, 1, T, N);
  carry_over(r->states, N, T, r->n.state);
  carry_over(r->traces, N, T, r->n.trace);
  carry_over(r->boundary, 1, 1, N * r->n.boundary);
  r->symbols.count = 0;
}

void rollout_items(const rollout *r, size_t window, const int *order, size_t k, size_t M, int *items) {
  const size_t N = r->n.N, units = M / window;
  for (size_t b = 0; b < units; b++) {
    const size_t unit = (size_t)order[k * units + b];
    const size_t first = unit / N * window * N + unit % N;
    for (size_t s = 0; s < window; s++) items[b * window + s] = (int)(first + s * N);
  }
}
