/* SPDX-License-Identifier: MIT */
/* safetensors.h: read and write named arrays.
 *
 * A safetensors file is a 64-bit little-endian header length, a JSON header that maps each name to a dtype, a shape and
 * a byte range, and one data section that the ranges tile. The reader trusts nothing: whatever deviates from the format
 * is refused with SPARC_FORMAT before an element is read. The writer replaces files atomically and gives the same bytes
 * for the same arrays.
 *
 *   sparc_tensors *file;
 *   if (sparc_tensors_open("model.safetensors", &file) != SPARC_OK) return report(sparc_error());
 *   sparc_status status = sparc_tensors_read_f32(file, "param.log_decay", log_decay, H);
 *   sparc_tensors_close(file);
 */
#ifndef SPARC_SAFETENSORS_H
#define SPARC_SAFETENSORS_H

#include "sparc/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The element types that the reader lists. The first three are also written, and read as numbers; SPARC_U8 is written
 * as the bytes that it is. */
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

#define SPARC_TENSOR_RANK_MAX 8

/* sparc_dtype_name gives the name used in files, for example "BF16", and sparc_dtype_size the bytes of one element;
 * "unknown" and 0 for a value outside the enumeration. */
SPARC_API const char *sparc_dtype_name(sparc_dtype dtype);
SPARC_API size_t sparc_dtype_size(sparc_dtype dtype);

/* ---- reading ---- */

/* An opened file. Immutable, so threads may share it. */
typedef struct sparc_tensors sparc_tensors;

typedef struct sparc_tensor_info {
  const char *name; /* UTF-8 as found in the file: may hold control characters */
  sparc_dtype dtype;
  int rank;                            /* 0 (a scalar) to SPARC_TENSOR_RANK_MAX */
  size_t shape[SPARC_TENSOR_RANK_MAX]; /* row-major; the first `rank` are used, the rest are 0 */
  size_t elements;                     /* product of the shape: 1 for a scalar, 0 for an empty tensor */
  size_t offset, bytes;                /* place in the data section */
} sparc_tensor_info;

typedef struct sparc_metadata {
  const char *key, *value;
} sparc_metadata;

/* sparc_tensors_open checks the header of a regular file and keeps the file open; elements are read on demand, so
 * listing a large file is cheap. Replacing the file by rename does not disturb an open one.
 * sparc_tensors_parse does the same with a copy of `size` bytes of memory; `name` stands for the file in sentences.
 * On failure *out is NULL. Close with sparc_tensors_close; closing NULL does nothing. */
SPARC_API sparc_status sparc_tensors_open(const char *path, sparc_tensors **out);
SPARC_API sparc_status sparc_tensors_parse(const void *data, size_t size, const char *name, sparc_tensors **out);
SPARC_API void sparc_tensors_close(sparc_tensors *tensors);

/* The tensors in the order of their data. Past the end, and for a name that is not there, the answer is NULL.
 * Everything returned lives until sparc_tensors_close. */
SPARC_API size_t sparc_tensors_count(const sparc_tensors *tensors);
SPARC_API const sparc_tensor_info *sparc_tensors_at(const sparc_tensors *tensors, size_t index);
SPARC_API const sparc_tensor_info *sparc_tensors_find(const sparc_tensors *tensors, const char *name);

/* The metadata in the order of the header, and the value of one key; NULL where there is none. */
SPARC_API size_t sparc_tensors_metadata_count(const sparc_tensors *tensors);
SPARC_API const sparc_metadata *sparc_tensors_metadata_at(const sparc_tensors *tensors, size_t index);
SPARC_API const char *sparc_tensors_metadata_find(const sparc_tensors *tensors, const char *key);

/* Copy a tensor of exactly `elements` elements, stored as F64, F32 or BF16, to the caller's array. The same type is
 * copied bit by bit; other types convert as C does. A missing tensor or another number of elements is SPARC_FORMAT,
 * another dtype SPARC_UNSUPPORTED; in these cases nothing is written to `out`. */
SPARC_API sparc_status sparc_tensors_read_f32(const sparc_tensors *tensors, const char *name, float *out,
                                              size_t elements);
SPARC_API sparc_status sparc_tensors_read_f64(const sparc_tensors *tensors, const char *name, double *out,
                                              size_t elements);
/* The same for the bytes of a tensor of any type, as they lie in the file; another number of them is SPARC_FORMAT. */
SPARC_API sparc_status sparc_tensors_read_bytes(const sparc_tensors *tensors, const char *name, void *out,
                                                size_t bytes);

/* ---- writing ---- */

typedef struct sparc_tensor_source {
  const char *name;  /* UTF-8, unique within the file */
  sparc_dtype dtype; /* stored as SPARC_F64, SPARC_F32, SPARC_BF16 (round to nearest even, NaN stays NaN) or SPARC_U8 */
  sparc_dtype
      in_type; /* type of `data`: SPARC_F64 for double, SPARC_F32 for float, SPARC_U8 with dtype SPARC_U8 only */
  int rank;
  size_t shape[SPARC_TENSOR_RANK_MAX];
  const void *data; /* row-major; may be NULL when the shape holds no elements */
} sparc_tensor_source;

/* sparc_tensors_write writes a temporary file beside `path`, flushes it to the disk and renames it over `path`, so that
 * a reader and a crash see the old file or the new one, never a part. On failure the old file is as it was. The order
 * of the arguments does not matter: tensors are sorted by descending element size, then by name, metadata by key.
 * The data section starts at a multiple of 64 bytes. */
SPARC_API sparc_status sparc_tensors_write(const char *path, const sparc_tensor_source *tensors, size_t count,
                                           const sparc_metadata *metadata, size_t metadata_count);

#ifdef __cplusplus
}
#endif

#endif
