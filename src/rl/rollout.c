/* SPDX-License-Identifier: MIT */
/* rollout.c: the memory of a rollout. */
#include "rl/rollout.h"

#include <string.h>

static float *take(arena *a, const rollout *r, size_t width) {
  return arena_take(a, r->n.N * (r->n.T + 1) * width, sizeof(float));
}

static float *take_of_streams(arena *a, const rollout *r, size_t width) {
  return arena_take(a, r->n.N * width, sizeof(float));
}

void rollout_carve(arena *a, rollout *r) {
  r->observations = take(a, r, r->n.observation);
  r->masks = take(a, r, 1);
  r->states = take(a, r, r->n.state);
  r->actions = take(a, r, r->n.action);
  r->rewards = take(a, r, 1);
  r->log_probabilities = take(a, r, 1);
  r->values = take(a, r, 1);
  r->advantages = take(a, r, 1);
  r->targets = take(a, r, 1);
  r->traces = take(a, r, r->n.trace);
  r->records = take_of_streams(a, r, r->n.records);
  r->boundary = take_of_streams(a, r, 2 * r->n.boundary);
  r->checkpoints = take_of_streams(a, r, r->n.checkpoints * r->n.boundary);
  r->inputs = take(a, r, r->n.input);
  r->symbols.width = r->n.observation;
  symbols_carve(a, &r->symbols);
  r->symbol_inputs = arena_take(a, r->n.groups * r->n.input, sizeof(float));
  r->symbol_pre = arena_take(a, r->n.groups * r->n.pre, sizeof(float));
  r->grouped = take(a, r, r->n.grouped);
}

/* row 0 <- row T, in every stream */
static void carry_over(const rollout *r, size_t width, float *rows) {
  for (size_t i = 0; i < r->n.N; i++)
    memcpy(rows + rollout_row(r, i, 0) * width, rows + rollout_row(r, i, r->n.T) * width, width * sizeof *rows);
}

void rollout_begin(rollout *r) {
  carry_over(r, r->n.observation, r->observations);
  carry_over(r, 1, r->masks);
  carry_over(r, r->n.state, r->states);
  carry_over(r, r->n.trace, r->traces);
  memcpy(r->boundary, r->boundary + r->n.N * r->n.boundary, r->n.N * r->n.boundary * sizeof(float));
  r->symbols.count = 0;
}

void rollout_items(const rollout *r, size_t window, const int *order, size_t k, size_t M, int *rows) {
  const size_t units = M / window, of_stream = r->n.T / window;
  for (size_t b = 0; b < units; b++) {
    const size_t unit = (size_t)order[k * units + b];
    const size_t first = rollout_row(r, unit / of_stream, unit % of_stream * window);
    for (size_t s = 0; s < window; s++) rows[b * window + s] = (int)(first + s);
  }
}
