/* SPDX-License-Identifier: MIT */
/* fuzz_csv.c: libFuzzer target of the CSV reader, with several choices of the label column, and of the choice of the
 * format from nothing but content. */
#include "dataset.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  try_bytes(data, size, (sparc_read_options){.format = SPARC_DATA_CSV});
  try_bytes(data, size, (sparc_read_options){.format = SPARC_DATA_CSV, .unlabelled = 1, .header = -1});
  try_bytes(data, size, (sparc_read_options){.format = SPARC_DATA_CSV, .label_column = "kind"});
  try_bytes(data, size, (sparc_read_options){.format = SPARC_DATA_CSV, .label_column = "1", .header = 1});
  try_bytes(data, size, (sparc_read_options){.format = SPARC_DATA_AUTO});
  return 0;
}
