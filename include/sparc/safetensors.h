/* SPDX-License-Identifier: MIT */
/* safetensors.h: read and write named arrays.
 *
 * A safetensors file is a 64-bit little-endian header length, a JSON header that maps each name to a dtype, a shape and
 * a byte range, and a data section that the ranges tile. The reader validates the whole header before an element is
 * read and returns SPARC_FORMAT for any deviation. The writer replaces files atomically and writes the same bytes for
 * the same arrays.
 *
 *   sparc_tensors *file;
 *   if (sparc_tensors_load("model.safetensors", &file) != SPARC_OK) return report(sparc_error());
 *   sparc_status status = sparc_tensors_read(file, "param.log_decay", SPARC_F32, log_decay, H);
 *   sparc_tensors_free(file);
 */
#ifndef SPARC_SAFETENSORS_H
#define SPARC_SAFETENSORS_H

#include "sparc/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Element types. F64, F32 and BF16 can be read as numbers and written; U8 can be written; the others are listed and can
 * be read as bytes. */
typedef enum sparc_dtype {
  SPARC_F64 = 0,
  SPARC_F32,
  SPARC_BF16,
  SPARC_F16,
  SPARC_F8_E4M3,
  SPARC_F8_E5M2,
  SPARC_F8_E8M0,
  SPARC_F8_E4M3FNUZ,
  SPARC_F8_E5M2FNUZ,
  SPARC_C64,
  SPARC_I64,
  SPARC_I32,
  SPARC_I16,
  SPARC_I8,
  SPARC_U64,
  SPARC_U32,
  SPARC_U16,
  SPARC_U8,
  SPARC_BOOL
} sparc_dtype;

#define SPARC_TENSOR_MAX_RANK 8

typedef struct sparc_metadata {
  const char *key, *value;
} sparc_metadata;

/* ---- reading ---- */

typedef struct sparc_tensors sparc_tensors; /* a loaded file; opaque, immutable, shareable between threads */

typedef struct sparc_tensor_info {
  const char *name; /* UTF-8 as in the file; may contain control characters */
  sparc_dtype dtype;
  int rank;                            /* 0 (a scalar) to SPARC_TENSOR_MAX_RANK */
  size_t shape[SPARC_TENSOR_MAX_RANK]; /* row-major; entries from `rank` on are 0 */
  size_t elements;                     /* product of the shape: 1 for a scalar, 0 for an empty tensor */
  size_t offset, bytes;                /* range in the data section */
} sparc_tensor_info;

typedef struct sparc_tensors_contents {
  const sparc_tensor_info *tensors; /* [count], in the order of their data */
  size_t count;
  const sparc_metadata *metadata; /* [metadata_count], in the order of the header */
  size_t metadata_count;
} sparc_tensors_contents;

/* Read and validate the header of a regular file. The file stays open and elements are read on demand. Replacing the
 * file by a rename does not affect loaded tensors. *out is NULL on failure. */
SPARC_API sparc_status sparc_tensors_load(const char *path, sparc_tensors **out);

/* Do the same with a copy of `size` bytes in memory. name replaces the path in error messages. */
SPARC_API sparc_status sparc_tensors_parse(const void *data, size_t size, const char *name, sparc_tensors **out);

/* Close the file and free everything that the functions below returned. tensors may be NULL. */
SPARC_API void sparc_tensors_free(sparc_tensors *tensors);

/* Return all tensors and metadata, one tensor by name, or one metadata value by key; NULL if there is none. */
SPARC_API sparc_tensors_contents sparc_tensors_contents_of(const sparc_tensors *tensors);
SPARC_API const sparc_tensor_info *sparc_tensors_find(const sparc_tensors *tensors, const char *name);
SPARC_API const char *sparc_tensors_metadata_find(const sparc_tensors *tensors, const char *key);

/* Read a tensor to out. dtype is the type of out:
 *   SPARC_F32, SPARC_F64  count floats or doubles from a tensor of type F64, F32 or BF16, converted as in C
 *   SPARC_U8              count bytes of a tensor of any type, unconverted
 * SPARC_FORMAT: the tensor is missing or does not have exactly count elements (bytes). SPARC_UNSUPPORTED: it has another
 * type. In these cases out is not written. */
SPARC_API sparc_status sparc_tensors_read(const sparc_tensors *tensors, const char *name, sparc_dtype dtype, void *out,
                                          size_t count);

/* ---- writing ---- */

typedef struct sparc_tensor_source {
  const char *name;    /* UTF-8, unique within the file */
  sparc_dtype dtype;   /* type in the file: SPARC_F64, SPARC_F32, SPARC_BF16 (rounds to nearest even) or SPARC_U8 */
  sparc_dtype in_type; /* type of data: SPARC_F64, SPARC_F32, or SPARC_U8 if dtype is SPARC_U8 */
  int rank;
  size_t shape[SPARC_TENSOR_MAX_RANK];
  const void *data; /* row-major; may be NULL when the shape has no elements */
} sparc_tensor_source;

/* Write a temporary file next to `path`, flush it to disk and rename it to `path`. Readers see the old file or the new
 * one; on failure the old file is unchanged. The result does not depend on the order of the arguments: tensors are
 * sorted by descending element size, then by name, metadata by key. The data section starts at a multiple of 64 bytes. */
SPARC_API sparc_status sparc_tensors_save(const char *path, const sparc_tensor_source *tensors, size_t count,
                                          const sparc_metadata *metadata, size_t metadata_count);

#ifdef __cplusplus
}
#endif

#endif
