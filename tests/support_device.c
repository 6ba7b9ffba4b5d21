/* SPDX-License-Identifier: MIT */
#include "support_device.h"

#include "base/bf16.h"
#include "device/device.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>
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
  if (sparc_device_describe(backend, 0, NULL, &count) != SPARC_OK) return -1;
  if (count == 0) {
    print_message("skipped: backend %s has no device (for OpenCL: pocl-opencl-icd)\n", backend);
    return 0;
  }
  const char *plant = getenv("DEVICE_PLANT");
  if (plant) under_test.config.cache = ""; /* what is stored was compiled without the mistake */
  if (sparc_device_open(&under_test.config, &under_test.device) != SPARC_OK) {
    print_message("%s\n", sparc_error());
    return -1;
  }
  if (!plant || plant_mistake(under_test.device, plant)) return 0;
  print_message("no mistake is called '%s'\n", plant);
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

/* ---- planted mistakes ------------------------------------------------------------------------------ */

static const struct plant {
  const char *name, *from, *to;
} plants[] = {
    {"barrier", "    BARRIER();\n\n    h = num_of(carry", "    h = num_of(carry"},
    {"return", "  const int steps = (T + STEP - 1) / STEP, first",
     "  if (!p.has_first) return;\n  const int steps = (T + STEP - 1) / STEP, first"},
    {"store", "put_state(state_last, p.b, H", "put_state(state_last, p.b + 100, H"},
    {"contraction", "p = FMA(p, f, .6931471879266888f)", "p = p * f + .6931471879266888f"},
    {"reset", "h = fresh >> l & 1 ? write_of(v[l]) : num_times_plus(v[l].a, h, write_of(v[l]));\n      put_io",
     "h = num_times_plus(fresh >> l & 1 ? num_zero() : v[l].a, h, write_of(v[l]));\n      put_io"},
    {"registers", "#define RUN 4", "#define RUN 8"},
    {"gradient", "sums[2] = sums[2] + energy;", "sums[2] = sums[2] + 1.001f * energy;"},
    {"unknown", "#define BARRIER() __syncthreads()", "#define BARRIER() __syncthread()"},
};

static const struct plant *planted;
static const device_backend *unplanted;
static device_backend with_mistake;

char *text_with_mistake(const char *text) {
  const size_t length = strlen(text) + 1;
  const char *at = planted ? strstr(text, planted->from) : NULL;
  char *out = malloc(length + 256);
  if (!out) exit(1);
  memcpy(out, text, length);
  if (!planted) return out;
  if (!at) {
    fprintf(stderr, "the kernels have no place for the mistake '%s'\n", planted->name);
    exit(1);
  }
  const size_t before = (size_t)(at - text), rest = before + strlen(planted->from);
  strcpy(out + before, planted->to);
  strcat(out, text + rest);
  return out;
}

static sparc_status build_with_mistake(void *context, const char *text, bool fast, void **program) {
  char *changed = text_with_mistake(text);
  const sparc_status status = unplanted->build(context, changed, fast, program);
  free(changed);
  return status;
}

bool plant_mistake(sparc_device *device, const char *name) {
  for (size_t i = 0; i < sizeof plants / sizeof *plants; i++)
    if (strcmp(plants[i].name, name) == 0) planted = &plants[i];
  if (!planted) return false;
  unplanted = device->backend;
  with_mistake = *unplanted;
  with_mistake.build = build_with_mistake;
  device->backend = &with_mistake;
  return true;
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
  const sparc_slice prepared = poisoned_block(device, sparc_device_plan_sizes_of(plan).prepared);
  const sparc_slice saved = poisoned_block(device, sparc_device_plan_sizes_of(plan).saved);
  const sparc_slice work = poisoned_block(device, sparc_device_plan_sizes_of(plan).work);
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
  for (size_t i = 0; i < n; i++) values[i] = (double)float_from_bf16(bf16_from_float((float)values[i]));
}

void expect_rounded(const char *what, size_t n, const double *got, const double *want, double tolerance) {
  double scale = 1;
  for (size_t i = 0; i < n; i++) scale = fmax(scale, fabs(want[i]));
  for (size_t i = 0; i < n; i++)
    if (!(fabs(got[i] - want[i]) <= 0x1p-8 * fabs(want[i]) + tolerance * scale))
      fail_msg("bf16 %s[%zu] is %.9g, expected %.9g", what, i, got[i], want[i]);
}
