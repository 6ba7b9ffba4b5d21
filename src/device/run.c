/* SPDX-License-Identifier: MIT */
/* run.c: the calls of a plan: check the arguments, then enqueue one kernel after the other. */
#include "base/error.h"
#include "device/plan.h"

#include <string.h>

/* ---- for cells ---------------------------------------------------------------------------------- */

sparc_status add_to_params(const device_call *call, region parts, size_t count, size_t stride, size_t first, size_t n,
                           size_t offset) {
  sparc_slice target = call->gradient->dparams;
  target.offset += offset * sizeof(float);
  return add_parts(&call->plan->kernels, region_slice(call->work, parts), count, stride, first, n, target);
}

sparc_status copy_to_dx(const device_call *call) {
  const plan_shape *s = &call->plan->shape;
  const kernel_set *set = &call->plan->kernels;
  if (!call->gradient->dx.memory) return SPARC_OK;
  const size_t elements = (size_t)s->strip.tokens * (size_t)s->D;
  kernel_launch l = launch_of(set, KERNEL_input_copy, ceil_quotient(elements, GROUP_SIZE));
  pass_floats(set, &l, region_slice(call->work, s->dcontent));
  pass_io(set, &l, call->gradient->dx);
  pass_int(&l, s->strip.tokens);
  pass_int(&l, s->D);
  return launch_run(set, &l);
}

static sparc_slice content_of(const device_call *call) {
  const plan_shape *s = &call->plan->shape;
  return s->dense ? region_slice(call->saved, s->content) : call->sequence->x;
}

void pass_content(const device_call *call, kernel_launch *launch) {
  const kernel_set *set = &call->plan->kernels;
  if (call->plan->shape.dense)
    pass_floats(set, launch, content_of(call));
  else
    pass_io(set, launch, content_of(call));
}

/* ---- products ----------------------------------------------------------------------------------- */

static size_t product_tiles(int M, int N) {
  return ceil_quotient((size_t)M, PRODUCT_EDGE) * ceil_quotient((size_t)N, PRODUCT_EDGE);
}

static void pass_product(kernel_launch *l, int M, int N, int K, int piece) {
  pass_int(l, M);
  pass_int(l, N);
  pass_int(l, K);
  pass_int(l, piece);
}

/* content = x W^T + bias for n tokens */
static sparc_status project(const sparc_device_plan *plan, sparc_slice prepared, int n, sparc_slice x,
                            sparc_slice content) {
  const plan_shape *s = &plan->shape;
  const kernel_set *set = &plan->kernels;
  if (!s->dense) return SPARC_OK;
  kernel_launch l = launch_of(set, KERNEL_project, product_tiles(n, s->strip.columns));
  pass_io(set, &l, x);
  pass_floats(set, &l, region_slice(prepared, s->weights));
  pass_floats(set, &l, region_slice(prepared, s->bias));
  pass_floats(set, &l, (sparc_slice){NULL, 0});
  pass_floats(set, &l, content);
  pass_product(&l, n, s->strip.columns, s->D, s->D);
  return launch_run(set, &l);
}

/* dx = dcontent W, with the part of the shared controls; then dW = dcontent^T x */
static sparc_status unproject(const device_call *call) {
  const sparc_device_plan *plan = call->plan;
  const kernel_set *set = &plan->kernels;
  const plan_shape *s = &plan->shape;
  if (!s->dense || !call->gradient->dx.memory) return SPARC_OK;
  sparc_slice controllers = {NULL, 0};
  if (s->dshared.bytes > 0) {
    controllers = region_slice(call->prepared, s->constants);
    controllers.offset += s->constants.bytes - (2 * ((size_t)s->D + 1) + 2) * sizeof(float);
  }
  kernel_launch l = launch_of(set, KERNEL_unproject, product_tiles(s->strip.tokens, s->D));
  pass_floats(set, &l, region_slice(call->work, s->dcontent));
  pass_floats(set, &l, region_slice(call->prepared, s->weights));
  pass_floats(set, &l, controllers);
  pass_floats(set, &l, region_slice(call->work, s->dshared));
  pass_io(set, &l, call->gradient->dx);
  pass_product(&l, s->strip.tokens, s->D, s->strip.columns, s->strip.columns);
  return launch_run(set, &l);
}

static sparc_status weight_gradient(const device_call *call) {
  const sparc_device_plan *plan = call->plan;
  const kernel_set *set = &plan->kernels;
  const plan_shape *s = &plan->shape;
  if (!s->dense) return SPARC_OK;
  const size_t n = (size_t)s->strip.columns * (size_t)s->D;
  kernel_launch l =
      launch_of(set, KERNEL_weight_gradient, product_tiles(s->strip.columns, s->D) * (size_t)s->weight_pieces);
  pass_floats(set, &l, region_slice(call->work, s->dcontent));
  pass_io(set, &l, call->sequence->x);
  pass_floats(set, &l, (sparc_slice){NULL, 0});
  pass_floats(set, &l, (sparc_slice){NULL, 0});
  pass_floats(set, &l, region_slice(call->work, s->weight_parts));
  pass_product(&l, s->strip.columns, s->D, s->strip.tokens, s->weight_piece);
  sparc_status status = launch_run(set, &l);
  if (status != SPARC_OK) return status;
  /* the rows of all projections lie one after the other in params */
  return add_to_params(call, s->weight_parts, (size_t)s->weight_pieces, n, 0, n, plan->cell->project[0].weight);
}

/* ---- strips ------------------------------------------------------------------------------------- */

/* tokens: the controls or the mask of a token */
static strip_arrays arrays_of(const device_call *call) {
  const plan_shape *s = &call->plan->shape;
  const sparc_device_sequence *sequence = call->sequence;
  const bool controls = s->of_tokens.bytes > 0;
  return (strip_arrays){.constants = region_slice(call->prepared, s->constants),
                        .tail = (int)(s->constants.bytes / sizeof(float)) - 2,
                        .content = content_of(call),
                        .content_floats = s->dense,
                        .tokens = controls ? region_slice(call->saved, s->of_tokens) : sequence->mask,
                        .gates = region_slice(call->saved, s->gates),
                        .maps = region_slice(call->work, s->maps),
                        .marks = region_slice(call->saved, s->marks),
                        .state0 = sequence->state0,
                        .y = sequence->y,
                        .state_last = sequence->state_last};
}

static sparc_status scan(const device_call *call) {
  const strip_arrays arrays = arrays_of(call);
  return strip_forward(&call->plan->kernels, &call->plan->shape.strip, &arrays);
}

static sparc_status scan_adjoint(const device_call *call) {
  const plan_shape *s = &call->plan->shape;
  strip_arrays arrays = arrays_of(call);
  arrays.dy = call->gradient->dy;
  arrays.dstate_last = call->gradient->dstate_last;
  arrays.dcontent = region_slice(call->work, s->dcontent);
  arrays.dcontent_floats = true;
  arrays.dgates = region_slice(call->work, s->dgates);
  arrays.dcontrols = region_slice(call->work, s->dcontrols);
  arrays.dstate0 = call->gradient->dstate0;
  arrays.sums = region_slice(call->work, s->sums);
  return strip_backward(&call->plan->kernels, &s->strip, &arrays);
}

/* ---- public calls ------------------------------------------------------------------------------- */

static sparc_status check_sequence(const device_call *call) {
  const sparc_device_plan *plan = call->plan;
  const plan_shape *s = &plan->shape;
  const size_t element = plan->kernels.bf16 ? 2 : sizeof(float), tokens = (size_t)s->strip.tokens;
  const size_t states = (size_t)s->strip.B * (size_t)s->strip.columns * sizeof(float);
  const array_check arrays[] = {
      {"prepared", call->prepared, s->prepared_bytes, BLOCK_ALIGNMENT, false},
      {"saved", call->saved, s->saved_bytes, BLOCK_ALIGNMENT, false},
      {"work", call->work, s->work_bytes, BLOCK_ALIGNMENT, false},
      {"sequence.x", call->sequence->x, tokens * (size_t)s->D * element, element, false},
      {"sequence.mask", call->sequence->mask, tokens * sizeof(float), sizeof(float), true},
      {"sequence.state0", call->sequence->state0, states, sizeof(float), true},
      {"sequence.y", call->sequence->y, tokens * (size_t)s->strip.columns * element, element, call->gradient != NULL},
      {"sequence.state_last", call->sequence->state_last, states, sizeof(float), true},
  };
  return check_arrays(plan->kernels.device, sizeof arrays / sizeof *arrays, arrays);
}

static sparc_status check_gradient(const device_call *call) {
  const sparc_device_plan *plan = call->plan;
  const plan_shape *s = &plan->shape;
  const sparc_device_gradient *g = call->gradient;
  const size_t element = plan->kernels.bf16 ? 2 : sizeof(float), tokens = (size_t)s->strip.tokens;
  const size_t states = (size_t)s->strip.B * (size_t)s->strip.columns * sizeof(float);
  const array_check arrays[] = {
      {"gradient.dy", g->dy, tokens * (size_t)s->strip.columns * element, element, false},
      {"gradient.dstate_last", g->dstate_last, states, sizeof(float), true},
      {"gradient.dx", g->dx, tokens * (size_t)s->D * element, element, true},
      {"gradient.dstate0", g->dstate0, states, sizeof(float), true},
      {"gradient.dparams", g->dparams, plan->cell->sizes.params * sizeof(float), sizeof(float), true},
  };
  return check_arrays(plan->kernels.device, sizeof arrays / sizeof *arrays, arrays);
}

sparc_status sparc_device_prepare(const sparc_device_plan *plan, sparc_slice params, sparc_slice prepared) {
  if (!plan) return fail(SPARC_INVALID, "plan is NULL");
  const plan_shape *s = &plan->shape;
  const sparc_cell *cell = plan->cell;
  const size_t bytes = cell->sizes.params * sizeof(float);
  const array_check arrays[] = {{"params", params, bytes, sizeof(float), false},
                                {"prepared", prepared, s->prepared_bytes, BLOCK_ALIGNMENT, false}};
  sparc_status status = check_arrays(plan->kernels.device, 2, arrays);
  if (status == SPARC_OK) status = sparc_memory_read(params, plan->params, bytes);
  if (status == SPARC_OK) status = sparc_prepare(cell, plan->params, plan->prepared);
  if (status != SPARC_OK) return status;

  /* rows of all projections, cut as the cell cuts them */
  float *weights = plan->image + s->weights.offset / sizeof(float);
  const size_t count = s->weights.bytes / sizeof(float);
  for (size_t i = 0; i < count; i++)
    weights[i] = (float)bounded((double)plan->params[cell->project[0].weight + i], WEIGHT_MAX);
  plan->of_cell->prepare(plan, plan->prepared + cell->constants);
  return sparc_memory_write(prepared, plan->image, s->prepared_bytes);
}

sparc_status sparc_device_forward(const sparc_device_plan *plan, sparc_slice prepared,
                                  const sparc_device_sequence *sequence, sparc_slice saved, sparc_slice work) {
  if (!plan || !sequence) return fail(SPARC_INVALID, "%s is NULL", plan ? "sequence" : "plan");
  const device_call call = {.plan = plan, .prepared = prepared, .saved = saved, .work = work, .sequence = sequence};
  sparc_status status = check_sequence(&call);
  if (status == SPARC_OK) status = project(plan, prepared, plan->shape.strip.tokens, sequence->x, content_of(&call));
  if (status == SPARC_OK) status = plan->of_cell->tokens(&call);
  if (status == SPARC_OK) status = scan(&call);
  return status;
}

sparc_status sparc_device_backward(const sparc_device_plan *plan, sparc_slice prepared,
                                   const sparc_device_sequence *sequence, sparc_slice saved,
                                   const sparc_device_gradient *gradient, sparc_slice work) {
  if (!plan || !sequence || !gradient)
    return fail(SPARC_INVALID, "%s is NULL", !plan ? "plan" : !sequence ? "sequence" : "gradient");
  const device_call call = {
      .plan = plan, .prepared = prepared, .saved = saved, .work = work, .sequence = sequence, .gradient = gradient};
  sparc_status status = check_sequence(&call);
  if (status == SPARC_OK) status = check_gradient(&call);
  if (status == SPARC_OK) status = scan_adjoint(&call);
  if (status == SPARC_OK) status = plan->of_cell->tokens_backward(&call);
  if (status == SPARC_OK) status = unproject(&call);
  if (status != SPARC_OK || !gradient->dparams.memory) return status;
  status = weight_gradient(&call);
  return status == SPARC_OK ? plan->of_cell->parameters(&call) : status;
}

/* ---- single steps ------------------------------------------------------------------------------- */

static sparc_status check_streams(const sparc_device_plan *plan, sparc_slice prepared,
                                  const sparc_device_streams *streams, sparc_slice work) {
  const plan_shape *s = &plan->shape;
  const size_t element = plan->kernels.bf16 ? 2 : sizeof(float), n = (size_t)s->strip.B;
  const size_t columns = n * (size_t)s->strip.columns;
  const array_check arrays[] = {
      {"prepared", prepared, s->prepared_bytes, BLOCK_ALIGNMENT, false},
      {"work", work, s->work_bytes, BLOCK_ALIGNMENT, false},
      {"streams.x", streams->x, n * (size_t)s->D * element, element, false},
      {"streams.mask", streams->mask, n * sizeof(float), sizeof(float), true},
      {"streams.states", streams->states, columns * sizeof(float), sizeof(float), false},
      {"streams.y", streams->y, columns * element, element, true},
  };
  if (s->strip.T != 1) return fail(SPARC_INVALID, "the plan has T = %d, expected 1 for single steps", s->strip.T);
  return check_arrays(plan->kernels.device, sizeof arrays / sizeof *arrays, arrays);
}

sparc_status sparc_device_step(const sparc_device_plan *plan, sparc_slice prepared, const sparc_device_streams *streams,
                               sparc_slice work) {
  if (!plan || !streams) return fail(SPARC_INVALID, "%s is NULL", plan ? "streams" : "plan");
  const plan_shape *s = &plan->shape;
  const kernel_set *set = &plan->kernels;
  /* the place of the content's gradient, which a step does not have */
  const sparc_slice content = s->dense ? region_slice(work, s->dcontent) : streams->x;
  const int B = s->strip.B, H = s->strip.H;
  sparc_status status = check_streams(plan, prepared, streams, work);
  if (status == SPARC_OK) status = project(plan, prepared, B, streams->x, content);
  if (status != SPARC_OK) return status;

  kernel_launch l = launch_of(set, KERNEL_step_streams, ceil_quotient((size_t)B, ROW_TOKENS));
  pass_io(set, &l, streams->x);
  if (s->dense)
    pass_floats(set, &l, content);
  else
    pass_io(set, &l, content);
  pass_floats(set, &l, region_slice(prepared, s->constants));
  pass_floats(set, &l, region_slice(prepared, s->gates_in));
  pass_floats(set, &l, streams->mask);
  pass_floats(set, &l, streams->states);
  pass_io(set, &l, streams->y);
  pass_fault(set, &l);
  pass_int(&l, B);
  pass_int(&l, s->D);
  pass_int(&l, H);
  pass_int(&l, (int)(s->constants.bytes / sizeof(float)) - 2);
  pass_int(&l, (int)(s->gates_in.bytes / sizeof(float) / (2 * (size_t)H)));
  return launch_run(set, &l);
}
