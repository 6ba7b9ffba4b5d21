/* SPDX-License-Identifier: MIT */
/* naive.c: see naive.h. The plan is one of a single step; time is the slowest index of every array. */
#include "bench/device/naive.h"

#include "base/error.h"

#include <stdlib.h>

enum { STEP_X, STEP_Y, STEP_DY, STEP_DX, STEP_SAVED, STEP_STATES, STEP_DSTATES, STEP_ARRAYS };

struct device_naive {
  device_mixer step; /* of one step: the plan, parameters and scratch */
  int T;
  size_t bytes[STEP_ARRAYS]; /* of a step */
  sparc_slice array[STEP_ARRAYS];
};

static sparc_slice at(const device_naive *n, int array, int t) {
  return (sparc_slice){n->array[array].memory, (size_t)t * n->bytes[array]};
}

static sparc_status make_arrays(sparc_device *device, device_naive *n) {
  enum { ALIGNMENT = 256 };
  const device_mixer *m = &n->step;
  const size_t states = (size_t)m->config.B * sparc_cell_sizes_of(m->cell.cell).state * sizeof(float);
  const size_t saved = sparc_device_plan_sizes_of(m->plan).saved;
  n->bytes[STEP_X] = n->bytes[STEP_DX] = m->row_bytes[MIXER_X];
  n->bytes[STEP_Y] = n->bytes[STEP_DY] = m->row_bytes[MIXER_Y];
  n->bytes[STEP_SAVED] = (saved + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  n->bytes[STEP_STATES] = n->bytes[STEP_DSTATES] = states;
  sparc_status status = SPARC_OK;
  for (int i = 0; i < STEP_ARRAYS && status == SPARC_OK; i++)
    status = sparc_memory_create(device, n->bytes[i] * ((size_t)n->T + 1), &n->array[i].memory);
  for (int t = 0; t < n->T && status == SPARC_OK; t++) {
    status = sparc_memory_copy(m->row[0][MIXER_X], at(n, STEP_X, t), n->bytes[STEP_X]);
    if (status == SPARC_OK) status = sparc_memory_copy(m->row[0][MIXER_DY], at(n, STEP_DY, t), n->bytes[STEP_DY]);
  }
  return status;
}

sparc_status device_naive_create(sparc_device *device, const device_mixer_config *config, device_naive **out) {
  device_naive *n = *out = calloc(1, sizeof *n);
  if (!n) return fail(SPARC_NO_MEMORY, "no memory for the naive mixer");
  device_mixer_config step = *config;
  step.T = 1;
  n->T = config->T;
  sparc_status status = device_mixer_create(device, &step, &n->step);
  if (status == SPARC_OK) status = make_arrays(device, n);
  if (status == SPARC_OK) return SPARC_OK;
  device_naive_free(n);
  *out = NULL;
  return status;
}

void device_naive_free(device_naive *n) {
  if (!n) return;
  for (int i = 0; i < STEP_ARRAYS; i++) sparc_memory_free(n->array[i].memory);
  device_mixer_free(&n->step);
  free(n);
}

static sparc_device_sequence sequence_at(const device_naive *n, int t) {
  return (sparc_device_sequence){.x = at(n, STEP_X, t),
                                 .state0 = at(n, STEP_STATES, t),
                                 .y = at(n, STEP_Y, t),
                                 .state_last = at(n, STEP_STATES, t + 1)};
}

sparc_status device_naive_forward(const device_naive *n) {
  const sparc_slice *block = n->step.block;
  sparc_status status = SPARC_OK;
  for (int t = 0; t < n->T && status == SPARC_OK; t++) {
    const sparc_device_sequence sequence = sequence_at(n, t);
    status =
        sparc_device_forward(n->step.plan, block[MIXER_PREPARED], &sequence, at(n, STEP_SAVED, t), block[MIXER_WORK]);
  }
  return status;
}

sparc_status device_naive_backward(const device_naive *n) {
  const sparc_slice *block = n->step.block;
  sparc_status status = SPARC_OK;
  for (int t = n->T - 1; t >= 0 && status == SPARC_OK; t--) {
    const sparc_device_sequence sequence = sequence_at(n, t);
    const sparc_device_gradient gradient = {.dy = at(n, STEP_DY, t),
                                            .dstate_last = at(n, STEP_DSTATES, t + 1),
                                            .dx = at(n, STEP_DX, t),
                                            .dstate0 = at(n, STEP_DSTATES, t),
                                            .dparams = block[MIXER_DPARAMS]};
    status = sparc_device_backward(n->step.plan, block[MIXER_PREPARED], &sequence, at(n, STEP_SAVED, t), &gradient,
                                   block[MIXER_WORK]);
  }
  return status;
}
