/* SPDX-License-Identifier: MIT */
/* cell_spectrum.c: RTU and LRU on a device: a fixed spectrum, so that only the mask is per token. */
#include "cells/fixed_spectrum.h"
#include "device/kernels.h"
#include "device/plan.h"

#include <string.h>

/* of RTU, which has one more than LRU; and two numbers that this cell does not use */
static void measure(const sparc_cell *cell, plan_shape *s) {
  (void)cell;
  s->constants = region_take(&s->prepared_bytes, RTU_CONSTANTS * (size_t)s->strip.H + 2);
}

static void define(const sparc_cell *cell, program_text *text) {
  (void)cell;
  const definition numbers[] = {{"SHARED", 0},
                                {"GATES", 0},
                                {"SPECTRUM", 1},
                                {"CONTROLLED", 0},
                                {"WIDE_TURN", 0},
                                {"K_LAMBDA_RE", K_LAMBDA_RE},
                                {"K_LAMBDA_IM", K_LAMBDA_IM},
                                {"K_DECAY_RE", K_DECAY_RE},
                                {"K_DECAY_IM", K_DECAY_IM},
                                {"K_FREQ_RE", K_FREQ_RE},
                                {"K_FREQ_IM", K_FREQ_IM},
                                {"K_GAIN", K_GAIN},
                                {"K_GAIN_SLOPE", K_GAIN_SLOPE}};
  text_define(text, sizeof numbers / sizeof *numbers, numbers);
}

static bool needs(const sparc_cell *cell, const plan_shape *s, kernel_id kernel) {
  (void)cell, (void)s;
  return kernel == KERNEL_check_mask || kernel == KERNEL_spectrum_gradient;
}

static void prepare(const sparc_device_plan *plan, const float *constants) {
  float *to = plan->image + plan->shape.constants.offset / sizeof(float);
  memcpy(to, constants, plan->cell->constant_count * sizeof(float));
}

static sparc_status tokens(const device_call *call) {
  return check_mask(&call->plan->kernels, call->sequence->mask, call->plan->shape.strip.tokens);
}

static sparc_status tokens_backward(const device_call *call) {
  (void)call;
  return SPARC_OK;
}

static sparc_slice block_slice(const device_call *call, const char *name) {
  const int index = cell_block_index(call->plan->cell, name);
  if (index < 0) return (sparc_slice){NULL, 0};
  const sparc_slice dparams = call->gradient->dparams;
  return (sparc_slice){dparams.memory, dparams.offset + call->plan->cell->block[index].offset * sizeof(float)};
}

static sparc_status parameters(const device_call *call) {
  const sparc_device_plan *plan = call->plan;
  const kernel_set *set = &plan->kernels;
  const plan_shape *s = &plan->shape;
  kernel_launch l = launch_of(set, KERNEL_spectrum_gradient, ceil_quotient((size_t)s->strip.H, STRIP_MODES));
  pass_floats(set, &l, region_slice(call->work, s->sums));
  pass_floats(set, &l, region_slice(call->prepared, s->constants));
  pass_floats(set, &l, block_slice(call, "log_decay"));
  pass_floats(set, &l, block_slice(call, "log_freq"));
  pass_floats(set, &l, block_slice(call, "log_gain"));
  pass_int(&l, (int)strip_parts(&s->strip));
  pass_int(&l, s->strip.H);
  return launch_run(set, &l);
}

#define SPECTRUM_CELL(name)                                                   \
  const device_cell device_cell_##name = {.kind = #name,                      \
                                          .texts = {&kernel_spectrum},        \
                                          .measure = measure,                 \
                                          .define = define,                   \
                                          .needs = needs,                     \
                                          .prepare = prepare,                 \
                                          .tokens = tokens,                   \
                                          .tokens_backward = tokens_backward, \
                                          .parameters = parameters}
SPECTRUM_CELL(rtu);
SPECTRUM_CELL(lru);
