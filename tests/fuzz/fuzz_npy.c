/* SPDX-License-Identifier: MIT */
/* fuzz_npy.c: libFuzzer target of the NPY reader. The first two bytes tell how long the array is, low byte first; what
 * is left are the labels, or there are none. */
#include "dataset.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size < 2) return 0;
  size_t first = data[0] | (size_t)data[1] << 8;
  data += 2, size -= 2;
  if (first > size) first = size;
  /* blocks of their own, so that a sanitizer sees reads beyond either */
  uint8_t *array = malloc(first + 1), *labels = malloc(size - first + 1);
  require(array && labels, "memory");
  memcpy(array, data, first);
  memcpy(labels, data + first, size - first);
  sparc_read_options o = {
      .format = SPARC_DATA_NPY, .labels_data = size > first ? labels : NULL, .labels_size = size - first};
  try_bytes(array, first, o);
  o.objective = SPARC_OBJECTIVE_REGRESS;
  try_bytes(array, first, o);
  free(array);
  free(labels);
  return 0;
}
