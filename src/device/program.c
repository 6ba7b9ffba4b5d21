/* SPDX-License-Identifier: MIT */
/* program.c: see program.h. */
#include "device/program.h"

#include "base/error.h"
#include "device/cache.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- text --------------------------------------------------------------------------------------- */

static bool make_room(program_text *text, size_t more) {
  if (text->failed) return false;
  if (text->size + more + 1 <= text->capacity) return true;
  const size_t capacity = 2 * (text->size + more + 1);
  char *bytes = realloc(text->bytes, capacity);
  if (!bytes) {
    text->failed = true;
    return false;
  }
  text->bytes = bytes;
  text->capacity = capacity;
  return true;
}

void text_print(program_text *text, const char *format, ...) {
  char line[256];
  va_list arguments;
  va_start(arguments, format);
  const int length = vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  if (length < 0 || (size_t)length >= sizeof line) {
    text->failed = true;
    return;
  }
  if (!make_room(text, (size_t)length)) return;
  memcpy(text->bytes + text->size, line, (size_t)length + 1);
  text->size += (size_t)length;
}

void text_define(program_text *text, size_t n, const definition *definitions) {
  for (size_t i = 0; i < n; i++) text_print(text, "#define %s %d\n", definitions[i].name, definitions[i].value);
}

void text_append(program_text *text, const embedded_file *file) {
  text_print(text, "#line 1 \"%s\"\n", file->name);
  if (!make_room(text, file->size)) return;
  memcpy(text->bytes + text->size, file->bytes, file->size);
  text->size += file->size;
  text->bytes[text->size] = '\0';
}

void text_free(program_text *text) {
  free(text->bytes);
  *text = (program_text){NULL, 0, 0, false};
}

/* ---- program ------------------------------------------------------------------------------------ */

sparc_status program_build(sparc_device *device, const program_text *text, void **program) {
  const device_backend *backend = device->backend;
  if (text->failed) return fail(SPARC_NO_MEMORY, "no memory for the text of the kernels");
  program_binary binary = cache_load(device->cache, &device->info, device->fast, text->bytes);
  if (binary.bytes) {
    const sparc_status loaded = backend->load(device->context, &binary, device->fast, program);
    free(binary.bytes);
    if (loaded == SPARC_OK) return SPARC_OK;
    log_line("cache: the driver refuses stored kernels, they are compiled again: %s", sparc_error());
  }
  sparc_status status = backend->build(device->context, text->bytes, device->fast, program);
  if (status != SPARC_OK || !*device->cache) return status;
  if (backend->binary(device->context, *program, &binary) == SPARC_OK && binary.bytes) {
    cache_store(device->cache, &device->info, device->fast, text->bytes, &binary);
    free(binary.bytes);
  }
  return SPARC_OK;
}
