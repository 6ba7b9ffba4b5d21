/* SPDX-License-Identifier: MIT */
/* launch.c: see launch.h. */
#include "device/launch.h"

#include "base/error.h"

/* ---- kernels ------------------------------------------------------------------------------------ */

sparc_status kernels_build(kernel_set *set, const program_text *text, const bool needed[KERNELS]) {
#define DEVICE_KERNEL_NAME(name) #name,
  static const char *const names[KERNELS] = {DEVICE_KERNELS(DEVICE_KERNEL_NAME)};
  const device_backend *backend = set->device->backend;
  sparc_status status = program_build(set->device, text, &set->program);
  for (int i = 0; i < KERNELS && status == SPARC_OK; i++)
    if (needed[i]) status = backend->kernel(set->device->context, set->program, names[i], &set->kernel[i]);
  return status;
}

void kernels_free(kernel_set *set) {
  const device_backend *backend = set->device->backend;
  for (int i = 0; i < KERNELS; i++)
    if (set->kernel[i]) backend->release_kernel(set->device->context, set->kernel[i]);
  if (set->program) backend->release_program(set->device->context, set->program);
}

/* ---- places ------------------------------------------------------------------------------------- */

region region_take(size_t *bytes, size_t count) {
  enum { ALIGNMENT = 256 };
  const region taken = {*bytes, count * sizeof(float)};
  *bytes += ceil_quotient(taken.bytes, ALIGNMENT) * ALIGNMENT;
  return taken;
}

sparc_slice region_slice(sparc_slice block, region part) {
  if (part.bytes == 0) return (sparc_slice){NULL, 0};
  return (sparc_slice){block.memory, block.offset + part.offset};
}

sparc_status check_arrays(const sparc_device *device, size_t n, const array_check *arrays) {
  for (size_t i = 0; i < n; i++) {
    const array_check *a = &arrays[i];
    if (a->optional && !a->slice.memory) continue;
    sparc_status status = slice_check(device, a->slice, a->bytes, a->alignment, a->name);
    if (status != SPARC_OK) return status;
  }
  return SPARC_OK;
}

/* ---- launches ----------------------------------------------------------------------------------- */

kernel_launch launch_of(const kernel_set *set, kernel_id kernel, size_t groups) {
  return (kernel_launch){.kernel = set->kernel[kernel], .groups = groups};
}

/* an absent array is a buffer that is not read, and no first element */
static void pass_array(const kernel_set *set, kernel_launch *launch, sparc_slice slice, size_t element) {
  const sparc_memory *memory = slice.memory ? slice.memory : set->device->fault;
  const int64_t first = slice.memory ? (int64_t)(slice.offset / element) : -1;
  launch->argument[launch->arguments++] =
      (launch_argument){.kind = ARGUMENT_BUFFER, .buffer = memory ? memory->buffer : NULL};
  pass_long(launch, first);
}

void pass_floats(const kernel_set *set, kernel_launch *launch, sparc_slice slice) {
  pass_array(set, launch, slice, sizeof(float));
}

void pass_io(const kernel_set *set, kernel_launch *launch, sparc_slice slice) {
  pass_array(set, launch, slice, set->bf16 ? 2 : sizeof(float));
}

void pass_fault(const kernel_set *set, kernel_launch *launch) {
  pass_floats(set, launch, (sparc_slice){set->device->fault, 0});
}

void pass_int(kernel_launch *launch, int value) {
  launch->argument[launch->arguments++] = (launch_argument){.kind = ARGUMENT_INT, .value = value};
}

void pass_long(kernel_launch *launch, int64_t value) {
  launch->argument[launch->arguments++] = (launch_argument){.kind = ARGUMENT_LONG, .value = value};
}

sparc_status launch_run(const kernel_set *set, const kernel_launch *launch) {
  return set->device->backend->launch(set->device->context, launch);
}

sparc_status add_parts(const kernel_set *set, sparc_slice parts, size_t count, size_t stride, size_t first, size_t n,
                       sparc_slice target) {
  enum { COLUMNS = 32 };
  kernel_launch l = launch_of(set, KERNEL_add_sums, ceil_quotient(n, COLUMNS));
  pass_floats(set, &l, parts);
  pass_floats(set, &l, target);
  pass_int(&l, (int)count);
  pass_long(&l, (int64_t)stride);
  pass_long(&l, (int64_t)first);
  pass_long(&l, (int64_t)n);
  return launch_run(set, &l);
}

sparc_status check_mask(const kernel_set *set, sparc_slice mask, int n) {
  if (!mask.memory) return SPARC_OK;
  kernel_launch l = launch_of(set, KERNEL_check_mask, ceil_quotient((size_t)n, GROUP_SIZE));
  pass_floats(set, &l, mask);
  pass_fault(set, &l);
  pass_int(&l, n);
  return launch_run(set, &l);
}
