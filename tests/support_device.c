/* SPDX-License-Identifier: MIT */
#include "support_device.h"

#include "device/device.h"
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the device of a test program ------------------------------------------------------------------ */

device_under_test under_test = {.config = {.backend = "opencl"}};

void device_arguments(int argc, char **argv) {
  if (argc > 1) device_check(device_parse(argv[1], &under_test.config));
  if (argc > 2) under_test.random_shapes = atoi(argv[2]);
}

int open_device(void **state) {
  const char *backend = under_test.config.backend;
  int count = 0;
  (void)state;
  if (sparc_device_count(backend, &count) != SPARC_OK) return -1;
  if (count == 0) {
    print_message("skipped: backend %s has no device (for OpenCL: pocl-opencl-icd)\n", backend);
    return 0;
  }
  if (sparc_device_open(&under_test.config, &under_test.device) == SPARC_OK) return 0;
  print_message("%s\n", sparc_error());
  return -1;
}

int close_device(void **state) {
  (void)state;
  sparc_device_close(under_test.device);
  return 0;
}

void need_device(void) {
  if (!under_test.device) skip();
}

/* ---- arrays ---------------------------------------------------------------------------------------- */

void device_check(sparc_status status) {
  if (status != SPARC_OK) fail_msg("%s", sparc_error());
}

sparc_slice device_block(sparc_device *device, size_t bytes) {
  sparc_slice slice = {NULL, 0};
  device_check(sparc_memory_create(device, bytes, &slice.memory));
  return slice;
}

sparc_slice upload(sparc_device *device, const double *values, size_t n, bool bf16) {
  if (!values) return (sparc_slice){NULL, 0};
  const sparc_slice slice = device_block(device, n * sizeof(float));
  float *floats = sparc_alloc(n * sizeof *floats);
  sparc_bf16 *narrow = sparc_alloc(n * sizeof *narrow);
  for (size_t i = 0; i < n; i++) floats[i] = (float)values[i];
  sparc_bf16_from_floats(n, floats, narrow);
  device_check(
      sparc_memory_write(slice, bf16 ? (const void *)narrow : floats, n * (bf16 ? sizeof *narrow : sizeof *floats)));
  sparc_free(floats);
  sparc_free(narrow);
  return slice;
}

void download(sparc_slice slice, double *values, size_t n, bool bf16) {
  float *floats = sparc_alloc(n * sizeof *floats);
  sparc_bf16 *narrow = sparc_alloc(n * sizeof *narrow);
  device_check(sparc_memory_read(slice, bf16 ? (void *)narrow : floats, n * (bf16 ? sizeof *narrow : sizeof *floats)));
  if (bf16) sparc_floats_from_bf16(n, narrow, floats);
  for (size_t i = 0; i < n; i++) values[i] = (double)floats[i];
  sparc_free(floats);
  sparc_free(narrow);
}

sparc_slice poisoned_block(sparc_device *device, size_t bytes) {
  const sparc_slice slice = device_block(device, bytes);
  void *ones = sparc_alloc(bytes);
  memset(ones, 0xff, bytes);
  device_check(sparc_memory_write(slice, ones, bytes));
  sparc_free(ones);
  return slice;
}

void run_device(sparc_device *device, const problem *p, const sparc_device_plan_config *config, int times, result *r) {
  const size_t tokens = (size_t)p->B * (size_t)p->T, states = (size_t)p->B * p->n.state, D = (size_t)p->D;
  const size_t O = p->n.output;
  const bool bf16 = config->bf16;
  sparc_device_plan *plan;
  device_check(sparc_device_plan_create(device, p->cell, p->B, p->T, config, &plan));
  const sparc_slice params = upload(device, p->params, p->n.params, false);
  const sparc_slice prepared = poisoned_block(device, sparc_device_plan_prepared_bytes(plan));
  const sparc_slice saved = poisoned_block(device, sparc_device_plan_saved_bytes(plan));
  const sparc_slice work = poisoned_block(device, sparc_device_plan_work_bytes(plan));
  const sparc_device_sequence sequence = {.x = upload(device, p->x, tokens * D, bf16),
                                          .mask = upload(device, p->mask, tokens, false),
                                          .state0 = upload(device, p->state0, states, false),
                                          .y = poisoned_block(device, tokens * O * sizeof(float)),
                                          .state_last = poisoned_block(device, states * sizeof(float))};
  const sparc_device_gradient gradient = {.dy = upload(device, p->dy, tokens * O, bf16),
                                          .dstate_last = upload(device, p->dstate_last, states, false),
                                          .dx = poisoned_block(device, tokens * D * sizeof(float)),
                                          .dstate0 = poisoned_block(device, states * sizeof(float)),
                                          .dparams = device_block(device, p->n.params * sizeof(float))};
  device_check(sparc_device_prepare(plan, params, prepared));
  device_check(sparc_device_forward(plan, prepared, &sequence, saved, work));
  for (int i = 0; i < times; i++)
    device_check(sparc_device_backward(plan, prepared, &sequence, saved, &gradient, work));
  download(sequence.y, r->y, tokens * O, bf16);
  download(sequence.state_last, r->state_last, states, false);
  download(gradient.dx, r->dx, tokens * D, bf16);
  download(gradient.dstate0, r->dstate0, states, false);
  download(gradient.dparams, r->dparams, p->n.params, false);
  device_check(sparc_device_wait(device));
  const sparc_slice all[] = {params,
                             prepared,
                             saved,
                             work,
                             sequence.x,
                             sequence.mask,
                             sequence.state0,
                             sequence.y,
                             sequence.state_last,
                             gradient.dy,
                             gradient.dstate_last,
                             gradient.dx,
                             gradient.dstate0,
                             gradient.dparams};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) sparc_memory_free(all[i].memory);
  sparc_device_plan_free(plan);
}

void round_to_bf16(double *values, size_t n) {
  for (size_t i = 0; i < n; i++) values[i] = (double)sparc_float_from_bf16(sparc_bf16_from_float((float)values[i]));
}

void expect_rounded(const char *what, size_t n, const double *got, const double *want, double tolerance) {
  double scale = 1;
  for (size_t i = 0; i < n; i++) scale = fmax(scale, fabs(want[i]));
  for (size_t i = 0; i < n; i++)
    if (!(fabs(got[i] - want[i]) <= 0x1p-8 * fabs(want[i]) + tolerance * scale))
      fail_msg("bf16 %s[%zu] is %.9g, expected %.9g", what, i, got[i], want[i]);
}
