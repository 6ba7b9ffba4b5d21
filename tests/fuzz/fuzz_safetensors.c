/* SPDX-License-Identifier: MIT */
/* fuzz_safetensors.c: libFuzzer target of the safetensors reader. Whatever the bytes, parsing returns a status and a
 * sentence; what it accepts can be listed, found and read, and fills the data section exactly. */
#include "io/dtype.h"
#include "sparc/safetensors.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition, const char *what) {
  if (condition) return;
  fprintf(stderr, "violated: %s (last error: %s)\n", what, sparc_error());
  abort();
}

/* both conversions into arrays of exactly the listed size, so that the sanitizer sees one element too many */
static void read_both(const sparc_tensors *tensors, const sparc_tensor_info *info) {
  const sparc_status expected = info->dtype <= SPARC_BF16 ? SPARC_OK : SPARC_UNSUPPORTED;
  float *f32 = malloc(info->elements * sizeof *f32 + 1);
  double *f64 = malloc(info->elements * sizeof *f64 + 1);
  require(f32 && f64, "memory for the elements");
  require(sparc_tensors_read(tensors, info->name, SPARC_F32, f32, info->elements) == expected, "status of read_f32");
  require(sparc_tensors_read(tensors, info->name, SPARC_F64, f64, info->elements) == expected, "status of read_f64");
  require(sparc_tensors_read(tensors, info->name, SPARC_F64, f64, info->elements + 1) == SPARC_FORMAT, "element count");
  free(f32);
  free(f64);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  sparc_tensors *tensors = NULL;
  sparc_status status = sparc_tensors_parse(data, size, "fuzz", &tensors);
  if (status != SPARC_OK) {
    require(status == SPARC_FORMAT && !tensors && strncmp(sparc_error(), "fuzz: ", 6) == 0, "a refusal has a sentence");
    return 0;
  }

  size_t bytes = 0, header = 0;
  for (size_t i = 0; i < sparc_tensors_contents_of(tensors).count; i++) {
    const sparc_tensor_info *info = &sparc_tensors_contents_of(tensors).tensors[i];
    require(info->offset == bytes, "tensors tile the data");
    require(sparc_tensors_find(tensors, info->name) == info, "a listed tensor is found");
    require(info->bytes == info->elements * dtype_size(info->dtype), "bytes = elements x size");
    read_both(tensors, info);
    bytes += info->bytes;
  }
  for (int i = 0; i < 8; i++) header |= (size_t)data[i] << 8 * i;
  require(8 + header + bytes == size, "the tensors fill the file");
  for (size_t i = 0; i < sparc_tensors_contents_of(tensors).metadata_count; i++) {
    const sparc_metadata *entry = &sparc_tensors_contents_of(tensors).metadata[i];
    require(sparc_tensors_metadata_find(tensors, entry->key) == entry->value, "listed metadata is found");
  }
  sparc_tensors_free(tensors);
  return 0;
}
