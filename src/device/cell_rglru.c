/* SPDX-License-Identifier: MIT */
/* cell_rglru.c: RG-LRU on a device: two gates per coordinate and token around the strips. */
#include "cells/rglru.h"
#include "device/kernels.h"
#include "device/plan.h"
#include "kernels/diagonal.h"

#include <string.h>

static size_t block_width(const sparc_cell *cell) { return (size_t)cell_option(cell, "block"); }

static size_t gate_weights(const sparc_cell *cell) { return 2 * (size_t)cell->H * block_width(cell); }

static void measure(const sparc_cell *cell, plan_shape *s) {
  enum { MAX_PARTS = 1 << 22 }; /* floats that the gates' gradients may take before they are added up */
  const size_t H = (size_t)s->strip.H, tokens = (size_t)s->strip.tokens, weights = gate_weights(cell);
  cut_tokens(s->strip.tokens, MAX_PARTS / weights, &s->gate_pieces, &s->gate_piece);
  s->constants = region_take(&s->prepared_bytes, CONSTANT_ROWS * H + 2);
  s->gates_in = region_take(&s->prepared_bytes, weights);
  s->gates_out = region_take(&s->prepared_bytes, weights);
  s->gates = region_take(&s->saved_bytes, 2 * tokens * H);
  s->dgates = region_take(&s->work_bytes, 2 * tokens * H);
  s->gate_parts = region_take(&s->work_bytes, (size_t)s->gate_pieces * weights);
  if (!s->dense) return;
  s->bias = region_take(&s->prepared_bytes, H);
  s->bias_parts = region_take(&s->work_bytes, (size_t)s->pieces * H);
}

static void define(const sparc_cell *cell, program_text *text) {
  (void)cell;
  const definition numbers[] = {{"SHARED", 0},
                                {"GATES", 2},
                                {"SPECTRUM", 0},
                                {"CONTROLLED", 0},
                                {"WIDE_TURN", 0},
                                {"K_RATE", K_RATE},
                                {"K_RATE_SLOPE", K_RATE_SLOPE},
                                {"K_RETENTION_BIAS", K_RETENTION_BIAS},
                                {"K_INPUT_BIAS", K_INPUT_BIAS}};
  text_define(text, sizeof numbers / sizeof *numbers, numbers);
  text_print(text, "#define LIMIT %.9gf\n", (double)RGLRU_CONTENT_MAX);
}

static bool needs(const sparc_cell *cell, const plan_shape *s, kernel_id kernel) {
  (void)cell;
  switch (kernel) {
    case KERNEL_check_mask:
    case KERNEL_open_gates:
    case KERNEL_gates_adjoint:
    case KERNEL_gate_gradient:
      return true;
    case KERNEL_bias_gradient:
      return s->dense;
    case KERNEL_input_copy:
      return !s->dense;
    default:
      return false;
  }
}

static const sparc_block *block_of(const sparc_cell *cell, const char *name) {
  return &cell->block[cell_block_index(cell, name)];
}

/* the gates' weights in both orders: [p][H] for the gates, [H][k] as in params for the content */
static void prepare(const sparc_device_plan *plan, const float *constants) {
  static const char *const gates[] = {"gate_retention", "gate_input"};
  const plan_shape *s = &plan->shape;
  const size_t H = (size_t)s->strip.H, k = block_width(plan->cell);
  memcpy(plan->image + s->constants.offset / sizeof(float), constants, CONSTANT_ROWS * H * sizeof(float));
  for (size_t g = 0; g < 2; g++) {
    const float *from = plan->params + block_of(plan->cell, gates[g])->offset;
    float *in = plan->image + s->gates_in.offset / sizeof(float) + g * H * k;
    float *out = plan->image + s->gates_out.offset / sizeof(float) + g * H * k;
    memcpy(out, from, H * k * sizeof(float));
    for (size_t j = 0; j < H; j++)
      for (size_t p = 0; p < k; p++) in[p * H + j] = from[j * k + p];
  }
  if (!s->dense) return;
  const float *bias = plan->params + block_of(plan->cell, "content_bias")->offset;
  float *to = plan->image + s->bias.offset / sizeof(float);
  for (size_t j = 0; j < H; j++) to[j] = (float)bounded((double)bias[j], WEIGHT_MAX);
}

static void pass_gate_shape(const sparc_device_plan *plan, kernel_launch *l) {
  pass_int(l, plan->shape.strip.tokens);
  pass_int(l, plan->shape.strip.H);
  pass_int(l, (int)block_width(plan->cell));
}

static size_t coordinate_groups(const plan_shape *s) {
  return ceil_quotient((size_t)s->strip.tokens * (size_t)s->strip.H, GROUP_SIZE);
}

static sparc_status tokens(const device_call *call) {
  const sparc_device_plan *plan = call->plan;
  const kernel_set *set = &plan->kernels;
  const plan_shape *s = &plan->shape;
  sparc_status status = check_mask(set, call->sequence->mask, s->strip.tokens);
  if (status != SPARC_OK) return status;
  kernel_launch l = launch_of(set, KERNEL_open_gates, coordinate_groups(s));
  pass_content(call, &l);
  pass_floats(set, &l, region_slice(call->prepared, s->constants));
  pass_floats(set, &l, region_slice(call->prepared, s->gates_in));
  pass_floats(set, &l, region_slice(call->saved, s->gates));
  pass_gate_shape(plan, &l);
  return launch_run(set, &l);
}

static sparc_status tokens_backward(const device_call *call) {
  const sparc_device_plan *plan = call->plan;
  const kernel_set *set = &plan->kernels;
  const plan_shape *s = &plan->shape;
  kernel_launch l = launch_of(set, KERNEL_gates_adjoint, coordinate_groups(s));
  pass_floats(set, &l, region_slice(call->work, s->dgates));
  pass_floats(set, &l, region_slice(call->prepared, s->gates_out));
  pass_floats(set, &l, region_slice(call->work, s->dcontent));
  pass_gate_shape(plan, &l);
  sparc_status status = launch_run(set, &l);
  return status == SPARC_OK && !s->dense ? copy_to_dx(call) : status;
}

static sparc_status gate_gradient(const device_call *call) {
  const sparc_device_plan *plan = call->plan;
  const kernel_set *set = &plan->kernels;
  const plan_shape *s = &plan->shape;
  const size_t weights = gate_weights(plan->cell), each = weights / 2, pieces = (size_t)s->gate_pieces;
  kernel_launch l = launch_of(set, KERNEL_gate_gradient, ceil_quotient(weights, GROUP_SIZE) * pieces);
  pass_content(call, &l);
  pass_floats(set, &l, region_slice(call->work, s->dgates));
  pass_floats(set, &l, region_slice(call->work, s->gate_parts));
  pass_gate_shape(plan, &l);
  pass_int(&l, s->gate_piece);
  sparc_status status = launch_run(set, &l);
  if (status == SPARC_OK)
    status =
        add_to_params(call, s->gate_parts, pieces, weights, 0, each, block_of(plan->cell, "gate_retention")->offset);
  if (status == SPARC_OK)
    status =
        add_to_params(call, s->gate_parts, pieces, weights, each, each, block_of(plan->cell, "gate_input")->offset);
  return status;
}

static sparc_status bias_gradient(const device_call *call) {
  const sparc_device_plan *plan = call->plan;
  const kernel_set *set = &plan->kernels;
  const plan_shape *s = &plan->shape;
  const size_t H = (size_t)s->strip.H, pieces = (size_t)s->pieces;
  if (!s->dense) return SPARC_OK;
  kernel_launch l = launch_of(set, KERNEL_bias_gradient, ceil_quotient(H, GROUP_SIZE) * pieces);
  pass_floats(set, &l, region_slice(call->work, s->dcontent));
  pass_floats(set, &l, region_slice(call->work, s->bias_parts));
  pass_int(&l, s->strip.tokens);
  pass_int(&l, s->strip.H);
  sparc_status status = launch_run(set, &l);
  return status == SPARC_OK
             ? add_to_params(call, s->bias_parts, pieces, H, 0, H, block_of(plan->cell, "content_bias")->offset)
             : status;
}

static sparc_status parameters(const device_call *call) {
  static const char *const blocks[RGLRU_SUMS] = {
      [RGLRU_DECAY] = "decay_logit", [RGLRU_RETENTION] = "gate_retention_bias", [RGLRU_INPUT] = "gate_input_bias"};
  const plan_shape *s = &call->plan->shape;
  const size_t H = (size_t)s->strip.H, parts = strip_parts(&s->strip);
  sparc_status status = gate_gradient(call);
  if (status == SPARC_OK) status = bias_gradient(call);
  for (size_t i = 0; i < RGLRU_SUMS && status == SPARC_OK; i++)
    status =
        add_to_params(call, s->sums, parts, RGLRU_SUMS * H, i * H, H, block_of(call->plan->cell, blocks[i])->offset);
  return status;
}

const device_cell device_cell_rglru = {
    .kind = "rglru",
    .texts = {&kernel_rglru, &kernel_gates},
    .measure = measure,
    .define = define,
    .needs = needs,
    .prepare = prepare,
    .tokens = tokens,
    .tokens_backward = tokens_backward,
    .parameters = parameters,
};
