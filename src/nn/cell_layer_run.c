/* SPDX-License-Identifier: MIT */
/* cell_layer_run.c: the schedule of a layer around a cell over whole sequences, forward and backward: before the
 * cell (layer norm), the cell, after it (readout, GELU, dropout, GLU, residual; or the features of a bare cell). */
#include "base/memory.h"
#include "nn/cell_layer_step_impl.h"
#include "nn/stages_impl.h"
#include "sparc/double.h"

#define layer_sequence TYPED(layer_sequence)
#define sequence_call  TYPED(sequence_call)

/* ---- memory ------------------------------------------------------------------------------------ */

/* activations that the backward pass needs */
typedef struct layer_saved {
  real *mean, *rstd, *x, *y, *r, *g, *o; /* as in layer_pass */
  real *masks;                           /* (B, DROPOUT_PLACES, width) */
  void *cell;
} layer_saved;

typedef struct layer_work {
  real *dr, *dy, *dx;
  real *state0, *state_last, *dstate0, *dstate_last; /* (B, S): of the cell */
  void *scratch, *cell;
} layer_work;

static layer_saved carve_saved(arena *a, const sparc_layer *layer, size_t B, size_t T, const cell_layer_plan *plan) {
  const cell_layer *at = cell_layer_of(layer);
  const size_t N = B * T, width = at->width;
  layer_saved m;
  m.mean = arena_take(a, width ? N : 0, sizeof(real));
  m.rstd = arena_take(a, width ? N : 0, sizeof(real));
  m.x = arena_take(a, N * width, sizeof(real));
  m.y = arena_take(a, width || has_features(at) ? N * layer->cell->sizes.output : 0, sizeof(real));
  m.r = at->readout.in ? arena_take(a, N * width, sizeof(real)) : m.y;
  m.g = arena_take(a, N * width, sizeof(real));
  m.o = arena_take(a, N * 2 * width, sizeof(real));
  m.masks = arena_take(a, B * DROPOUT_PLACES * width, sizeof(real));
  m.cell = arena_take(a, TYPED(plan_sizes)(plan->cell).saved, 1);
  return m;
}

static layer_work carve_work(arena *a, const sparc_layer *layer, size_t B, size_t T, const cell_layer_plan *plan) {
  const cell_layer *at = cell_layer_of(layer);
  const size_t N = B * T, width = at->width, S = layer->cell->sizes.state;
  layer_work m;
  m.dr = arena_take(a, N * width, sizeof(real));
  m.dy = arena_take(a, width || has_features(at) ? N * layer->cell->sizes.output : 0, sizeof(real));
  m.dx = arena_take(a, N * width, sizeof(real));
  m.state0 = arena_take(a, B * S, sizeof(real));
  m.state_last = arena_take(a, B * S, sizeof(real));
  m.dstate0 = arena_take(a, B * S, sizeof(real));
  m.dstate_last = arena_take(a, B * S, sizeof(real));
  m.scratch = arena_take(a, stages_of(plan->executor)->layer_scratch(at, B, T), 1);
  m.cell = arena_take(a, TYPED(plan_sizes)(plan->cell).work, 1);
  return m;
}

static size_t saved_bytes(const sparc_layer *layer, int B, int T, const void *plan) {
  arena a = arena_measure();
  carve_saved(&a, layer, (size_t)B, (size_t)T, plan);
  return a.used;
}

static size_t work_bytes(const sparc_layer *layer, int B, int T, const void *plan) {
  arena a = arena_measure();
  carve_work(&a, layer, (size_t)B, (size_t)T, plan);
  return a.used;
}

/* ---- one call ---------------------------------------------------------------------------------- */

typedef struct layer_run {
  const TYPED(stages) * stages;
  const sparc_plan *plan;
  const real *cell_prepared;
  layer_work work;
  layer_pass pass;
  sequence_call cell;
} layer_run;

static layer_run start_run(const sparc_layer *layer, const layer_sequence *call) {
  const cell_layer_plan *plan = call->plan;
  const cell_layer *at = cell_layer_of(layer);
  const size_t B = (size_t)call->B, T = (size_t)call->T;
  arena saved = arena_over(call->saved, (size_t)-1), work = arena_over(call->work, (size_t)-1);
  const layer_saved kept = carve_saved(&saved, layer, B, T, plan);
  layer_run r = {.stages = stages_of(plan->executor),
                 .plan = plan->cell,
                 .cell_prepared = call->prepared + layer->cell_prepared,
                 .work = carve_work(&work, layer, B, T, plan)};
  const bool own_output = at->width || has_features(at);
  r.pass = (layer_pass){.at = at,
                        .w = {layer->kernels, call->params, call->prepared},
                        .B = B,
                        .T = T,
                        .threads = call->threads,
                        .output = layer->cell->sizes.output,
                        .u = call->x,
                        .mean = kept.mean,
                        .rstd = kept.rstd,
                        .x = kept.x,
                        .y = own_output ? kept.y : call->y,
                        .r = kept.r,
                        .g = kept.g,
                        .o = kept.o,
                        .out = call->y,
                        .masks = call->dropout && at->dropout > 0 ? kept.masks : NULL,
                        .scratch = r.work.scratch};
  r.cell = (sequence_call){.x = at->width ? kept.x : call->x,
                           .mask = call->mask,
                           .state0 = call->state0 ? r.work.state0 : NULL,
                           .y = r.pass.y,
                           .state_last = call->state_last ? r.work.state_last : NULL,
                           .saved = kept.cell,
                           .work = r.work.cell};
  return r;
}

/* between the cell's states and those of the network */
static void load_states(const layer_run *r, const sparc_layer *layer, const real *from, size_t stride, real *to) {
  if (from) r->stages->copy_rows(r->pass.B, layer->cell->sizes.state, from, stride, to, layer->cell->sizes.state);
}

static void store_states(const layer_run *r, const sparc_layer *layer, const real *from, real *to, size_t stride) {
  if (to) r->stages->copy_rows(r->pass.B, layer->cell->sizes.state, from, layer->cell->sizes.state, to, stride);
}

static void forward(const sparc_layer *layer, const layer_sequence *call) {
  const layer_run r = start_run(layer, call);
  const bool residual = r.pass.at->width > 0;
  if (residual && r.pass.masks) r.stages->draw_masks(&r.pass, call->dropout, layer->index);
  if (residual) r.stages->pre_cell(&r.pass);
  load_states(&r, layer, call->state0, call->stride, r.work.state0);
  r.stages->cell(r.plan, r.cell_prepared, &r.cell);
  store_states(&r, layer, r.work.state_last, call->state_last, call->stride);
  if (residual) r.stages->post_cell(&r.pass);
  if (has_features(r.pass.at)) r.stages->features(&r.pass);
}

static void backward(const sparc_layer *layer, const layer_sequence *call, const TYPED(layer_gradient) * gradient) {
  layer_run r = start_run(layer, call);
  const bool residual = r.pass.at->width > 0, own_output = residual || has_features(r.pass.at);
  r.pass.du = (real *)gradient->dy; /* a residual layer works in place: dx is dy */
  r.pass.dr = r.work.dr;
  r.pass.dy = r.work.dy;
  r.pass.dx = r.work.dx;
  r.pass.dparams = gradient->dparams;
  r.cell.dy = own_output ? r.work.dy : gradient->dy;
  r.cell.dx = residual ? r.work.dx : gradient->dx;
  r.cell.dstate_last = gradient->dstate_last ? r.work.dstate_last : NULL;
  r.cell.dstate0 = gradient->dstate0 ? r.work.dstate0 : NULL;
  r.cell.dparams = gradient->dparams + layer->cell_params;

  if (has_features(r.pass.at)) r.stages->features_backward(&r.pass);
  if (residual) r.stages->post_cell_backward(&r.pass);
  load_states(&r, layer, call->state0, call->stride, r.work.state0);
  load_states(&r, layer, gradient->dstate_last, call->stride, r.work.dstate_last);
  r.stages->cell_backward(r.plan, r.cell_prepared, &r.cell);
  store_states(&r, layer, r.work.dstate0, gradient->dstate0, call->stride);
  if (!residual) return;
  r.stages->pre_cell_backward(&r.pass);
  r.stages->layer_gradient(&r.pass);
}

/* ---- prepare ----------------------------------------------------------------------------------- */

static void prepare(const sparc_layer *layer, const real *params, real *prepared) {
  const cell_layer *at = cell_layer_of(layer);
  TYPED(ops_of)(layer->cell)->prepare(layer->cell, params + layer->cell_params, prepared + layer->cell_prepared);
  prepare_readout(layer->kernels, &at->readout, params, prepared);
  prepare_dense(layer->kernels, &at->glu, params, prepared);
}

const TYPED(layer_ops) TYPED(cell_layer_ops) = {.prepare = prepare,
                                                .saved = saved_bytes,
                                                .work = work_bytes,
                                                .forward = forward,
                                                .backward = LEARNING(backward),
                                                .step = TYPED(cell_layer_step)};

/* ---- for those who look inside ------------------------------------------------------------------ */

sequence_call TYPED(cell_layer_sequence)(const sparc_layer *layer, const layer_sequence *call) {
  const layer_run r = start_run(layer, call);
  load_states(&r, layer, call->state0, call->stride, r.work.state0);
  return r.cell;
}
