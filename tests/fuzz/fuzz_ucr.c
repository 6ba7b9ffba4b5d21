/* SPDX-License-Identifier: MIT */
/* fuzz_ucr.c: libFuzzer target of the reader of UCR text, with labels and without. */
#include "dataset.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  try_bytes(data, size, (sparc_read_options){.format = SPARC_DATA_UCR});
  try_bytes(data, size, (sparc_read_options){.format = SPARC_DATA_UCR, .unlabelled = 1});
  return 0;
}
