/* SPDX-License-Identifier: MIT */
/* fuzz_ts.c: libFuzzer target of the reader of .ts text, with the file's labels, with a fixed list of
 * them, and with targets. */
#include "dataset.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char *const classes[] = {"left", "right"};
  try_bytes(data, size, (sparc_read_options){.format = SPARC_DATA_TS});
  try_bytes(data, size, (sparc_read_options){.format = SPARC_DATA_TS, .classes = classes, .class_count = 2});
  try_bytes(data, size, (sparc_read_options){.format = SPARC_DATA_TS, .objective = SPARC_OBJECTIVE_REGRESS});
  return 0;
}
