/* SPDX-License-Identifier: MIT */
/* cell_sparc.c: SPARC on a device: two shared controls per token around the strips. */
#include "cells/sparc.h"
#include "device/kernels.h"
#include "device/plan.h"

#include <string.h>

static bool is_controlled(const sparc_cell *cell) { return cell_rules_of(cell).controls == CONTROLS_SHARED; }

static const char *refusal(const sparc_cell *cell) {
  if (hidden_of(cell)) return "a hidden layer before its controllers";
  return cell_rules_of(cell).controls == CONTROLS_PER_MODE ? "controls that its modes do not share" : NULL;
}

/* constants of the modes, the controllers, kappa_r and kappa_p */
static void measure(const sparc_cell *cell, plan_shape *s) {
  const size_t H = (size_t)s->strip.H, tokens = (size_t)s->strip.tokens, controllers = 2 * ((size_t)s->D + 1);
  s->constants = region_take(&s->prepared_bytes, K_COUNT * H + controllers + 2);
  s->of_tokens = region_take(&s->saved_bytes, 4 * tokens);
  if (!is_controlled(cell)) return;
  s->dcontrols = region_take(&s->work_bytes, strip_dcontrols(&s->strip));
  s->dshared = region_take(&s->work_bytes, 2 * tokens);
  s->controller_parts = region_take(&s->work_bytes, (size_t)s->pieces * controllers);
}

static void define(const sparc_cell *cell, program_text *text) {
  const sparc_rules rules = cell_rules_of(cell);
  const definition numbers[] = {{"SHARED", 1},
                                {"GATES", 0},
                                {"SPECTRUM", 0},
                                {"CONTROLLED", is_controlled(cell)},
                                {"WIDE_TURN", cell_option(cell, "kappa_p") > 1.5707964},
                                {"ADAPTIVE_DECAY", rules.adaptive_decay},
                                {"CLOCK_LIVE", CLOCK_LIVE},
                                {"CLOCK_STATIC", CLOCK_STATIC},
                                {"CLOCK_OFF", CLOCK_OFF},
                                {"CLOCK", rules.clock},
                                {"GATE", rules.gate},
                                {"ADAPTIVE_NORM", rules.adaptive_norm},
                                {"LINEAR", rules.linear},
                                {"K_NU", K_NU},
                                {"K_COS", K_COS},
                                {"K_SIN", K_SIN},
                                {"K_THETA", K_THETA},
                                {"K_GAIN", K_GAIN},
                                {"K_GAIN_NORM", K_GAIN_NORM},
                                {"K_PSI", K_PSI},
                                {"K_RHO", K_RHO},
                                {"K_CLOCK", K_CLOCK},
                                {"K_CLOCK_RATE", K_CLOCK_RATE},
                                {"K_GATE_P", K_GATE_P},
                                {"K_GATE_R", K_GATE_R}};
  text_define(text, sizeof numbers / sizeof *numbers, numbers);
  text_print(text, "#define DECAY_FLOOR %.17gf\n", (double)DECAY_FLOOR_F32);
}

static bool needs(const sparc_cell *cell, const plan_shape *s, kernel_id kernel) {
  const bool controlled = is_controlled(cell);
  switch (kernel) {
    case KERNEL_controls:
      return true;
    case KERNEL_controls_adjoint:
    case KERNEL_controller_gradient:
      return controlled;
    case KERNEL_input_copy:
      return !controlled && !s->dense;
    default:
      return false;
  }
}

static size_t controllers_at(const plan_shape *s) { return K_COUNT * (size_t)s->strip.H; }

static void prepare(const sparc_device_plan *plan, const float *constants) {
  const plan_shape *s = &plan->shape;
  float *to = plan->image + s->constants.offset / sizeof(float);
  const size_t count = controllers_at(s) + 2 * ((size_t)s->D + 1);
  memcpy(to, constants, count * sizeof(float));
  to[count] = (float)cell_option(plan->cell, "kappa_r");
  to[count + 1] = (float)cell_option(plan->cell, "kappa_p");
}

static sparc_status tokens(const device_call *call) {
  const sparc_device_plan *plan = call->plan;
  const kernel_set *set = &plan->kernels;
  const plan_shape *s = &plan->shape;
  kernel_launch l = launch_of(set, KERNEL_controls, ceil_quotient((size_t)s->strip.tokens, ROW_TOKENS));
  pass_io(set, &l, call->sequence->x);
  pass_floats(set, &l, region_slice(call->prepared, s->constants));
  pass_floats(set, &l, call->sequence->mask);
  pass_floats(set, &l, region_slice(call->saved, s->of_tokens));
  pass_fault(set, &l);
  pass_int(&l, s->strip.tokens);
  pass_int(&l, s->D);
  pass_int(&l, (int)controllers_at(s));
  return launch_run(set, &l);
}

/* the controllers' gradient in parts, if parameters are requested, and dx of an input that is the content */
static sparc_status controller_gradient(const device_call *call) {
  const sparc_device_plan *plan = call->plan;
  const plan_shape *s = &plan->shape;
  const kernel_set *set = &plan->kernels;
  const sparc_slice none = {NULL, 0}, dx = s->dense ? none : call->gradient->dx;
  const bool wants_parts = call->gradient->dparams.memory != NULL;
  if (!wants_parts && !dx.memory) return SPARC_OK;
  const size_t tiles = ceil_quotient((size_t)s->D + 1, STRIP_MODES);
  kernel_launch l = launch_of(set, KERNEL_controller_gradient, tiles * (size_t)s->pieces);
  pass_io(set, &l, call->sequence->x);
  pass_floats(set, &l, region_slice(call->work, s->dshared));
  pass_floats(set, &l, region_slice(call->work, s->dcontent));
  pass_floats(set, &l, region_slice(call->prepared, s->constants));
  pass_io(set, &l, dx);
  pass_floats(set, &l, wants_parts ? region_slice(call->work, s->controller_parts) : none);
  pass_int(&l, s->strip.tokens);
  pass_int(&l, s->D);
  pass_int(&l, (int)controllers_at(s));
  return launch_run(set, &l);
}

static sparc_status tokens_backward(const device_call *call) {
  const sparc_device_plan *plan = call->plan;
  const plan_shape *s = &plan->shape;
  const kernel_set *set = &plan->kernels;
  if (!is_controlled(plan->cell)) return s->dense ? SPARC_OK : copy_to_dx(call);
  kernel_launch l = launch_of(set, KERNEL_controls_adjoint, ceil_quotient(2 * (size_t)s->strip.tokens, GROUP_SIZE));
  pass_floats(set, &l, region_slice(call->saved, s->of_tokens));
  pass_floats(set, &l, region_slice(call->work, s->dcontrols));
  pass_floats(set, &l, region_slice(call->work, s->dshared));
  pass_int(&l, s->strip.tokens);
  pass_int(&l, s->strip.tiles);
  const sparc_status status = launch_run(set, &l);
  return status == SPARC_OK ? controller_gradient(call) : status;
}

/* the blocks of the modes lie one after the other in the order of the sums, the controllers likewise */
static sparc_status parameters(const device_call *call) {
  const sparc_cell *cell = call->plan->cell;
  const plan_shape *s = &call->plan->shape;
  const size_t modes = SUM_COUNT * (size_t)s->strip.H, controllers = 2 * ((size_t)s->D + 1);
  const sparc_status status =
      add_to_params(call, s->sums, strip_parts(&s->strip), modes, 0, modes, cell->block[0].offset);
  if (status != SPARC_OK || !is_controlled(cell)) return status;
  const size_t offset = cell->block[cell_block_index(cell, "ctrl_retention")].offset;
  return add_to_params(call, s->controller_parts, (size_t)s->pieces, controllers, 0, controllers, offset);
}

const device_cell device_cell_sparc = {
    .kind = "sparc",
    .texts = {&kernel_transition, &kernel_sparc},
    .refusal = refusal,
    .measure = measure,
    .define = define,
    .needs = needs,
    .prepare = prepare,
    .tokens = tokens,
    .tokens_backward = tokens_backward,
    .parameters = parameters,
};
