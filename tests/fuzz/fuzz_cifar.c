/* SPDX-License-Identifier: MIT */
/* fuzz_cifar.c: libFuzzer target of the reader of CIFAR-10 batches. Records are long and their bytes are free, so that
 * the interesting inputs are short ones: bytes are repeated to whole records before a second try. */
#include "dataset.h"

enum { RECORD = 3073 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  try_bytes(data, size, (sparc_read_options){.format = SPARC_DATA_CIFAR});
  if (size == 0 || size > 3 * RECORD) return 0;
  const size_t records = 1 + size % 3;
  uint8_t *batch = malloc(records * RECORD);
  require(batch != NULL, "memory");
  for (size_t i = 0; i < records * RECORD; i++) batch[i] = data[i % size];
  try_bytes(batch, records * RECORD, (sparc_read_options){.format = SPARC_DATA_CIFAR});
  free(batch);
  return 0;
}
