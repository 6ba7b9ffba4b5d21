/* SPDX-License-Identifier: MIT */
/* dtype.h: shared by the safetensors reader and writer: the table of element types with their conversions, sizes of
 * shapes, and text from files for error messages. */
#ifndef SPARC_IO_DTYPE_H
#define SPARC_IO_DTYPE_H

#include "sparc/safetensors.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* limits and names of the format */
enum { HEADER_PREFIX = 8, HEADER_MAX = 100000000 };
#define METADATA_NAME "__metadata__"

/* One element type. `bytes` is little-endian and may be unaligned. The conversions are NULL for types that are
 * only listed. */
typedef struct dtype_row {
  const char *name;
  size_t size;
  void (*to_f32)(const uint8_t *restrict bytes, float *restrict out, size_t count);
  void (*to_f64)(const uint8_t *restrict bytes, double *restrict out, size_t count);
  void (*from_f32)(const float *restrict in, uint8_t *restrict bytes, size_t count);
  void (*from_f64)(const double *restrict in, uint8_t *restrict bytes, size_t count);
} dtype_row;

/* dtype_get returns the row of a dtype, NULL for a value outside the enumeration */
const dtype_row *dtype_get(sparc_dtype dtype);

/* dtype_name returns the name used in files, for example "BF16", dtype_size the bytes of one element; "unknown" and 0
 * for a value outside the enumeration */
const char *dtype_name(sparc_dtype dtype);
size_t dtype_size(sparc_dtype dtype);

/* dtype_parse finds a dtype by the name used in files; false if there is none */
bool dtype_parse(const char *name, sparc_dtype *dtype);

/* shape_size computes the elements and bytes of a shape; false on overflow */
bool shape_size(const size_t *shape, int rank, size_t element_size, size_t *elements, size_t *bytes);

/* 64-bit little-endian numbers, as in the header's length */
uint64_t load_u64(const uint8_t *bytes);
void store_u64(uint8_t *bytes, uint64_t value);

/* text from a file, short and without control characters, by value so that a message can quote several */
typedef struct quotable {
  char text[100];
} quotable;
quotable quote(const char *text);

/* a shape as "[2, 3]", cut short when it does not fit */
quotable quote_shape(const size_t *shape, int rank);

#endif
