/* SPDX-License-Identifier: MIT */
/* program.h: from texts and definitions to kernels, by the cache or by the driver's compiler. */
#ifndef SPARC_DEVICE_PROGRAM_H
#define SPARC_DEVICE_PROGRAM_H

#include "device/device.h"
#include "io/embedded.h"

/* a text that grows; `bytes` ends with a zero. Without memory it stays as it is and `failed` is set. */
typedef struct program_text {
  char *bytes;
  size_t size, capacity;
  bool failed;
} program_text;

/* a number that the kernels get as "#define NAME VALUE" */
typedef struct definition {
  const char *name;
  int value;
} definition;

/* text_define appends definitions, text_append a file with a #line of its own name */
void text_define(program_text *text, size_t n, const definition *definitions);
__attribute__((format(printf, 2, 3))) void text_print(program_text *text, const char *format, ...);
void text_append(program_text *text, const embedded_file *file);
void text_free(program_text *text);

/* program_build gives the program of a text; it must be released by the backend. */
sparc_status program_build(sparc_device *device, const program_text *text, void **program);

#endif
