/* SPDX-License-Identifier: MIT */
/* bf16.c: sequences with bfloat16 inputs and outputs around the float engines.
 *
 * Whole arrays are converted before and after a call, tile by tile on the plan's threads. The engines cannot do it tile
 * by tile themselves: the weight gradient is one product over all tokens of x, and the adjoint reads the states, which
 * for most cells are y, long after the forward has written them. Rounded states would not be the states that the
 * transitions were applied to, so saved keeps them as float.
 */
#include "sparc/bf16.h"

#include "base/bf16.h"
#include "base/block.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/threads.h"
#include "cells/plan.h"
#include "cells/tiles.h"
#include "kernels/kernels.h"

/* ---- numbers and arrays -------------------------------------------------------------------------- */

static void narrow_plain(size_t n, const float *restrict in, uint16_t *restrict out) {
  for (size_t i = 0; i < n; i++) out[i] = bf16_from_float(in[i]);
}

static void widen_plain(size_t n, const uint16_t *restrict in, float *restrict out) {
  for (size_t i = 0; i < n; i++) out[i] = float_from_bf16(in[i]);
}

/* every slot filled */
static bf16_kernels complete(const bf16_kernels *k) {
  return (bf16_kernels){k->narrow ? k->narrow : narrow_plain, k->widen ? k->widen : widen_plain};
}

/* Detecting the processor takes longer than converting a short array. All tables give bit-identical results, so the choice is
 * a matter of speed alone and cannot fail. */
static bf16_kernels kernels_for(size_t n) {
  enum { WORTH_ASKING = 1 << 20 };
  const kernels *chosen;
  if (n < WORTH_ASKING || kernels_choose(NULL, &chosen) != SPARC_OK) return (bf16_kernels){narrow_plain, widen_plain};
  return complete(&chosen->bf16);
}

void sparc_bf16_from_floats(size_t n, const float *in, sparc_bf16 *out) {
  if (in && out) kernels_for(n).narrow(n, in, out);
}

void sparc_floats_from_bf16(size_t n, const sparc_bf16 *in, float *out) {
  if (in && out) kernels_for(n).widen(n, in, out);
}

/* ---- arrays on threads --------------------------------------------------------------------------- */

/* elements of a tile: both forms of it stay in the second-level cache */
enum { CONVERSION_TILE = 1 << 14 };

typedef struct conversion {
  bf16_kernels kernels;
  size_t n;
  const float *from_floats;
  sparc_bf16 *to_bf16;
  const sparc_bf16 *from_bf16;
  float *to_floats;
} conversion;

static void narrow_tile(void *context, size_t tile) {
  const conversion *c = context;
  const range part = range_of(c->n, CONVERSION_TILE, tile);
  c->kernels.narrow(part.n, c->from_floats + part.first, c->to_bf16 + part.first);
}

static void widen_tile(void *context, size_t tile) {
  const conversion *c = context;
  const range part = range_of(c->n, CONVERSION_TILE, tile);
  c->kernels.widen(part.n, c->from_bf16 + part.first, c->to_floats + part.first);
}

static void narrow(const sparc_plan *plan, size_t n, const float *in, sparc_bf16 *out) {
  conversion c = {.kernels = complete(&plan->cell->kernels->bf16), .n = n, .from_floats = in, .to_bf16 = out};
  parallel_for(plan->threads, tiles_of(n, CONVERSION_TILE), narrow_tile, &c);
}

static void widen(const sparc_plan *plan, size_t n, const sparc_bf16 *in, float *out) {
  conversion c = {.kernels = complete(&plan->cell->kernels->bf16), .n = n, .from_bf16 = in, .to_floats = out};
  parallel_for(plan->threads, tiles_of(n, CONVERSION_TILE), widen_tile, &c);
}

/* ---- memory -------------------------------------------------------------------------------------- */

static size_t inputs_of(const sparc_plan *plan) { return (size_t)plan->B * (size_t)plan->T * (size_t)plan->cell->D; }

static size_t outputs_of(const sparc_plan *plan) {
  return (size_t)plan->B * (size_t)plan->T * plan->cell->sizes.output;
}

typedef struct saved_view {
  void *engine;
  float *y; /* (B, T, O) */
} saved_view;

typedef struct work_view {
  void *engine;
  float *x, *dy, *dx; /* (B, T, D), (B, T, O), (B, T, D); the forward uses x alone */
} work_view;

static saved_view carve_saved(arena *a, const sparc_plan *plan) {
  saved_view view = {.engine = arena_take(a, plan_sizes_f32(plan).saved, 1)};
  view.y = arena_take(a, outputs_of(plan), sizeof(float));
  return view;
}

static work_view carve_work(arena *a, const sparc_plan *plan) {
  work_view view = {.engine = arena_take(a, plan_sizes_f32(plan).work, 1)};
  view.x = arena_take(a, inputs_of(plan), sizeof(float));
  view.dy = arena_take(a, outputs_of(plan), sizeof(float));
  view.dx = arena_take(a, inputs_of(plan), sizeof(float));
  return view;
}

sparc_plan_sizes plan_sizes_bf16(const sparc_plan *plan) {
  arena saved = arena_measure(), work = arena_measure();
  carve_saved(&saved, plan);
  carve_work(&work, plan);
  return (sparc_plan_sizes){.saved = saved.used, .work = work.used};
}

/* ---- sequences ----------------------------------------------------------------------------------- */

typedef struct needed {
  const void *pointer;
  const char *name;
} needed;

static sparc_status require_all(const needed *list, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (!list[i].pointer) return fail(SPARC_INVALID, "%s is NULL", list[i].name);
  return SPARC_OK;
}
#define REQUIRE(...) require_all((const needed[]){__VA_ARGS__}, sizeof((const needed[]){__VA_ARGS__}) / sizeof(needed))

sparc_status sparc_forward_bf16(const sparc_plan *plan, const float *prepared, const sparc_sequence_bf16 *sequence,
                                void *saved, void *work) {
  sparc_status status = REQUIRE({plan, "plan"}, {prepared, "prepared"}, {sequence, "sequence"});
  if (status == SPARC_OK) status = check_block(saved, "saved");
  if (status == SPARC_OK) status = check_block(work, "work");
  if (status == SPARC_OK) status = REQUIRE({sequence->x, "sequence.x"}, {sequence->y, "sequence.y"});
  if (status != SPARC_OK) return status;
  arena saved_arena = arena_over(saved, (size_t)-1), work_arena = arena_over(work, (size_t)-1);
  const saved_view kept = carve_saved(&saved_arena, plan);
  const work_view scratch = carve_work(&work_arena, plan);

  widen(plan, inputs_of(plan), sequence->x, scratch.x);
  const sparc_sequence inside = {.x = scratch.x,
                                 .mask = sequence->mask,
                                 .state0 = sequence->state0,
                                 .y = kept.y,
                                 .state_last = sequence->state_last};
  status = sparc_forward(plan, prepared, &inside, kept.engine, scratch.engine);
  if (status == SPARC_OK) narrow(plan, outputs_of(plan), kept.y, sequence->y);
  return status;
}

sparc_status sparc_backward_bf16(const sparc_plan *plan, const float *prepared, const sparc_sequence_bf16 *sequence,
                                 const void *saved, const sparc_sequence_gradient_bf16 *gradient, void *work) {
  sparc_status status = REQUIRE({plan, "plan"}, {prepared, "prepared"}, {sequence, "sequence"}, {gradient, "gradient"});
  if (status == SPARC_OK) status = check_block(saved, "saved");
  if (status == SPARC_OK) status = check_block(work, "work");
  if (status == SPARC_OK) status = REQUIRE({sequence->x, "sequence.x"}, {gradient->dy, "gradient.dy"});
  if (status != SPARC_OK) return status;
  /* the backward only reads saved; the view type is shared with the forward, which writes it */
  arena saved_arena = arena_over((void *)saved, (size_t)-1), work_arena = arena_over(work, (size_t)-1);
  const saved_view kept = carve_saved(&saved_arena, plan);
  const work_view scratch = carve_work(&work_arena, plan);

  widen(plan, inputs_of(plan), sequence->x, scratch.x);
  widen(plan, outputs_of(plan), gradient->dy, scratch.dy);
  const sparc_sequence inside = {.x = scratch.x, .mask = sequence->mask, .state0 = sequence->state0, .y = kept.y};
  const sparc_sequence_gradient requested = {.dy = scratch.dy,
                                             .dstate_last = gradient->dstate_last,
                                             .dx = gradient->dx ? scratch.dx : NULL,
                                             .dstate0 = gradient->dstate0,
                                             .dparams = gradient->dparams};
  status = sparc_backward(plan, prepared, &inside, kept.engine, &requested, scratch.engine);
  if (status == SPARC_OK && gradient->dx) narrow(plan, inputs_of(plan), scratch.dx, gradient->dx);
  return status;
}
