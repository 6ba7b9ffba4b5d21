/* SPDX-License-Identifier: MIT */
/* backend.h: what OpenCL and CUDA have in common, as one table of functions.
 *
 * A backend loads its driver at run time. Objects are opaque pointers of the backend; calls that fail leave an error message
 * with the driver's message. Work is enqueued in order; only read and wait block.
 */
#ifndef SPARC_DEVICE_BACKEND_H
#define SPARC_DEVICE_BACKEND_H

#include "sparc/device.h"

#include <stdbool.h>
#include <stdint.h>

/* arguments of a kernel: an array is two, its buffer and its first element; -1 where it is absent */
typedef enum argument_kind { ARGUMENT_BUFFER, ARGUMENT_INT, ARGUMENT_LONG } argument_kind;

typedef struct launch_argument {
  argument_kind kind;
  void *buffer;
  int64_t value;
} launch_argument;

enum { LAUNCH_ARGUMENTS = 40, GROUP_SIZE = 256 };

typedef struct kernel_launch {
  void *kernel;
  size_t groups; /* of GROUP_SIZE work-items */
  launch_argument argument[LAUNCH_ARGUMENTS];
  size_t arguments;
} kernel_launch;

/* a compiled program as the driver stores it; NULL: none */
typedef struct program_binary {
  void *bytes; /* of malloc */
  size_t size;
} program_binary;

typedef struct device_backend {
  const char *name;
  const char *driver;                /* what to install where there is no device */
  sparc_status (*count)(int *count); /* no driver: 0 */
  sparc_status (*describe)(int index, sparc_device_info *info);
  sparc_status (*open)(int index, void **context);
  void (*close)(void *context);

  sparc_status (*allocate)(void *context, size_t bytes, void **buffer); /* zeroed */
  void (*release)(void *context, void *buffer);
  sparc_status (*write)(void *context, void *buffer, size_t offset, const void *from, size_t bytes);
  sparc_status (*read)(void *context, void *buffer, size_t offset, void *to, size_t bytes);
  sparc_status (*copy)(void *context, void *from, size_t from_offset, void *to, size_t to_offset, size_t bytes);

  /* build compiles text, or loads a binary that `binary` once gave */
  sparc_status (*build)(void *context, const char *text, bool fast, void **program);
  sparc_status (*load)(void *context, const program_binary *binary, bool fast, void **program);
  sparc_status (*binary)(void *context, void *program, program_binary *out);
  void (*release_program)(void *context, void *program);
  sparc_status (*kernel)(void *context, void *program, const char *name, void **kernel);
  void (*release_kernel)(void *context, void *kernel);

  sparc_status (*launch)(void *context, const kernel_launch *launch);
  sparc_status (*wait)(void *context);
} device_backend;

extern const device_backend backend_cuda, backend_opencl;

#endif
