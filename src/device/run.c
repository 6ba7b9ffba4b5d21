/* SPDX-License-Identifier: MIT */
/* run.c: the calls of a plan: check the arguments, then enqueue one kernel after the other. */
#include "base/error.h"
#include "device/plan.h"

#include <string.h>

/* ---- launches ----------------------------------------------------------------------------------- */

sparc_slice region_slice(sparc_slice block, region part) {
  if (part.bytes == 0) return (sparc_slice){NULL, 0};
  return (sparc_slice){block.memory, block.offset + part.offset};
}

kernel_launch launch_of(const sparc_device_plan *plan, kernel_id kernel, size_t groups) {
  return (kernel_launch){.kernel = plan->kernel[kernel], .groups = groups};
}

/* an absent array is a buffer that nobody looks at, and no first element */
static void pass_array(const sparc_device_plan *plan, kernel_launch *launch, sparc_slice slice, size_t element) {
  const sparc_memory *memory = slice.memory ? slice.memory : plan->device->fault;
  const int64_t first = slice.memory ? (int64_t)(slice.offset / element) : -1;
  launch->argument[launch->arguments++] = (launch_argument){.kind = ARGUMENT_BUFFER, .buffer = memory->buffer};
  pass_long(launch, first);
}

void pass_floats(const sparc_device_plan *plan, kernel_launch *launch, sparc_slice slice) {
  pass_array(plan, launch, slice, sizeof(float));
}

void pass_io(const sparc_device_plan *plan, kernel_launch *launch, sparc_slice slice) {
  pass_array(plan, launch, slice, plan->shape.bf16 ? 2 : sizeof(float));
}

void pass_int(kernel_launch *launch, int value) {
  launch->argument[launch->arguments++] = (launch_argument){.kind = ARGUMENT_INT, .value = value};
}

void pass_long(kernel_launch *launch, int64_t value) {
  launch->argument[launch->arguments++] = (launch_argument){.kind = ARGUMENT_LONG, .value = value};
}

sparc_status launch_run(const sparc_device_plan *plan, const kernel_launch *launch) {
  return plan->device->backend->launch(plan->device->context, launch);
}

sparc_status add_parts(const device_call *call, region parts, size_t count, size_t stride, size_t first, size_t n,
                       size_t offset) {
  enum { COLUMNS = 32 };
  const sparc_device_plan *plan = call->plan;
  sparc_slice target = call->gradient->dparams;
  target.offset += offset * sizeof(float);
  kernel_launch l = launch_of(plan, KERNEL_add_sums, ceil_quotient(n, COLUMNS));
  pass_floats(plan, &l, region_slice(call->work, parts));
  pass_floats(plan, &l, target);
  pass_int(&l, (int)count);
  pass_long(&l, (int64_t)stride);
  pass_long(&l, (int64_t)first);
  pass_long(&l, (int64_t)n);
  return launch_run(plan, &l);
}

void pass_content(const device_call *call, kernel_launch *launch) {
  const sparc_device_plan *plan = call->plan;
  if (plan->shape.dense)
    pass_floats(plan, launch, region_slice(call->saved, plan->shape.content));
  else
    pass_io(plan, launch, call->sequence->x);
}

sparc_status check_mask(const device_call *call) {
  const sparc_device_plan *plan = call->plan;
  if (!call->sequence->mask.memory) return SPARC_OK;
  kernel_launch l = launch_of(plan, KERNEL_check_mask, ceil_quotient((size_t)plan->shape.tokens, GROUP_SIZE));
  pass_floats(plan, &l, call->sequence->mask);
  pass_floats(plan, &l, (sparc_slice){plan->device->fault, 0});
  pass_int(&l, plan->shape.tokens);
  return launch_run(plan, &l);
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

/* content = x W^T + bias */
static sparc_status project(const device_call *call) {
  const sparc_device_plan *plan = call->plan;
  const plan_shape *s = &plan->shape;
  if (!s->dense) return SPARC_OK;
  kernel_launch l = launch_of(plan, KERNEL_project, product_tiles(s->tokens, s->columns));
  pass_io(plan, &l, call->sequence->x);
  pass_floats(plan, &l, region_slice(call->prepared, s->weights));
  pass_floats(plan, &l, region_slice(call->prepared, s->bias));
  pass_floats(plan, &l, (sparc_slice){NULL, 0});
  pass_floats(plan, &l, region_slice(call->saved, s->content));
  pass_product(&l, s->tokens, s->columns, s->D, s->D);
  return launch_run(plan, &l);
}

/* dx = dcontent W, with the part of the shared controls; then dW = dcontent^T x */
static sparc_status unproject(const device_call *call) {
  const sparc_device_plan *plan = call->plan;
  const plan_shape *s = &plan->shape;
  if (!s->dense || !call->gradient->dx.memory) return SPARC_OK;
  sparc_slice controllers = {NULL, 0};
  if (s->dshared.bytes > 0) {
    controllers = region_slice(call->prepared, s->constants);
    controllers.offset += s->constants.bytes - (2 * ((size_t)s->D + 1) + 2) * sizeof(float);
  }
  kernel_launch l = launch_of(plan, KERNEL_unproject, product_tiles(s->tokens, s->D));
  pass_floats(plan, &l, region_slice(call->work, s->dcontent));
  pass_floats(plan, &l, region_slice(call->prepared, s->weights));
  pass_floats(plan, &l, controllers);
  pass_floats(plan, &l, region_slice(call->work, s->dshared));
  pass_io(plan, &l, call->gradient->dx);
  pass_product(&l, s->tokens, s->D, s->columns, s->columns);
  return launch_run(plan, &l);
}

static sparc_status weight_gradient(const device_call *call) {
  const sparc_device_plan *plan = call->plan;
  const plan_shape *s = &plan->shape;
  if (!s->dense) return SPARC_OK;
  const size_t n = (size_t)s->columns * (size_t)s->D;
  kernel_launch l = launch_of(plan, KERNEL_weight_gradient, product_tiles(s->columns, s->D) * (size_t)s->weight_pieces);
  pass_floats(plan, &l, region_slice(call->work, s->dcontent));
  pass_io(plan, &l, call->sequence->x);
  pass_floats(plan, &l, (sparc_slice){NULL, 0});
  pass_floats(plan, &l, (sparc_slice){NULL, 0});
  pass_floats(plan, &l, region_slice(call->work, s->weight_parts));
  pass_product(&l, s->columns, s->D, s->tokens, s->weight_piece);
  sparc_status status = launch_run(plan, &l);
  if (status != SPARC_OK) return status;
  /* the rows of all projections lie one behind the other in params */
  return add_parts(call, s->weight_parts, (size_t)s->weight_pieces, n, 0, n, plan->cell->project[0].weight);
}

/* ---- strips ------------------------------------------------------------------------------------- */

/* what the modes know of a token: its controls, or its mask */
static void pass_tokens(const device_call *call, kernel_launch *l) {
  const plan_shape *s = &call->plan->shape;
  pass_floats(call->plan, l, s->of_tokens.bytes > 0 ? region_slice(call->saved, s->of_tokens) : call->sequence->mask);
}

static void pass_shape(const device_call *call, kernel_launch *l) {
  const plan_shape *s = &call->plan->shape;
  pass_int(l, s->B);
  pass_int(l, s->T);
  pass_int(l, s->H);
  pass_int(l, (int)(s->constants.bytes / sizeof(float)) - 2); /* where a cell keeps numbers of its own */
  pass_int(l, s->chunks);
  pass_int(l, s->chunk_steps);
}

static size_t strip_groups(const plan_shape *s, int chunks) { return (size_t)s->tiles * (size_t)s->B * (size_t)chunks; }

static sparc_status scan(const device_call *call) {
  const sparc_device_plan *plan = call->plan;
  const plan_shape *s = &plan->shape;
  sparc_status status = SPARC_OK;
  if (s->chunks > 1) {
    kernel_launch l = launch_of(plan, KERNEL_strip_summary, strip_groups(s, s->chunks - 1));
    pass_floats(plan, &l, region_slice(call->prepared, s->constants));
    pass_content(call, &l);
    pass_tokens(call, &l);
    pass_floats(plan, &l, region_slice(call->saved, s->gates));
    pass_floats(plan, &l, region_slice(call->work, s->maps));
    pass_shape(call, &l);
    status = launch_run(plan, &l);
  }
  if (status != SPARC_OK) return status;
  kernel_launch l = launch_of(plan, KERNEL_strip_forward, strip_groups(s, s->chunks));
  pass_floats(plan, &l, region_slice(call->prepared, s->constants));
  pass_content(call, &l);
  pass_tokens(call, &l);
  pass_floats(plan, &l, region_slice(call->saved, s->gates));
  pass_floats(plan, &l, region_slice(call->work, s->maps));
  pass_floats(plan, &l, call->sequence->state0);
  pass_io(plan, &l, call->sequence->y);
  pass_floats(plan, &l, call->sequence->state_last);
  pass_floats(plan, &l, region_slice(call->saved, s->marks));
  pass_shape(call, &l);
  return launch_run(plan, &l);
}

static sparc_status scan_adjoint(const device_call *call) {
  const sparc_device_plan *plan = call->plan;
  const plan_shape *s = &plan->shape;
  const sparc_device_gradient *gradient = call->gradient;
  sparc_status status = SPARC_OK;
  if (s->chunks > 1) {
    kernel_launch l = launch_of(plan, KERNEL_strip_adjoint_summary, strip_groups(s, s->chunks - 1));
    pass_floats(plan, &l, region_slice(call->prepared, s->constants));
    pass_tokens(call, &l);
    pass_floats(plan, &l, region_slice(call->saved, s->gates));
    pass_io(plan, &l, gradient->dy);
    pass_floats(plan, &l, region_slice(call->work, s->maps));
    pass_shape(call, &l);
    status = launch_run(plan, &l);
  }
  if (status != SPARC_OK) return status;
  kernel_launch l = launch_of(plan, KERNEL_strip_adjoint, strip_groups(s, s->chunks));
  pass_floats(plan, &l, region_slice(call->prepared, s->constants));
  pass_content(call, &l);
  pass_tokens(call, &l);
  pass_floats(plan, &l, region_slice(call->saved, s->gates));
  pass_floats(plan, &l, region_slice(call->work, s->maps));
  pass_floats(plan, &l, region_slice(call->saved, s->marks));
  pass_io(plan, &l, gradient->dy);
  pass_floats(plan, &l, gradient->dstate_last);
  pass_floats(plan, &l, region_slice(call->work, s->dcontent));
  pass_floats(plan, &l, region_slice(call->work, s->dgates));
  pass_floats(plan, &l, region_slice(call->work, s->dcontrols));
  pass_floats(plan, &l, gradient->dstate0);
  pass_floats(plan, &l, region_slice(call->work, s->sums));
  pass_shape(call, &l);
  return launch_run(plan, &l);
}

/* ---- public calls ------------------------------------------------------------------------------- */

/* an array of a call; one that may be absent is checked when it is there */
typedef struct array_check {
  const char *name;
  sparc_slice slice;
  size_t bytes, alignment;
  bool optional;
} array_check;

static sparc_status check_arrays(const sparc_device *device, size_t n, const array_check *arrays) {
  for (size_t i = 0; i < n; i++) {
    const array_check *a = &arrays[i];
    if (a->optional && !a->slice.memory) continue;
    sparc_status status = slice_check(device, a->slice, a->bytes, a->alignment, a->name);
    if (status != SPARC_OK) return status;
  }
  return SPARC_OK;
}

enum { BLOCK_ALIGNMENT = 64 };

static sparc_status check_sequence(const device_call *call) {
  const sparc_device_plan *plan = call->plan;
  const plan_shape *s = &plan->shape;
  const size_t element = s->bf16 ? 2 : sizeof(float), tokens = (size_t)s->tokens;
  const size_t states = (size_t)s->B * (size_t)s->columns * sizeof(float);
  const array_check arrays[] = {
      {"prepared", call->prepared, s->prepared_bytes, BLOCK_ALIGNMENT, false},
      {"saved", call->saved, s->saved_bytes, BLOCK_ALIGNMENT, false},
      {"work", call->work, s->work_bytes, BLOCK_ALIGNMENT, false},
      {"sequence.x", call->sequence->x, tokens * (size_t)s->D * element, element, false},
      {"sequence.mask", call->sequence->mask, tokens * sizeof(float), sizeof(float), true},
      {"sequence.state0", call->sequence->state0, states, sizeof(float), true},
      {"sequence.y", call->sequence->y, tokens * (size_t)s->columns * element, element, call->gradient != NULL},
      {"sequence.state_last", call->sequence->state_last, states, sizeof(float), true},
  };
  return check_arrays(plan->device, sizeof arrays / sizeof *arrays, arrays);
}

static sparc_status check_gradient(const device_call *call) {
  const sparc_device_plan *plan = call->plan;
  const plan_shape *s = &plan->shape;
  const sparc_device_gradient *g = call->gradient;
  const size_t element = s->bf16 ? 2 : sizeof(float), tokens = (size_t)s->tokens;
  const size_t states = (size_t)s->B * (size_t)s->columns * sizeof(float);
  const array_check arrays[] = {
      {"gradient.dy", g->dy, tokens * (size_t)s->columns * element, element, false},
      {"gradient.dstate_last", g->dstate_last, states, sizeof(float), true},
      {"gradient.dx", g->dx, tokens * (size_t)s->D * element, element, true},
      {"gradient.dstate0", g->dstate0, states, sizeof(float), true},
      {"gradient.dparams", g->dparams, plan->cell->sizes.params * sizeof(float), sizeof(float), true},
  };
  return check_arrays(plan->device, sizeof arrays / sizeof *arrays, arrays);
}

sparc_status sparc_device_prepare(const sparc_device_plan *plan, sparc_slice params, sparc_slice prepared) {
  if (!plan) return fail(SPARC_INVALID, "plan is NULL");
  const plan_shape *s = &plan->shape;
  const sparc_cell *cell = plan->cell;
  const size_t bytes = cell->sizes.params * sizeof(float);
  const array_check arrays[] = {{"params", params, bytes, sizeof(float), false},
                                {"prepared", prepared, s->prepared_bytes, BLOCK_ALIGNMENT, false}};
  sparc_status status = check_arrays(plan->device, 2, arrays);
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
  if (status == SPARC_OK) status = project(&call);
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
