/* SPDX-License-Identifier: MIT */
/* records.c: grouped traces go along as long as the observations of a rollout are few; the records, which are always
 * kept, serve when they are not. */
#include "rl/records.h"

#include <string.h>

void records_begin(sparc_ppo *ppo) {
  const rollout *r = &ppo->rollout;
  const sparc_cell *cell = ppo->network->cell;
  memcpy(ppo->collected_with, ppo->prepared + ppo->network->layer->cell_prepared, cell->sizes.prepared * sizeof(float));
  for (size_t i = 0; i < r->n.N && r->n.grouped; i++)
    grouped_trace_start_f32(cell, r->symbols.most, r->grouped + rollout_row(r, i, 0) * r->n.grouped);
}

/* ---- one step ------------------------------------------------------------------------------------------ */

/* the next grouped trace of stream i; after one symbol too many there are none until the next rollout */
static void keep_grouped(sparc_ppo *ppo, size_t i, size_t t, const float *input, float *tape) {
  rollout *r = &ppo->rollout;
  const int before = r->symbols.count;
  const int symbol = symbols_find(&r->symbols, r->observations + rollout_row(r, i, t) * r->n.observation);
  if (symbol < 0) return;
  if (r->symbols.count > before)
    memcpy(r->symbol_inputs + (size_t)symbol * r->n.input, input, r->n.input * sizeof *input);
  float *row = r->grouped + rollout_row(r, i, t) * r->n.grouped;
  grouped_trace_step_f32(ppo->network->cell, ppo->collected_with, tape, r->symbols.most, symbol, row,
                         row + r->n.grouped);
}

sparc_status records_keep(sparc_ppo *ppo, size_t t) {
  const rollout *r = &ppo->rollout;
  const sparc_cell *cell = ppo->network->cell;
  const network_tape_f32 at = network_tape_of_f32(ppo->network, (int)r->n.N, ppo->step.tapes);
  sparc_status status = SPARC_OK;
  for (size_t i = 0; i < r->n.N && status == SPARC_OK; i++) {
    float *tape = at.cell_tapes + i * cell->sizes.tape;
    status = sparc_record_step(cell, tape, (int)r->n.T, (int)t, r->records + i * r->n.records);
    if (r->n.grouped && status == SPARC_OK) keep_grouped(ppo, i, t, at.cell_input + i * r->n.input, tape);
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
                               .boundary = boundary}};
  if (r->n.checkpoints) {
    past.view.checkpoints = r->checkpoints + i * r->n.checkpoints * r->n.boundary;
    past.view.interval = ppo->own.config.interval;
  }
  if (r->n.grouped && r->symbols.count >= 0) {
    past.grouped = r->grouped + row * r->n.grouped;
    past.grouping = (grouping_f32){.symbols = r->symbols.most, .inputs = r->symbol_inputs, .boundary = boundary};
  }
  return past;
}

/* checkpoints, each from the one before it, and the boundary of the next rollout from the last */
static sparc_status walk_records(sparc_ppo *ppo, const stream_past *past, size_t i, float *next) {
  const rollout *r = &ppo->rollout;
  const size_t width = r->n.boundary;
  const int T = (int)r->n.T, interval = r->n.checkpoints ? ppo->own.config.interval : T;
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

sparc_status records_finish(sparc_ppo *ppo) {
  const rollout *r = &ppo->rollout;
  sparc_status status = SPARC_OK;
  for (size_t i = 0; i < r->n.N && status == SPARC_OK; i++) {
    const stream_past *past = &ppo->past[i];
    float *next = r->boundary + (r->n.N + i) * r->n.boundary;
    ppo->past[i] = past_of(ppo, i);
    if (past->grouped)
      grouped_trace_expand_f32(ppo->network->cell, &past->grouping, past->grouped + r->n.T * r->n.grouped, next);
    else
      status = walk_records(ppo, past, i, next);
  }
  return status;
}
