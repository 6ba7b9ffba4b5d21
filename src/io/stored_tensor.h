/* SPDX-License-Identifier: MIT */
/* stored_tensor.h: tensors of untrusted files. Type and shape are checked before memory is allocated, numbers before
 * they are used. `path` names the file in messages; every defect is SPARC_FORMAT. */
#ifndef SPARC_IO_STORED_TENSOR_H
#define SPARC_IO_STORED_TENSOR_H

#include "sparc/safetensors.h"

/* stored_tensor_check requires a tensor of this type and shape, of one or two dimensions. */
sparc_status stored_tensor_check(const sparc_tensors *file, const char *path, const char *name, sparc_dtype dtype,
                                 const size_t *shape, int rank);

/* stored_f32_read and stored_f64_read read `count` numbers, which must be finite and at least `least` (-INFINITY: any
 * finite number). */
sparc_status stored_f32_read(const sparc_tensors *file, const char *path, const char *name, double least, float *out,
                             size_t count);
sparc_status stored_f64_read(const sparc_tensors *file, const char *path, const char *name, double least, double *out,
                             size_t count);

#endif
