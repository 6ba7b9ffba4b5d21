/* SPDX-License-Identifier: MIT */
/* records.c: records are always stored; grouped traces are used as long as a rollout has few distinct observations. */
#include "rl/records.h"

#include <string.h>

/* unit vectors, then zero */
static void draw_corners(const rollout *r) {
  memset(r->symbol_inputs, 0, r->n.groups * r->n.input * sizeof(float));
  for (size_t d = 0; d < r->n.input; d++) r->symbol_inputs[d * r->n.input + d] = 1;
}

void records_begin(sparc_ppo *ppo) {
  const rollout *r = &ppo->rollout;
  const sparc_cell *cell = ppo->network->cell;
  memcpy(ppo->collected_with, ppo->prepared + ppo->network->cell_prepared, cell->sizes.prepared * sizeof(float));
  if (r->n.corners) draw_corners(r);
  for (size_t i = 0; i < r->n.N && r->n.grouped; i++)
    grouped_trace_start_f32(cell, (int)r->n.groups, r->grouped + rollout_row(r, i, 0) * r->n.grouped);
}

/* ---- one step ------------------------------------------------------------------------------------------ */

/* symbol of a step of stream i; -1: too many symbols */
static int symbol_of(rollout *r, size_t i, size_t t, const float *input) {
  const int before = r->symbols.count;
  const int symbol = symbols_find(&r->symbols, r->observations + rollout_row(r, i, t) * r->n.observation);
  if (symbol >= 0 && r->symbols.count > before)
    memcpy(r->symbol_inputs + (size_t)symbol * r->n.input, input, r->n.input * sizeof *input);
  return symbol;
}

/* the next grouped trace of stream i; none until the next rollout once there are too many symbols */
static void keep_grouped(sparc_ppo *ppo, size_t i, size_t t, const float *input, float *tape) {
  rollout *r = &ppo->rollout;
  const int symbol = r->n.corners ? -1 : symbol_of(r, i, t, input);
  if (symbol < 0 && !r->n.corners) return;
  float *row = r->grouped + rollout_row(r, i, t) * r->n.grouped;
  grouped_trace_step_f32(ppo->network->cell, ppo->collected_with, tape, (int)r->n.groups, symbol, row,
                         row + r->n.grouped);
}

sparc_status records_keep(sparc_ppo *ppo, size_t t) {
  const rollout *r = &ppo->rollout;
  const sparc_cell *cell = ppo->network->cell;
  const network_tape_f32 at = network_tape_of_f32(ppo->network, (int)r->n.N, ppo->step.tapes);
  sparc_status status = SPARC_OK;
  for (size_t i = 0; i < r->n.N && status == SPARC_OK; i++) {
    float *tape = at.cell_tapes + i * cell->sizes.tape;
    const float *input = at.cell_input + i * r->n.input;
    memcpy(r->inputs + rollout_row(r, i, t) * r->n.input, input, r->n.input * sizeof *input);
    if (r->n.records) status = sparc_record_step(cell, tape, (int)r->n.T, (int)t, r->records + i * r->n.records);
    if (r->n.grouped && status == SPARC_OK) keep_grouped(ppo, i, t, input, tape);
  }
  return status;
}

/* ---- the whole rollout ----------------------------------------------------------------------------------- */

static stream_past past_of(const sparc_ppo *ppo, size_t i) {
  const rollout *r = &ppo->rollout;
  const size_t row = rollout_row(r, i, 0);
  const float *boundary = r->boundary + i * r->n.boundary;
  stream_past past = {.view = {.T = (int)r->n.T,
                               .prepared = ppo->collected_with,
                               .records = r->records + i * r->n.records,
                               .states = r->states + row * r->n.state,
                               .boundary = boundary},
                      .observations = r->observations + row * r->n.observation,
                      .inputs = r->inputs + row * r->n.input,
                      .boundary = boundary};
  if (r->n.checkpoints) {
    past.view.checkpoints = r->checkpoints + i * r->n.checkpoints * r->n.boundary;
    past.view.interval = ppo->config.trace_interval;
  }
  if (r->n.grouped && r->symbols.count >= 0) {
    past.grouped = r->grouped + row * r->n.grouped;
    past.grouping = (grouping_f32){.symbols = (int)r->n.groups,
                                   .prepared = ppo->collected_with,
                                   .inputs = r->symbol_inputs,
                                   .boundary = boundary,
                                   .pre = r->symbol_pre};
    past.observations = r->symbols.values;
    past.inputs = r->symbol_inputs;
  }
  return past;
}

/* computes checkpoints successively, and the boundary of the next rollout */
static sparc_status walk_records(sparc_ppo *ppo, const stream_past *past, size_t i, float *next) {
  const rollout *r = &ppo->rollout;
  const size_t width = r->n.boundary;
  const int T = (int)r->n.T, interval = r->n.checkpoints ? ppo->config.trace_interval : T;
  sparc_status status = SPARC_OK;
  memcpy(next, past->view.boundary, width * sizeof *next);
  for (int from = 0; from < T && status == SPARC_OK; from += interval) {
    const int to = T - from < interval ? T : from + interval;
    status = sparc_record_boundary(ppo->network->cell, &past->view, from, to, next, ppo->batch.work);
    if (to < T) {
      const size_t k = (size_t)(to / interval) - 1;
      memcpy(r->checkpoints + (i * r->n.checkpoints + k) * width, next, width * sizeof *next);
    }
  }
  return status;
}

/* the encoder's sensitivities, stored after those of the cell: recomputes the steps since the last segment start */
static sparc_status replay_encoder(sparc_ppo *ppo, size_t i, float *next) {
  const rollout *r = &ppo->rollout;
  const sparc_network *net = ppo->network;
  const size_t cell_trace = net->cell->sizes.trace, d = r->n.observation, S = r->n.state;
  size_t first = 0;
  for (size_t t = 0; t < r->n.T; t++)
    if (r->masks[rollout_row(r, i, t)] == 0) first = t;
  memcpy(next + cell_trace, r->boundary + i * r->n.boundary + cell_trace, (r->n.boundary - cell_trace) * sizeof *next);
  const network_tape_f32 at = network_tape_of_f32(net, 1, ppo->step.tapes);
  sparc_status status = SPARC_OK;
  for (size_t t = first; t < r->n.T && status == SPARC_OK; t++) {
    const size_t row = rollout_row(r, i, t);
    const float mask = r->masks[row], *x = r->observations + row * d;
    memcpy(ppo->step.states, r->states + row * S, S * sizeof(float));
    status = sparc_network_step(net, ppo->prepared, 1, ppo->step.states, x, &mask, ppo->step.y, ppo->step.tapes, 1);
    if (status == SPARC_OK) encoder_advance_f32(net, ppo->prepared, x, at.cell_input, at.cell_tapes, next);
  }
  return status;
}

sparc_status records_finish(sparc_ppo *ppo) {
  const rollout *r = &ppo->rollout;
  const sparc_cell *cell = ppo->network->cell;
  sparc_status status = SPARC_OK;
  if (r->n.grouped) grouped_pre_f32(cell, ppo->collected_with, (int)r->n.groups, r->symbol_inputs, r->symbol_pre);
  for (size_t i = 0; i < r->n.N && status == SPARC_OK; i++) {
    const stream_past *past = &ppo->past[i];
    float *next = r->boundary + (r->n.N + i) * r->n.boundary;
    ppo->past[i] = past_of(ppo, i);
    if (past->grouped)
      grouped_trace_expand_f32(cell, &past->grouping, past->grouped + r->n.T * r->n.grouped,
                               network_tape_of_f32(ppo->network, 1, ppo->step.tapes).cell_tapes, next);
    else
      status = walk_records(ppo, past, i, next);
    if (status == SPARC_OK && ppo->config.encoder == SPARC_ENCODER_EXACT) status = replay_encoder(ppo, i, next);
  }
  return status;
}
