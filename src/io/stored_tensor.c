/* SPDX-License-Identifier: MIT */
/* stored_tensor.c: one error message for each defect of a tensor. */
#include "io/stored_tensor.h"

#include "base/error.h"
#include "io/dtype.h"

#include <math.h>
#include <string.h>

sparc_status stored_tensor_check(const sparc_tensors *file, const char *path, const char *name, sparc_dtype dtype,
                                 const size_t *shape, int rank) {
  const sparc_tensor_info *info = sparc_tensors_find(file, name);
  if (!info) return fail(SPARC_FORMAT, "'%.200s': tensor '%s' is missing", path, name);
  if (info->dtype == dtype && info->rank == rank && memcmp(info->shape, shape, (size_t)rank * sizeof *shape) == 0)
    return SPARC_OK;
  return fail(SPARC_FORMAT, "'%.200s': tensor '%s' is %s %s, expected %s %s", path, name, dtype_name(info->dtype),
              quote_shape(info->shape, info->rank).text, dtype_name(dtype), quote_shape(shape, rank).text);
}

static sparc_status check_number(const char *path, const char *name, size_t i, double value, double least) {
  if (isfinite(value) && value >= least) return SPARC_OK;
  return fail(SPARC_FORMAT, "'%.200s': element %zu of tensor '%s' is %g, expected a finite number%s", path, i, name,
              value, least == 0 ? " from 0" : "");
}

sparc_status stored_f32_read(const sparc_tensors *file, const char *path, const char *name, double least, float *out,
                             size_t count) {
  sparc_status status = sparc_tensors_read(file, name, SPARC_F32, out, count);
  for (size_t i = 0; i < count && status == SPARC_OK; i++) status = check_number(path, name, i, (double)out[i], least);
  return status;
}

sparc_status stored_f64_read(const sparc_tensors *file, const char *path, const char *name, double least, double *out,
                             size_t count) {
  sparc_status status = sparc_tensors_read(file, name, SPARC_F64, out, count);
  for (size_t i = 0; i < count && status == SPARC_OK; i++) status = check_number(path, name, i, out[i], least);
  return status;
}
