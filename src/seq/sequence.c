/* SPDX-License-Identifier: MIT */
/* sequence.c: the public whole-sequence calls: check the arguments, then hand over to the cell. */
#include "base/block.h"
#include "base/error.h"
#include "base/threads.h"
#include "seq/sequence_impl.h"

sparc_plan_sizes TYPED(plan_sizes)(const sparc_plan *plan) {
  const TYPED(cell_ops) *ops = TYPED(ops_of)(plan->cell);
  return (sparc_plan_sizes){.saved = ops->saved_count(plan) * sizeof(real),
                            .work = ops->work_count(plan) * sizeof(real)};
}

static sparc_status require(const void *pointer, const char *name) {
  return pointer ? SPARC_OK : fail(SPARC_INVALID, "%s is NULL", name);
}

sparc_status TYPED(check_mask)(size_t B, size_t T, const real *mask) {
  for (size_t i = 0; mask && i < B * T; i++)
    if (mask[i] != 0 && mask[i] != 1)
      return fail(SPARC_INVALID, "mask[%zu][%zu] is %g, expected 0 or 1", i / T, i % T, (double)mask[i]);
  return SPARC_OK;
}

static sparc_status check_sequence(const sparc_plan *plan, const real *prepared, const TYPED(sequence) * sequence,
                                   const void *saved, const void *work) {
  const struct {
    const void *pointer;
    const char *name;
  } needed[] = {{plan, "plan"}, {prepared, "prepared"}, {sequence, "sequence"}};
  for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
    sparc_status status = require(needed[i].pointer, needed[i].name);
    if (status != SPARC_OK) return status;
  }
  sparc_status status = check_block(saved, "saved");
  if (status == SPARC_OK) status = check_block(work, "work");
  if (status == SPARC_OK) status = require(sequence->x, "sequence.x");
  if (status == SPARC_OK) status = require(sequence->y, "sequence.y");
  return status == SPARC_OK ? TYPED(check_mask)((size_t)plan->B, (size_t)plan->T, sequence->mask) : status;
}

static TYPED(sequence_call) call_of(const TYPED(sequence) * sequence, void *saved, void *work) {
  return (TYPED(sequence_call)){.x = sequence->x,
                                .mask = sequence->mask,
                                .state0 = sequence->state0,
                                .y = sequence->y,
                                .state_last = sequence->state_last,
                                .saved = saved,
                                .work = work};
}

sparc_status PUBLIC(sparc_forward)(const sparc_plan *plan, const real *prepared, const TYPED(sequence) * sequence,
                                   void *saved, void *work) {
  sparc_status status = check_sequence(plan, prepared, sequence, saved, work);
  if (status != SPARC_OK) return status;
  const TYPED(sequence_call) call = call_of(sequence, saved, work);
  const uint64_t mode = flush_denormals_begin();
  TYPED(ops_of)(plan->cell)->forward(plan, prepared, &call);
  flush_denormals_end(mode);
  return SPARC_OK;
}

sparc_status PUBLIC(sparc_backward)(const sparc_plan *plan, const real *prepared, const TYPED(sequence) * sequence,
                                    const void *saved, const TYPED(sequence_gradient) * gradient, void *work) {
  sparc_status status = check_sequence(plan, prepared, sequence, saved, work);
  if (status == SPARC_OK) status = require(gradient, "gradient");
  if (status == SPARC_OK) status = require(gradient->dy, "gradient.dy");
  if (status != SPARC_OK) return status;
  TYPED(sequence_call) call = call_of(sequence, (void *)saved, work);
  call.dy = gradient->dy;
  call.dstate_last = gradient->dstate_last;
  call.dx = gradient->dx;
  call.dstate0 = gradient->dstate0;
  call.dparams = gradient->dparams;
  const uint64_t mode = flush_denormals_begin();
  TYPED(ops_of)(plan->cell)->backward(plan, prepared, &call);
  flush_denormals_end(mode);
  return SPARC_OK;
}
