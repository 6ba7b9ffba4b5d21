/* SPDX-License-Identifier: MIT */
/* tensor_file.h: safetensors files out of fuzz inputs, for the readers of what such files hold.
 *
 * A fuzzer seldom changes the header of a file and keeps the two lengths right, and would then test the container
 * alone, which fuzz_safetensors does. So an input is: the size of the data section in units of four bytes, in two
 * bytes, low byte first; eight bytes that fill the section again and again; the header as text.
 */
#ifndef SPARC_TESTS_FUZZ_TENSOR_FILE_H
#define SPARC_TESTS_FUZZ_TENSOR_FILE_H

#include "sparc/base.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition, const char *what) {
  if (condition) return;
  fprintf(stderr, "violated: %s (last error: %s)\n", what, sparc_error());
  abort();
}

static void put(int file, const void *bytes, size_t size) {
  require(write(file, bytes, size) == (ssize_t)size, "writing to memory");
}

enum { FILL_AT = 2, FILL = 8, HEADER_AT = FILL_AT + FILL };

/* a file in memory and its path; -1 if the input is too short to be one */
static int tensor_file(const uint8_t *data, size_t size, char path[32]) {
  if (size < HEADER_AT) return -1;
  const size_t header = size - HEADER_AT, section = 4 * (data[0] | (size_t)data[1] << 8);
  uint8_t length[8], *values = malloc(section + 1);
  for (int i = 0; i < 8; i++) length[i] = (uint8_t)(header >> 8 * i);
  const int file = memfd_create("fuzz", MFD_CLOEXEC);
  require(values && file >= 0, "a file in memory");
  for (size_t i = 0; i < section; i++) values[i] = data[FILL_AT + i % FILL];
  put(file, length, sizeof length);
  put(file, data + HEADER_AT, header);
  put(file, values, section);
  free(values);
  snprintf(path, 32, "/proc/self/fd/%d", file);
  return file;
}

/* whatever is in a file, a refusal is one of the format and names the file */
static void require_refusal(sparc_status status, const char *path) {
  require(status == SPARC_FORMAT || status == SPARC_NO_MEMORY, "a refusal is one of the format");
  require(status == SPARC_NO_MEMORY || strstr(sparc_error(), path) != NULL, "a refusal names the file");
}

#endif
