/* SPDX-License-Identifier: MIT */
/* recorder.c: see recorder.h. */
#include "bench/device/recorder.h"

#include "base/error.h"
#include "device/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 64 };

/* a block of memory that is not there */
typedef struct recorder_block {
  size_t bytes;
  bool used;
} recorder_block;

typedef struct recorder_state {
  char *text;
  recorder_block block[BLOCKS];
  recorded_launch launch[RECORDER_LAUNCHES];
  size_t launches;
} recorder_state;

/* ---- backend ------------------------------------------------------------------------------------ */

static sparc_status recorder_count(int *count) { return *count = 1, SPARC_OK; }

static sparc_status recorder_describe(int index, sparc_device_info *info) {
  (void)index;
  *info = (sparc_device_info){.backend = "recorder",
                              .name = "recorder",
                              .memory = SIZE_MAX,
                              .largest = SIZE_MAX,
                              .local = 48 << 10,
                              .units = 1,
                              .doubles = 1,
                              .exact = 1,
                              .usable = 1};
  return SPARC_OK;
}

static sparc_status recorder_start(int index, void **context) {
  (void)index;
  recorder_state *r = *context = calloc(1, sizeof *r);
  return r ? SPARC_OK : fail(SPARC_NO_MEMORY, "no memory for a recorder");
}

static void recorder_close(void *context) {
  recorder_state *r = context;
  free(r->text);
  free(r);
}

static sparc_status recorder_allocate(void *context, size_t bytes, void **buffer) {
  recorder_state *r = context;
  for (size_t i = 0; i < BLOCKS; i++) {
    if (r->block[i].used) continue;
    r->block[i] = (recorder_block){bytes, true};
    *buffer = &r->block[i];
    return SPARC_OK;
  }
  return fail(SPARC_NO_MEMORY, "a recorder has at most %d blocks", BLOCKS);
}

static void recorder_release(void *context, void *buffer) {
  (void)context;
  ((recorder_block *)buffer)->used = false;
}

static sparc_status recorder_write(void *context, void *buffer, size_t offset, const void *from, size_t bytes) {
  (void)context, (void)buffer, (void)offset, (void)from, (void)bytes;
  return SPARC_OK;
}

static sparc_status recorder_read(void *context, void *buffer, size_t offset, void *to, size_t bytes) {
  (void)context, (void)buffer, (void)offset;
  memset(to, 0, bytes);
  return SPARC_OK;
}

static sparc_status recorder_copy(void *context, void *from, size_t from_offset, void *to, size_t to_offset,
                                  size_t bytes) {
  (void)context, (void)from, (void)from_offset, (void)to, (void)to_offset, (void)bytes;
  return SPARC_OK;
}

static sparc_status recorder_build(void *context, const char *text, bool fast, void **program) {
  (void)fast;
  recorder_state *r = context;
  free(r->text);
  r->text = strdup(text);
  *program = r;
  return r->text ? SPARC_OK : fail(SPARC_NO_MEMORY, "no memory for the text of the kernels");
}

static sparc_status recorder_load(void *context, const program_binary *binary, bool fast, void **program) {
  (void)context, (void)binary, (void)fast, (void)program;
  return fail(SPARC_UNSUPPORTED, "a recorder has no compiled kernels");
}

static sparc_status recorder_binary(void *context, void *program, program_binary *out) {
  (void)context, (void)program, (void)out;
  return fail(SPARC_UNSUPPORTED, "a recorder has no compiled kernels");
}

static void recorder_release_program(void *context, void *program) { (void)context, (void)program; }

static sparc_status recorder_kernel(void *context, void *program, const char *name, void **kernel) {
  (void)context, (void)program;
  *kernel = strdup(name);
  return *kernel ? SPARC_OK : fail(SPARC_NO_MEMORY, "no memory for the name of a kernel");
}

static void recorder_release_kernel(void *context, void *kernel) {
  (void)context;
  free(kernel);
}

static sparc_status recorder_launch(void *context, const kernel_launch *launch) {
  recorder_state *r = context;
  if (r->launches == RECORDER_LAUNCHES) return fail(SPARC_INVALID, "more than %d launches", RECORDER_LAUNCHES);
  recorded_launch *l = &r->launch[r->launches++];
  *l = (recorded_launch){.groups = launch->groups, .raw = *launch};
  snprintf(l->kernel, sizeof l->kernel, "%s", (const char *)launch->kernel);
  return SPARC_OK;
}

static sparc_status recorder_wait(void *context) { return (void)context, SPARC_OK; }

static const device_backend backend_recorder = {
    .name = "recorder",
    .count = recorder_count,
    .describe = recorder_describe,
    .open = recorder_start,
    .close = recorder_close,
    .allocate = recorder_allocate,
    .release = recorder_release,
    .write = recorder_write,
    .read = recorder_read,
    .copy = recorder_copy,
    .build = recorder_build,
    .load = recorder_load,
    .binary = recorder_binary,
    .release_program = recorder_release_program,
    .kernel = recorder_kernel,
    .release_kernel = recorder_release_kernel,
    .launch = recorder_launch,
    .wait = recorder_wait,
};

/* ---- counting ----------------------------------------------------------------------------------- */

/* the text after "KERNEL(size) name(", or NULL */
static const char *find_kernel(const char *text, const char *kernel) {
  for (const char *at = text; (at = strstr(at, "\nKERNEL(")) != NULL; at++) {
    const char *name = strstr(at, ") ");
    const char *open = name ? strchr(name, '(') : NULL;
    if (!open) return NULL;
    const size_t length = (size_t)(open - name) - 2;
    if (length == strlen(kernel) && memcmp(name + 2, kernel, length) == 0) return open + 1;
  }
  return NULL;
}

/* the parameters of a kernel; the name of the products is a macro */
static const char *signature_of(const char *text, const char *kernel) {
  const char *found = find_kernel(text, kernel);
  return found ? found : find_kernel(text, "NAME");
}

/* names and directions of the arrays, from the declarations ARRAY([const] type, name) */
static sparc_status read_signature(const char *text, recorded_launch *l) {
  const char *at = signature_of(text, l->kernel), *end = at ? strstr(at, ") {") : NULL;
  if (!end) return fail(SPARC_FORMAT, "the text has no kernel %s", l->kernel);
  while ((at = strstr(at, "ARRAY(")) != NULL && at < end) {
    const char *comma = strchr(at, ','), *close = strchr(at, ')');
    if (!comma || !close || l->arrays == LAUNCH_ARGUMENTS / 2) break;
    recorded_array *a = &l->array[l->arrays++];
    snprintf(a->name, sizeof a->name, "%.*s", (int)(close - comma - 2), comma + 2);
    a->read = strncmp(at + 6, "const ", 6) == 0;
    a->written = !a->read;
    at = close;
  }
  return SPARC_OK;
}

/* arrays that a kernel adds to */
static bool adds_to(const recorded_launch *l, const recorded_array *a) {
  static const char *const kernels[] = {"gates_adjoint", "add_sums", "spectrum_gradient"};
  for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
    if (a->written && strcmp(l->kernel, kernels[i]) == 0) return true;
  return false;
}

/* where the array of argument `index` begins in its block; elements are floats unless it begins with the block */
static size_t begin_of(const kernel_launch *raw, size_t index) {
  return (size_t)raw->argument[index + 1].value * sizeof(float);
}

/* from there to where the next array of the block begins */
static size_t extent_of(const recorder_state *r, const kernel_launch *raw, size_t index) {
  const recorder_block *block = raw->argument[index].buffer;
  const size_t begin = begin_of(raw, index);
  size_t end = block->bytes;
  for (size_t i = 0; i < r->launches; i++) {
    const kernel_launch *other = &r->launch[i].raw;
    for (size_t k = 0; k + 1 < other->arguments; k++) {
      if (other->argument[k].kind != ARGUMENT_BUFFER || other->argument[k].buffer != block) continue;
      if (other->argument[k + 1].value >= 0 && begin_of(other, k) > begin && begin_of(other, k) < end)
        end = begin_of(other, k);
    }
  }
  return end - begin;
}

/* add_sums(parts, target, count, stride, first, n): it knows best what it reads */
static void count_sums(recorded_launch *l) {
  const launch_argument *number = &l->raw.argument[2 * l->arrays];
  const double count = (double)number[0].value, n = (double)number[3].value;
  l->array[0].bytes = count * n * sizeof(float);
  l->array[1].bytes = n * sizeof(float);
}

static void count_launch(const recorder_state *r, recorded_launch *l) {
  for (size_t i = 0; i < l->arrays; i++) {
    recorded_array *a = &l->array[i];
    a->absent = l->raw.argument[2 * i + 1].value < 0;
    a->bytes = a->absent ? 0 : (double)extent_of(r, &l->raw, 2 * i);
    a->read = a->read || adds_to(l, a);
  }
  if (strcmp(l->kernel, "add_sums") == 0) count_sums(l);
  l->loaded = l->stored = 0;
  for (size_t i = 0; i < l->arrays; i++) {
    if (l->array[i].read) l->loaded += l->array[i].bytes;
    if (l->array[i].written) l->stored += l->array[i].bytes;
  }
}

/* ---- recorder ----------------------------------------------------------------------------------- */

static recorder_state *recorder_of(const sparc_device *recorder) { return recorder->context; }

sparc_status recorder_open(bool fast, sparc_device **out) {
  return device_open_on(&backend_recorder, &(sparc_device_config){.fast = fast, .cache = ""}, 0, out);
}

void recorder_clear(sparc_device *recorder) { recorder_of(recorder)->launches = 0; }

const char *recorder_text(const sparc_device *recorder) { return recorder_of(recorder)->text; }

sparc_status recorder_launches(sparc_device *recorder, const recorded_launch **launches, size_t *count) {
  recorder_state *r = recorder_of(recorder);
  for (size_t i = 0; i < r->launches; i++) {
    r->launch[i].arrays = 0;
    const sparc_status status = read_signature(r->text, &r->launch[i]);
    if (status != SPARC_OK) return status;
    count_launch(r, &r->launch[i]);
  }
  *launches = r->launch;
  *count = r->launches;
  return SPARC_OK;
}

sparc_status recorder_count_bytes(sparc_device *recorder, sparc_status (*forward)(const void *),
                                  sparc_status (*backward)(const void *), const void *context, double *forward_bytes,
                                  double *backward_bytes) {
  const recorded_launch *launches = NULL;
  size_t count = 0;
  recorder_clear(recorder);
  sparc_status status = forward(context);
  const size_t first = recorder_of(recorder)->launches;
  if (status == SPARC_OK) status = backward(context);
  if (status == SPARC_OK) status = recorder_launches(recorder, &launches, &count);
  *forward_bytes = *backward_bytes = 0;
  for (size_t i = 0; i < count; i++)
    *(i < first ? forward_bytes : backward_bytes) += launches[i].loaded + launches[i].stored;
  return status;
}
