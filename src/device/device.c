/* SPDX-License-Identifier: MIT */
/* device.c: the registry of backends, open devices and their memory. */
#include "device/device.h"

#include "base/error.h"
#include "device/cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- backends ----------------------------------------------------------------------------------- */

static const device_backend *const backends[] = {&backend_cuda, &backend_opencl};
enum { BACKENDS = sizeof backends / sizeof *backends };
static const char *const backend_names[BACKENDS + 1] = {"cuda", "opencl", NULL};

const char *const *device_backends(void) { return backend_names; }

/* NULL: there is none of this name */
static const device_backend *find_backend(const char *name) {
  for (size_t i = 0; i < BACKENDS; i++)
    if (strcmp(backends[i]->name, name) == 0) return backends[i];
  unknown_name("backend", name, backend_names);
  return NULL;
}

static sparc_status check_index(const device_backend *backend, int index) {
  int count;
  sparc_status status = backend->count(&count);
  if (status != SPARC_OK) return status;
  if (count == 0)
    return fail(SPARC_DEVICE, "backend %s has no device: install a driver (%s)", backend->name, backend->driver);
  if (index < 0 || index >= count)
    return fail(SPARC_INVALID, "device %s:%d does not exist, expected an index from 0 to %d", backend->name, index,
                count - 1);
  return SPARC_OK;
}

sparc_status sparc_device_describe(const char *name, int index, sparc_device_info *info, int *count) {
  if (count) *count = 0;
  if (!name || (!info && !count)) return fail(SPARC_INVALID, "%s NULL", name ? "info and count are" : "backend is");
  const device_backend *found = find_backend(name);
  if (!found) return SPARC_INVALID;
  sparc_status status = count ? found->count(count) : SPARC_OK;
  if (status != SPARC_OK || !info) return status;
  status = check_index(found, index);
  return status == SPARC_OK ? found->describe(index, info) : status;
}

/* ---- opening ------------------------------------------------------------------------------------ */

sparc_status device_parse(const char *text, sparc_device_config *config) {
  char name[16];
  const char *colon = strchr(text, ':');
  const size_t length = colon ? (size_t)(colon - text) : strlen(text);
  snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1), text);
  const device_backend *found = find_backend(name);
  if (!found) return SPARC_INVALID;
  config->backend = found->name;
  config->index = 0;
  if (!colon) return SPARC_OK;
  char *end;
  const long value = strtol(colon + 1, &end, 10);
  if (end == colon + 1 || *end || value < 0 || value > INT_MAX)
    return fail(SPARC_INVALID, "device '%.100s' has no index after the colon, expected for example opencl:0", text);
  config->index = (int)value;
  return SPARC_OK;
}

/* the first device of a backend that is not a CPU */
static bool find_accelerator(const device_backend *backend, int *index) {
  int count = 0;
  if (backend->count(&count) != SPARC_OK) return false;
  for (*index = 0; *index < count; (*index)++) {
    sparc_device_info info;
    if (backend->describe(*index, &info) == SPARC_OK && !info.cpu) return true;
  }
  return false;
}

/* without a backend: the environment's choice, else the first device that is not a CPU */
static sparc_status choose_device(sparc_device_config *config) {
  const char *text = getenv("SPARC_DEVICE");
  if (config->backend) return SPARC_OK;
  if (text && *text) return device_parse(text, config);
  for (size_t i = 0; i < BACKENDS; i++) {
    config->backend = backends[i]->name;
    if (find_accelerator(backends[i], &config->index)) return SPARC_OK;
  }
  return fail(SPARC_DEVICE, "no backend has a GPU: install its driver; a device on the CPU must be named (opencl:0)");
}

sparc_status device_open_on(const device_backend *backend, const sparc_device_config *config, int index,
                            sparc_device **out) {
  sparc_device *device = sparc_alloc(sizeof *device);
  if (!device) return fail(SPARC_NO_MEMORY, "no memory for a device");
  *device = (sparc_device){.backend = backend, .fast = config->fast != 0};
  sparc_status status = backend->describe(index, &device->info);
  if (status == SPARC_OK && !device->info.usable)
    status = fail(SPARC_UNSUPPORTED, "device %s:%d (%s) lacks %s; the kernels do not run on it", backend->name, index,
                  device->info.name, device->info.missing);
  if (status == SPARC_OK && !device->fast && !device->info.exact)
    status = fail(SPARC_UNSUPPORTED,
                  "device %s:%d (%s) lacks %s, which exact arithmetic needs; --fast (fast = 1) does without",
                  backend->name, index, device->info.name, device->info.missing);
  if (status == SPARC_OK) status = cache_folder(config->cache, device->cache);
  if (status == SPARC_OK) status = backend->open(index, &device->context);
  if (status == SPARC_OK) status = sparc_memory_create(device, FAULTS * sizeof(int32_t), &device->fault);
  if (status != SPARC_OK) {
    sparc_device_close(device);
    return status;
  }
  log_line("device: %s:%d, %s, %s", backend->name, index, device->info.name, device->fast ? "fast" : "exact");
  *out = device;
  return SPARC_OK;
}

sparc_status sparc_device_open(const sparc_device_config *config, sparc_device **out) {
  if (!out) return fail(SPARC_INVALID, "out is NULL, expected where to put the device");
  *out = NULL;
  sparc_device_config chosen = config ? *config : (sparc_device_config){0};
  sparc_status status = choose_device(&chosen);
  if (status != SPARC_OK) return status;
  const device_backend *found = find_backend(chosen.backend);
  if (!found) return SPARC_INVALID;
  status = check_index(found, chosen.index);
  return status == SPARC_OK ? device_open_on(found, &chosen, chosen.index, out) : status;
}

void sparc_device_close(sparc_device *device) {
  if (!device) return;
  sparc_memory_free(device->fault);
  if (device->context) device->backend->close(device->context);
  sparc_free(device);
}

sparc_device_info sparc_device_info_of(const sparc_device *device) {
  return device ? device->info : (sparc_device_info){0};
}

/* invalid inputs found by kernels; reported once */
static sparc_status check_fault(sparc_device *device) {
  static const int32_t none[FAULTS] = {0};
  int32_t fault[FAULTS];
  const device_backend *backend = device->backend;
  sparc_status status = backend->read(device->context, device->fault->buffer, 0, fault, sizeof fault);
  if (status != SPARC_OK || memcmp(fault, none, sizeof none) == 0) return status;
  status = backend->write(device->context, device->fault->buffer, 0, none, sizeof none);
  if (status != SPARC_OK) return status;
  if (fault[FAULT_MASK] != 0)
    return fail(SPARC_INVALID, "element %d of a mask is neither 0 nor 1", (int)(fault[FAULT_MASK] - 1));
  return fail(SPARC_INVALID, "a control of token %d is not within -1 to 1", (int)(fault[FAULT_CONTROL] - 1));
}

sparc_status sparc_device_wait(sparc_device *device) {
  if (!device) return fail(SPARC_INVALID, "device is NULL");
  sparc_status status = device->backend->wait(device->context);
  return status == SPARC_OK ? check_fault(device) : status;
}

/* ---- memory ------------------------------------------------------------------------------------- */

sparc_status sparc_memory_create(sparc_device *device, size_t bytes, sparc_memory **out) {
  if (!out) return fail(SPARC_INVALID, "out is NULL, expected where to put the memory");
  *out = NULL;
  if (!device) return fail(SPARC_INVALID, "device is NULL");
  if (bytes == 0) return fail(SPARC_INVALID, "bytes is 0, expected at least 1");
  if (bytes > device->info.largest)
    return fail(SPARC_NO_MEMORY, "a block of %zu bytes is too large for %s, which has blocks of up to %zu bytes", bytes,
                device->info.name, device->info.largest);
  sparc_memory *memory = sparc_alloc(sizeof *memory);
  if (!memory) return fail(SPARC_NO_MEMORY, "no memory for the description of a block");
  *memory = (sparc_memory){.device = device, .bytes = bytes};
  sparc_status status = device->backend->allocate(device->context, bytes, &memory->buffer);
  if (status != SPARC_OK) {
    sparc_free(memory);
    return status;
  }
  *out = memory;
  return SPARC_OK;
}

void sparc_memory_free(sparc_memory *memory) {
  if (!memory) return;
  memory->device->backend->release(memory->device->context, memory->buffer);
  sparc_free(memory);
}

sparc_status slice_check(const sparc_device *device, sparc_slice slice, size_t bytes, size_t alignment,
                         const char *name) {
  if (!slice.memory) return fail(SPARC_INVALID, "%s is absent, expected %zu bytes of device memory", name, bytes);
  if (slice.memory->device != device) return fail(SPARC_INVALID, "%s is memory of another device", name);
  if (slice.offset % alignment != 0)
    return fail(SPARC_INVALID, "%s has the offset %zu, expected a multiple of %zu", name, slice.offset, alignment);
  if (slice.offset > slice.memory->bytes || bytes > slice.memory->bytes - slice.offset)
    return fail(SPARC_INVALID, "%s ends past its block: offset %zu, %zu bytes, in a block of %zu", name, slice.offset,
                bytes, slice.memory->bytes);
  return SPARC_OK;
}

static sparc_status check_transfer(sparc_slice slice, const void *host, size_t bytes, const char *name) {
  if (!slice.memory) return fail(SPARC_INVALID, "%s has no memory: its block is NULL", name);
  if (!host && bytes > 0) return fail(SPARC_INVALID, "the host's array is NULL");
  return slice_check(slice.memory->device, slice, bytes, 1, name);
}

sparc_status sparc_memory_write(sparc_slice to, const void *from, size_t bytes) {
  sparc_status status = check_transfer(to, from, bytes, "to");
  if (status != SPARC_OK || bytes == 0) return status;
  sparc_device *device = to.memory->device;
  return device->backend->write(device->context, to.memory->buffer, to.offset, from, bytes);
}

sparc_status sparc_memory_read(sparc_slice from, void *to, size_t bytes) {
  sparc_status status = check_transfer(from, to, bytes, "from");
  if (status != SPARC_OK || bytes == 0) return status;
  sparc_device *device = from.memory->device;
  status = device->backend->read(device->context, from.memory->buffer, from.offset, to, bytes);
  return status == SPARC_OK ? check_fault(device) : status;
}

sparc_status sparc_memory_copy(sparc_slice from, sparc_slice to, size_t bytes) {
  if (!from.memory || !to.memory)
    return fail(SPARC_INVALID, "%s has no memory: its block is NULL", from.memory ? "to" : "from");
  sparc_device *device = from.memory->device;
  sparc_status status = slice_check(device, from, bytes, 1, "from");
  if (status == SPARC_OK) status = slice_check(device, to, bytes, 1, "to");
  if (status != SPARC_OK || bytes == 0) return status;
  if (from.memory == to.memory && from.offset < to.offset + bytes && to.offset < from.offset + bytes)
    return fail(SPARC_INVALID, "from and to overlap");
  return device->backend->copy(device->context, from.memory->buffer, from.offset, to.memory->buffer, to.offset, bytes);
}
